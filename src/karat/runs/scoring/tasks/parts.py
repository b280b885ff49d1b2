"""Scoring in parts: which runs are, how their tasks are carried out, and how what comes back is put together."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from pathlib import Path

from karat.core.errors import DataError, JoinError, KaratError, SpecError
from karat.data.join.parts import place_predictions
from karat.data.source import Part, group_parts
from karat.data.storage.addresses import hide_secrets, join_path
from karat.data.storage.files import temporary_folder
from karat.runs.scoring.arguments import Destination
from karat.runs.scoring.plan import Plan
from karat.runs.scoring.tasks.buckets import Buckets, plan_buckets
from karat.runs.scoring.tasks.engine import Engine, Failed
from karat.runs.scoring.tasks.local import InTurn, Processes, Threads, find_engine
from karat.runs.scoring.tasks.progress import Progress, RowCounter
from karat.runs.scoring.tasks.task import Advance, Recipe, make_recipe
from karat.runs.scoring.totals.totals import Totals
from karat.runs.store.folders import is_in_tasks, is_started
from karat.runs.store.parts import Done, PartsFolder
from karat.runs.store.writer import RunWriter

TASK_ROWS = 1 << 20  # at most, in a task
JUDGED_ROWS = 1 << 10  # in a task with a judge, whose rows wait for an endpoint
LEAST_ROWS = 1 << 16  # in a task, where the rows are divided among known workers
PREDICTIONS = "predictions"  # the folder of those that were ordered by task
TASKS_A_WORKER = 4  # so that all are busy until the end


@dataclass(frozen=True)
class Tasks:
    """A plan that is carried out in tasks, by an engine, at most `most_failed` of which may fail."""

    plan: Plan
    engine: Engine
    most_failed: int

    @cached_property
    def parts(self) -> Sequence[Part]:
        """The rows of each task."""
        return group_parts(self.plan.base.parts, self._task_rows())

    @property
    def predictions(self) -> Sequence[Part]:
        """The parts of the predictions, where the rows come from gold."""
        return self.plan.joined.halves[1].source.parts if self.plan.joined else ()

    def carry_out(self, progress: Progress | None, writer: RunWriter | None) -> Iterator[Done]:
        """What comes back from each task, in the order of the rows; all rows of a failed one are unscored."""
        done = dict[int, Done]() if writer is None else writer.done
        parts: Mapping[int, Part] = dict(enumerate(self.parts if writer is None else writer.planned))
        if writer is None and self._buckets is not None:
            parts = self._buckets.buckets
        left = {task: part for task, part in parts.items() if task not in done}
        total, before = sum(part.rows for part in parts.values()), sum(each.rows for each in done.values())
        counter = RowCounter(progress, total, finished=before)
        for each in _in_order(parts, done, self._carry_out(left, counter, None if writer is None else writer.folder)):
            if isinstance(each, Failed):
                totals, rows = Totals(self.plan), parts[each.task].rows
                totals.add_unscored(rows, f"its task failed: {each.error}")
                yield Done(each.task, rows, totals.to_bytes())
            else:
                done[each.task] = replace(each, state=b"")
                yield each

    @cached_property
    def _buckets(self) -> Buckets | None:
        """The tasks where gold is large; rows that are kept, judged, or may stay unscored go in gold's order."""
        if self.plan.joined is None or self.most_failed or self._judged:
            return None
        return plan_buckets(self.plan.joined, self.engine, self._task_rows())

    @property
    def _judged(self) -> bool:
        return any(metric.judge for metric in self.plan.metrics)

    def _task_rows(self) -> int:
        if self._judged:
            return JUDGED_ROWS
        if self.engine.workers is None:
            return TASK_ROWS
        each = ceil((self.plan.base.rows or 0) / (TASKS_A_WORKER * self.engine.workers))
        return max(LEAST_ROWS, min(TASK_ROWS, each))

    def _carry_out(
        self, tasks: Mapping[int, Part], counter: RowCounter, folder: PartsFolder | None
    ) -> Iterator[Done | Failed]:
        """What comes back, in any order; raises the error of a task where too many have failed."""
        failed, recipe = list[Failed](), make_recipe(self.plan, folder)
        named = tasks if self._buckets is None else {**tasks, **self._buckets.halves}
        with closing(self._run(recipe, tasks, counter.advance)) as outcomes:
            for each in outcomes:
                if isinstance(each, Failed):
                    if self._buckets is not None and self.plan.joined is not None and isinstance(each.error, JoinError):
                        self.plan.joined.match()  # raises the error with the ids of all rows
                    failed.append(each)
                    if len(failed) > self.most_failed:
                        raise _failure(failed, named) from each.error
                else:
                    counter.finish(tasks[each.task].rows)
                yield each
        if failed and folder is not None:
            raise _failure(failed, tasks) from failed[0].error

    def _run(self, recipe: Recipe, tasks: Mapping[int, Part], advance: Advance) -> Generator[Done | Failed]:
        """What the engine gives; for the tasks of a join it is first found where their predictions are.

        Workers on other machines see no temporary folder of this one, but they see the folder in which they write.
        """
        joined, folder = self.plan.joined, recipe.folder
        if joined is None:
            yield from self.engine.run(recipe, tasks, advance)
        elif folder is None and self._buckets is not None:
            yield from self._buckets.run(self.engine, recipe)
        else:
            with temporary_folder() as temporary:
                here = Path(temporary, PREDICTIONS) if isinstance(self.engine, InTurn | Threads | Processes) else None
                ordered = here if folder is None else join_path(folder.partial, PREDICTIONS)
                placed = place_predictions(joined, list(tasks.values()), recipe.columns, ordered)
                yield from self.engine.run(recipe, dict(zip(tasks, placed, strict=True)), advance)


def plan_tasks(plan: Plan, destination: Destination) -> Tasks | None:
    """How a plan is carried out in tasks; None where its rows are scored one after the other.

    A run is continued as it was started, in tasks or not. Raises `SpecError` where tasks are asked for, by
    such a run, by an engine or by how many may fail, and the rows cannot be scored in tasks.
    """
    engine: Engine = Threads() if destination.engine is None else find_engine(destination.engine)
    run, wanted = destination.run or "", ""
    continued = destination.resume and is_started(run)
    if continued and is_in_tasks(run):
        wanted = f"run {run} was started in tasks"
    elif destination.engine is not None:
        wanted = f"engine {engine.name!r} scores in tasks"
    elif destination.max_failed_tasks:
        wanted = "max_failed_tasks (--max-failed-tasks) counts tasks"
    if plan.base.rows == 0:
        return None  # there is nothing to carry out
    reason, alone = _why_not(plan, destination), _why_alone(plan, destination)
    if wanted.startswith("run") and alone and destination.engine is None:
        engine, alone = InTurn(), None
    if reason := reason or alone:
        if wanted:
            raise SpecError(f"{wanted}, but {reason}")
        return None
    if continued and not is_in_tasks(run):
        if wanted:
            warnings.warn(f"run {run} was started without tasks, and goes on without: {wanted}", stacklevel=5)
        return None
    groups = group_parts(plan.base.parts, TASK_ROWS)
    small = len(plan.base.parts) < 2 or sum(part.rows for part in groups) < LEAST_ROWS * (1 + len(groups))
    if small and not wanted:
        return None
    return Tasks(plan, engine, destination.max_failed_tasks)


def _why_not(plan: Plan, destination: Destination) -> str | None:
    """Why the rows of a plan cannot be scored in tasks."""
    reasons = {
        "answers that come one a row are gathered here: put those to a question in a list": plan.gathered,
        f"{plan.base.name} is not in Parquet files": not plan.base.parts,
        "limit (--limit) counts rows one after the other": plan.selection.limit is not None,
        "people's labels (human, --human) need the scores of all rows": plan.correction is not None,
        "a rule (until, --until-width) asks rows in a random order": plan.until is not None,
        "rows are written to one file (output, --output): keep them as a run": destination.output is not None,
        "rows are kept in memory (keep=False keeps none)": destination.keeps_rows,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _why_alone(plan: Plan, destination: Destination) -> str | None:
    """Why several tasks cannot be carried out at the same time."""
    judges = getattr(destination.engine, "judges", False)
    waiting = [each.spec for each in plan.metrics if each.waits and not (judges and each.judge)]
    models = [metric.spec for metric in plan.metrics if metric.definition.remote]
    if waiting:
        return (
            f"{', '.join(waiting)} waits for another process, such as an endpoint: leave the engine out, or let the "
            "machines of a Ray cluster ask the models of judges, Ray(judges=True) (--cluster-judges)"
        )
    if models and (destination.engine in (None, "threads") or isinstance(destination.engine, Threads)):
        return f"{', '.join(models)} runs a model, which keeps all cores busy by itself: leave the engine out"
    return None


def _in_order(
    parts: Mapping[int, Part], done: dict[int, Done], coming: Iterator[Done | Failed]
) -> Iterator[Done | Failed]:
    """What the tasks gave, in the order of the rows; `done`: what earlier ones gave.

    Raises `SpecError` where the engine gave nothing for a task.
    """
    waiting: dict[int, Done | Failed] = {}
    for task in parts:
        while task not in done and task not in waiting:
            if (each := next(coming, None)) is None:
                raise SpecError(f"the engine ended without a result of the task of {_name(parts[task])}")
            waiting[each.task] = each
        yield waiting.pop(task) if task in waiting else done[task]
    yield from coming  # nothing, but it may raise


def _name(part: Part) -> str:
    """A part for messages, without what may be secret in its address."""
    return str(replace(part, file=hide_secrets(part.file)))


def _failure(failed: Sequence[Failed], parts: Mapping[int, Part]) -> KaratError:
    """The error of the first of these tasks, with its part."""
    first = failed[0]
    others = f"; {len(failed) - 1} other tasks failed too" if len(failed) > 1 else ""
    where = f"in the task of {_name(parts[first.task])}{others}"
    if isinstance(first.error, KaratError):
        error = copy(first.error)  # its constructor may have other arguments
        error.args = (f"{first.error} ({where})",)
        return error
    return DataError(f"{type(first.error).__name__}: {first.error} ({where})")
