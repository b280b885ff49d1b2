"""Evaluators that score record by record: one after another, or, where they wait for others, many at a time."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.adapters.phoenix.evaluators.evaluator import Evaluator
from karat.adapters.phoenix.frame.columnwise import NewColumns, details
from karat.core.errors import DataError
from karat.models import event_loop as loop
from karat.models.governor.faults import classify
from karat.models.governor.task_group import Batch

FIRST_PAUSE = 0.5  # seconds before the second attempt, doubled for each one after it
LONGEST_PAUSE = 30.0


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
        batch = Batch()
        return loop.run(gather_rows(evaluator, records, way, batch), drain=batch.drain)
    rows: list[Row | None] = [None] * len(records)
    for place, record in enumerate(records):
        row = rows[place] = _attempt(evaluator, record, way.retries)
        way.advance(1)
        if way.stops and row.scores is None:
            break
    return rows


async def gather_rows(
    evaluator: Any, records: Sequence[dict[str, Any]], way: Way, batch: Batch | None = None
) -> list[Row | None]:
    """The same in the event loop that awaits it, so many at a time as the way says."""
    rows: list[Row | None] = [None] * len(records)
    batch = batch or Batch()

    async def work(place: int) -> None:
        row = rows[place] = await _attempt_async(evaluator, records[place], way.retries)
        if way.stops and row.scores is None:
            batch.stop(row.errors[-1])

    try:
        await batch.run(work, range(len(records)), concurrency=way.concurrency, progress=way.advance)
    except Exception:
        if not any(row is not None and row.scores is None for row in rows):
            raise  # else what stopped the batch is what failed there
    return rows


def waits(evaluator: Any) -> bool:
    """Whether it waits for others, and does so well beside others of its kind: judges, and what is only async."""
    if not isinstance(evaluator, Evaluator) or type(evaluator)._async_evaluate is Evaluator._async_evaluate:  # noqa: SLF001
        return False
    return evaluator.kind == "llm" or type(evaluator)._evaluate is Evaluator._evaluate  # noqa: SLF001


def _attempt(evaluator: Any, record: dict[str, Any], retries: int) -> Row:
    began, errors = time.perf_counter(), []
    while True:
        try:
            scores = list(evaluator.evaluate(record))
        except Exception as error:  # noqa: BLE001  (told in the frame)
            errors.append(error)
            if (pause := _pause(error, len(errors), retries)) is None:
                return Row(None, errors, time.perf_counter() - began)
            time.sleep(pause)
        else:
            return Row(scores, errors, time.perf_counter() - began)


async def _attempt_async(evaluator: Any, record: dict[str, Any], retries: int) -> Row:
    began, errors = time.perf_counter(), []
    while True:
        try:
            scores = list(await evaluator.async_evaluate(record))
        except Exception as error:  # noqa: BLE001  (told in the frame)
            errors.append(error)
            if (pause := _pause(error, len(errors), retries)) is None:
                return Row(None, errors, time.perf_counter() - began)
            await asyncio.sleep(pause)
        else:
            return Row(scores, errors, time.perf_counter() - began)


def _pause(error: Exception, attempts: int, retries: int) -> float | None:
    """Seconds before the next attempt; None where there is to be none, for what fails every time most of all."""
    fault = classify(error)
    if attempts > retries or fault.kind not in {"overload", "transient"}:
        return None
    pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempts - 1)) * random.uniform(0.5, 1)  # noqa: S311
    return float(max(pause, fault.retry_after or 0.0))


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
