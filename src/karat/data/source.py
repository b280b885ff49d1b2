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
from karat.data.json.values import read_batch, value_schema


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
    """Rows that can be read more than once, batch by batch, in their own order; cells stay as they are spelled.

    `name` is for messages, `read` yields batches with this `schema`, `rows` is their number if it is known without
    reading. A column of JSON whose numbers may be spelled in several ways (`1.10`, `1e3`) is JSON text (`RAW`).
    """

    name: str
    schema: pa.Schema
    rows: int | None
    read: Callable[[], Iterator[pa.RecordBatch]]
    is_json: bool = False
    """Whether it is a file of JSON, in which a column may hold values of several types."""
    notes: Mapping[str, int] = field(default_factory=dict)
    """Counts made while reading, such as `comments`; complete once all rows have been read."""
    parts: tuple[Part, ...] = ()
    """All rows in order, in parts that can be read on their own; none where the source is only read as a whole."""
    tool: str = ""
    """The tool whose log this is, where a reader recognised it."""
    numbered: Callable[[], Iterator[tuple[Array, pa.RecordBatch]]] | None = None
    """As `read`, with the numbers of the rows before they were filtered; None where all rows are read."""
    unmatched: Callable[[Array], Array] | None = None
    """Of a join: whether the rows of gold with these numbers have no prediction."""

    def batches(self, names: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order, at most 65 536 per batch; with `names` these columns alone, in this order."""
        return self.read() if names is None else (batch.select(list(names)) for batch in self.read())

    def numbered_batches(self) -> Iterator[tuple[Array, pa.RecordBatch]]:
        """The `batches`, each with the numbers of its rows, shape (rows,), from 0: the same whichever are filtered."""
        if self.numbered is not None:
            yield from self.numbered()
            return
        first = self.parts[0].first if self.parts else 0
        for batch in self.batches():
            yield np.arange(first, first + len(batch), dtype=np.uint64), batch
            first += len(batch)

    def as_values(self, names: Collection[str] | None = None) -> Self:
        """The source with numbers and objects in place of their JSON text, in these columns, or in all."""
        schema = value_schema(self.schema, names)
        if schema == self.schema:
            return self

        def read() -> Iterator[pa.RecordBatch]:
            return (read_batch(batch, self.schema, schema) for batch in self.batches())

        def read_numbered() -> Iterator[tuple[Array, pa.RecordBatch]]:
            return ((numbers, read_batch(batch, self.schema, schema)) for numbers, batch in self.numbered_batches())

        return replace(self, schema=schema, read=read, numbered=read_numbered)

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
        values = self.as_values()
        return pa.RecordBatchReader.from_batches(values.schema, values.batches()).__arrow_c_stream__(requested_schema)


def _read_nothing() -> Iterator[pa.RecordBatch]:
    return iter(())
