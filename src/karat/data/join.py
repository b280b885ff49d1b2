"""Predictions beside their gold, matched by id."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from karat.core.errors import ColumnError, JoinError, did_you_mean
from karat.data.json.raw import decode_text
from karat.data.roles import Side
from karat.data.source import RAW, Source
from karat.data.storage.disk_table import DiskTable
from karat.data.storage.duckdb import connect, interruptible

_EXAMPLES = 5
_MEMORY_LIMIT = "200MB"


@dataclass(frozen=True)
class Joined(Source):
    """Every gold row in gold order, with its prediction, or nulls where there is none.

    `sides` tells which file a column is from, `original_names` its name there. `missing` counts gold rows without a
    prediction, `unknown` predictions without a gold row, which are not in the rows; of both there are a few ids.
    `noted` has what reading each side counted.
    """

    sides: dict[str, Side] = field(default_factory=dict)
    original_names: dict[str, str] = field(default_factory=dict)
    missing: int = 0
    missing_ids: tuple[str, ...] = ()
    unknown: int = 0
    unknown_ids: tuple[str, ...] = ()
    noted: dict[Side, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Half:
    """One of the two sources, and the names its columns get."""

    side: Side
    source: Source
    names: dict[str, str]

    def kinds(self, text: Collection[str] = ()) -> pa.Schema:
        """The columns that are in the join, under their new names."""
        schema = self.source.schema_as(self._text(text))
        return pa.schema([schema.field(column).with_name(name) for column, name in self.names.items()])

    def batches(self, text: Collection[str]) -> Iterator[pa.RecordBatch]:
        """The rows of these columns."""
        schema = self.kinds(text)
        for batch in self.source.batches(self._text(text)):
            yield pa.RecordBatch.from_arrays([batch.column(column) for column in self.names], schema=schema)

    def lossy_columns(self) -> list[str]:
        """The columns, by their new names, that keep their numbers' spelling only as text."""
        return [name for column, name in self.names.items() if column in self.source.lossy_columns]

    def _text(self, text: Collection[str]) -> list[str]:
        return [column for column, name in self.names.items() if name in text]


def join(predictions: Source, gold: Source, on: str | tuple[str, str]) -> Joined:
    """Match predictions to gold by the column `on`, or `left=right` (or a pair) where it has two names.

    Ids are compared as text: 7 is `"7"` and not `"007"`. The id is gold's; a gold column whose name a prediction
    column has too gets `_gold` behind its name. Both sources are read twice, and the
    predictions go through a temporary file, from which they are taken in gold's order in exactly the types they had.

    Raises `ColumnError` where a side has no such column, and
    `JoinError` for ids that are null or not unique.

    >>> from karat.data.formats.frames import open_frame
    >>> joined = join(open_frame({"id": ["7", "9"], "answer": ["a", "b"]}), open_frame({"id": [7, 8]}), "id")
    >>> [batch.to_pylist() for batch in joined.batches()], joined.missing_ids, joined.unknown_ids
    ([[{'id': 7, 'answer': 'a'}, {'id': 8, 'answer': None}]], ('8',), ('9',))
    """
    left, right = split_on(on) if isinstance(on, str) else on
    ours, theirs = _name_columns(predictions, left, gold, right)
    match = _match_ids(_Ids("gold", gold, right), _Ids("predictions", predictions, left))

    def read(text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        shelf = DiskTable(theirs.kinds(text), theirs.batches(text))
        schema = pa.schema([*ours.kinds(text), *theirs.kinds(text)])
        row = 0
        for batch in ours.batches(text):
            for start in range(0, batch.num_rows, shelf.at_once):
                part = batch.slice(start, shelf.at_once)
                found = shelf.take(match.rows.slice(row, part.num_rows))
                yield pa.RecordBatch.from_arrays([*part.columns, *found.columns], schema=schema)
                row += part.num_rows

    return Joined(
        name=f"{predictions.name} on {gold.name}",
        schema=pa.schema([*ours.kinds(), *theirs.kinds()]),
        rows=gold.rows,
        read=read,
        lossy_columns=frozenset(name for half in (ours, theirs) for name in half.lossy_columns()),
        sides={name: half.side for half in (ours, theirs) for name in half.names.values()},
        original_names={name: column for half in (ours, theirs) for column, name in half.names.items()},
        missing=match.missing,
        missing_ids=match.missing_ids,
        unknown=match.unknown,
        unknown_ids=match.unknown_ids,
        noted={half.side: half.source.notes for half in (theirs, ours) if half.source.notes},
    )


def split_on(on: str) -> tuple[str, str]:
    """The id column's names in the predictions and in the gold.

    >>> split_on("id"), split_on("qid=query_id")
    (('id', 'id'), ('qid', 'query_id'))
    """
    left, _, right = on.partition("=")
    return left, right or left


def _name_columns(predictions: Source, left: str, gold: Source, right: str) -> tuple[_Half, _Half]:
    """Both halves, gold first, with names that are unique over the two."""
    for source, column in ((predictions, left), (gold, right)):
        if column not in source.schema.names:
            raise ColumnError(f"{source.name}: no column {column!r}{did_you_mean(column, source.schema.names)}")
    theirs = [name for name in predictions.schema.names if name != left]
    taken = {right, *theirs}
    ours = {}
    for name in gold.schema.names:
        new = name
        while name != right and new in taken:
            new += "_gold"
        ours[name] = new
        taken.add(new)
    # a prediction column called as gold's id is not the id
    named = {name: f"{name}_prediction" if name == right else name for name in theirs}
    return _Half("reference", gold, ours), _Half("prediction", predictions, named)


@dataclass(frozen=True)
class _Ids:
    """The id column of a source; `side` is what messages call the source."""

    side: str
    source: Source
    key: str

    def __str__(self) -> str:
        return f"{self.side} ({self.source.name}), column {self.key!r}"


@dataclass(frozen=True)
class _Match:
    """For each gold row the row of its prediction, from 0, or null; and the ids that one side only has."""

    rows: pa.Array
    missing: int
    missing_ids: tuple[str, ...]
    unknown: int
    unknown_ids: tuple[str, ...]


@interruptible()
def _match_ids(gold: _Ids, predictions: _Ids) -> _Match:
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
    return _Match(rows, missing, missing_ids, unknown, unknown_ids)


def _load(connection: duckdb.DuckDBPyConnection, table: str, ids: _Ids) -> None:
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


def _as_text(keys: pa.Array, ids: _Ids, row: int) -> pa.Array:
    keys = decode_text(keys, row + 1) if keys.type == RAW else keys
    if pa.types.is_nested(keys.type):
        raise JoinError(f"{ids} holds {keys.type}; expected ids that are text or numbers")
    return keys.cast(pa.string())


def _explain(connection: duckdb.DuckDBPyConnection, table: str, ids: _Ids) -> JoinError:
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
