"""Frames that live in a cluster, such as datasets of Ray: their rows are scored where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import pyarrow as pa

from karat.core.columns.ids import ROW_IDS
from karat.core.errors import SpecError
from karat.data.formats.validate import validate_source
from karat.data.roles import singular
from karat.data.source import Source
from karat.runs.scoring.arguments import Destination, Selection
from karat.runs.scoring.plan import Plan
from karat.runs.scoring.tasks.engine import Engine
from karat.runs.scoring.tasks.progress import Progress, RowCounter

if TYPE_CHECKING:
    from karat.runs.scoring.tasks.task import Recipe
    from karat.runs.store.parts import Done

FRAMES = {"ray": "ray", "pyspark": "spark"}
"""The engine of the frames of a package, by the package's name: recognised without importing it."""


@dataclass(frozen=True)
class Frame(Source):
    """The rows of a frame that lives in a cluster; only their schema is read here.

    `work` has `karat.runs.scoring.tasks.task.score_frame` called with all rows, some at a time, on the machines where
    they are, and yields what comes back, in any order. It reads the columns `recipe.columns`.
    """

    work: Callable[[Recipe], Iterator[Done]] = field(kw_only=True)

    @cached_property
    def first(self) -> pa.RecordBatch:
        """No rows: they stay where they are."""
        return pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in self.schema.types], schema=self.schema)

    def without_rows(self) -> Frame:
        """The frame without its rows, which can be sent to other processes."""
        return replace(super().without_rows(), work=_score_nothing)


def _score_nothing(_recipe: Recipe) -> Iterator[Done]:
    return iter(())


@runtime_checkable
class FrameEngine(Engine, Protocol):
    """An engine that also scores frames of its own kind."""

    def open_frame(self, data: Any) -> Frame | None:
        """The frame that `data` is; None where it is none of this engine's."""
        ...


def open_frame(selection: Selection, destination: Destination) -> Frame | None:
    """The frame that is to be scored; None where the rows are read here.

    Raises `SpecError` where its engine does not score such frames, and for arguments that need rows in an order, in one
    place, or beside others.
    """
    data, engine = selection.data, destination.engine
    package = type(data).__module__.partition(".")[0]
    if isinstance(data, str | PathLike) or (engine is None and package not in FRAMES):
        return None
    from karat.runs.scoring.tasks.local import find_engine  # noqa: PLC0415  (only for frames and engines)

    chosen = find_engine(engine or FRAMES[package])
    frame = chosen.open_frame(data) if isinstance(chosen, FrameEngine) else None
    if frame is None:
        if package in FRAMES:
            raise SpecError(f"engine {chosen.name!r} does not score a {type(data).__qualname__} of {package}")
        return None
    if selection.id is None:
        raise SpecError(f"the rows of {frame.name} have no order: id names the column {_find_ids(frame)}")
    reasons = {
        "gold: join it with the rows first": selection.gold is not None,
        "limit: its rows have no order": selection.limit is not None,
        "gold_patch: write the gold that is right into its rows first": selection.gold_patch is not None,
        "human: people's labels need the scores of all rows in one place": selection.human is not None,
        "output, run or keep: its rows stay where they are; write them to Parquet files, and score these": (
            destination.output is not None or destination.run is not None or bool(destination.keep)
        ),
        "max_failed_tasks: it counts tasks of files": destination.max_failed_tasks > 0,
    }
    for reason, holds in reasons.items():
        if holds:
            raise SpecError(f"{frame.name} is scored without {reason}")
    return validate_source(frame, checked=False)


def _find_ids(frame: Frame) -> str:
    """Which columns may tell the rows apart, in words."""
    names = frame.schema.names
    fitting = [each for each in names if singular(each) in ROW_IDS or each.lower().endswith("id")]
    expected = "that tells them apart, id='COLUMN'"
    return f"{expected}; {', '.join(fitting)} may do" if fitting else f"{expected}; there are: {', '.join(names)}"


def score_frame_rows(frame: Frame, plan: Plan, progress: Progress | None) -> Iterator[Done]:
    """What comes back from all rows of a frame, which its engine scores."""
    remote = [metric.spec for metric in plan.metrics if metric.waits]
    if remote:
        raise SpecError(f"{', '.join(remote)} waits for another process: no engine scores it on a frame")
    counter = RowCounter(progress, frame.rows)
    from karat.runs.scoring.tasks.task import make_recipe  # noqa: PLC0415  (only for frames)

    for done in frame.work(make_recipe(plan, None)):
        yield done
        counter.finish(done.rows)
