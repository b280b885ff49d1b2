"""Members of JSON objects as columns of JSON text; values keep their spelling."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.json_text import RAW
from karat.data.json.raw import extract_members

try:
    from karat.data.json.kernel import copy_slices, find_members

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False


def extract_columns(objects: pa.Array, keys: Sequence[str], wanted: Sequence[str]) -> list[pa.Array]:
    """The members `wanted` of each object in a column of JSON text; null if an object lacks it or it is null.

    `keys` are all the keys that objects can have. Raises `ValueError` for a value that is not an object, or has a key
    twice.

    >>> extract_columns(pa.array(['{"a": 1.10, "b": [1e3,  "x"]}', '{"b": null}']), ["a", "b"], ["b"])[0].to_pylist()
    ['[1e3,  "x"]', None]
    """
    if COMPILED and len(objects) and not objects.null_count:
        text = _Text(objects)
        with suppress(_UndecidedError):
            slices = text.find(text.lows, text.highs, keys, loose=False)
            return [text.copy(*slices[keys.index(key)]) for key in wanted]
    rows = [extract_members(text) for text in objects.to_pylist()]
    return [pa.array([None if (v := row.get(key)) == "null" else v for row in rows], pa.string()) for key in wanted]


def unquote(values: pa.Array) -> pa.Array:
    r"""JSON values as text: strings without quotes and escapes, null for `null`, other values as they are spelled.

    >>> unquote(pa.array(['"plain"', '"a\\nb"', "1e3", '["\\n"]', "null", None])).to_pylist()
    ['plain', 'a\nb', '1e3', '["\\n"]', None, None]
    """
    quoted = pc.starts_with(values, '"')
    others = pc.if_else(pc.equal(values, "null"), None, values)
    plain = pc.if_else(quoted, pc.utf8_slice_codeunits(values, 1, -1), others)
    escaped = np.flatnonzero(pc.fill_null(pc.and_(quoted, pc.match_substring(values, "\\")), False))
    if not len(escaped):
        return plain
    cells = plain.to_pylist()
    for row, text in zip(escaped, values.take(pa.array(escaped)).to_pylist(), strict=True):
        cells[row] = json.loads(text)
    return pa.array(cells, pa.string())


def to_texts(column: pa.Array) -> pa.Array:
    """A column of JSON text (`unquote`), or of other plain values, as text."""
    return unquote(column.storage) if column.type == RAW else column.cast(pa.string())


def extract_paths(values: pa.Array, paths: Sequence[str]) -> dict[str, pa.Array] | None:
    """The values at paths in JSON objects, nested or under keys with dots; paths without any value are left out.

    None if the fast parser cannot decide (a duplicate key, a key with escapes), or there is no compiled kernel.

    >>> found = extract_paths(pa.array(['{"input": {"value": "Who?"}}']), ["input.value", "output.value"])
    >>> found is None or list(found) == ["input.value"]
    True
    """
    if COMPILED:
        text = _Text(values)
        with suppress(_UndecidedError):
            return dict(_descend(text, text.lows, text.highs, paths, ""))
    return None


class _UndecidedError(Exception):
    """The kernel cannot decide."""


def _descend(
    text: _Text, lows: np.ndarray, highs: np.ndarray, paths: Sequence[str], above: str
) -> Iterator[tuple[str, pa.Array]]:
    inner: dict[str, list[str]] = {}
    for path in paths:
        first, dot, rest = path.partition(".")
        if dot:
            inner.setdefault(first, []).append(rest)
    keys = list(dict.fromkeys([*paths, *inner]))
    for key, (starts, stops) in zip(keys, text.find(lows, highs, keys, loose=True), strict=True):
        if (starts >= 0).any():
            if key in paths:
                yield above + key, text.copy(starts, stops)
            if key in inner:
                yield from _descend(text, starts, stops, inner[key], f"{above}{key}.")


class _Text:
    """The bytes of a column of text, with the start and the end of each row in them."""

    def __init__(self, column: pa.Array) -> None:
        _, bounds, data = column.cast(pa.string()).buffers()
        self.bytes = np.frombuffer(data or b"", np.uint8)
        between = np.frombuffer(bounds, np.int32)[column.offset : column.offset + len(column) + 1]
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        self.lows, self.highs = np.where(valid, between[:-1], -1), between[1:]

    def find(
        self, lows: np.ndarray, highs: np.ndarray, keys: Sequence[str], *, loose: bool
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Start and stop of the member of each key, -1 if there is none. Raises `_UndecidedError`."""
        starts, stops = (np.full((len(lows), len(keys)), -1, np.int32) for _ in range(2))
        quoted = [json.dumps(key, ensure_ascii=False).encode() for key in keys]
        if not keys or not find_members(self.bytes, lows, highs, quoted, starts, stops, loose):
            raise _UndecidedError
        return list(zip(starts.T, stops.T, strict=True))

    def copy(self, starts: np.ndarray, stops: np.ndarray) -> pa.Array:
        """The text from each start to its stop, null if the start is -1."""
        offsets = np.zeros(len(starts) + 1, np.int32)
        np.cumsum(stops - starts, out=offsets[1:])
        copy = np.empty(int(offsets[-1]), np.uint8)
        copy_slices(self.bytes, starts, offsets, copy)
        valid = np.packbits(starts >= 0, bitorder="little")
        buffers = (pa.py_buffer(offsets), pa.py_buffer(copy), pa.py_buffer(valid))
        return pa.StringArray.from_buffers(len(starts), *buffers, int((starts < 0).sum()))
