"""Evaluators that score one record at a time: in sequence, or concurrently if they wait for other processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.adapters.phoenix.code.evaluator import Evaluator
from karat.adapters.phoenix.frame.columnwise import NewColumns, details
from karat.core.errors import DataError
from karat.models.event_loop import run_coroutine
from karat.models.governor.faults import Fault, classify
from karat.models.governor.retry import RetryPolicy, retry, retry_blocking
from karat.models.governor.task_group import TaskGroup


class Procedure(NamedTuple):
    """How the records are evaluated. The first failure `stops` it; `advance` gets the number of rows just finished."""

    retries: RetryPolicy
    concurrency: int
    stops: bool
    advance: Callable[[int], None]


class Row(NamedTuple):
    """The evaluation of one record: its scores (None if it failed), the errors of all attempts, and the seconds."""

    scores: Sequence[Any] | None
    errors: Sequence[Exception]
    seconds: float


def run_rows(evaluator: Any, records: Sequence[dict[str, Any]], procedure: Procedure) -> list[Row | None]:
    """The row of each record; None for records that were not evaluated because the evaluation was stopped."""
    if is_concurrent(evaluator):
        group = TaskGroup()
        return run_coroutine(gather_rows(evaluator, records, procedure, group), drain=group.drain)
    rows: list[Row | None] = [None] * len(records)
    for number, record in enumerate(records):
        row = rows[number] = _attempt(evaluator, record, procedure.retries)
        procedure.advance(1)
        if procedure.stops and row.scores is None:
            break
    return rows


async def gather_rows(
    evaluator: Any, records: Sequence[dict[str, Any]], procedure: Procedure, group: TaskGroup | None = None
) -> list[Row | None]:
    """The same in the running event loop, with up to `concurrency` records at a time."""
    rows: list[Row | None] = [None] * len(records)
    group = group or TaskGroup()

    async def work(number: int) -> None:
        row = rows[number] = await _attempt_async(evaluator, records[number], procedure.retries)
        if procedure.stops and row.scores is None:
            group.stop(row.errors[-1])

    try:
        await group.run(work, range(len(records)), concurrency=procedure.concurrency, progress=procedure.advance)
    except Exception:
        if not any(row is not None and row.scores is None for row in rows):
            raise  # otherwise the error is that of the row that stopped the group
    return rows


def is_concurrent(evaluator: Any) -> bool:
    """Whether records can be evaluated concurrently: by judges, and by evaluators that are only async."""
    if not isinstance(evaluator, Evaluator) or type(evaluator)._async_evaluate is Evaluator._async_evaluate:  # noqa: SLF001
        return False
    return evaluator.kind == "llm" or type(evaluator)._evaluate is Evaluator._evaluate  # noqa: SLF001


def _attempt(evaluator: Any, record: dict[str, Any], policy: RetryPolicy) -> Row:
    start, errors = time.perf_counter(), list[Exception]()

    def attempt() -> list[Any] | Fault:
        try:
            return list(evaluator.evaluate(record))
        except Exception as error:  # noqa: BLE001  (reported in the frame)
            errors.append(error)
            return classify(error)

    return _row(retry_blocking(attempt, policy), errors, start)


async def _attempt_async(evaluator: Any, record: dict[str, Any], policy: RetryPolicy) -> Row:
    start, errors = time.perf_counter(), list[Exception]()

    async def attempt() -> list[Any] | Fault:
        try:
            return list(await evaluator.async_evaluate(record))
        except Exception as error:  # noqa: BLE001  (reported in the frame)
            errors.append(error)
            return classify(error)

    return _row(await retry(attempt, policy), errors, start)


def _row(outcome: list[Any] | Fault, errors: Sequence[Exception], start: float) -> Row:
    return Row(None if isinstance(outcome, Fault) else outcome, errors, time.perf_counter() - start)


def fill_by_row(evaluator: Any, rows: Sequence[Row | None], taken: Collection[str]) -> NewColumns:
    """The columns that the rows add to a frame; `taken` are names of columns that its scores must not have."""
    all_details: NDArray[Any] = np.empty(len(rows), object)
    scores: dict[str, NDArray[Any]] = {}
    failed, first = 0, None
    for number, evaluated in enumerate(rows):
        if evaluated is None:
            all_details[number] = details("DID NOT RUN", [], 0.0)
            failed += 1
            continue
        row = _check_names(evaluated, evaluator, taken)
        status = "FAILED" if row.scores is None else "COMPLETED WITH RETRIES" if row.errors else "COMPLETED"
        all_details[number] = details(status, row.errors, row.seconds)
        if row.scores is None:
            failed += 1
            first = first or (number, row.errors[-1])
        for score in row.scores or ():
            if score.name not in scores:
                scores[score.name] = np.empty(len(rows), object)
            scores[score.name][number] = score.to_dict()
    return NewColumns(all_details, scores, failed, first)


def _check_names(row: Row, evaluator: Any, taken: Collection[str]) -> Row:
    """The row; if a score cannot have a column of its own, a failed one."""
    names = [score.name for score in row.scores or ()]
    for name in names:
        if name is None:
            problem = f"{evaluator.name} gave a score without a name"
        elif names.count(name) > 1:
            problem = f"{evaluator.name} gave two scores with the name {name!r}"
        elif f"{name}_score" in taken:
            problem = f"{evaluator.name} gave a score {name!r}, but the column '{name}_score' already exists"
        else:
            continue
        return Row(None, [*row.errors, DataError(problem)], row.seconds)
    return row
