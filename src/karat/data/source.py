"""A source: rows from a file or frame, as Arrow record batches in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

RAW = pa.json_(pa.string())
"""The type of a column that holds JSON text exactly as its file has it."""

BATCH_ROWS = 65_536
BATCH_BYTES = 32 << 20


@dataclass(frozen=True)
class Source:
    """Rows that can be read, more than once, batch by batch, in their own order.

    `name` is for messages, `schema` what `batches()` yields, `rows` their number where it is
    known without reading.
    """

    name: str
    schema: pa.Schema
    rows: int | None
    read: Callable[[frozenset[str]], Iterator[pa.RecordBatch]]
    lossy_columns: frozenset[str] = frozenset()
    """The columns with numbers whose own spelling the schema's types lose (in JSON)."""
    spelled: bool = False
    """Whether `read` gives any column as `RAW` (JSON)."""
    notes: Mapping[str, int] = field(default_factory=dict)
    """What reading counted beside the rows, such as `comments`; whole once all rows are read."""

    def batches(self, text: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, at most 65 536 a batch.

        `text` names columns that will be read as text. In JSON a column of these that is neither all
        strings nor all lists of strings comes as `RAW`, so that `1e3` and `1.10` keep their
        spelling; `decode_text` turns it into text.
        """
        return self.read(frozenset(self._raw(text)))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows for every library that speaks Arrow: `pyarrow.table(source)`, `polars.DataFrame(source)`."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches()).__arrow_c_stream__(requested_schema)

    def schema_as(self, text: Collection[str]) -> pa.Schema:
        """The schema of `batches(text)`."""
        raw = self._raw(text)
        return pa.schema([each.with_type(RAW) if each.name in raw else each for each in self.schema])

    def _raw(self, text: Collection[str]) -> list[str]:
        return [name for name in text if name in self.lossy_columns]


def keeps_spelling(kind: pa.DataType) -> bool:
    """Whether values of the type in JSON are spelled as they were: text, lists of it, and JSON text itself."""
    return pa.types.is_null(kind) or kind in (pa.string(), pa.list_(pa.string()), RAW)


def rows_per_batch(size: int, rows: int) -> int:
    """How many rows of a file of `size` bytes make a batch of some 32 MB, at most 65 536.

    >>> rows_per_batch(195_000_000, 1_000_000), rows_per_batch(10**9, 1_000)
    (65536, 33)
    """
    return max(1, min(BATCH_ROWS, BATCH_BYTES * rows // max(size, 1)))
