"""Joins of large gold: tasks divide both sides into buckets of ids, and each bucket is a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from math import ceil
from typing import Protocol, runtime_checkable

from karat.data.join.buckets import BUCKET_BYTES, MOST_BUCKETS, Bucket, HalfPart
from karat.data.join.join import Joined
from karat.data.source import group_parts
from karat.data.storage.files import temporary_folder
from karat.runs.scoring.tasks.engine import Engine, Failed
from karat.runs.scoring.tasks.local import Processes, Threads
from karat.runs.scoring.tasks.task import Recipe
from karat.runs.store.parts import Done


@runtime_checkable
class ShuffleEngine(Engine, Protocol):
    """An engine that moves rows between machines, so that the rows of a bucket meet on one of them."""

    def run_buckets(self, recipe: Recipe, halves: Mapping[int, HalfPart]) -> Iterator[Done | Failed]:
        """Divide all halves into buckets and score each of these.

        It yields what comes back from each bucket, by its number, and from each half that has failed.
        """
        ...


@dataclass(frozen=True)
class Buckets:
    """The tasks of a large join by their numbers: first the buckets, then the halves that are divided into them."""

    buckets: Mapping[int, Bucket]
    halves: Mapping[int, HalfPart]

    def run(self, engine: Engine, recipe: Recipe) -> Iterator[Done | Failed]:
        """What comes back from each bucket, and from halves that have failed.

        Engines of this machine write the rows once to a temporary folder, others move them between their machines.
        """
        if isinstance(engine, ShuffleEngine):
            yield from engine.run_buckets(recipe, self.halves)
            return
        with temporary_folder() as folder:
            halves = {task: replace(part, folder=folder) for task, part in self.halves.items()}
            yield from (each for each in engine.run(recipe, halves, _ignore) if isinstance(each, Failed))
            yield from engine.run(
                recipe, {at: replace(each, file=folder) for at, each in self.buckets.items()}, _ignore
            )


def _ignore(_rows: int) -> None:
    """Rows are counted when their bucket is done."""


def plan_buckets(joined: Joined, engine: Engine, task_rows: int) -> Buckets | None:
    """The tasks of a join of large gold, each of at most about this many rows; None where it is joined otherwise."""
    if not joined.is_large or not isinstance(engine, Threads | Processes | ShuffleEngine):
        return None
    rows = joined.rows or 0
    size = sum(half.size for half in joined.halves)
    number = min(MOST_BUCKETS, max(ceil(size / BUCKET_BYTES), ceil(rows / task_rows)))
    ends = [rows * at // number for at in range(number + 1)]
    buckets = {at: Bucket("", 0, "", (at,), ends[at], ends[at + 1] - ends[at]) for at in range(number)}
    halves = (
        HalfPart(**vars(part), side=half.side, buckets=number)
        for half in joined.halves
        for part in group_parts(half.source.parts, task_rows)
    )
    return Buckets(buckets, dict(zip(count(number), halves, strict=False)))
