"""One of the two sources of a join."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from karat.data.roles import Side
from karat.data.source import Source


@dataclass(frozen=True)
class Half:
    """A source, its id column, and the names that its columns get in the join."""

    side: Side
    source: Source
    key: str
    names: dict[str, str]

    def __str__(self) -> str:
        name = "gold" if self.side == "reference" else "predictions"
        return f"{name} ({self.source.name}), column {self.key!r}"

    def schema(self) -> pa.Schema:
        schema = self.source.schema
        return pa.schema([schema.field(column).with_name(name) for column, name in self.names.items()])

    def batches(self) -> Iterator[pa.RecordBatch]:
        schema = self.schema()
        for batch in self.source.batches():
            yield pa.RecordBatch.from_arrays([batch.column(column) for column in self.names], schema=schema)

    def ids(self) -> Iterator[pa.Array]:
        """The ids in their order."""
        from karat.data.formats.columnar import read_columns  # noqa: PLC0415  (the reader of Parquet, seldom needed)

        return (batch.column(0) for batch in read_columns(self.source, [self.key]))

    @property
    def size(self) -> int:
        """The size of its files in bytes, where it is in parts."""
        return sum({part.file: part.size for part in self.source.parts}.values())

    def choose(self, columns: Collection[str] | None) -> dict[str, str]:
        """Its columns that have these names in the join, or all, with the names; at least one.

        Rows without columns could not be counted.
        """
        names = {column: name for column, name in self.names.items() if columns is None or name in columns}
        return names or dict(list(self.names.items())[:1])

    def without_rows(self) -> Half:
        """The half without its rows, which can be sent to other processes."""
        return replace(self, source=self.source.without_rows())
