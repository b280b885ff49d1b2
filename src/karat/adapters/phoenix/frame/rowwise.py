"""Evaluators that score record by record: one after another, or, where they wait for others, many at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.adapters.phoenix.evaluators.evaluator import Evaluator
from karat.adapters.phoenix.frame.columnwise import NewColumns, details
from karat.core.errors import DataError
from karat.models.event_loop import run_coroutine
from karat.models.governor.faults import Fault, classify
from karat.models.governor.retry import RetryPolicy, retry, retry_blocking
from karat.models.governor.task_group import TaskGroup


class Way(NamedTuple):
    """How records are gone through."""

    retries: int
    """How often again, where that can help."""
    concurrency: int
    stops: bool
    """Whether the first failure ends it."""
    advance: Callable[[int], None]
    """Told of rows as they are done."""


class Row(NamedTuple):
    """What came of a record: its scores, None where it failed; the errors on the way; and the seconds it took."""

    scores: Sequence[Any] | None
    errors: Sequence[Exception]
    seconds: float


def run_rows(evaluator: Any, records: Sequence[dict[str, Any]], way: Way) -> list[Row | None]:
    """Each record's row; None for those that it did not come to."""
    if waits(evaluator):
        group = TaskGroup()
        return run_coroutine(gather_rows(evaluator, records, way, group), drain=group.drain)
    rows: list[Row | None] = [None] * len(records)
    for place, record in enumerate(records):
        row = rows[place] = _attempt(evaluator, record, way.retries)
        way.advance(1)
        if way.stops and row.scores is None:
            break
    return rows


async def gather_rows(
    evaluator: Any, records: Sequence[dict[str, Any]], way: Way, group: TaskGroup | None = None
) -> list[Row | None]:
    """The same in the event loop that awaits it, so many at a time as the way says."""
    rows: list[Row | None] = [None] * len(records)
    group = group or TaskGroup()

    async def work(place: int) -> None:
        row = rows[place] = await _attempt_async(evaluator, records[place], way.retries)
        if way.stops and row.scores is None:
            group.stop(row.errors[-1])

    try:
        await group.run(work, range(len(records)), concurrency=way.concurrency, progress=way.advance)
    except Exception:
        if not any(row is not None and row.scores is None for row in rows):
            raise  # else what stopped the group is what failed there
    return rows


def waits(evaluator: Any) -> bool:
    """Whether it waits for others, and does so well beside others of its kind: judges, and what is only async."""
    if not isinstance(evaluator, Evaluator) or type(evaluator)._async_evaluate is Evaluator._async_evaluate:  # noqa: SLF001
        return False
    return evaluator.kind == "llm" or type(evaluator)._evaluate is Evaluator._evaluate  # noqa: SLF001


def _attempt(evaluator: Any, record: dict[str, Any], retries: int) -> Row:
    start, errors = time.perf_counter(), list[Exception]()

    def attempt() -> list[Any] | Fault:
        try:
            return list(evaluator.evaluate(record))
        except Exception as error:  # noqa: BLE001  (reported in the frame)
            errors.append(error)
            return classify(error)

    return _row(retry_blocking(attempt, RetryPolicy(retries + 1)), errors, start)


async def _attempt_async(evaluator: Any, record: dict[str, Any], retries: int) -> Row:
    start, errors = time.perf_counter(), list[Exception]()

    async def attempt() -> list[Any] | Fault:
        try:
            return list(await evaluator.async_evaluate(record))
        except Exception as error:  # noqa: BLE001  (reported in the frame)
            errors.append(error)
            return classify(error)

    return _row(await retry(attempt, RetryPolicy(retries + 1)), errors, start)


def _row(outcome: list[Any] | Fault, errors: Sequence[Exception], start: float) -> Row:
    return Row(None if isinstance(outcome, Fault) else outcome, errors, time.perf_counter() - start)


def fill_by_row(evaluator: Any, rows: Sequence[Row | None], taken: Collection[str]) -> NewColumns:
    """What the rows add to a frame; `taken` are columns that its scores may not be called after."""
    told: NDArray[Any] = np.empty(len(rows), object)
    scores: dict[str, NDArray[Any]] = {}
    failed, first = 0, None
    for place, given in enumerate(rows):
        if given is None:
            told[place] = details("DID NOT RUN", [], 0.0)
            failed += 1
            continue
        row = _checked(given, evaluator, taken)
        status = "FAILED" if row.scores is None else "COMPLETED WITH RETRIES" if row.errors else "COMPLETED"
        told[place] = details(status, row.errors, row.seconds)
        if row.scores is None:
            failed += 1
            first = first or (place, row.errors[-1])
        for score in row.scores or ():
            if score.name not in scores:
                scores[score.name] = np.empty(len(rows), object)
            scores[score.name][place] = score.to_dict()
    return NewColumns(told, scores, failed, first)


def _checked(row: Row, evaluator: Any, taken: Collection[str]) -> Row:
    """The row, failed where its scores have no columns of their own."""
    names = [score.name for score in row.scores or ()]
    for name in names:
        if name is None:
            problem = f"{evaluator.name} gave a score without a name"
        elif names.count(name) > 1:
            problem = f"{evaluator.name} gave two scores of the name {name!r}"
        elif f"{name}_score" in taken:
            problem = f"{evaluator.name} gave a score {name!r}, but there is a column '{name}_score' already"
        else:
            continue
        return Row(None, [*row.errors, DataError(problem)], row.seconds)
    return row
