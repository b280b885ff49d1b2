"""Rows in memory: lists of dicts, dicts of columns, and any frame that exports Arrow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from numbers import Real
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from karat.core.columns.json_text import RAW
from karat.core.errors import ColumnError, DataError, RowError
from karat.core.parallel import even_part
from karat.data.formats.validate import check_unique
from karat.data.source import Source
from karat.data.storage.batches import BATCH_ROWS, slice_batches
from karat.data.storage.files import BatchFile

_MOST_FIELDS = 200


def open_frame(data: Any) -> Source:
    """Open a list of dicts, a dict of columns, or anything with `__arrow_c_stream__`.

    A dict of dicts of numbers holds scores or grades of documents by query; it becomes one row per document. A dict of
    dicts whose keys are the same numbers has a column in each, as pandas' `to_dict` and `to_json` write it.

    Raises `DataError` for anything else.

    >>> open_frame([{"a": "1"}, {"a": "2", "b": 3}]).schema.names
    ['a', 'b']
    """
    name = type(data).__name__
    if isinstance(data, pa.RecordBatchReader):  # it can be read only once, a source more often
        return Source(name, data.schema, None, BatchFile(data.schema, slice_batches(data)).read)
    if hasattr(data, "with_format"):
        return _from_dataset(data, name)
    if isinstance(data, Mapping):
        if is_by_column(data):
            return _from_table(_from_columns({key: list(cells.values()) for key, cells in data.items()}), name)
        return _from_table(_from_columns(_unnest(data) if is_by_query(data) else data), name)
    if type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns"):
        return _from_table(_from_pandas(data), name)
    if isinstance(data, pa.Table):  # read as it is: pyarrow before 25 crashes where it exports some views of texts
        return _from_table(data, name)
    if hasattr(data, "__arrow_c_stream__"):
        return _from_stream(data, name)
    if isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        keys = list(dict.fromkeys(key for row in data for key in row))
        return _from_table(_from_columns({key: [row.get(key) for row in data] for key in keys}), "list")
    expected = "a path, a list of dicts, a dict of columns or a frame (pandas, polars, DuckDB, Arrow)"
    remedy = ": call its collect() first" if hasattr(data, "collect") else ""
    if isinstance(data, Sequence) and all(isinstance(each, str) for each in data):
        remedy = " of texts: two lists are columns, {'prediction': predictions, 'reference': golds}"
    raise DataError(f"expected {expected}, found {name}{remedy}")


def is_by_query(data: Mapping[Any, Any]) -> bool:
    """Whether all values are dicts of numbers.

    >>> is_by_query({"q1": {"d1": 2, "d7": 0}, "q2": {}}), is_by_query({"id": ["q1"], "answer": ["d1"]})
    (True, False)
    """
    if not data or not all(isinstance(inner, Mapping) for inner in data.values()):
        return False
    kinds = set(chain.from_iterable(map(type, inner.values()) for inner in data.values()))
    return all(issubclass(kind, Real) for kind in kinds)


def is_by_column(data: Mapping[Any, Any]) -> bool:
    """Whether all values are dicts with the same numbers as keys, in one order, and not all their values are numbers.

    >>> is_by_column({"answer": {"0": "a", "1": "b"}, "gold": {"0": "a", "1": None}})
    True
    >>> is_by_column({"q1": {"0": 1, "1": 0}}), is_by_column({"inputs": {"q": "a"}, "outputs": {"q": "b"}})
    (False, False)
    """
    if not data or not all(isinstance(inner, Mapping) for inner in data.values()) or is_by_query(data):
        return False
    labels = list(next(iter(data.values())))
    return all(str(label).isdecimal() for label in labels) and all(list(inner) == labels for inner in data.values())


def _unnest(data: Mapping[Any, Mapping[Any, Any]]) -> dict[str, Any]:
    """A row for each number; a query without numbers gets a row of nulls."""
    rows = [inner or {None: None} for inner in data.values()]
    return {
        "query_id": _to_array("query_id", list(data)).take(np.repeat(np.arange(len(rows)), list(map(len, rows)))),
        "doc_id": list(chain.from_iterable(rows)),
        "score": list(chain.from_iterable(inner.values() for inner in rows)),
    }


def _from_pandas(data: Any) -> pa.Table:
    """The columns of a pandas frame; an index level with a name becomes a column, others are left out.

    A level with the name and the values of a column is left out too; Phoenix's frames have such a level.
    """
    shared = [name for name in data.index.names if name in data.columns]
    same = [name for name in shared if (data.index.get_level_values(name) == data[name].to_numpy()).all()]
    named = [name for name in data.index.names if name is not None and name not in same]
    try:
        data = data.reset_index(level=named) if named else data
    except ValueError as error:
        raise ColumnError(f"the index cannot be a column: {error}") from error
    names = [str(name) for name in data.columns]
    check_unique(names, "the frame")
    return _from_columns({name: _storable(column) for name, (_, column) in zip(names, data.items(), strict=True)})


def _storable(column: Any) -> Any:
    """The column of pandas; periods and intervals, which only pandas knows, as text, also where they are categories."""
    kind = column.cat.categories.dtype if str(column.dtype) == "category" else column.dtype
    special = str(kind).startswith(("period[", "interval["))
    return column.astype(object).map(str, na_action="ignore") if special else column


def _from_columns(columns: Mapping[Any, Any]) -> pa.Table:
    arrays = {str(key): _to_array(str(key), values) for key, values in columns.items()}
    lengths = {key: len(values) for key, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise RowError(f"columns of unequal length: {', '.join(f'{key} has {n}' for key, n in lengths.items())}")
    return pa.table(arrays)


def _to_array(key: str, values: Any) -> pa.Array | pa.ChunkedArray:
    """A column of values. Values of mixed types, such as texts and lists, become JSON text, and NaN becomes null."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise ColumnError(f"column {key!r}: expected a list of values, found {type(values).__name__}")
    if not _has_many_keys(values):
        with suppress(pa.ArrowException, OverflowError, UnicodeEncodeError):
            return pa.array(values)
    if any(isinstance(value, UUID) for value in values):  # which pyarrow before 24 does not know
        return _to_array(key, [str(value) if isinstance(value, UUID) else value for value in values])
    cells = [_spell(value, f"column {key!r}, row {row}") for row, value in enumerate(values, 1)]
    return pa.array(cells, pa.string()).cast(RAW)


def _has_many_keys(values: Iterable[Any]) -> bool:
    """Whether values are dicts with so many different keys, such as ids, that they should not become a struct."""
    if getattr(getattr(values, "dtype", None), "kind", "O") in "biufcmM":  # numbers and times, which may be late
        return False
    keys: set[Any] = set()
    for value in values:
        if isinstance(value, Mapping):
            keys.update(value)
            if len(keys) > _MOST_FIELDS:
                return True
        elif not _is_missing(value):
            return False
    return False


def _spell(value: Any, where: str) -> str | None:
    if _is_missing(value):
        return None
    try:
        text = json.dumps(value, ensure_ascii=False, default=_unwrap)
        text.encode()
    except UnicodeEncodeError as error:
        raise RowError(f"{where}: half of a surrogate pair (\\ud800 to \\udfff), which is not a character") from error
    except RecursionError as error:
        raise RowError(f"{where}: values are nested too deeply") from error
    except (TypeError, ValueError) as error:
        raise ColumnError(f"{where}: beside values of other kinds, {error}") from error
    return text


def _unwrap(value: Any) -> Any:
    """A scalar or an array of NumPy as Python has it; a UUID as text."""
    if isinstance(value, UUID):
        return str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or one of the nulls of pandas."""
    if type(value).__name__ in ("NoneType", "NAType", "NaTType"):
        return True
    return isinstance(value, Real) and value != value  # noqa: PLR0124  (NaN)


def _from_table(table: pa.Table, name: str) -> Source:
    def read() -> Iterator[pa.RecordBatch]:
        yield from table.to_batches(even_part(table.num_rows, BATCH_ROWS))

    return Source(name, table.schema, table.num_rows, read)


def _from_stream(data: Any, name: str) -> Source:
    def open_stream() -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_stream(data)

    try:
        schema = open_stream().schema
    except pa.ArrowInvalid as error:
        raise DataError(f"expected a frame with columns, found {name}: {error}") from error
    rows = len(data) if hasattr(data, "__len__") else None
    return Source(name, schema, rows, lambda: slice_batches(open_stream()))


def _from_dataset(data: Any, name: str) -> Source:
    """A dataset of Hugging Face, with its selected rows and columns (its Arrow table holds all of them)."""
    if isinstance(data, Mapping):
        raise DataError(f"expected one split, found {name}; its splits are: {', '.join(map(str, data))}")
    if not hasattr(data, "num_rows"):
        raise DataError(f"expected a dataset that can be read more than once, found {name}")
    formatted = data.with_format("arrow")

    def read() -> Iterator[pa.RecordBatch]:
        for table in formatted.iter(BATCH_ROWS):
            yield from table.combine_chunks().to_batches()

    return Source(name, formatted[:0].schema, data.num_rows, read)
