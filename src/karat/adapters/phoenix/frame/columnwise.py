"""Evaluators that score whole columns: what they read of a frame, and their scores as Phoenix's dicts, one a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from karat.adapters.phoenix.score import Column, Score, Strings
from karat.core import telemetry as tracing
from karat.core.columns.kinds import is_text
from karat.core.errors import DataError


def copies_one_by_one(models: list[dict[str, Any]], which: NDArray[np.int32], inner: str, rows: NDArray[Any]) -> None:
    """Write for each row a copy of the model of that number, and of the dict that is its `inner`; -1: nothing."""
    for row, model in enumerate(which.tolist()):
        if model >= 0:
            rows[row] = models[model] | {inner: models[model][inner].copy()}


try:
    from karat.adapters.phoenix.frame.kernel import copies
except ImportError:  # no compiler at install time
    copies = copies_one_by_one


class Scored(NamedTuple):
    """What an evaluator gave for all rows at once; `error` is why it gave nothing."""

    columns: Sequence[Column]
    seconds: float
    """A row."""
    error: Exception | None = None

    @property
    def failed(self) -> bool:
        """Whether any row failed."""
        return self.error is not None or any((_encode(each.reason)[0] >= 0).any() for each in self.columns)


class Filled(NamedTuple):
    """What one evaluator adds to a frame: a dict of details a row, and a column of dicts for each score."""

    details: NDArray[Any]
    scores: dict[str, NDArray[Any]]
    failed: int
    """How many rows failed or did not run."""
    first: tuple[int, Exception] | None
    """The first that failed, and its error."""


class Columns:
    """The columns of a pandas frame as Arrow arrays, by their own names or by an evaluator's mapping."""

    def __init__(self, frame: Any) -> None:
        self._series = dict(zip(map(str, frame.columns), (column for _, column in frame.items()), strict=True))
        self._known: dict[str, pa.Array | None] = {}
        self.rows = len(frame)

    def mapped(self, mapping: Mapping[str, Any] | None) -> Mapped:
        """The same, read by a mapping."""
        return Mapped(self, mapping or {})

    @property
    def names(self) -> list[str]:
        """All columns."""
        return list(self._series)

    def __getitem__(self, name: str) -> pa.Array:
        if name not in self._known:
            self._known[name] = _to_arrow(self._series[name])
        array = self._known[name]
        if array is None:
            raise KeyError(f"{name}: its values are of several kinds")
        return array


class Mapped(NamedTuple):
    """Fields that are columns (`karat.adapters.phoenix.score.Read`)."""

    columns: Columns
    mapping: Mapping[str, Any]

    @property
    def names(self) -> list[str]:
        """All columns of the frame."""
        return self.columns.names

    def __call__(self, field: str) -> pa.Array:
        """The column that the field is mapped to, else that of its name; KeyError where that is no plain column."""
        return self.columns[self.mapping.get(field, field) or field]


def score_by_column(evaluator: Any, columns: Columns) -> Scored | None:
    """The evaluator's scores of all rows, or None where it wants them one by one.

    An error that is about the data leaves the rows to be tried one by one; any other is every row's.
    """
    began = perf_counter()
    try:
        given, error = _traced(evaluator, columns), None
    except Exception as raised:  # noqa: BLE001  (told in the frame, as every evaluator's failure is)
        given, error = [], raised
    seconds = (perf_counter() - began) / max(columns.rows, 1)
    return None if given is None else Scored(given, seconds, error)


def fill_by_column(scored: Scored, rows: int) -> Filled:
    """What the scores add to a frame; rows that went alike share their dict of details."""
    scores = {column.name: _dicts(column, rows) for column in scored.columns}
    why, errors = _failures(scored, rows)
    told = np.full(rows, details("COMPLETED", [], scored.seconds), object)
    for number, error in enumerate(errors):
        told[why == number] = details("FAILED", [error], scored.seconds)
    failed = np.flatnonzero(why >= 0)
    return Filled(told, scores, len(failed), (int(failed[0]), errors[why[failed[0]]]) if len(failed) else None)


def _traced(evaluator: Any, columns: Columns) -> list[Column] | None:
    """The evaluator's columns, told in one span where OpenTelemetry is configured."""
    if not hasattr(evaluator, "score_columns"):
        return None
    if evaluator.traces_itself or not tracing.on():
        return _given(evaluator, columns)
    about = {"kind": evaluator.kind, "cls": type(evaluator).__name__}
    with tracing.evaluation(evaluator.name, {"rows": columns.rows}, **about) as span:
        given = _given(evaluator, columns)
        if span is None:
            return given
        if given is None:
            span.drop()
            return None
        for column in given:
            span.result(column.name, pc.mean(column.score.filter(pc.is_finite(column.score))).as_py())
        return [replace(column, metadata={**column.metadata, "trace_id": span.trace_id}) for column in given]


def _given(evaluator: Any, columns: Columns) -> list[Column] | None:
    try:
        return cast("list[Column] | None", evaluator.score_columns(columns.mapped(evaluator.input_mapping)))
    except (KeyError, DataError):
        return None


def _dicts(column: Column, length: int) -> NDArray[Any]:
    """Each row's score as a dict, None where it has failed: copies of one dict for all rows that are alike."""
    if len(column.score) != length:
        raise DataError(f"{column.name}: {length} scores are expected, one a row; there are {len(column.score)}")
    codes = np.zeros(length, np.int64)
    values: dict[str, list[Any]] = {}
    for name in ("score", "label", "explanation"):
        part = getattr(column, name)
        if part is not None:
            code, distinct = _encode(part)
            values[name] = [None, *distinct]
            codes = codes * len(values[name]) + (code + 1)
    which, alike = _encode(pa.array(codes))
    models = [_model(column, values, code) for code in alike]
    if column.reason is not None:
        which[_encode(column.reason)[0] >= 0] = -1
    rows = np.empty(length, object)
    copies(models, which.astype(np.int32), "metadata", rows)
    for name, further in column.row_metadata.items():
        for row, value in zip(rows, _to_list(further), strict=True):
            if row is not None and value is not None:
                row["metadata"][name] = value
    return rows


def _model(column: Column, values: dict[str, list[Any]], code: int) -> dict[str, Any]:
    """The dict of all rows whose values have these numbers, told in one."""
    varied: dict[str, Any] = {}
    for name in reversed(values):
        code, place = divmod(code, len(values[name]))
        value = values[name][place]
        varied[name] = None if value != value else value  # noqa: PLR0124  (NaN)
    fixed: dict[str, Any] = {"kind": column.kind, "direction": column.direction, "metadata": column.metadata}
    return Score(name=column.name, **varied, **fixed).to_dict()


def _failures(scored: Scored, rows: int) -> tuple[NDArray[np.int64], list[Exception]]:
    """For each row the number of the error by which it failed, -1 where it has not; and the errors."""
    if scored.error is not None:
        return np.zeros(rows, np.int64), [scored.error]
    why = np.full(rows, -1)
    errors: list[Exception] = []
    for column in scored.columns:
        if column.reason is not None:
            code, reasons = _encode(column.reason)
            why = np.where((why < 0) & (code >= 0), code + len(errors), why)
            errors += map(DataError, reasons)
    return why, errors


def details(status: str, errors: Sequence[Exception], seconds: float) -> dict[str, Any]:
    """How a row went, as Phoenix tells it."""
    return {"status": status, "exceptions": [repr(error) for error in errors], "execution_seconds": seconds}


def _encode(values: Strings | None) -> tuple[NDArray[np.int64], list[Any]]:
    """The number of each row's value among the distinct ones, -1 for none; and those."""
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


def _to_list(values: Strings) -> Sequence[Any]:
    return values.to_pylist() if isinstance(values, pa.Array) else values


def _to_arrow(series: Any) -> pa.Array | None:
    """A pandas column, missing values as null; None where its values are of several kinds, or Arrow's would differ."""
    try:
        array = pa.array(series, from_pandas=True)
    except (ValueError, TypeError, NotImplementedError, OverflowError):  # Arrow's own are kinds of these
        return None
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if series.dtype == object and not _is_same(array, series):
        return None
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _is_same(array: pa.Array, series: Any) -> bool:
    """Whether Arrow holds Python's values as they are: no integers as floats, no dicts with keys of other rows."""
    if pa.types.is_floating(array.type):
        return all(isinstance(value, float) for value in series[series.notna()])
    kind = array.type.value_type if pa.types.is_list(array.type) else array.type
    return any(is_it(kind) for is_it in (is_text, pa.types.is_integer, pa.types.is_boolean, pa.types.is_null))
