"""Evaluators that score one record at a time: in sequence, or concurrently if they wait for other processes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from contextvars import copy_context
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from phoenix.evals import Evaluator, LLMEvaluator, Score

from karat.adapters.phoenix.frame.columnwise import NewColumns, details
from karat.adapters.phoenix.governed import govern
from karat.adapters.phoenix.metric_evaluator import threads
from karat.core.errors import DataError
from karat.models.event_loop import await_coroutine, run_coroutine
from karat.models.governor.faults import Fault, classify
from karat.models.governor.retry import RetryPolicy, retry, retry_blocking
from karat.models.governor.task_group import TaskGroup

CONCURRENCY = 20  # records evaluated at a time


class Procedure(NamedTuple):
    """How the records are evaluated. The first failure `stops` it; `advance` gets the number of rows just finished.

    `concurrency`: the most records at a time; None is what the governor allows, and `CONCURRENCY` without one.
    """

    retries: RetryPolicy
    concurrency: int | None
    stops: bool
    advance: Callable[[int], None]


class EvaluatedRow(NamedTuple):
    """The evaluation of one record: its scores (None if it failed), the errors of all attempts, and the seconds."""

    scores: Sequence[Any] | None
    errors: Sequence[Exception]
    seconds: float


def run_rows(
    evaluator: Evaluator, records: Sequence[dict[str, Any]], procedure: Procedure
) -> list[EvaluatedRow | None]:
    """The row of each record; None for records that were not evaluated because the evaluation was stopped.

    Records for which a model is asked are evaluated concurrently, in karat's event loop; so are the records of an
    evaluator that has no synchronous method.
    """
    governed = govern(evaluator)
    if governed or (evaluator.kind == "llm" and _is_async(evaluator)):
        return _run_concurrently(governed or evaluator, records, procedure)
    rows: list[EvaluatedRow | None] = [None] * len(records)
    for number, record in enumerate(records):
        row = rows[number] = _attempt(evaluator, record, procedure.retries)
        if row.scores is None and isinstance(row.errors[-1], NotImplementedError) and _is_async(evaluator):
            return _run_concurrently(evaluator, records, procedure)
        procedure.advance(1)
        if procedure.stops and row.scores is None:
            break
    return rows


async def gather_rows(
    evaluator: Evaluator, records: Sequence[dict[str, Any]], procedure: Procedure
) -> list[EvaluatedRow | None]:
    """The same, awaited; where no governor is needed, in the running event loop."""
    if governed := govern(evaluator):
        return await await_coroutine(_gather(governed, records, procedure, TaskGroup()))
    return await _gather(evaluator, records, procedure, TaskGroup())


def _is_async(evaluator: Evaluator) -> bool:
    """Whether the evaluator has an asynchronous method of its own."""
    return type(evaluator)._async_evaluate not in (Evaluator._async_evaluate, LLMEvaluator._async_evaluate)  # noqa: SLF001


def _run_concurrently(
    evaluator: Evaluator, records: Sequence[dict[str, Any]], procedure: Procedure
) -> list[EvaluatedRow | None]:
    group = TaskGroup()
    return run_coroutine(_gather(evaluator, records, procedure, group), drain=group.drain)


async def _gather(
    evaluator: Any, records: Sequence[dict[str, Any]], procedure: Procedure, group: TaskGroup
) -> list[EvaluatedRow | None]:
    rows: list[EvaluatedRow | None] = [None] * len(records)
    governor = getattr(getattr(evaluator, "llm", None), "governor", None)
    concurrency = procedure.concurrency or (governor.limits.most if governor else CONCURRENCY)

    async def work(number: int) -> None:
        row = rows[number] = await _attempt_async(evaluator, records[number], procedure.retries)
        if procedure.stops and row.scores is None:
            group.stop(row.errors[-1])

    try:
        await group.run(work, range(len(records)), concurrency=concurrency, progress=procedure.advance)
    except Exception:
        if not any(row is not None and row.scores is None for row in rows):
            raise  # otherwise the error belongs to the row that stopped the group
    return rows


def _attempt(evaluator: Evaluator, record: dict[str, Any], policy: RetryPolicy) -> EvaluatedRow:
    start, errors = time.perf_counter(), list[Exception]()

    def attempt() -> list[Score] | Fault:
        try:
            return _check(evaluator, evaluator.evaluate(record))
        except Exception as error:  # noqa: BLE001  (reported in the frame)
            errors.append(error)
            return classify(error)

    return _row(retry_blocking(attempt, policy), errors, start)


async def _attempt_async(evaluator: Evaluator, record: dict[str, Any], policy: RetryPolicy) -> EvaluatedRow:
    start, errors = time.perf_counter(), list[Exception]()

    async def attempt() -> list[Score] | Fault:
        try:
            if _is_async(evaluator):
                return _check(evaluator, await evaluator.async_evaluate(record))
            in_context, loop = copy_context().run, asyncio.get_running_loop()
            return await loop.run_in_executor(threads(), in_context, _evaluate_in_thread, evaluator, record)
        except Exception as error:  # noqa: BLE001  (reported in the frame)
            errors.append(error)
            return classify(error)

    return _row(await retry(attempt, policy), errors, start)


def _evaluate_in_thread(evaluator: Evaluator, record: dict[str, Any]) -> list[Score]:
    try:
        return _check(evaluator, evaluator.evaluate(record))
    except StopIteration as error:  # a future cannot hold one: whoever awaits it would never be woken
        raise RuntimeError(f"{evaluator.name} raised StopIteration") from error


def _check(evaluator: Evaluator, scores: Any) -> list[Score]:
    if not isinstance(scores, list) or not all(isinstance(score, Score) for score in scores):
        whose = f"{evaluator.name}: {type(evaluator).__name__}"
        raise TypeError(f"{whose} must return a list of Scores, it returned {scores!r:.80}")
    return scores


def _row(outcome: list[Score] | Fault, errors: Sequence[Exception], start: float) -> EvaluatedRow:
    return EvaluatedRow(None if isinstance(outcome, Fault) else outcome, errors, time.perf_counter() - start)


def fill_by_row(evaluator: Any, rows: Sequence[EvaluatedRow | None], taken: Collection[str]) -> NewColumns:
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


def _check_names(row: EvaluatedRow, evaluator: Any, taken: Collection[str]) -> EvaluatedRow:
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
        return EvaluatedRow(None, [*row.errors, DataError(problem)], row.seconds)
    return row
