"""Evaluators applied to a pandas frame: `evaluate_dataframe`, with Phoenix's columns."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Self, TypeAlias

from karat.adapters.phoenix.frame.columnwise import FrameColumns, NewColumns, Scored, fill_by_column, score_by_column
from karat.adapters.phoenix.frame.rowwise import EvaluatedRow, Procedure, fill_by_row, gather_rows, run_rows
from karat.core.errors import ColumnError, KaratError, SpecError
from karat.core.lazy import import_extra
from karat.core.progress import report_progress_to
from karat.models.governor.retry import RetryPolicy

Outcome: TypeAlias = Scored | list[EvaluatedRow | None]
"""The scores of an evaluator: by columns, or one row at a time (None: the row did not run)."""
RETRIES = 3


class EvaluationStopped(KaratError):
    """A row failed, with `exit_on_error=True`. `dataframe` holds the results so far."""

    def __init__(self, message: str, dataframe: Any) -> None:
        super().__init__(message)
        self.dataframe = dataframe


def evaluate_dataframe(
    dataframe: Any,
    evaluators: Iterable[Any],
    tqdm_bar_format: str | None = None,
    hide_tqdm_bar: bool = False,
    exit_on_error: bool | None = None,
    max_retries: int | None = None,
) -> Any:
    """A copy of the frame with the scores of each evaluator in new columns.

    First come the columns `<evaluator>_execution_details`: dicts of `status` ("COMPLETED", "COMPLETED WITH RETRIES",
    "FAILED" or "DID NOT RUN"), `exceptions` and `execution_seconds` (if a whole column was scored at once, its time
    divided by the number of rows). Then come the columns `<score>_score`: `Score.to_dict()` of each row, None for a row
    that failed. The index does not change.

    If a row fails, its details and one warning say so; the other rows are still evaluated. With `exit_on_error`, the
    first failure is raised as `EvaluationStopped`, with the frame as far as it is complete. After a lost connection, a
    timeout, 429 or 5xx, a row is retried up to `max_retries` times (None: 3) with growing pauses; other errors are not
    retried. Async evaluators evaluate several rows concurrently, even if an event loop is already running.

    A progress bar is shown if `tqdm_bar_format` is given and tqdm is installed.

    Raises `ColumnError` if two columns of the result would have the same name.

    >>> import pandas as pd
    >>> from karat.adapters.phoenix import exact_match
    >>> frame = pd.DataFrame({"output": ["Paris", "Rome"], "expected": ["Paris", "Bern"]})
    >>> scored = evaluate_dataframe(frame, [exact_match])
    >>> [score["score"] for score in scored["exact_match_score"]]
    [1.0, 0.0]
    """
    with _FrameEvaluation(dataframe, evaluators, tqdm_bar_format, hide_tqdm_bar) as task:
        procedure = _procedure(exit_on_error, max_retries, None, task.advance)
        for evaluator in task.evaluators:
            scored = task.by_column(evaluator)
            outcome = run_rows(evaluator, task.records, procedure) if scored is None else scored
            if task.add(evaluator, outcome) and procedure.stops:
                break
    return task.result(stopped=procedure.stops)


async def async_evaluate_dataframe(
    dataframe: Any,
    evaluators: Iterable[Any],
    concurrency: int | None = None,
    tqdm_bar_format: str | None = None,
    hide_tqdm_bar: bool = False,
    exit_on_error: bool | None = None,
    max_retries: int | None = None,
) -> Any:
    """`evaluate_dataframe`, awaited: up to `concurrency` records at a time (None: 20), also for sync evaluators.

    Sync evaluators, and evaluators that score columns, run in threads, so they must be thread-safe.
    """
    with _FrameEvaluation(dataframe, evaluators, tqdm_bar_format, hide_tqdm_bar) as task:
        procedure = _procedure(exit_on_error, max_retries, concurrency, task.advance)
        for evaluator in task.evaluators:
            scored = await asyncio.to_thread(task.by_column, evaluator)
            outcome = await gather_rows(evaluator, task.records, procedure) if scored is None else scored
            if task.add(evaluator, outcome) and procedure.stops:
                break
    return task.result(stopped=procedure.stops)


def _procedure(
    exit_on_error: bool | None, max_retries: int | None, concurrency: int | None, advance: Callable[[int], None]
) -> Procedure:
    for name, number, least in (("max_retries", max_retries, 0), ("concurrency", concurrency, 1)):
        if number is not None and number < least:
            raise SpecError(f"{name}={number!r}: a whole number from {least} is expected")
    retries = RETRIES if max_retries is None else max_retries
    return Procedure(RetryPolicy(retries + 1), concurrency, bool(exit_on_error), advance)


class _FrameEvaluation:
    """The evaluation of a frame: what is to be done, and what the evaluators have returned so far."""

    def __init__(self, frame: Any, evaluators: Iterable[Any], bar_format: str | None, hide_bar: bool) -> None:
        pd = import_extra("pandas", extra="phoenix", need="evaluate_dataframe")
        if not isinstance(frame, pd.DataFrame):
            raise TypeError(f"dataframe: a pandas DataFrame is expected, got {type(frame).__name__}")
        if frame.columns.nlevels > 1:
            raise ColumnError(f"dataframe: one level of columns is expected, it has {frame.columns.nlevels}")
        if isinstance(evaluators, str) or not isinstance(evaluators, Iterable):
            raise TypeError(f"evaluators: a list of evaluators is expected, got {evaluators!r:.80}")
        self._frame, self.evaluators, self._new_column = frame, list(evaluators), pd.Series
        self._owners = _owners(map(str, frame.columns), self.evaluators)
        self._columns = FrameColumns(frame)
        self._outcomes: dict[str, Outcome] = {}
        self._bar = _bar(len(frame) * len(self.evaluators), bar_format) if bar_format and not hide_bar else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, rows: int) -> None:
        """Move the progress bar on by this many rows."""
        if self._bar is not None:
            self._bar.update(rows)

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The rows of the frame as dicts."""
        names = list(map(str, self._frame.columns))
        if not names:
            return [{} for _ in range(len(self._frame))]
        cells = zip(*(column.tolist() for _, column in self._frame.items()), strict=True)
        return [dict(zip(names, row, strict=True)) for row in cells]

    def by_column(self, evaluator: Any) -> Scored | None:
        """The evaluator's scores of all rows at once, or None if it scores rows one by one."""
        reported = 0

        def report(rows: int) -> None:
            nonlocal reported
            reported += rows
            self.advance(rows)

        with report_progress_to(report):
            scored = score_by_column(evaluator, self._columns)
        self.advance((0 if scored is None else len(self._frame)) - reported)
        return scored

    def add(self, evaluator: Any, outcome: Outcome) -> bool:
        """Keep the outcome of an evaluator; return whether any row failed."""
        self._outcomes[evaluator.name] = outcome
        if isinstance(outcome, Scored):
            return outcome.failed
        return any(row is None or row.scores is None for row in outcome)

    def result(self, *, stopped: bool) -> Any:
        """The frame with all columns; a failure is a warning, or an error if the evaluation was stopped by it."""
        collects = gc.isenabled()
        gc.disable()  # it would scan the growing number of new objects again and again
        try:
            new = {each.name: self._new_columns(each) for each in self.evaluators}
            result = self._frame.copy()
            for name, columns in new.items():
                self._put(result, f"{name}_execution_details", columns.details)
            for evaluator in self.evaluators:
                scores = new[evaluator.name].scores
                for name in scores or _known_names(evaluator):
                    self._put(result, f"{name}_score", scores.get(name, [None] * len(result)))
            for name, columns in new.items():
                _report_failure(name, columns, result, stopped=stopped)
            return result
        finally:
            if collects:
                gc.enable()

    def _new_columns(self, evaluator: Any) -> NewColumns:
        """The columns of an evaluator; if it did not run, its details say so."""
        rows = len(self._frame)
        outcome = self._outcomes.get(evaluator.name, [None] * rows)
        if isinstance(outcome, Scored):
            return fill_by_column(outcome, rows)
        taken = {name for name, owner in self._owners.items() if owner is not evaluator}
        columns = fill_by_row(evaluator, outcome, taken)
        self._owners |= {f"{name}_score": evaluator for name in columns.scores}
        return columns

    def _put(self, frame: Any, name: str, values: Any) -> None:
        frame[name] = self._new_column(values, index=frame.index, dtype=object, copy=False)


def _report_failure(name: str, columns: NewColumns, frame: Any, *, stopped: bool) -> None:
    """Raise an evaluator's first failure if it stopped the evaluation, else warn of it."""
    if columns.first is None:
        return
    row, error = columns.first
    where = f"row {row + 1} (index {frame.index[[row]].tolist()[0]!r}): {error!r}"
    if stopped:
        raise EvaluationStopped(f"{name} failed in {where}", frame) from error
    failed = f"{name}: {columns.failed} of {len(frame)} rows failed or did not run"
    warnings.warn(f"{failed}; the first that failed is {where}", stacklevel=4)


def _owners(columns: Iterable[str], evaluators: Sequence[Any]) -> dict[str, Any]:
    """The evaluator that writes each column of the result, None for the frame's own columns."""
    owners: dict[str, Any] = {}
    for name in columns:
        if name in owners:
            raise ColumnError(f"the frame has the column {name!r} more than once")
        owners[name] = None
    for evaluator in evaluators:
        if not hasattr(evaluator, "evaluate"):
            raise TypeError(f"evaluators: a list of evaluators is expected, it has {evaluator!r:.80}")
        for name in (f"{evaluator.name}_execution_details", *(f"{each}_score" for each in _known_names(evaluator))):
            if name in owners:
                whose = "the frame has" if owners[name] is None else f"{owners[name].name} writes"
                raise ColumnError(
                    f"{evaluator.name} writes a column {name!r}, but {whose} one of that name: "
                    "bind_evaluator(evaluator, name=…) gives it another"
                )
            owners[name] = evaluator
    return owners


def _known_names(evaluator: Any) -> Sequence[str]:
    """The names of its scores as far as they are known; Phoenix's own evaluators have no such attribute."""
    return getattr(evaluator, "score_names", (evaluator.name,))


def _bar(total: int, bar_format: str) -> Any:
    try:
        tqdm: Any = import_module("tqdm.auto").tqdm
    except ModuleNotFoundError:  # optional
        return None
    return tqdm(total=total, bar_format=bar_format)
