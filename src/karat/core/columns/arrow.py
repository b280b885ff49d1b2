"""Text and list columns of Arrow, in any of its layouts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

LISTS = (pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.ListViewType, pa.LargeListViewType)


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is text, in any of its widths or dictionary-encoded."""
    if pt.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether an Arrow type is a list, in any of its layouts."""
    return isinstance(kind, LISTS)


def is_number(kind: pa.DataType) -> bool:
    """Whether values of an Arrow type can be cast to float64."""
    tests = (pt.is_integer, pt.is_floating, pt.is_boolean, pt.is_decimal, pt.is_null)
    return any(test(kind) for test in tests)


def plain_lists(column: pa.Array) -> pa.Array:
    """The list column as list or large_list."""
    if pt.is_list(column.type) or pt.is_large_list(column.type):
        return column
    sizes = pc.fill_null(pc.list_value_length(column), 0)  # casting a slice of views would give invalid offsets
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    return keep_nulls(pa.LargeListArray.from_arrays(offsets, column.flatten()), column)


def from_numpy(values: np.ndarray[Any, Any], valid: np.ndarray[Any, Any] | None = None) -> pa.Array:
    """Numbers or booleans as an Arrow array, without a copy of numbers; null where `valid` is false.

    `pa.array` returns the same, but imports `numpy.ma` first: a tenth of the start of a command.

    >>> from_numpy(np.array([0.5, np.nan]), np.array([True, False])).to_pylist()
    [0.5, None]
    """
    parts = (None if valid is None else _pack(valid), _pack(values) if values.dtype == bool else values)
    buffers = [None if part is None else pa.py_buffer(np.ascontiguousarray(part)) for part in parts]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def _pack(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.packbits(values, bitorder="little")


def whole_offsets(column: pa.Array) -> pa.Array:
    """Offsets of a list column without its null bitmap, which would be read as null offsets."""
    offsets = column.offsets
    return pa.Array.from_buffers(offsets.type, len(offsets), [None, offsets.buffers()[1]], offset=offsets.offset)


def lists_of_one(column: pa.Array) -> pa.Array:
    """Each value as a list with one item, null where it is null."""
    return keep_nulls(pa.LargeListArray.from_arrays(np.arange(len(column) + 1), column), column)


def keep_nulls(result: pa.Array, column: pa.Array) -> pa.Array:
    """The result computed from a column, null where the column is null."""
    return pc.if_else(column.is_valid(), result, pa.scalar(None, result.type)) if column.null_count else result
