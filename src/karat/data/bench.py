"""Two tables in DuckDB, matched by a text key; what does not fit its memory limit goes to a temporary folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from karat.core.errors import JoinError
from karat.data.duck import connect, stream
from karat.data.raw import decode_text
from karat.data.source import BATCH_ROWS, RAW

_EXAMPLES = 5
_MEMORY_LIMIT = "200MB"  # sorting and handing over take as much again


@contextmanager
def work_on() -> Iterator[Bench]:
    """Open a bench; what it put on disk goes when the block is left."""
    with (
        tempfile.TemporaryDirectory(prefix="karat-") as folder,
        connect(temp_directory=folder, memory_limit=_MEMORY_LIMIT) as connection,
    ):
        yield Bench(connection)


class Bench:
    """Two tables, ``gold`` and ``predictions``: a text key, the row's number from 1, and the columns asked for."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._kinds: dict[str, dict[str, pa.DataType]] = {}

    def load(self, table: str, batches: Iterator[pa.RecordBatch], key: str, names: Mapping[str, str]) -> None:
        """Make a table of the key and of the columns in ``names``, under the names given there."""
        row = 1
        for batch in batches:
            self._kinds[table] = {new: batch.schema.field(old).type for old, new in names.items()}
            self._connection.register("part", _keyed(batch, key, list(names), row))
            verb = f"CREATE TABLE {table} AS" if row == 1 else f"INSERT INTO {table}"
            self._connection.execute(f"{verb} FROM part")
            row += batch.num_rows
        if row == 1:
            self._kinds[table] = dict.fromkeys(names.values(), pa.null())
            nothing = ", ".join(f"NULL::VARCHAR AS c{at}" for at in range(len(names)))
            self._connection.execute(f"CREATE TABLE {table} AS SELECT ''::VARCHAR AS key, 0 AS row, {nothing} LIMIT 0")

    def null_rows(self, table: str) -> list[int]:
        """The first rows of a table without a key."""
        found = self._connection.execute(f"SELECT row FROM {table} WHERE key IS NULL ORDER BY row LIMIT {_EXAMPLES}")  # noqa: S608
        return [row for (row,) in found.fetchall()]

    def twice(self, table: str) -> list[tuple[str, list[int]]]:
        """The first keys that are there more than once, each with its first rows."""
        return self._connection.execute(
            f"SELECT key, list(row ORDER BY row)[:{_EXAMPLES}] FROM {table} "  # noqa: S608
            f"GROUP BY key HAVING count(*) > 1 ORDER BY min(row) LIMIT {_EXAMPLES}"
        ).fetchall()

    def unmatched(self, table: str, other: str) -> tuple[int, tuple[str, ...]]:
        """How many keys of a table the other has not, and the first of them."""
        query = f"FROM {table} ANTI JOIN {other} USING (key)"
        count = self._connection.execute(f"SELECT count(*) {query}").fetchall()[0][0]
        found = self._connection.execute(f"SELECT key {query} ORDER BY row LIMIT {_EXAMPLES}").fetchall()
        return count, tuple(key for (key,) in found)

    def matched(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Gold's rows in their order, each with the prediction of the same key, in the types they had."""
        columns = [f"{table}.c{at}" for table in ("gold", "predictions") for at, _ in enumerate(self._kinds[table])]
        kinds = self._kinds["gold"] | self._kinds["predictions"]
        target = pa.schema([field.with_type(RAW) if kinds[field.name] == RAW else field for field in schema])
        query = f"SELECT {', '.join(columns)} FROM gold LEFT JOIN predictions USING (key) ORDER BY gold.row"  # noqa: S608
        for batch in stream(self._connection, query, BATCH_ROWS):
            fitted = [_fit(column, field.type) for column, field in zip(batch.columns, target, strict=True)]
            yield pa.RecordBatch.from_arrays(fitted, schema=target)


def _keyed(batch: pa.RecordBatch, key: str, columns: list[str], row: int) -> pa.Table:
    """A batch as DuckDB stores it: JSON text as plain text, so that its spelling stays."""
    ids = batch.column(key)
    ids = decode_text(ids) if ids.type == RAW else ids
    if pa.types.is_nested(ids.type):
        raise JoinError(f"column {key!r} holds {ids.type}; expected ids that are text or numbers")
    stored = [batch.column(name) for name in columns]
    stored = [column.storage if column.type == RAW else column for column in stored]
    numbers = pa.array(range(row, row + batch.num_rows), pa.int64())
    names = ["key", "row", *(f"c{at}" for at in range(len(columns)))]
    return pa.table([ids.cast(pa.string()), numbers, *stored], names)


def _fit(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return pa.nulls(len(column)) if pa.types.is_null(kind) else column.cast(kind)
