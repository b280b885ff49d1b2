"""Join predictions with their gold by id: DuckDB matches the ids, on disk if its memory does not suffice."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from karat.core.errors import ColumnError, JoinError, did_you_mean
from karat.data.json.raw import spell_ids
from karat.data.roles import Side
from karat.data.source import Source
from karat.data.storage.disk_table import DiskTable
from karat.data.storage.duckdb import connect_on_disk, interruptible

_EXAMPLES = 5
_Unmatched = tuple[int, tuple[str, ...]]  # a number of ids, and the first few of them


@dataclass(frozen=True)
class Joined(Source):
    """All gold rows in their order, each with its prediction, or nulls if it has none.

    `sides` is the file that each column comes from, `original_names` its name there. `missing` counts gold rows without
    a prediction; `unknown` counts predictions without a gold row, which are left out. The first few ids of both are
    kept. `side_notes` are the counts made while reading each file.
    """

    sides: dict[str, Side] = field(default_factory=dict)
    original_names: dict[str, str] = field(default_factory=dict)
    missing: int = 0
    missing_ids: tuple[str, ...] = ()
    unknown: int = 0
    unknown_ids: tuple[str, ...] = ()
    side_notes: dict[Side, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Half:
    """One of the two sources, its id column, and the names that its columns get in the join."""

    side: Side
    source: Source
    key: str
    names: dict[str, str]

    def __str__(self) -> str:
        name = "gold" if self.side == "reference" else "predictions"
        return f"{name} ({self.source.name}), column {self.key!r}"

    def schema(self, text: Collection[str] = ()) -> pa.Schema:
        schema = self.source.schema_as(self._text(text))
        return pa.schema([schema.field(column).with_name(name) for column, name in self.names.items()])

    def batches(self, text: Collection[str]) -> Iterator[pa.RecordBatch]:
        schema = self.schema(text)
        for batch in self.source.batches(self._text(text)):
            yield pa.RecordBatch.from_arrays([batch.column(column) for column in self.names], schema=schema)

    def lossy_columns(self) -> list[str]:
        return [name for column, name in self.names.items() if column in self.source.lossy_columns]

    def _text(self, text: Collection[str]) -> list[str]:
        return [column for column, name in self.names.items() if name in text]


def join(predictions: Source, gold: Source, on: str | tuple[str, str]) -> Joined:
    """Join predictions with gold by the column `on`; `left=right`, or a pair, if its name differs in the two.

    Ids are compared as text: 7 equals `"7"` but not `"007"`. The id column of the result is gold's. A gold column with
    the name of a prediction column gets the suffix `_gold`. Both sources are read twice; the predictions go through a
    temporary file, so that they can be read in gold's order without changing their types.

    Raises `ColumnError` if a source has no such column, `JoinError` for ids that are null or not unique.

    >>> from karat.data.formats.frames import open_frame
    >>> joined = join(open_frame({"id": ["7", "9"], "answer": ["a", "b"]}), open_frame({"id": [7, 8]}), "id")
    >>> [batch.to_pylist() for batch in joined.batches()], joined.missing_ids, joined.unknown_ids
    ([[{'id': 7, 'answer': 'a'}, {'id': 8, 'answer': None}]], ('8',), ('9',))
    """
    left, right = split_on(on) if isinstance(on, str) else on
    golden, predicted = _name_columns(predictions, left, gold, right)
    partners, (missing, missing_ids), (unknown, unknown_ids) = _match_ids(golden, predicted)

    def read(text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        table = DiskTable(predicted.schema(text), predicted.batches(text))
        schema = pa.schema([*golden.schema(text), *predicted.schema(text)])
        row = 0
        for batch in golden.batches(text):
            for start in range(0, batch.num_rows, table.batch_rows):
                part = batch.slice(start, table.batch_rows)
                found = table.take(partners.slice(row, part.num_rows))
                yield pa.RecordBatch.from_arrays([*part.columns, *found.columns], schema=schema)
                row += part.num_rows

    return Joined(
        name=f"{predictions.name} on {gold.name}",
        schema=pa.schema([*golden.schema(), *predicted.schema()]),
        rows=gold.rows,
        read=read,
        lossy_columns=frozenset(name for half in (golden, predicted) for name in half.lossy_columns()),
        sides={name: half.side for half in (golden, predicted) for name in half.names.values()},
        original_names={name: column for half in (golden, predicted) for column, name in half.names.items()},
        missing=missing,
        missing_ids=missing_ids,
        unknown=unknown,
        unknown_ids=unknown_ids,
        side_notes={half.side: half.source.notes for half in (predicted, golden) if half.source.notes},
    )


def split_on(on: str) -> tuple[str, str]:
    """The names of the id column in the predictions and in the gold.

    >>> split_on("id"), split_on("qid=query_id")
    (('id', 'id'), ('qid', 'query_id'))
    """
    left, _, right = on.partition("=")
    return left, right or left


def _name_columns(predictions: Source, left: str, gold: Source, right: str) -> tuple[_Half, _Half]:
    """Both halves, gold first, with column names that are unique in the join."""
    for source, column in ((predictions, left), (gold, right)):
        if column not in source.schema.names:
            raise ColumnError(f"{source.name}: no column {column!r}{did_you_mean(column, source.schema.names)}")
    others = [name for name in predictions.schema.names if name != left]
    taken = {right, *others}
    gold_names = {}
    for name in gold.schema.names:
        new = name
        while name != right and new in taken:
            new += "_gold"
        gold_names[name] = new
        taken.add(new)
    # a prediction column with the name of gold's id column is not the id
    names = {name: f"{name}_prediction" if name == right else name for name in others}
    return _Half("reference", gold, right, gold_names), _Half("prediction", predictions, left, names)


@interruptible()
def _match_ids(gold: _Half, predictions: _Half) -> tuple[pa.Array, _Unmatched, _Unmatched]:
    """The row of the prediction for each gold row, from 0 or null, and the ids that only gold or predictions have."""
    with connect_on_disk() as connection:
        _load(connection, "gold", gold)
        _load(connection, "predictions", predictions)
        query = "SELECT predictions.row FROM gold LEFT JOIN predictions USING (key) ORDER BY gold.row"
        rows = connection.sql(query).to_arrow_table().column(0).combine_chunks()
        return rows, _unmatched(connection, "gold", "predictions"), _unmatched(connection, "predictions", "gold")


def _load(connection: duckdb.DuckDBPyConnection, table: str, ids: _Half) -> None:
    """Load the ids and their row numbers into a table. Raises `JoinError` for ids that are null or not unique."""
    connection.execute(f"CREATE TABLE {table} (key VARCHAR, row BIGINT)")
    row = 0
    for batch in ids.source.batches():
        keys = spell_ids(batch.column(ids.key), str(ids), row + 1)
        numbers = pa.array(range(row, row + batch.num_rows), pa.int64())
        connection.register("part", pa.table([keys, numbers], ["key", "row"]))
        connection.execute(f"INSERT INTO {table} FROM part")
        row += batch.num_rows
    unique = connection.execute(f"SELECT count(DISTINCT key) FROM {table}").fetchall()[0][0]  # noqa: S608
    if unique < row:
        raise _duplicates_or_nulls(connection, table, ids)


def _duplicates_or_nulls(connection: duckdb.DuckDBPyConnection, table: str, ids: _Half) -> JoinError:
    query = f"SELECT row + 1 FROM {table} WHERE key IS NULL ORDER BY row LIMIT {_EXAMPLES}"  # noqa: S608
    if nulls := connection.execute(query).fetchall():
        rows = ", ".join(str(row) for (row,) in nulls)
        return JoinError(f"{ids}: the id is null in row {rows}; expected an id in every row")
    duplicates = connection.execute(
        f"SELECT key, list(row + 1 ORDER BY row)[:{_EXAMPLES}] FROM {table} "  # noqa: S608
        f"GROUP BY key HAVING count(*) > 1 ORDER BY min(row) LIMIT {_EXAMPLES}"
    ).fetchall()
    found = "; ".join(f"{key!r} in rows {', '.join(map(str, rows))}" for key, rows in duplicates)
    return JoinError(f"{ids}: expected every id once, found {found}")


def _unmatched(connection: duckdb.DuckDBPyConnection, table: str, other: str) -> _Unmatched:
    """The number of ids in a table that the other table lacks, and the first few of them."""
    query = f"FROM {table} ANTI JOIN {other} USING (key)"
    count = connection.execute(f"SELECT count(*) {query}").fetchall()[0][0]
    keys = connection.execute(f"SELECT key {query} ORDER BY row LIMIT {_EXAMPLES}").fetchall() if count else []
    return count, tuple(key for (key,) in keys)
