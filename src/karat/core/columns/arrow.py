"""Text and list columns of Arrow, in any of its layouts, and the plain layouts that all of its functions take."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from karat.core.columns.python_values import to_python

TEXT = pa.string()
LISTS = (pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.ListViewType, pa.LargeListViewType)


def plain_column(column: pa.Array, *, nested: bool = False) -> pa.Array:
    """The same values in layouts that every function of Arrow takes; the column itself if it has them.

    Views, run-end encoding and extension types become what they stand for, UUIDs and intervals text, values of several
    types (a union) and objects without keys JSON text, which is stored as `string`. Decimals have 128 or 256 bits; a
    time zone that is unknown here becomes UTC. A dictionary of texts stays one, with the nulls outside of it; a nested
    one does not.

    >>> plain_column(pa.array([["a"], None], pa.list_view(pa.string_view()))).type
    LargeListType(large_list<item: large_string>)
    >>> plain_column(pa.array([pa.MonthDayNano([1, 2, 3_000_000_000])])).to_pylist()
    ['P1M2DT3S']
    """
    kind = column.type
    if _is_json_alone(kind):
        return _spell_mixed(column)
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_extension(column, nested=nested)
    if pt.is_run_end_encoded(kind):
        rows = np.arange(column.offset, column.offset + len(column))
        return plain_column(column.values, nested=True).take(pa.array(np.searchsorted(column.run_ends, rows, "right")))
    if pt.is_dictionary(kind):
        return _plain_dictionary(column, nested=nested)
    if pt.is_struct(kind):
        fields = [plain_column(column.field(at), nested=True) for at in range(kind.num_fields)]
        if [field.type for field in fields] == [field.type for field in kind]:
            return column
        named = [field.with_type(values.type) for field, values in zip(kind, fields, strict=True)]
        return pa.StructArray.from_arrays(fields, fields=named, mask=column.is_null())
    if pt.is_map(kind):
        keys, items = (plain_column(values, nested=True) for values in (column.keys, column.items))
        if (keys.type, items.type) == (kind.key_type, kind.item_type):
            return column
        return keep_nulls(pa.MapArray.from_arrays(whole_offsets(column), keys, items), column)
    return _plain_list(column) if is_list(kind) else _plain_value(column)


def _plain_value(column: pa.Array) -> pa.Array:
    """A column without any below it."""
    kind = column.type
    if pt.is_string_view(kind) or pt.is_binary_view(kind):
        return column.cast(pa.large_string() if pt.is_string_view(kind) else pa.large_binary())
    if pt.is_interval(kind):
        return pa.array([None if value is None else _spell_interval(*value) for value in column.to_pylist()], TEXT)
    if pt.is_decimal(kind):
        return column if (plain := _plain_decimal(kind)) == kind else column.cast(plain)
    if pt.is_timestamp(kind) and kind.tz is not None and not _is_known_zone(kind.tz):
        return column.cast(pa.timestamp(kind.unit, "UTC"))
    return column


def _plain_dictionary(column: pa.Array, *, nested: bool) -> pa.Array:
    kind, indices = column.type, column.indices
    values = plain_column(column.dictionary, nested=True)
    if nested or not is_text(values.type):
        return values.take(indices)
    if values.null_count:
        valid = np.asarray(values.is_valid())
        places = pa.array(np.cumsum(valid) - 1, kind.index_type, mask=~valid)
        values, indices = values.drop_null(), places.take(indices)
    elif values.type == kind.value_type:
        return column
    return pa.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered)


def _plain_extension(column: pa.Array, *, nested: bool) -> pa.Array:
    if isinstance(column.type, pa.JsonType):
        return column if pt.is_string(column.type.storage_type) else column.storage.cast(TEXT).cast(pa.json_(TEXT))
    if isinstance(column.type, pa.UuidType):
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], TEXT)
    storage = plain_column(column.storage, nested=nested)
    return storage.cast(pa.bool_()) if isinstance(column.type, pa.Bool8Type) else storage


def _is_json_alone(kind: pa.DataType) -> bool:
    """Whether a type has values that JSON holds and Parquet does not: of several types, or objects without keys."""
    if isinstance(kind, pa.BaseExtensionType):
        return _is_json_alone(kind.storage_type)
    if pt.is_dictionary(kind) or pt.is_run_end_encoded(kind):
        return _is_json_alone(kind.value_type)
    if pt.is_union(kind) or (pt.is_struct(kind) and not kind.num_fields):
        return True
    return any(_is_json_alone(kind.field(at).type) for at in range(kind.num_fields))


def _spell_mixed(column: pa.Array) -> pa.Array:
    """Values as JSON text; those that JSON has not, such as times, as text."""
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode
    return pa.array([None if row is None else encode(row) for row in to_python(column)], TEXT).cast(pa.json_(TEXT))


def _spell_interval(months: int, days: int, nanoseconds: int) -> str:
    """An interval as in ISO 8601: `P1M2DT0.5S`; its parts are not exchangeable, as months and days vary in length."""
    seconds, rest = divmod(abs(nanoseconds), 10**9)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    time = f"T{'-' * (nanoseconds < 0)}{seconds}{fraction}S" if nanoseconds or not (months or days) else ""
    return f"P{f'{months}M' if months else ''}{f'{days}D' if days else ''}{time}"


def _plain_decimal(kind: pa.DataType) -> pa.DataType:
    digits, scale = max(kind.precision - min(kind.scale, 0), kind.scale), max(kind.scale, 0)
    return pa.decimal128(digits, scale) if digits <= 38 else pa.decimal256(min(digits, 76), scale)


@cache
def _is_known_zone(zone: str) -> bool:
    """Whether both Arrow and Python know the rules of a time zone, which come from other files of the system."""
    epoch = pa.scalar(0, pa.timestamp("s", zone))
    try:
        return bool(epoch.cast(TEXT).is_valid and epoch.as_py())
    except (pa.ArrowException, KeyError, ValueError):
        return False


def _plain_list(column: pa.Array) -> pa.Array:
    lists = plain_lists(column)
    offsets = np.asarray(whole_offsets(lists))
    first, last = (int(offsets[0]), int(offsets[-1])) if len(lists) else (0, 0)
    values = plain_column(lists.values.slice(first, last - first), nested=True)  # of a slice: its rows alone
    if values.type == lists.type.value_type:
        return column if pt.is_fixed_size_list(column.type) else lists
    layout = pa.LargeListArray if pt.is_large_list(lists.type) else pa.ListArray
    return keep_nulls(layout.from_arrays(from_numpy(offsets - first), values), column)


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is text, in any of its widths or dictionary-encoded."""
    if pt.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def is_ascii(column: pa.Array) -> bool:
    """Whether a column is text whose cells are in their order and hold ASCII alone; false where that is unknown.

    >>> is_ascii(pa.array(["cafe"])), is_ascii(pa.array(["café"]))
    (True, False)
    """
    if not isinstance(column, pa.StringArray | pa.LargeStringArray) or not len(column):
        return False
    _, places, content = column.buffers()
    kind = np.int32 if isinstance(column, pa.StringArray) else np.int64
    ends: np.ndarray[Any, Any] = np.frombuffer(places, kind, column.offset + len(column) + 1)[column.offset :]
    if content is None or ends[0] < 0 or ends[-1] > content.size or (ends[1:] < ends[:-1]).any():
        return False
    return bool(np.frombuffer(content, np.uint8)[ends[0] : ends[-1]].max(initial=0) < 128)


def is_bytes(kind: pa.DataType) -> bool:
    """Whether an Arrow type is bytes, which may be no text, in any of their widths."""
    kind = kind.value_type if pt.is_dictionary(kind) else kind
    return bool(pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether an Arrow type is a list, in any of its layouts."""
    return isinstance(kind, LISTS)


def lists_text(kind: pa.DataType) -> bool:
    """Whether a type holds lists of texts."""
    return is_list(kind) and is_text(kind.value_type)


def is_number(kind: pa.DataType) -> bool:
    """Whether values of an Arrow type can be cast to float64."""
    tests = (pt.is_integer, pt.is_floating, pt.is_boolean, pt.is_decimal, pt.is_null)
    return any(test(kind) for test in tests)


def to_float64(column: pa.Array) -> pa.Array:
    """Numbers as float64: the nearest, where a whole number has more digits than that holds."""
    return column.cast(pa.float64(), safe=False)


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


def from_bytes(values: Sequence[bytes]) -> pa.Array:
    """Bytes as a large_binary array.

    `pa.array` returns the same, but imports pandas first, where it is there: half of the start of a process.

    >>> from_bytes([b"a", b"", b"bc"]).to_pylist()
    [b'a', b'', b'bc']
    """
    offsets = np.cumsum([0, *map(len, values)])
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(values), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))]
    )


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
