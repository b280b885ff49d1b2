"""Keep some rows of a source: those an SQL condition holds for, the first so many."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from karat.core.errors import DataError
from karat.data.nested import extract_nested
from karat.data.source import Source
from karat.data.storage.duckdb import connect, explain, interruptible

_MORE_THAN_A_ROW = {
    "WINDOW": "a window",
    "SUBQUERY": "a subquery",
    "STAR": "a pattern of columns",
    "unnest": "unnest",
    "unlist": "unlist",
}
"""What DuckDB calls the parts of a condition that look at other rows, or make several of one."""


def filter_rows(source: Source, where: str | None, limit: int | None) -> Source:
    """The rows for which the SQL condition `where` holds, and of these the first `limit`.

    A name in double quotes may be a path into objects, see `extract_nested`: `"attributes.metadata.tier" = 'paid'`.
    Raises `DataError` with DuckDB's reason for a condition that is none.
    """
    if limit is not None and (not isinstance(limit, int) or limit < 0):
        raise DataError(f"limit is {limit!r}; expected a whole number from 0")
    seen, named = source, list[str]()
    if where is not None:
        words = _words(where)
        seen = extract_nested(source, words, spelled=False)
        folded = {word.casefold() for word in words}
        named = [name for name in seen.schema.names if name.casefold() in folded]
        _mask(_connect(), where, named, seen.schema.empty_table())
    rows = source.rows if where is None else None

    def read(text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        connection = _connect()
        left = limit
        for found in seen.read(text):
            if left == 0:
                return
            batch = found.select(range(len(source.schema)))
            kept = batch if where is None else filter_batch(batch, _mask(connection, where, named, found))
            if left is not None:
                kept = kept.slice(0, left)
                left -= kept.num_rows
            if kept.num_rows:
                yield kept

    known = rows if limit is None or rows is None else min(rows, limit)
    return Source(source.name, source.schema, known, read, source.lossy_columns, notes=source.notes)


def _connect() -> duckdb.DuckDBPyConnection:
    return connect(enable_external_access="false")  # a condition reads no files


def _words(where: str) -> set[str]:
    """What a condition names: columns, and paths, in double quotes or not.

    Raises `DataError` for a condition that looks at more than its own row.
    """
    try:
        (parsed,) = connect().execute("SELECT json_serialize_sql(?)", [f"SELECT ({where}\n)"]).fetchall()[0]
    except duckdb.Error as error:
        raise DataError(f"the condition {where!r} does not work: {explain(error)}") from error
    tree = json.loads(parsed)
    if tree["error"]:
        raise DataError(f"the condition {where!r} does not work: {tree['error_message']}")
    words = set[str]()
    for node in _walk(tree):
        if reason := _MORE_THAN_A_ROW.get(node.get("class", "")) or _MORE_THAN_A_ROW.get(node.get("function_name", "")):
            raise DataError(f"the condition {where!r} must hold for one row at a time; {reason} does not")
        names = node.get("column_names", ())
        words |= {*names, ".".join(names)}
    return words


def _walk(tree: Any) -> Iterator[dict[str, Any]]:
    """All objects of a JSON tree."""
    if isinstance(tree, dict):
        yield tree
    for inner in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _walk(inner)


@interruptible()
def _mask(
    connection: duckdb.DuckDBPyConnection, where: str, named: list[str], rows: pa.RecordBatch | pa.Table
) -> pa.Array:
    """For each row whether the condition holds; DuckDB sees one batch at a time, so row order and types are safe."""
    columns = [rows.column(name) for name in named]
    try:
        seen = pa.table([*columns, pa.nulls(rows.num_rows)], [*named, "karat_no_column"])  # a table has a column
        connection.register("karat_rows", seen)
        found = connection.sql(f"SELECT CAST(({where}\n) AS BOOLEAN) FROM karat_rows").to_arrow_table()  # noqa: S608
    except duckdb.Error as error:
        bare = [name for name in named if "." in name and f'"{name}"' not in where]
        hint = f'; names with dots stand in double quotes: "{bare[0]}"' if bare else ""
        raise DataError(f"the condition {where!r} does not work: {explain(error)}{hint}") from error
    if found.shape != (rows.num_rows, 1):
        raise DataError(f"the condition {where!r} must hold for one row at a time; an aggregate does not")
    return found.column(0).combine_chunks()


def filter_batch(batch: pa.RecordBatch, mask: pa.Array) -> pa.RecordBatch:
    """The rows where the mask is true; of types that Arrow does not filter, the runs of rows one after the other."""
    try:
        return batch.filter(mask)
    except pa.ArrowNotImplementedError:
        chosen = np.flatnonzero(mask.fill_null(False).to_numpy(zero_copy_only=False))
        runs = np.split(chosen, np.flatnonzero(np.diff(chosen) > 1) + 1) if len(chosen) else []
        return pa.concat_batches([batch.slice(run[0], len(run)) for run in runs]) if runs else batch.slice(0, 0)
