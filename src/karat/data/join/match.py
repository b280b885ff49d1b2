"""Which prediction belongs to each gold row: DuckDB matches the ids, on disk if its memory does not suffice."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from string import whitespace

import duckdb
import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import JoinError
from karat.data.join.half import Half
from karat.data.json.raw import spell_ids
from karat.data.storage.batches import BATCH_ROWS
from karat.data.storage.duckdb import connect_on_disk, interruptible, stream

EXAMPLES = 5
"""How many ids an error or a result names."""
_NONE = -1
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?")
_SPACES = f"{whitespace}\ufeff\xa0\u200b\"'"


@dataclass(frozen=True)
class Unmatched:
    """Rows of one side that have no partner: how many, and the first few, each with its number from 0 and its id.

    >>> Unmatched(1, ((7, "b"),)) + Unmatched(1, ((2, "a"),))
    Unmatched(rows=2, first=((2, 'a'), (7, 'b')))
    """

    rows: int = 0
    first: tuple[tuple[int, str], ...] = ()

    def __add__(self, other: Unmatched) -> Unmatched:
        """With the rows of another part."""
        return Unmatched(self.rows + other.rows, tuple(sorted(self.first + other.first)[:EXAMPLES]))

    @property
    def ids(self) -> list[str]:
        return [key for _, key in self.first]


@dataclass(frozen=True)
class Match:
    """The row of the prediction of each gold row, from 0, shape (gold rows,), -1 where there is none.

    `missing` are the gold rows without a prediction, `unknown` the predictions without a gold row.
    """

    partners: Array
    missing: Unmatched
    unknown: Unmatched


def find_variants(gold: Iterable[str], predictions: Iterable[str]) -> tuple[str, str] | None:
    """An id of gold and one of the predictions that differ in their spelling alone; None where there are none.

    That is in spaces, case, the form of Unicode, or how a number is written.

    >>> find_variants(["7", "8"], ["a", "08"]), find_variants(["Q 1"], ["q 1 "]), find_variants(["7"], ["8"])
    (('8', '08'), ('Q 1', 'q 1 '), None)
    """
    plain = {_normalized_id(each): each for each in gold}
    return next(((plain[_normalized_id(each)], each) for each in predictions if _normalized_id(each) in plain), None)


def _normalized_id(spelling: str) -> str | Decimal:
    text = unicodedata.normalize("NFKC", spelling.strip(_SPACES)).casefold()
    return Decimal(text) if _NUMBER.fullmatch(text) else text  # equal Decimals have one hash


@interruptible()
def match_ids(gold: Half, predictions: Half) -> Match:
    """Match the ids of both halves, as text. Raises `JoinError` for ids that are null or not unique."""
    with connect_on_disk() as connection:
        connection.execute("CREATE TABLE ids (key VARCHAR, row BIGINT)")  # predictions have ~row, which is negative
        rows, nulls = _load(connection, gold, 0)
        others, more_nulls = _load(connection, predictions, _NONE)
        partners = np.full(rows, _NONE, np.int32 if others < 1 << 31 else np.int64)
        refused, unknown, first = nulls + more_nulls > 0, 0, np.empty(0, np.int64)
        for batch in stream(connection, "SELECT min(row), max(row), count(*) FROM ids GROUP BY key", BATCH_ROWS):
            low, high, count = (np.asarray(column) for column in batch.columns)
            pair = (low < 0) & (high >= 0)
            refused |= bool((count > 1 + pair).any())
            partners[high[pair]] = ~low[pair]
            alone = ~high[high < 0]
            unknown, first = unknown + len(alone), np.sort(np.concatenate([first, alone]))[:EXAMPLES]
        if refused:
            raise _duplicates_or_nulls(connection, gold, predictions)
        missing = np.flatnonzero(partners == _NONE)
        return Match(
            partners,
            Unmatched(len(missing), _name_rows(connection, missing[:EXAMPLES])),
            Unmatched(unknown, tuple((~row, key) for row, key in _name_rows(connection, ~first))),
        )


def _load(connection: duckdb.DuckDBPyConnection, half: Half, sign: int) -> tuple[int, int]:
    """Load the ids with their row numbers, predictions' inverted; how many rows and nulls."""
    row = nulls = 0
    for ids in half.ids():
        keys = spell_ids(ids, str(half), row + 1)
        nulls += keys.null_count
        numbers = pa.array(np.arange(row, row + len(keys)) ^ sign)
        connection.register("part", pa.table([keys, numbers], ["key", "row"]))
        connection.execute("INSERT INTO ids FROM part")
        row += len(keys)
    return row, nulls


def _duplicates_or_nulls(connection: duckdb.DuckDBPyConnection, *halves: Half) -> JoinError:
    for half in halves:
        mine = (
            "row, key FROM ids WHERE row >= 0"
            if half.side == "reference"
            else "~row AS row, key FROM ids WHERE row < 0"
        )
        connection.execute(f"CREATE OR REPLACE TEMP VIEW half AS SELECT {mine}")
        query = f"SELECT row + 1 FROM half WHERE key IS NULL ORDER BY row LIMIT {EXAMPLES}"  # noqa: S608
        if nulls := connection.execute(query).fetchall():
            rows = ", ".join(str(row) for (row,) in nulls)
            return JoinError(f"{half}: the id is null or empty in row {rows}; expected an id in every row")
        duplicates = connection.execute(
            f"SELECT key, list(row + 1 ORDER BY row)[:{EXAMPLES}] FROM half "  # noqa: S608
            f"GROUP BY key HAVING count(*) > 1 ORDER BY min(row) LIMIT {EXAMPLES}"
        ).fetchall()
        if duplicates:
            listed = "; ".join(f"{key!r} in rows {', '.join(map(str, rows))}" for key, rows in duplicates)
            return JoinError(f"{half}: expected every id once, found {listed}")
    raise AssertionError("ids are null or not unique, but none was found")


def _name_rows(connection: duckdb.DuckDBPyConnection, rows: Array) -> tuple[tuple[int, str], ...]:
    """A few rows with their ids, by the numbers in the table."""
    ids = dict(
        connection.execute("SELECT row, key FROM ids WHERE row IN (SELECT unnest(?))", [rows.tolist()]).fetchall()
    )
    return tuple((row, ids[row]) for row in rows.tolist())
