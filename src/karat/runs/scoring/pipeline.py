"""Score a table: read it batch by batch, score each batch with every metric, write the rows, add up the statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from karat.core.metric.metric import Metric
from karat.data.join.match import Unmatched
from karat.data.open import open_source
from karat.data.storage.addresses import to_path
from karat.data.write import open_output
from karat.runs.columns.gold_patch import read_patch
from karat.runs.labels.labels import Labels
from karat.runs.scoring.arguments import Destination, Selection
from karat.runs.scoring.plan import Plan, plan_run
from karat.runs.scoring.result import Result
from karat.runs.scoring.tasks.batches import Batch, add_up, score_batches
from karat.runs.scoring.tasks.frames import Frame, open_frame, score_frame_rows
from karat.runs.scoring.tasks.progress import Progress, RowCounter
from karat.runs.scoring.tasks.summary import merge_matches, summarise_run
from karat.runs.scoring.totals.totals import Totals
from karat.stats.inference import Inference
from karat.stats.sequential.until import Until

if TYPE_CHECKING:
    from karat.runs.scoring.tasks.engine import Engine
    from karat.runs.scoring.tasks.parts import Tasks
    from karat.runs.store.manifest import Manifest
    from karat.runs.store.parts import Done
    from karat.runs.store.tail import Tail
    from karat.runs.store.writer import RunWriter


def score(
    data: Any,
    metrics: str | Metric | Iterable[str | Metric],
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002  (the field's word, and the flag's)
    gold: Any = None,
    on: str | None = None,
    by: str | None = None,
    cluster: str | None = None,
    where: str | None = None,
    limit: int | None = None,
    output: str | Path | None = None,
    keep: bool | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    run: str | None = None,
    resume: bool = False,
    human: Any = None,
    label_map: Mapping[str, float] | str | None = None,
    progress: Progress | None = None,
    engine: str | Engine | None = None,
    max_failed_tasks: int = 0,
    id: str | None = None,  # noqa: A002  (the field's word)
    until: Until | None = None,
    gold_patch: Any = None,
) -> Result:
    """Score a table of answers with one or more metrics.

    `data`: a file, a glob, `-` for standard input, a list of dicts, a dict of columns, or anything with
    `__arrow_c_stream__` (pandas, polars, DuckDB, Arrow, Hugging Face datasets), and for metrics of rankings also a run
    as TREC has it or as dicts of scores by query. `metrics`: specs such as `"token_f1"`
    or `"token_f1(normalize='none')"`, or metrics.

    `map`: the columns by role (`{"reference": "gold"}`), where their names are not recognised. `gold`, `on`: a second
    table with the gold, joined by the id column `on`; a run and its qrels are joined by query without `on`. `by`: a
    column of groups, each of which also gets a value. `cluster`: a column with equal values in rows that are not
    independent, such as questions on one document; it widens the intervals. By default it is an id that repeats, else a
    question that repeats with one gold; `"none"` takes each row by itself. `where`: an SQL condition on rows. `limit`:
    how many of these rows are scored at most. `output`: a file for the scored rows. `keep`: whether the result holds
    the rows in memory; by default only if they are not written to `output` or a run. `confidence`, `seed`: of the
    intervals. `run`: the name of a run, which is stored as a folder in `$KARAT_RUNS`, else in `karat-runs`; `resume`:
    continue it after it was stopped. `human`: labels by people, a column of the rows, or as in `karat.Labels`,
    joined by `on`: beside each value stands the value that people would give, corrected by these labels; `label_map`:
    the score of each label, by default from a judge's own choices. `progress`: called with the number of finished rows
    and, where known, of all rows, from any thread.

    `engine`: what carries out the work where the data are Parquet files: `"threads"` of this process (the default for
    large files), `"processes"`, `"ray"`, `"spark"`, or an `Engine`, such as `karat.engines.Ray("ray://head:10001")`;
    rows are then kept in a run only. At most `max_failed_tasks` of its tasks may fail; their rows are unscored. `data`
    may also be a dataset of Ray Data or a DataFrame of Spark, which are scored where they are. Their rows have no
    order: `id` names the column that tells them apart. With `id`, the rows of any other table give the same interval
    in any order.

    `until`: judges are asked row by row in a random order, and stop when their interval is as narrow as wanted, or the
    money is spent: `until=karat.Until(width=0.04, cost=5)`. The interval holds however often it was looked at; other
    metrics in the call, which are known of all rows, narrow it. The seed decides the order: the same seed asks the same
    rows, also when a run is resumed, and takes earlier answers from the cache of replies. All rows are held in memory.

    `gold_patch`: what people say of gold that may be wrong, a file of `karat label --gold` or a list of dicts with
    `id`, `old`, `verdict` ("right", "wrong", "ambiguous", "also right"), `new`, `who` and `why`: gold is replaced or
    added to, or the row has no score. Rows are found by the id `on`, else by one that tells rows apart. Two runs are
    compared only with the same patch.

    Raises a `karat.KaratError` whose message says what to do; `output` is then not written.

    >>> result = score({"output": ["Paris", "Rome"], "expected": ["Paris", None]}, "em")
    >>> result.mapping
    {'prediction': 'output', 'reference': 'expected'}
    >>> result.values["em"].value, result.values["em"].worst
    (1.0, 0.5)
    >>> result.table.to_pylist()[1]
    {'output': 'Rome', 'expected': None, 'em': None, 'reason': 'reference is null'}
    """
    if isinstance(data, list) and data and isinstance(data[0], str):
        open_source(data)  # says how to pass lists, before the second is taken for metrics
    inference, destination = (
        Inference(confidence, seed),
        Destination(output, run, resume, keep, engine, max_failed_tasks),
    )
    human = Labels.of(human, label_map)
    if human is not None and human.system is None:
        human = replace(human, system=run)
    patch = None if gold_patch is None else read_patch(gold_patch)
    selection = Selection(data, gold, on, map or {}, by, cluster, where, limit, human, id, patch)
    if (frame := open_frame(selection, destination)) is not None:
        selection = replace(selection, data=frame)
    destination.check(selection)
    plan = replace(plan_run(selection, metrics, inference), until=until)
    if until is not None:
        from karat.runs.scoring.asking.ask import check_until  # noqa: PLC0415  (only where judges are asked by a rule)

        check_until(plan)
    if run is None:
        return carry_out(plan, destination, progress, None)
    from karat.runs.scoring.provenance.describe import describe_run  # noqa: PLC0415  (only where a run is stored)

    return carry_out(plan, destination, progress, describe_run(plan, selection, run))


def carry_out(plan: Plan, destination: Destination, progress: Progress | None, manifest: Manifest | None) -> Result:
    """Score all rows of a plan, and store them as a run where there is a manifest."""
    work = _Work(plan, destination, progress, _plan_tasks(plan, destination))
    if manifest is None:
        return work.score()
    from karat.runs.scoring.provenance.models import count_usage, note_narrowing, warn_capped  # noqa: PLC0415  (only for a run)
    from karat.runs.store.writer import open_writer  # noqa: PLC0415

    planned = (None, ()) if work.tasks is None else (work.tasks.parts, work.tasks.predictions)
    with (
        open_writer(manifest, plan.output, plan.digested, *planned, resume=destination.resume) as writer,
        count_usage(plan.metrics, writer.started),
        note_narrowing(writer.started),
    ):
        result = replace(work, writer=writer).score()
        if writer.started.capped():
            warn_capped(manifest.name)
            return result
        return replace(result, run=writer.finish(result.as_dict(), n=result.n, lengths=result.lengths))


def _plan_tasks(plan: Plan, destination: Destination) -> Tasks | None:
    """The tasks in which a plan is carried out; None where its rows come here, one part after the other."""
    wanted = destination.engine is not None or destination.max_failed_tasks or destination.resume
    if isinstance(plan.base, Frame) or not (plan.base.parts or wanted):
        return None
    from karat.runs.scoring.tasks.parts import plan_tasks  # noqa: PLC0415  (seldom)

    return plan_tasks(plan, destination)


@dataclass
class _Work:
    """A plan that is carried out: each part of its rows, wherever it is scored, gives its totals, which are added up.

    `kept` are the rows with their scores that the result holds, `takers` are called with all of them; `warned` has
    warnings by role.
    """

    plan: Plan
    destination: Destination
    progress: Progress | None
    tasks: Tasks | None
    writer: RunWriter | None = None
    kept: list[pa.RecordBatch] = field(default_factory=list)
    takers: list[Callable[[pa.RecordBatch], object]] = field(default_factory=list)
    warned: dict[str, str] = field(default_factory=dict)

    def score(self) -> Result:
        """Score all rows; the result has no run yet."""
        started, totals, unmatched = time_ns(), Totals(self.plan), list[tuple[Unmatched, Unmatched]]()
        output, keeps = self.destination.output, self.destination.keeps_rows
        with ExitStack() as stack:
            self.takers += [self.kept.append] if keeps else []
            if output is not None:
                self.takers.append(stack.enter_context(open_output(output, self.plan.output.schema)))
            for part in self._score_parts():
                if isinstance(part, Totals):
                    totals.merge(part)
                    continue
                totals.merge_bytes(part.state)
                self.warned = {**part.warnings, **self.warned}
                unmatched += [] if part.unmatched is None else [part.unmatched]
        result = summarise_run(merge_matches(self.plan, unmatched), totals, self.warned, started)
        path = None if output is None else to_path(output)
        path = path.resolve() if isinstance(path, Path) else path
        return replace(result, output=path, batches=tuple(self.kept) if keeps else None)

    def _score_parts(self) -> Iterator[Done | Totals]:
        """What each part gives, in the order of the rows, where they have one."""
        if isinstance(self.plan.base, Frame):
            yield from score_frame_rows(self.plan.base, self.plan, self.progress)
        elif self.tasks is not None:
            yield from self.tasks.carry_out(self.progress, self.writer)
        elif self.writer is not None and self.writer.tail is not None:
            yield self._score_behind(self.writer.tail)
        else:
            batches = score_batches(self.plan, self._counter(), self.warned)
            yield add_up(self.plan, batches, self._take if self.takers else None)

    def _score_behind(self, tail: Tail) -> Totals:
        """The totals of the rows that are written, and of those behind them, which the tail writes."""
        totals = Totals(self.plan)
        for done in [*tail.parts, *filter(None, [tail.last])]:
            self.warned.update(done.warnings)
            first = done.first or 0
            for rows, scored in tail.read(done) if self.takers or totals.corrected else ():
                totals.correct(rows, scored, np.arange(first, first := first + len(rows), dtype=np.uint64))
                for take in self.takers:
                    take(rows)
        if tail.before:
            totals.merge_bytes(done.state)

        def put(batch: Batch) -> None:
            tail.add(self._take(batch), batch.scored, totals.to_bytes)

        tail.warned, tail.state = self.warned, totals.to_bytes
        batches = score_batches(self.plan, self._counter(), self.warned, tail.before)
        return add_up(self.plan, _pass_scored(batches, tail), put, totals)

    def _take(self, batch: Batch) -> pa.RecordBatch:
        """The rows of a batch with their scores, which the takers get."""
        rows = batch.append_scores()
        for take in self.takers:
            take(rows)
        return rows

    def _counter(self) -> RowCounter:
        remote = sum(metric.definition.remote is not None for metric in self.plan.metrics)
        return RowCounter(self.progress, self.plan.source.rows, remote)


def _pass_scored(batches: Iterable[Batch], tail: Tail) -> Iterator[Batch]:
    """The batches behind those that were scored before; where a cap is reached, no row that was not asked is kept."""
    for batch in batches:
        if not batch.scored:
            tail.skip(batch.rows)
            continue
        rest = batch
        if not tail.ended and tail.started.capped():
            first, rest = batch.cut_unasked()
            tail.state = None
            yield first
            tail.end()
        tail.state = None  # until the totals and the rows come from the same batches
        yield rest
