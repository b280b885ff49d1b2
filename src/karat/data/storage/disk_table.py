"""Rows put into a temporary file, to be taken from there in any order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from karat.data.source import rows_per_batch
from karat.data.storage.files import spool_batches


class DiskTable:
    """Rows on disk, in exactly the types they had; `at_once` says how many of them make some 32 MB.

    >>> batch = pa.record_batch({"a": ["x", "y"]})
    >>> DiskTable(batch.schema, iter([batch])).take(pa.array([1, None, 0])).to_pylist()
    [{'a': 'y'}, {'a': None}, {'a': 'x'}]
    """

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self._file = spool_batches(pa.RecordBatchReader.from_batches(schema, batches))
        self._schema = schema
        self._parts = list(pa.ipc.open_stream(pa.memory_map(self._file.name)))
        self._starts = np.cumsum([0, *(part.num_rows for part in self._parts)])
        self.at_once = rows_per_batch(sum(part.nbytes for part in self._parts), int(self._starts[-1]))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, as they were put here."""
        yield from self._parts

    def take(self, rows: pa.Array, columns: Sequence[int] | None = None) -> pa.RecordBatch:
        """The rows of these numbers, from 0; a row of nulls for a null. Of the columns those at `columns`, else all."""
        schema = self._schema if columns is None else pa.schema([self._schema.field(at) for at in columns])
        there = rows.is_valid().to_numpy(zero_copy_only=False)
        numbers = rows.drop_null().to_numpy()
        order = np.argsort(numbers, kind="stable")  # from each part at once, in the order they lie there
        bounds = np.searchsorted(numbers[order], self._starts)
        taken = [
            (part if columns is None else part.select(columns)).take(pa.array(numbers[order[low:high]] - start))
            for part, start, low, high in zip(self._parts, self._starts, bounds, bounds[1:], strict=False)
            if low < high
        ]
        place = np.zeros(len(rows), np.int64)
        place[np.flatnonzero(there)[order]] = np.arange(len(order))
        together = pa.Table.from_batches(taken, schema).unify_dictionaries().take(pa.array(place, mask=~there))
        chosen = [column.combine_chunks() for column in together.columns]
        return pa.RecordBatch.from_arrays(chosen, schema=schema)
