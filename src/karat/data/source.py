"""A source: rows of a file or frame, read as Arrow record batches in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any, Self

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import RowError

RAW = pa.json_(pa.string())
"""The type of a column of JSON text, spelled exactly as in its file."""

BATCH_ROWS = 65_536
BATCH_BYTES = 32 << 20
MOST_ROW_BYTES = 256 << 20


@dataclass(frozen=True)
class Part:
    """Rows of a file that can be read on their own: some row groups of a Parquet file.

    `file` is its path or address; `size` (bytes) and `version` (its ETag, or the times of its last change) tell
    whether it is still the same file. `groups` are the numbers of the row groups, `first` the number of their first row
    among all rows of the source, from 0, and `rows` how many they are.
    """

    file: str
    size: int
    version: str
    groups: tuple[int, ...]
    first: int
    rows: int

    def __str__(self) -> str:
        groups = str(self.groups[0]) if len(self.groups) == 1 else f"{self.groups[0]}–{self.groups[-1]}"
        return f"{self.file}, row group {groups}"


def group_parts(parts: Iterable[Part], rows: int) -> list[Part]:
    """Parts of about this many rows, each of neighbouring parts of one file.

    >>> one, two, three = (Part("a.parquet", 9, "", (at,), 5 * at, 5) for at in range(3))
    >>> [part.groups for part in group_parts([one, two, three], 10)]
    [(0, 1), (2,)]
    """
    grouped = list[Part]()
    for _, neighbours in groupby(parts, key=lambda part: part.file):
        start = len(grouped)
        for part in neighbours:
            if len(grouped) > start and (last := grouped[-1]).rows + part.rows <= rows:
                grouped[-1] = replace(last, groups=last.groups + part.groups, rows=last.rows + part.rows)
            else:
                grouped.append(part)
    return grouped


@dataclass(frozen=True)
class Source:
    """Rows that can be read more than once, batch by batch, in their own order.

    `name` is for messages, `schema` is that of `batches()`, `rows` is their number if it is known without reading, and
    `read` takes the names of columns to yield as `RAW`.
    """

    name: str
    schema: pa.Schema
    rows: int | None
    read: Callable[[frozenset[str]], Iterator[pa.RecordBatch]]
    lossy_columns: frozenset[str] = frozenset()
    """Columns of JSON whose numbers lose their spelling in the schema's type: `1.10` becomes 1.1."""
    reads_raw: bool = False
    """Whether `read` can yield any column as `RAW`, as JSON files can."""
    notes: Mapping[str, int] = field(default_factory=dict)
    """Counts made while reading, such as `comments`; complete once all rows have been read."""
    parts: tuple[Part, ...] = ()
    """All rows in order, in parts that can be read on their own; none where the source is only read as a whole."""
    tool: str = ""
    """The tool whose log this is, where a reader recognised it."""
    numbered: Callable[[frozenset[str]], Iterator[tuple[Array, pa.RecordBatch]]] | None = None
    """As `read`, with the numbers of the rows before they were filtered; None where all rows are read."""
    unmatched: Callable[[Array], Array] | None = None
    """Of a join: whether the rows of gold with these numbers have no prediction."""

    def batches(self, text: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, at most 65 536 per batch.

        `text` names columns that the caller will read as text. Those in `lossy_columns` come as `RAW`, so that `1e3`
        and `1.10` keep their spelling; `decode_text` turns them into text.
        """
        return self.read(frozenset(self._raw(text)))

    def numbered_batches(self, text: Collection[str] = ()) -> Iterator[tuple[Array, pa.RecordBatch]]:
        """The `batches`, each with the numbers of its rows, shape (rows,), from 0: the same whichever are filtered."""
        if self.numbered is not None:
            yield from self.numbered(frozenset(self._raw(text)))
            return
        first = self.parts[0].first if self.parts else 0
        for batch in self.batches(text):
            yield np.arange(first, first + len(batch), dtype=np.uint64), batch
            first += len(batch)

    @cached_property
    def first(self) -> pa.RecordBatch:
        """The first 100 rows, in memory of their own; read once."""
        rows = next(iter(self.batches()), None)
        if rows is None:
            return pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in self.schema.types], schema=self.schema)
        return rows.take(pa.array(range(min(100, len(rows)))))

    @property
    def files(self) -> list[tuple[str | None, Source, Mapping[str, str]]]:
        """What was opened: the side of a join, the source, and the names that its columns have here."""
        return [(None, self, {name: name for name in self.schema.names})]

    def without_rows(self) -> Self:
        """The source with its name and schema alone, which can be sent to other processes."""
        return replace(self, rows=0, read=_read_nothing, parts=(), numbered=None, unmatched=None)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows, for any library that reads Arrow: `pyarrow.table(source)`, `polars.DataFrame(source)`."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches()).__arrow_c_stream__(requested_schema)

    def schema_as(self, text: Collection[str]) -> pa.Schema:
        """The schema of `batches(text)`."""
        raw = self._raw(text)
        return pa.schema([each.with_type(RAW) if each.name in raw else each for each in self.schema])

    def _raw(self, text: Collection[str]) -> list[str]:
        return [name for name in text if name in self.lossy_columns]


def _read_nothing(_text: frozenset[str]) -> Iterator[pa.RecordBatch]:
    return iter(())


def slice_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in batches of at most 65 536."""
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.slice(start, BATCH_ROWS)


def cut_batch(batch: pa.RecordBatch, name: str, row: int) -> Iterator[pa.RecordBatch]:
    """The rows in batches of about 32 MB once their columns are plain, which those of dictionaries and views are not.

    `name` is that of the source, `row` the number of the first row, from 0, for messages. Raises `RowError` for a row
    of more than 256 MB.
    """
    types = batch.schema.types
    unions = any(_holds(kind, pa.types.is_union) for kind in types)  # Arrow's `nbytes` ends the process on a union
    size = batch.get_total_buffer_size() if unions else batch.nbytes
    if size <= 2 * BATCH_BYTES and not any(_holds(kind, _may_expand) for kind in types):
        yield batch
        return
    sizes = sum((_sizes(column) for column in batch.columns), np.zeros(len(batch), np.int64))
    if sizes.max(initial=0) > MOST_ROW_BYTES:
        at = int(sizes.argmax())
        limit = f"but a row may have at most {MOST_ROW_BYTES >> 20} MB"
        raise RowError(f"{name}, row {row + at + 1}: {int(sizes[at]) >> 20:,} MB, {limit}")
    ends, start = np.cumsum(sizes), 0
    while start < len(batch):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + BATCH_BYTES, "right")))
        yield batch.slice(start, stop - start)
        start = stop


def _holds(kind: pa.DataType, test: Callable[[pa.DataType], bool]) -> bool:
    """Whether a test is true of a type or of one inside it."""
    return test(kind) or any(_holds(kind.field(at).type, test) for at in range(kind.num_fields))


def _may_expand(kind: pa.DataType) -> bool:
    """Whether values of a type may share their bytes, which a plain column has for each of them."""
    types = pa.types
    shared = types.is_dictionary(kind) or types.is_run_end_encoded(kind) or types.is_string_view(kind)
    shared = shared or types.is_binary_view(kind) or types.is_list_view(kind) or types.is_large_list_view(kind)
    return bool(shared)


def _sizes(column: pa.Array) -> Array:
    """The bytes of each row's value in a plain column, shape (rows,)."""
    kind, types = column.type, pa.types
    if isinstance(column, pa.ExtensionArray):
        return _sizes(column.storage)
    if types.is_dictionary(kind):
        of_values = np.append(_sizes(column.dictionary), 0)
        places: Array = np.asarray(column.indices.cast(pa.int64()).fill_null(len(of_values) - 1))
        return of_values.take(places)
    if types.is_run_end_encoded(kind):
        runs = np.searchsorted(np.asarray(column.run_ends), np.arange(len(column)) + column.offset, "right")
        return np.asarray(_sizes(column.values)[runs])
    if types.is_string_view(kind) or types.is_binary_view(kind):
        views: Array = np.frombuffer(column.buffers()[1], np.int32).reshape(-1, 4)
        return views[column.offset : column.offset + len(column), 0].astype(np.int64)
    if types.is_union(kind):
        return np.full(len(column), -(-column.get_total_buffer_size() // max(len(column), 1)), np.int64)
    if types.is_struct(kind):
        return sum((_sizes(each) for each in column.flatten()), np.zeros(len(column), np.int64))
    if types.is_fixed_size_list(kind):
        items = column.values.slice(column.offset * kind.list_size, len(column) * kind.list_size)
        return np.asarray(_sizes(items).reshape(len(column), kind.list_size).sum(1))
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        starts, lengths = (np.asarray(each, np.int64) for each in (column.offsets, column.sizes))
        upto = np.append(0, np.cumsum(_sizes(column.values)))
        return np.asarray(upto[starts + lengths] - upto[starts])
    if types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind):
        bounds = np.asarray(column.offsets, np.int64)
        upto = np.append(0, np.cumsum(_sizes(column.values)))
        return np.asarray(upto[bounds[1:]] - upto[bounds[:-1]] + 8)
    if types.is_large_string(kind) or types.is_large_binary(kind) or types.is_string(kind) or types.is_binary(kind):
        wide = types.is_large_string(kind) or types.is_large_binary(kind)
        places = column.buffers()[1]
        if places is None or not len(column):
            return np.zeros(len(column), np.int64)
        offsets: Array = np.frombuffer(places, np.int64 if wide else np.int32)
        return np.diff(offsets[column.offset : column.offset + len(column) + 1]).astype(np.int64)
    return np.full(len(column), 1 if types.is_null(kind) else -(-kind.bit_width // 8), np.int64)


def collect_chunks(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """The rows in tables of about `size` bytes."""
    held, nbytes = list[pa.RecordBatch](), 0
    for batch in batches:
        held.append(batch)
        nbytes += batch.nbytes
        if nbytes >= size:
            yield pa.Table.from_batches(held).combine_chunks()
            held, nbytes = [], 0
    if held:
        yield pa.Table.from_batches(held).combine_chunks()


def is_lossless(kind: pa.DataType) -> bool:
    """Whether JSON values of this type keep their spelling: text, lists of text, and JSON text itself."""
    return pa.types.is_null(kind) or kind in (pa.string(), pa.list_(pa.string()), RAW)


def coalesce(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Small batches as batches of so many rows, or of about 32 MB."""
    held, count, size = list[pa.RecordBatch](), 0, 0
    for batch in batches:
        if held and (count + len(batch) > rows or size + batch.nbytes > BATCH_BYTES):
            yield pa.concat_batches(held)
            held, count, size = [], 0, 0
        held.append(batch)
        count, size = count + len(batch), size + batch.nbytes
    if held:
        yield pa.concat_batches(held)


def rows_per_batch(size: int, rows: int) -> int:
    """The number of rows that make a batch of about 32 MB, at most 65 536, in a file of `size` bytes.

    >>> rows_per_batch(195_000_000, 1_000_000), rows_per_batch(10**9, 1_000)
    (65536, 33)
    """
    return max(1, min(BATCH_ROWS, BATCH_BYTES * rows // max(size, 1)))
