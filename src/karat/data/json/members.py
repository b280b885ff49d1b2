"""The members of JSON objects as columns of JSON text, each value spelled as it is there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.data.json.raw import cut

try:
    from karat.data.json.kernel import copy_slices, find_members

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False


def cut_all(objects: pa.Array, keys: Sequence[str], wanted: Sequence[str]) -> list[pa.Array]:
    """Of each object, given as JSON text, the members `wanted` among the `keys` it can have; null where one has none.

    Raises `ValueError` for what is no object, or has a key twice.

    >>> cut_all(pa.array(['{"a": 1.10, "b": [1e3,  "x"]}', '{"b": null}']), ["a", "b"], ["b"])[0].to_pylist()
    ['[1e3,  "x"]', None]
    """
    if COMPILED and len(objects) and not objects.null_count:
        text = _Text(objects)
        if (found := text.find(text.lows, text.highs, keys, loose=False)) is not None:
            return [text.copy(*found[keys.index(key)]) for key in wanted]
    rows = [cut(text) for text in objects.to_pylist()]
    return [pa.array([_unless_null(row.get(key)) for row in rows], pa.string()) for key in wanted]


def unquote(texts: pa.Array) -> pa.Array:
    r"""Text from its JSON.

    >>> unquote(pa.array(['"plain"', '"a\\nb"', None])).to_pylist()
    ['plain', 'a\nb', None]
    """
    plain = pc.utf8_slice_codeunits(texts, 1, -1)
    escaped = np.flatnonzero(pc.fill_null(pc.match_substring(texts, "\\"), False))
    if not len(escaped):
        return plain
    cells = plain.to_pylist()
    for row, text in zip(escaped, texts.take(pa.array(escaped)).to_pylist(), strict=True):
        cells[row] = json.loads(text)
    return pa.array(cells, pa.string())


def cut_paths(values: pa.Array, paths: Sequence[str]) -> dict[str, pa.Array] | None:
    """What JSON values have at paths, whose keys may be nested or have dots; paths that no value has are left out.

    None where a value is not plainly seen through: a key twice, one with escapes, or no compiled kernel.

    >>> found = cut_paths(pa.array(['{"input": {"value": "Who?"}}']), ["input.value", "output.value"])
    >>> found is None or list(found) == ["input.value"]
    True
    """
    if not COMPILED:
        return None
    text = _Text(values)
    try:
        return dict(_descend(text, text.lows, text.highs, paths, ""))
    except _NotPlainError:
        return None


class _NotPlainError(Exception):
    pass


def _descend(
    text: _Text, lows: np.ndarray, highs: np.ndarray, paths: Sequence[str], above: str
) -> Iterator[tuple[str, pa.Array]]:
    inner: dict[str, list[str]] = {}
    for path in paths:
        first, dot, rest = path.partition(".")
        if dot:
            inner.setdefault(first, []).append(rest)
    keys = list(dict.fromkeys([*paths, *inner]))
    found = text.find(lows, highs, keys, loose=True)
    if found is None:
        raise _NotPlainError
    for key, (starts, stops) in zip(keys, found, strict=True):
        if (starts >= 0).any():
            if key in paths:
                yield above + key, text.copy(starts, stops)
            if key in inner:
                yield from _descend(text, starts, stops, inner[key], f"{above}{key}.")


class _Text:
    """The bytes of a column of text, where its rows lie in them, and where members of these do."""

    def __init__(self, column: pa.Array) -> None:
        _, bounds, data = column.cast(pa.string()).buffers()
        self.bytes = np.frombuffer(data or b"", np.uint8)
        between = np.frombuffer(bounds, np.int32)[column.offset : column.offset + len(column) + 1]
        there = column.is_valid().to_numpy(zero_copy_only=False)
        self.lows, self.highs = np.where(there, between[:-1], -1), between[1:]

    def find(
        self, lows: np.ndarray, highs: np.ndarray, keys: Sequence[str], *, loose: bool
    ) -> list[tuple[np.ndarray, np.ndarray]] | None:
        """Where the member of each key starts and stops, -1 where there is none; None if that is not plain to see."""
        starts, stops = (np.full((len(lows), len(keys)), -1, np.int32) for _ in range(2))
        quoted = [json.dumps(key, ensure_ascii=False).encode() for key in keys]
        if not keys or not find_members(self.bytes, lows, highs, quoted, starts, stops, loose):
            return None
        return list(zip(starts.T, stops.T, strict=True))

    def copy(self, starts: np.ndarray, stops: np.ndarray) -> pa.Array:
        """The text from each start to its stop, null where that is -1."""
        offsets = np.zeros(len(starts) + 1, np.int32)
        np.cumsum(stops - starts, out=offsets[1:])
        copy = np.empty(int(offsets[-1]), np.uint8)
        copy_slices(self.bytes, starts, offsets, copy)
        there = np.packbits(starts >= 0, bitorder="little")
        buffers = (pa.py_buffer(offsets), pa.py_buffer(copy), pa.py_buffer(there))
        return pa.StringArray.from_buffers(len(starts), *buffers, int((starts < 0).sum()))


def _unless_null(cell: str | None) -> str | None:
    return None if cell == "null" else cell
