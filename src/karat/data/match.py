"""Which prediction belongs to which gold row: ids matched by DuckDB, on disk where its memory does not suffice."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from karat.core.errors import JoinError
from karat.data.json.raw import decode_text
from karat.data.source import RAW, Source
from karat.data.storage.duckdb import connect, interruptible

_EXAMPLES = 5
_MEMORY_LIMIT = "200MB"


@dataclass(frozen=True)
class Ids:
    """The id column of a source; `side` is what messages call the source."""

    side: str
    source: Source
    key: str

    def __str__(self) -> str:
        return f"{self.side} ({self.source.name}), column {self.key!r}"


@dataclass(frozen=True)
class Match:
    """For each gold row the row of its prediction, from 0, or null; and the ids that one side only has."""

    rows: pa.Array
    missing: int
    missing_ids: tuple[str, ...]
    unknown: int
    unknown_ids: tuple[str, ...]


@interruptible()
def match_ids(gold: Ids, predictions: Ids) -> Match:
    """Find every gold id among the predictions; ids compare as text.

    Raises `JoinError` for ids that are null, not unique, or neither text nor numbers.
    """
    with (
        tempfile.TemporaryDirectory(prefix="karat-") as folder,
        connect(temp_directory=folder, memory_limit=_MEMORY_LIMIT) as connection,
    ):
        _load(connection, "gold", gold)
        _load(connection, "predictions", predictions)
        query = "SELECT predictions.row FROM gold LEFT JOIN predictions USING (key) ORDER BY gold.row"
        rows = connection.sql(query).to_arrow_table().column(0).combine_chunks()
        missing, missing_ids = _unmatched(connection, "gold", "predictions")
        unknown, unknown_ids = _unmatched(connection, "predictions", "gold")
    return Match(rows, missing, missing_ids, unknown, unknown_ids)


def _load(connection: duckdb.DuckDBPyConnection, table: str, ids: Ids) -> None:
    """Make a table of the ids and their rows, all of them there and unique."""
    connection.execute(f"CREATE TABLE {table} (key VARCHAR, row BIGINT)")
    row = 0
    for batch in ids.source.batches():
        keys = _as_text(batch.column(ids.key), ids, row)
        numbers = pa.array(range(row, row + batch.num_rows), pa.int64())
        connection.register("part", pa.table([keys, numbers], ["key", "row"]))
        connection.execute(f"INSERT INTO {table} FROM part")
        row += batch.num_rows
    unique = connection.execute(f"SELECT count(DISTINCT key) FROM {table}").fetchall()[0][0]  # noqa: S608
    if unique < row:
        raise _explain(connection, table, ids)


def _as_text(keys: pa.Array, ids: Ids, row: int) -> pa.Array:
    keys = decode_text(keys, row + 1) if keys.type == RAW else keys
    if pa.types.is_nested(keys.type):
        raise JoinError(f"{ids} holds {keys.type}; expected ids that are text or numbers")
    return keys.cast(pa.string())


def _explain(connection: duckdb.DuckDBPyConnection, table: str, ids: Ids) -> JoinError:
    query = f"SELECT row + 1 FROM {table} WHERE key IS NULL ORDER BY row LIMIT {_EXAMPLES}"  # noqa: S608
    if nulls := connection.execute(query).fetchall():
        rows = ", ".join(str(row) for (row,) in nulls)
        return JoinError(f"{ids}: the id is null in row {rows}; expected an id in every row")
    twice = connection.execute(
        f"SELECT key, list(row + 1 ORDER BY row)[:{_EXAMPLES}] FROM {table} "  # noqa: S608
        f"GROUP BY key HAVING count(*) > 1 ORDER BY min(row) LIMIT {_EXAMPLES}"
    ).fetchall()
    found = "; ".join(f"{key!r} in rows {', '.join(map(str, rows))}" for key, rows in twice)
    return JoinError(f"{ids}: expected every id once, found {found}")


def _unmatched(connection: duckdb.DuckDBPyConnection, table: str, other: str) -> tuple[int, tuple[str, ...]]:
    """How many ids of a table the other has not, and the first of them."""
    query = f"FROM {table} ANTI JOIN {other} USING (key)"
    count = connection.execute(f"SELECT count(*) {query}").fetchall()[0][0]
    found = connection.execute(f"SELECT key {query} ORDER BY row LIMIT {_EXAMPLES}").fetchall() if count else []
    return count, tuple(key for (key,) in found)
