"""JSON Lines that a compiled kernel reads: lines of objects that have the same keys in the same order.

Most files are such. All others, and those in which something is not plainly the same to every reader of JSON, are left
to DuckDB, which says what is wrong with one that is broken.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from karat.core.columns.arrow import is_list
from karat.core.columns.ids import is_spans
from karat.core.columns.json_text import RAW
from karat.core.columns.kinds import Array
from karat.core.parallel import map_ordered
from karat.data.json.arrow_types import find_type, make_list, replace_null_types, same_but_case, unify_types
from karat.data.json.raw import extract_members
from karat.data.roles import find_layout
from karat.data.storage.batches import BATCH_BYTES
from karat.data.storage.file_names import BOM
from karat.data.storage.files import LONGEST_ROW, open_bytes

try:
    from karat.data.json.scan import copy_texts, cut, find_items, read_wholes, scan

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False

_CHUNK = 4 << 20
FEW_BYTES = 256 << 10
_NOTHING, _TEXT, _TRUTH, _WHOLE, _LONG, _REAL, _LIST, _OBJECT, _ESCAPED = (
    1 << at for at in range(9)
)  # as in the kernel
_BESIDE, _NESTED = _NOTHING | _ESCAPED, _LIST | _OBJECT
_NUMBERS = {_WHOLE: pa.int64(), _LONG: pa.int64(), _WHOLE | _LONG: pa.int64()}
_KINDS = {0: pa.null(), _TEXT: pa.string(), _TRUTH: pa.bool_(), _REAL: pa.float64(), _REAL | _WHOLE: pa.float64()}
_KINDS |= _NUMBERS
_NOWHERE = np.empty((0, 0), np.int32)


@dataclass(frozen=True)
class Lines:
    """A file of lines that the kernel reads: its keys, the kinds of their values, and how much there is.

    `seen`, shape (keys, 2), has the kinds of values and of the items of lists, as bits. `some`: lines may lack keys.
    """

    path: Path
    keys: tuple[str, ...]
    spelled: list[bytes]
    some: bool
    seen: Array = field(compare=False)
    rows: int
    size: int

    @cached_property
    def kinds(self) -> dict[str, pa.DataType | None]:
        """The type that holds all values of each key; None for objects and nested lists, whose members decide."""
        return dict(zip(self.keys, (_find_kind(*map(int, bits)) for bits in self.seen), strict=True))

    def find_types(self) -> dict[str, pa.DataType] | None:
        """The type of each column: of objects and nested lists it is found in a small file, and text in a log.

        None where DuckDB has to find it.
        """
        nested = [key for key, kind in self.kinds.items() if kind is None]
        layout = find_layout(self.keys)
        if is_spans(self.keys) or (layout is not None and layout.is_log):  # nested values differ from row to row
            kinds = {
                key: RAW if bits[0] & _NESTED else self.kinds[key]
                for key, bits in zip(self.keys, self.seen, strict=True)
            }
        elif not nested:
            kinds = self.kinds
        elif self.size > FEW_BYTES:
            return None
        else:
            rows = pa.Table.from_batches(self.read(pa.schema([(key, RAW) for key in self.keys]), self.rows))
            try:
                inner = {key: reduce(unify_types, map(find_type, rows[key].drop_null().to_pylist())) for key in nested}
            except (ValueError, RecursionError):
                return None
            kinds = self.kinds | inner
        return {key: replace_null_types(kind) for key, kind in kinds.items() if kind is not None}

    def read(self, fields: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """Batches of at most so many rows and about 32 MB. Raises `OSError` where the file is another meanwhile."""
        read, blocks = partial(self._read_block, fields), _cut_blocks(self.path, rows)
        yield from map(read, islice(blocks, 1))  # who wants the first rows alone pays for no others
        yield from map_ordered(read, blocks)

    def _read_block(self, fields: pa.Schema, block: Block) -> pa.RecordBatch:
        starts, stops = (np.full((len(self.keys), block.lines), -1, np.int32) for _ in range(2))
        seen = np.zeros_like(self.seen)
        rows = scan(block.data, self.spelled, seen, starts, stops, self.some)
        if rows < 0 or (seen & ~self.seen & ~_BESIDE).any():
            raise OSError("it was changed while it was read; score it again")
        places = zip(
            starts[:, :rows],
            stops[:, :rows],
            fields.types,
            ((seen[:, 0] | seen[:, 1]) & _ESCAPED).tolist(),
            strict=True,
        )
        return pa.RecordBatch.from_arrays([_read_column(block.data, *place) for place in places], schema=fields)


@dataclass(frozen=True)
class Block:
    """Whole lines of a file, and how many they are, with blank ones."""

    data: bytes
    lines: int


def scan_lines(path: Path, keys: Sequence[str] = ()) -> Lines | None:
    r"""What all lines of a file hold, of which each has `keys`, or some of them; by default each the first line's.

    None where a line is not plainly so, or there is no compiled kernel.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "a.jsonl")
    ...     _ = file.write_text('{"a": "x", "b": [1, 2]}\n{"a": null, "b": []}\n')
    ...     found = scan_lines(file)
    >>> found is None or (found.rows, found.kinds)
    (2, {'a': DataType(string), 'b': ListType(list<item: int64>)})
    """
    if not COMPILED:
        return None
    try:
        return _scan(path, keys)
    except (OSError, UnicodeEncodeError):  # a compressed file that is cut off or damaged; a key with half a character
        return None


def _scan(path: Path, keys: Sequence[str]) -> Lines | None:
    first = next(filter(bytes.strip, map(bytes, _cut_chunks(path))), b"")
    names = [*keys] or _read_keys(first)
    spelled = [_spell(name, first) for name in names]
    if not names or "" in names or same_but_case(names):
        return None

    def look(block: bytes | memoryview) -> tuple[int, Array, int]:
        seen = np.zeros((len(names), 2), np.int32)
        return scan(block, spelled, seen, _NOWHERE, _NOWHERE, bool(keys)), seen, len(block)

    seen, rows, size = np.zeros((len(names), 2), np.int32), 0, 0
    for count, of_chunk, length in map_ordered(look, _cut_chunks(path)):
        if count < 0 or length > LONGEST_ROW:
            return None
        seen, rows, size = seen | of_chunk, rows + count, size + length
    return Lines(path, tuple(names), spelled, bool(keys), seen, rows, size) if rows else None


def _read_keys(block: bytes) -> list[str]:
    """The keys of the first line; none where it is no object, or has a key twice."""
    line = next((line for line in block.split(b"\n", 1000) if line.strip()), b"")
    try:
        return [*extract_members(line.decode())] if json.loads(line) else []
    except (ValueError, RecursionError):
        return []


def _spell(key: str, block: bytes) -> bytes:
    """A key as a file spells it: with its characters, or with escapes in their place."""
    plain, escaped = (json.dumps(key, ensure_ascii=ascii_only).encode() for ascii_only in (False, True))
    return plain if plain in block else escaped


def _find_kind(bits: int, of_items: int) -> pa.DataType | None:
    kinds, items = bits & ~_BESIDE, of_items & ~_BESIDE
    if kinds == _OBJECT:
        return None
    if kinds == _LIST:
        inner = _find_kind(items, 0) if items != _LIST else None
        return None if inner is None else make_list(inner)
    return _KINDS.get(kinds, RAW)


def _cut_chunks(path: Path) -> Iterator[bytes | memoryview]:
    """The file's bytes, cut behind ends of lines; one piece has more than `LONGEST_ROW` only where a line has."""
    held = list[bytes]()  # of a line that has no end yet
    with open_bytes(path) as stream:
        if (head := stream.read(len(BOM))) != BOM:
            held.append(head)
        while chunk := stream.read(_CHUNK):
            first, last = chunk.find(b"\n") + 1, chunk.rfind(b"\n") + 1
            held.append(chunk[:first] if last else chunk)
            if last or sum(map(len, held)) > LONGEST_ROW:
                yield b"".join(held)
                held = [chunk[last:]] if last else []
                yield memoryview(chunk)[first:last]
    yield b"".join(held)


def _cut_blocks(path: Path, rows: int) -> Iterator[Block]:
    """The file's lines, so many at a time, but no more than about 32 MB."""
    held, lines, size = list[memoryview](), 0, 0
    for chunk in _cut_chunks(path):
        view, start = memoryview(chunk), 0
        while start < len(chunk):
            stop, count = cut(chunk, start, rows - lines)
            held.append(view[start:stop])
            lines, size, start = lines + count, size + stop - start, stop
            if lines == rows or size >= BATCH_BYTES:
                yield Block(b"".join(held), lines + 1)
                held, lines, size = [], 0, 0
    if held:
        yield Block(b"".join(held), lines + 1)  # the last line may have no end


def _read_column(data: bytes, starts: Array, stops: Array, kind: pa.DataType, escaped: int) -> pa.Array:
    """A column of values that lie there, null where the start is -1."""
    if pa.types.is_null(kind):
        return pa.nulls(len(starts))
    if is_list(kind):
        most = int((stops - starts).sum()) // 2
        offsets, lows, highs = np.empty(len(starts) + 1, np.int32), np.empty(most, np.int32), np.empty(most, np.int32)
        items = find_items(data, starts, stops, offsets, lows, highs)
        inner = _read_column(data, lows[:items], highs[:items], kind.value_type, escaped)
        return pa.ListArray.from_buffers(kind, len(starts), [_valid(starts), pa.py_buffer(offsets)], children=[inner])
    if kind == pa.int64():
        values = np.empty(len(starts), np.int64)
        read_wholes(data, starts, stops, values)
        return pa.Array.from_buffers(kind, len(starts), [_valid(starts), pa.py_buffer(values)])
    offsets, copy = np.empty(len(starts) + 1, np.int32), np.empty(int((stops - starts).sum()), np.uint8)
    size = copy_texts(data, starts, stops, offsets, copy, kind == pa.string(), bool(escaped))
    buffers = [_valid(starts), pa.py_buffer(offsets), pa.py_buffer(copy[:size])]
    texts = pa.StringArray.from_buffers(len(starts), buffers[1], buffers[2], buffers[0])
    return pa.ExtensionArray.from_storage(RAW, texts) if kind == RAW else texts


def _valid(starts: Array) -> pa.Buffer | None:
    there = starts >= 0
    return None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
