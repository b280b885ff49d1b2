"""The rows of runs in DuckDB: columns in memory by SQL, and rows of the runs' Parquet files by number or by a text.

DuckDB reads the runs' files and nothing else. Values are bound; names of columns never reach a query: columns are
numbered, as DuckDB takes names that differ in their case alone for one.
"""

# ruff: noqa: S608  (queries are put together from numbered columns and names of files; values are bound)
from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from karat.core.columns.json_text import RAW
from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.data.json.texts import read_json
from karat.data.storage.duckdb import connect_alone, explain, literal, one_file, one_pattern
from karat.runs.store.run import Run

_MEMORY, _OF_A_ROW = 128 << 20, 64  # bytes; the second where all rows are sorted
_NUMBER = "file_row_number"
_SPECIAL = re.compile(r"[\\.^$*+?()\[\]{}|]")


class Relation:
    """The rows of some runs, of which so many `rows` are matched; safe for several threads.

    >>> Relation([], 2).evaluate("a + 1 FROM matched", {"a": pa.array([1, 2])}).to_pylist()
    [2, 3]
    """

    def __init__(self, runs: Iterable[Run], rows: int = 0) -> None:
        self._connection = connect_alone(memory_limit=f"{_MEMORY + rows * _OF_A_ROW} B")
        files = [file for run in runs for file in run.files]
        patterns = map(one_pattern, files)  # DuckDB checks the pattern, and then the file that it finds
        paths = map(os.path.abspath, files)  # does not resolve links
        self._connection.execute(f"SET allowed_paths = [{', '.join(map(literal, [*patterns, *paths]))}]")
        self._connection.execute("SET enable_external_access = false; SET lock_configuration = true")

    def evaluate(self, query: str, columns: Mapping[str, pa.Array]) -> pa.Array:
        """What follows SELECT in a query for one column over `matched`, which has these columns."""
        cursor = self._connection.cursor()
        cursor.register("matched", pa.table(dict(columns)))
        return cursor.sql(f"SELECT {query}").to_arrow_table().column(0).combine_chunks()

    def read(self, run: Run, rows: Array, names: Sequence[str]) -> list[dict[str, Any]]:
        """Some columns of the rows with these numbers, in their order."""
        if not len(rows) or not names:
            return [{} for _ in rows]
        columns = ", ".join(_select(run, name) for name in names)
        wanted, cells_by_row = np.unique(rows), dict[int, list[Any]]()
        between = "n BETWEEN ? AND ? AND n IN (SELECT unnest(?))"  # the range leaves out groups of rows
        for file, start, here in zip(run.files, run.starts, _split(wanted, run.starts), strict=False):
            if len(here):
                bound = [int(here[0]), int(here[-1]), here.tolist()]
                cells_read = self._query(run, file, f"n, {columns}", between, bound)
                cells_by_row |= {int(start) + row: cells for row, *cells in cells_read}
        for cells in cells_by_row.values():
            for at, name in enumerate(names):
                if run.schema.field(name).type == RAW:
                    cells[at] = read_json(cells[at])
        return [dict(zip(names, cells_by_row[row], strict=True)) for row in rows.tolist()]

    def find(self, run: Run, name: str, value: Any) -> Array:
        """The numbers of the rows in which a column has this value, shape (k,)."""
        return self._numbers(run, f"c{run.schema.names.index(name)} = ?", [value])

    def search(self, run: Run, names: Sequence[str], text: str) -> Array:
        """The numbers of the rows in which one of some columns contains a text, in any case, shape (k,)."""
        columns = [f"CAST(c{run.schema.names.index(name)} AS VARCHAR)" for name in names]
        return self._numbers(run, " OR ".join(matches(column, text) for column in columns) or "false", [])

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _numbers(self, run: Run, condition: str, bound: Sequence[Any]) -> Array:
        numbers = (
            start + np.array([row for (row,) in self._query(run, file, "n", condition, bound)], np.int64)
            for file, start in zip(run.files, run.starts, strict=False)
        )
        return np.concatenate([np.empty(0, np.int64), *numbers])

    def _query(
        self, run: Run, path: str | Path, columns: str, condition: str, bound: Sequence[Any]
    ) -> list[tuple[Any, ...]]:
        """Some columns of the rows of one of the run's files for which a condition holds; `n` is the row's number."""
        names = [f"c{at}" for at in range(len(run.schema.names))]
        file = one_file(path)
        if any(name.lower() == _NUMBER for name in run.schema.names):  # the run has a column of that name itself
            rows = f"SELECT *, row_number() OVER () - 1 AS n FROM read_parquet({file}) AS t({', '.join(names)})"
        else:
            rows = f"SELECT * FROM read_parquet({file}, {_NUMBER} = true) AS t({', '.join([*names, 'n'])})"
        query = f"SELECT {columns} FROM ({rows}) WHERE {condition}"
        try:
            return self._connection.cursor().execute(query, list(bound)).fetchall()
        except duckdb.Error as error:
            raise DataError(f"run {run.name}: its rows cannot be read: {explain(error)}") from error


def matches(value: str, text: str) -> str:
    r"""A condition in SQL: a value contains a text, in any case.

    >>> matches("id", "a.b")
    "regexp_matches(id, 'a\\.b', 'i')"
    """
    pattern = _SPECIAL.sub(r"\\\g<0>", text)
    return f"regexp_matches({value}, {literal(pattern)}, 'i')"


def _split(rows: Array, starts: Array) -> list[Array]:
    """Sorted row numbers by the file that they are in, each counted from the start of its file."""
    pieces = np.split(rows, np.searchsorted(rows, starts[1:-1]))
    return [piece - start for piece, start in zip(pieces, starts, strict=False)]


def _select(run: Run, name: str) -> str:
    """A column for a query; a time with a zone as text, as DuckDB makes no Python value of it by itself."""
    column = f"c{run.schema.names.index(name)}"
    return f"CAST({column} AS VARCHAR)" if getattr(run.schema.field(name).type, "tz", None) else column
