"""Record batches of bounded size: cut where rows are large, put together where they are few; rows on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import RowError
from karat.data.storage.files import BatchFile

BATCH_ROWS = 65_536
BATCH_BYTES = 32 << 20
MOST_ROW_BYTES = 256 << 20


def slice_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in batches of at most 65 536."""
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.slice(start, BATCH_ROWS)


def cut_batch(batch: pa.RecordBatch, name: str, row: int) -> Iterator[pa.RecordBatch]:
    """The rows in batches of about 32 MB once their columns are plain: dictionaries and views are not.

    `name` names the source, `row` is the number of the first row, from 0, for messages. Raises `RowError` for a row
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


class DiskTable:
    """Rows on disk, in their exact types; `batch_rows` is the number of rows that take about 32 MB.

    >>> batch = pa.record_batch({"a": ["x", "y"]})
    >>> DiskTable(batch.schema, iter([batch])).take(pa.array([1, None, 0])).to_pylist()
    [{'a': 'y'}, {'a': None}, {'a': 'x'}]
    """

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self._file = BatchFile(schema, batches)
        self._schema = schema
        self._parts = list(self._file.read())
        self._starts = np.cumsum([0, *(part.num_rows for part in self._parts)])
        self.batch_rows = rows_per_batch(sum(part.nbytes for part in self._parts), len(self))

    def __len__(self) -> int:
        return int(self._starts[-1])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, in the order in which they were added."""
        yield from self._parts

    def take(self, rows: pa.Array, columns: Sequence[int] | None = None) -> pa.RecordBatch:
        """The rows with these numbers, from 0 (a row of nulls for a null), with the columns at `columns` or all."""
        schema = self._schema if columns is None else pa.schema([self._schema.field(at) for at in columns])
        valid = rows.is_valid().to_numpy(zero_copy_only=False)
        numbers = rows.drop_null().to_numpy()
        order = np.argsort(numbers, kind="stable")  # read each part once, in its own order
        bounds = np.searchsorted(numbers[order], self._starts)
        taken = [
            (part if columns is None else part.select(columns)).take(pa.array(numbers[order[low:high]] - start))
            for part, start, low, high in zip(self._parts, self._starts, bounds, bounds[1:], strict=False)
            if low < high
        ]
        places = np.zeros(len(rows), np.int64)
        places[np.flatnonzero(valid)[order]] = np.arange(len(order))
        gathered = pa.Table.from_batches(taken, schema).unify_dictionaries().take(pa.array(places, mask=~valid))
        chosen = [column.combine_chunks() for column in gathered.columns]
        return pa.RecordBatch.from_arrays(chosen, schema=schema)
