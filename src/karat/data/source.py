"""A source: rows of a file or frame, read as Arrow record batches in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

RAW = pa.json_(pa.string())
"""The type of a column of JSON text, spelled exactly as in its file."""

BATCH_ROWS = 65_536
BATCH_BYTES = 32 << 20


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

    def batches(self, text: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, at most 65 536 per batch.

        `text` names columns that the caller will read as text. Those in `lossy_columns` come as `RAW`, so that `1e3`
        and `1.10` keep their spelling; `decode_text` turns them into text.
        """
        return self.read(frozenset(self._raw(text)))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows, for any library that reads Arrow: `pyarrow.table(source)`, `polars.DataFrame(source)`."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches()).__arrow_c_stream__(requested_schema)

    def schema_as(self, text: Collection[str]) -> pa.Schema:
        """The schema of `batches(text)`."""
        raw = self._raw(text)
        return pa.schema([each.with_type(RAW) if each.name in raw else each for each in self.schema])

    def _raw(self, text: Collection[str]) -> list[str]:
        return [name for name in text if name in self.lossy_columns]


def slice_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in batches of at most 65 536."""
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.slice(start, BATCH_ROWS)


def is_lossless(kind: pa.DataType) -> bool:
    """Whether JSON values of this type keep their spelling: text, lists of text, and JSON text itself."""
    return pa.types.is_null(kind) or kind in (pa.string(), pa.list_(pa.string()), RAW)


def rows_per_batch(size: int, rows: int) -> int:
    """The number of rows that make a batch of about 32 MB, at most 65 536, in a file of `size` bytes.

    >>> rows_per_batch(195_000_000, 1_000_000), rows_per_batch(10**9, 1_000)
    (65536, 33)
    """
    return max(1, min(BATCH_ROWS, BATCH_BYTES * rows // max(size, 1)))
