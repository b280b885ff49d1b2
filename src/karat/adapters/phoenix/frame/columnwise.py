"""Evaluators that score whole columns: reading a frame as Arrow, and writing scores as Phoenix's dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from phoenix.evals import Score

from karat.adapters.phoenix.column import Column, Strings
from karat.adapters.phoenix.frame.known import score_known
from karat.core import telemetry as tracing
from karat.core.columns.arrow import is_text
from karat.core.errors import DataError


class Scored(NamedTuple):
    """The scores of all rows by one evaluator, or the `error` that it raised. `seconds`: for each row."""

    columns: Sequence[Column]
    seconds: float
    error: Exception | None = None

    @property
    def failed(self) -> bool:
        """Whether any row failed."""
        return self.error is not None or any((_encode(each.reason)[0] >= 0).any() for each in self.columns)


class NewColumns(NamedTuple):
    """The columns that one evaluator adds to a frame: details of each row, and a column of dicts for each score.

    `failed`: how many rows failed or did not run. `first`: the first row that failed, and its error.
    """

    details: NDArray[Any]
    scores: dict[str, NDArray[Any]]
    failed: int
    first: tuple[int, Exception] | None


class FrameColumns:
    """The columns of a pandas frame as Arrow arrays, converted when first read."""

    def __init__(self, frame: Any) -> None:
        self._series = dict(zip(map(str, frame.columns), (column for _, column in frame.items()), strict=True))
        self._arrays: dict[str, pa.Array | None] = {}
        self.rows, self.names = len(frame), list(self._series)

    def __getitem__(self, name: str) -> pa.Array:
        """The column of that name; KeyError if there is none, or if its values have several types."""
        if name not in self._arrays:
            self._arrays[name] = _to_arrow(self._series[name])
        array = self._arrays[name]
        if array is None:
            raise KeyError(f"{name}: its values are of several types")
        return array


class MappedColumns(NamedTuple):
    """The columns of a frame under the names of an evaluator's fields (`karat.adapters.phoenix.column.Read`)."""

    columns: FrameColumns
    mapping: Mapping[str, Any]

    @property
    def names(self) -> list[str]:
        """The names of the frame's columns."""
        return self.columns.names

    def __call__(self, field: str) -> pa.Array:
        """The column that the field is mapped to, else the column of its name; KeyError if that is not plain."""
        return self.columns[self.mapping.get(field, field) or field]


def score_by_column(evaluator: Any, columns: FrameColumns) -> Scored | None:
    """The evaluator's scores of all rows, or None if the rows must be scored one by one.

    They must if an error is about the data. Any other error is the error of every row.
    """
    start = perf_counter()
    try:
        scored, error = _score_in_span(evaluator, columns), None
    except Exception as raised:  # noqa: BLE001  (reported in the frame)
        scored, error = [], raised
    seconds = (perf_counter() - start) / max(columns.rows, 1)
    return None if scored is None else Scored(scored, seconds, error)


def fill_by_column(scored: Scored, rows: int) -> NewColumns:
    """The columns that the scores add to a frame; rows with the same details share one dict."""
    scores = {column.name: _to_dicts(column, rows) for column in scored.columns}
    error_numbers, errors = _failures(scored, rows)
    all_details = np.full(rows, details("COMPLETED", [], scored.seconds), object)
    for number, error in enumerate(errors):
        all_details[error_numbers == number] = details("FAILED", [error], scored.seconds)
    failed = np.flatnonzero(error_numbers >= 0)
    first = (int(failed[0]), errors[error_numbers[failed[0]]]) if len(failed) else None
    return NewColumns(all_details, scores, len(failed), first)


def _score_in_span(evaluator: Any, columns: FrameColumns) -> list[Column] | None:
    """The evaluator's columns; if OpenTelemetry is configured, one span records them."""
    if getattr(evaluator, "traces_itself", False) or not tracing.on():
        return _score(evaluator, columns)
    about = {"kind": evaluator.kind, "cls": type(evaluator).__name__}
    with tracing.evaluation(evaluator.name, {"rows": columns.rows}, **about) as span:
        scored = _score(evaluator, columns)
        if span is None:
            return scored
        if scored is None:
            span.drop()
            return None
        for column in scored:
            span.result(column.name, pc.mean(column.score.filter(pc.is_finite(column.score))).as_py())
        return [replace(column, metadata={**column.metadata, "trace_id": span.trace_id}) for column in scored]


def _score(evaluator: Any, columns: FrameColumns) -> list[Column] | None:
    read = MappedColumns(columns, evaluator._input_mapping or {})  # noqa: SLF001  (Phoenix has no public name for it)
    try:
        scored = evaluator.score_columns(read) if hasattr(evaluator, "score_columns") else None
        return score_known(evaluator, read) if scored is None else cast("list[Column]", scored)
    except (KeyError, DataError):
        return None


def _to_dicts(column: Column, length: int) -> NDArray[Any]:
    """Each row's score as a dict, None for a row that failed: one dict is made for all equal rows, and copied."""
    if len(column.score) != length:
        raise DataError(f"{column.name}: {length} scores are expected, one for each row; got {len(column.score)}")
    codes = np.zeros(length, np.int64)
    values: dict[str, list[Any]] = {}
    for name in ("score", "label", "explanation"):
        part = getattr(column, name)
        if part is not None:
            code, distinct = _encode(part)
            values[name] = [None, *distinct]
            codes = codes * len(values[name]) + (code + 1)
    which, distinct_codes = _encode(pa.array(codes))
    models = [_to_dict(column, values, code) for code in distinct_codes]
    if column.reason is not None:
        which[_encode(column.reason)[0] >= 0] = -1
    rows = np.empty(length, object)
    rows[:] = [None if number < 0 else models[number].copy() for number in which.tolist()]
    for row in rows:
        if row is not None:
            row["metadata"] = row["metadata"].copy()
    for name, values_of in column.row_metadata.items():
        for row, value in zip(
            rows, values_of.to_pylist() if isinstance(values_of, pa.Array) else values_of, strict=True
        ):
            if row is not None and value is not None:
                row["metadata"][name] = value
    return rows


def _to_dict(column: Column, values: dict[str, list[Any]], code: int) -> dict[str, Any]:
    """The dict of the rows with this code, which encodes the number of the row's value in each list of `values`."""
    varied: dict[str, Any] = {}
    for name in reversed(values):
        code, number = divmod(code, len(values[name]))
        value = values[name][number]
        varied[name] = None if value != value else value  # noqa: PLR0124  (NaN)
    fixed: dict[str, Any] = {"kind": column.kind, "direction": column.direction, "metadata": column.metadata}
    return Score(name=column.name, **varied, **fixed).to_dict()


def _failures(scored: Scored, rows: int) -> tuple[NDArray[np.int64], list[Exception]]:
    """For each row the number of the error by which it failed, -1 if it did not fail; and the errors."""
    if scored.error is not None:
        return np.zeros(rows, np.int64), [scored.error]
    numbers = np.full(rows, -1)
    errors: list[Exception] = []
    for column in scored.columns:
        if column.reason is not None:
            code, reasons = _encode(column.reason)
            numbers = np.where((numbers < 0) & (code >= 0), code + len(errors), numbers)
            errors += map(DataError, reasons)
    return numbers, errors


def details(status: str, errors: Sequence[Exception], seconds: float) -> dict[str, Any]:
    """A cell of the execution details, in Phoenix's form."""
    return {"status": status, "exceptions": [repr(error) for error in errors], "execution_seconds": seconds}


def _encode(values: Strings | None) -> tuple[NDArray[np.int64], list[Any]]:
    """For each row the number of its value among the distinct values, -1 for none; and the distinct values."""
    if values is None:
        return np.empty(0, np.int64), []
    if isinstance(values, pa.BooleanArray):
        return values.cast(pa.int8()).fill_null(-1).to_numpy().astype(np.int64), [False, True]
    if isinstance(values, pa.Array):
        encoded = values.dictionary_encode()
        indices = encoded.indices.fill_null(-1) if encoded.indices.null_count else encoded.indices
        return indices.to_numpy().astype(np.int64), encoded.dictionary.to_pylist()
    numbers: dict[tuple[type, Any], int] = {}
    codes = [-1 if value is None else numbers.setdefault((type(value), value), len(numbers)) for value in values]
    return np.array(codes, np.int64), [value for _, value in numbers]


def _to_arrow(series: Any) -> pa.Array | None:
    """A pandas column with missing values as null; None if Arrow cannot hold its values, or would change them."""
    try:
        array = pa.array(series, from_pandas=True)
    except (ValueError, TypeError, NotImplementedError, OverflowError):  # Arrow's own errors are subclasses of these
        return None
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if series.dtype == object and not _is_same(array, series):
        return None
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _is_same(array: pa.Array, series: Any) -> bool:
    """Whether Arrow keeps Python's values as they are: no integers as floats, no dicts with the keys of other rows."""
    if pa.types.is_floating(array.type):
        return all(isinstance(value, float) for value in series[series.notna()])
    kind = array.type.value_type if pa.types.is_list(array.type) else array.type
    return any(is_it(kind) for is_it in (is_text, pa.types.is_integer, pa.types.is_boolean, pa.types.is_null))
