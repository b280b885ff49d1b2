"""A table in a temporary file, whose rows can be read in any order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from karat.data.source import rows_per_batch
from karat.data.storage.files import BatchFile


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
