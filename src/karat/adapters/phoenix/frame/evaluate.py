"""Evaluators over a pandas frame: Phoenix's columns, by columns where an evaluator can."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Self, TypeAlias

from karat.adapters.phoenix.frame.columnwise import Columns, Filled, Scored, fill_by_column, score_by_column
from karat.adapters.phoenix.frame.rowwise import Row, Way, fill_by_row, gather_rows, run_rows
from karat.core.errors import ColumnError, KaratError, MissingExtra, SpecError
from karat.core.progress import report_progress_to

Given: TypeAlias = Scored | list[Row | None]
CONCURRENCY = 20  # records under way, of async evaluators that are asked one by one
RETRIES = 3


class EvaluationStopped(KaratError):
    """With `exit_on_error=True`: a row failed. `dataframe` holds what was done until then."""

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
    """A copy of the frame with columns of what each evaluator says of each row.

    First a column `<evaluator>_execution_details` for each evaluator: dicts of `status` ("COMPLETED", "COMPLETED WITH
    RETRIES", "FAILED" or "DID NOT RUN"), `exceptions` and `execution_seconds` (where a whole column was scored at once,
    its time divided by its rows). Then a column `<score>_score` for each score: `Score.to_dict()` of each row, None
    where the row failed. The index stays as it is.

    A row that fails is told in its details and in one warning; all others go on. With `exit_on_error` the first
    failure ends it, and is raised as `EvaluationStopped` with the frame as far as it got. Lost connections, slow
    answers, 429 and 5xx are tried again up to `max_retries` times (None: 3), with growing pauses; nothing else is.
    Evaluators that are async are awaited many at a time, also where an event loop is running.

    A bar of progress is shown where `tqdm_bar_format` is given and tqdm is installed.

    Raises `karat.ColumnError` where two columns of the result would have one name.

    >>> import pandas as pd
    >>> from karat.adapters.phoenix import exact_match
    >>> frame = pd.DataFrame({"output": ["Paris", "Rome"], "expected": ["Paris", "Bern"]})
    >>> scored = evaluate_dataframe(frame, [exact_match])
    >>> [score["label"] for score in scored["exact_match_score"]]
    [True, False]
    """
    with _Task(dataframe, evaluators, tqdm_bar_format, hide_tqdm_bar) as task:
        way = _way(exit_on_error, max_retries, None, task.advance)
        for evaluator in task.evaluators:
            scored = task.by_column(evaluator)
            given = run_rows(evaluator, task.records, way) if scored is None else scored
            if task.add(evaluator, given) and way.stops:
                break
    return task.result(stopped=way.stops)


async def async_evaluate_dataframe(
    dataframe: Any,
    evaluators: Iterable[Any],
    concurrency: int | None = None,
    tqdm_bar_format: str | None = None,
    hide_tqdm_bar: bool = False,
    exit_on_error: bool | None = None,
    max_retries: int | None = None,
) -> Any:
    """`evaluate_dataframe`, awaited: up to `concurrency` records at a time (None: 20), those of sync evaluators too.

    Evaluators that score columns do so in a thread. What runs in threads must bear it.
    """
    with _Task(dataframe, evaluators, tqdm_bar_format, hide_tqdm_bar) as task:
        way = _way(exit_on_error, max_retries, concurrency, task.advance)
        for evaluator in task.evaluators:
            scored = await asyncio.to_thread(task.by_column, evaluator)
            given = await gather_rows(evaluator, task.records, way) if scored is None else scored
            if task.add(evaluator, given) and way.stops:
                break
    return task.result(stopped=way.stops)


def _way(
    exit_on_error: bool | None, max_retries: int | None, concurrency: int | None, advance: Callable[[int], None]
) -> Way:
    for name, number, least in (("max_retries", max_retries, 0), ("concurrency", concurrency, 1)):
        if number is not None and number < least:
            raise SpecError(f"{name}={number!r}: a whole number from {least} is expected")
    retries = RETRIES if max_retries is None else max_retries
    return Way(retries, concurrency or CONCURRENCY, bool(exit_on_error), advance)


class _Task:
    """A frame, and what evaluators add to it, while it is evaluated."""

    def __init__(self, frame: Any, evaluators: Iterable[Any], bar_format: str | None, hide_bar: bool) -> None:
        try:
            import pandas as pd  # noqa: PLC0415  (optional)
        except ModuleNotFoundError:
            raise MissingExtra("pandas", extra="phoenix", need="evaluate_dataframe") from None
        if not isinstance(frame, pd.DataFrame):
            raise TypeError(f"dataframe: a pandas DataFrame is expected, got {type(frame).__name__}")
        if frame.columns.nlevels > 1:
            raise ColumnError(f"dataframe: one level of columns is expected, it has {frame.columns.nlevels}")
        if isinstance(evaluators, str) or not isinstance(evaluators, Iterable):
            raise TypeError(f"evaluators: a list of evaluators is expected, got {evaluators!r:.80}")
        self._frame, self.evaluators, self._new_column = frame, list(evaluators), pd.Series
        self._owners = _owners(map(str, frame.columns), self.evaluators)
        self._columns = Columns(frame)
        self._given: dict[str, Given] = {}
        self._bar = _bar(len(frame) * len(self.evaluators), bar_format) if bar_format and not hide_bar else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, rows: int) -> None:
        """Tell of rows that are done."""
        if self._bar is not None:
            self._bar.update(rows)

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The rows of the frame."""
        names = list(map(str, self._frame.columns))
        if not names:
            return [{} for _ in range(len(self._frame))]
        cells = zip(*(column.tolist() for _, column in self._frame.items()), strict=True)
        return [dict(zip(names, row, strict=True)) for row in cells]

    def by_column(self, evaluator: Any) -> Scored | None:
        """What the evaluator says of all rows at once, if it can."""
        told = 0

        def tell(rows: int) -> None:
            nonlocal told
            told += rows
            self.advance(rows)

        with report_progress_to(tell):
            scored = score_by_column(evaluator, self._columns)
        self.advance((0 if scored is None else len(self._frame)) - told)
        return scored

    def add(self, evaluator: Any, given: Given) -> bool:
        """Take what an evaluator gave, and say whether any row failed."""
        self._given[evaluator.name] = given
        if isinstance(given, Scored):
            return given.failed
        return any(row is None or row.scores is None for row in given)

    def result(self, *, stopped: bool) -> Any:
        """The frame with all columns; failures are told in warnings, or raised where they are to stop it."""
        collects = gc.isenabled()
        gc.disable()  # it would look again and again at all that is being made
        try:
            filled = {each.name: self._fill(each) for each in self.evaluators}
            result = self._frame.copy()
            for name, columns in filled.items():
                self._put(result, f"{name}_execution_details", columns.details)
            for evaluator in self.evaluators:
                scores = filled[evaluator.name].scores
                for name in scores or _known_names(evaluator):
                    self._put(result, f"{name}_score", scores.get(name, [None] * len(result)))
            for name, columns in filled.items():
                _tell(name, columns, result, stopped=stopped)
            return result
        finally:
            if collects:
                gc.enable()

    def _fill(self, evaluator: Any) -> Filled:
        """The evaluator's columns; of those whose turn did not come, columns that say so."""
        rows = len(self._frame)
        given = self._given.get(evaluator.name, [None] * rows)
        if isinstance(given, Scored):
            return fill_by_column(given, rows)
        filled = fill_by_row(evaluator, given, {name for name, owner in self._owners.items() if owner is not evaluator})
        self._owners |= {f"{name}_score": evaluator for name in filled.scores}
        return filled

    def _put(self, frame: Any, name: str, values: Any) -> None:
        frame[name] = self._new_column(values, index=frame.index, dtype=object, copy=False)


def _tell(name: str, filled: Filled, frame: Any, *, stopped: bool) -> None:
    """Raise an evaluator's first failure where it was to stop all, else warn of it."""
    if filled.first is None:
        return
    row, error = filled.first
    where = f"row {row + 1} (index {frame.index[[row]].tolist()[0]!r}): {error!r}"
    if stopped:
        raise EvaluationStopped(f"{name} failed in {where}", frame) from error
    failed = f"{name}: {filled.failed} of {len(frame)} rows failed or did not run"
    warnings.warn(f"{failed}; the first that failed is {where}", stacklevel=4)


def _owners(columns: Iterable[str], evaluators: Sequence[Any]) -> dict[str, Any]:
    """Whose each column of the result is: an evaluator's, or None for the frame's own."""
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
                whose = "the frame has" if owners[name] is None else f"{owners[name].name} is to write"
                raise ColumnError(
                    f"{evaluator.name} writes a column {name!r}, but {whose} one of that name: "
                    "bind_evaluator(evaluator, name=…) gives it another"
                )
            owners[name] = evaluator
    return owners


def _known_names(evaluator: Any) -> Sequence[str]:
    """The names of its scores as far as they are known; Phoenix's own evaluators tell nothing of theirs."""
    return getattr(evaluator, "score_names", (evaluator.name,))


def _bar(total: int, bar_format: str) -> Any:
    try:
        tqdm: Any = import_module("tqdm.auto").tqdm
    except ModuleNotFoundError:  # optional
        return None
    return tqdm(total=total, bar_format=bar_format)
