"""Filter the rows of a source: by an SQL condition, and by a limit on their number."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.data.paths.nested import add_nested, find_nested
from karat.data.source import Source
from karat.data.storage.duckdb import connect, explain, interruptible, to_duckdb
from karat.data.storage.query_limits import QueryLimit, run_within_limits

_NOT_ROW_BY_ROW = {
    "WINDOW": "a window",
    "SUBQUERY": "a subquery",
    "STAR": "a pattern of columns",
    "unnest": "unnest",
    "unlist": "unlist",
}
"""DuckDB's names for parts of a condition that read other rows or produce several rows, and ours for messages."""

OFFLINE = {"enable_external_access": "false"}  # a condition reads no files


def filter_rows(
    source: Source, where: str | None, limit: int | None, nested: Mapping[str, pa.DataType] | None = None
) -> Source:
    """The first `limit` of the rows for which the SQL condition `where` is true.

    A name in double quotes may be a path into objects, see `extract_nested`: `"attributes.metadata.tier" = 'paid'`;
    `nested` are the types at these paths where `find_nested` has found them before.

    Raises `DataError` with DuckDB's reason for an invalid condition or limit.
    """
    if limit is not None and (not isinstance(limit, int) or not 0 <= limit < 1 << 63):
        raise DataError(f"limit is {limit!r:.40}; expected a whole number from 0 to 2**63 - 1")
    extended, used = source, list[str]()
    if where is not None:
        names = names_in(where)
        extended = add_nested(source, find_nested(source, names) if nested is None else nested, keep_json=False)
        folded = {name.casefold() for name in names}
        used = [name for name in extended.schema.names if name.casefold() in folded]
        empty = pa.table([pa.nulls(0, kind) for kind in extended.schema.types], schema=extended.schema)
        _evaluate(connect(**OFFLINE), where, used, empty)

    def read_numbered(text: frozenset[str]) -> Iterator[tuple[Array, pa.RecordBatch]]:
        connection = connect(**OFFLINE)
        left = limit
        for numbers, rows_read in extended.numbered_batches(text):
            if left == 0:
                return
            kept, batch = numbers, rows_read.select(range(len(source.schema)))
            if where is not None:
                mask = _evaluate(connection, where, used, rows_read)
                kept, batch = numbers[np.asarray(mask.fill_null(False))], filter_batch(batch, mask)
            if left is not None:
                kept, batch = kept[:left], batch.slice(0, left)
                left -= len(batch)
            if len(batch):
                yield kept, batch

    def read(text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        return (batch for _, batch in read_numbered(text))

    known = source.rows if where is None else None
    known = known if limit is None or known is None else min(known, limit)
    return Source(
        source.name, source.schema, known, read, source.lossy_columns, notes=source.notes, numbered=read_numbered
    )


def names_in(where: str, statement: str = "SELECT ({}\n)") -> set[str]:
    """The names of columns and paths in a condition, or in what `statement` holds at `{}`.

    Raises `DataError` if it reads more than its own row.
    """
    try:
        (parsed,) = connect().execute("SELECT json_serialize_sql(?)", [statement.format(where)]).fetchall()[0]
    except duckdb.Error as error:
        raise DataError(f"the condition {where!r} does not work: {explain(error)}") from error
    tree = json.loads(parsed)
    if tree["error"]:
        raise DataError(f"the condition {where!r} does not work: {tree['error_message']}")
    used = set[str]()
    for node in _walk(tree):
        if reason := _NOT_ROW_BY_ROW.get(node.get("class", "")) or _NOT_ROW_BY_ROW.get(node.get("function_name", "")):
            raise DataError(f"the condition {where!r} must hold for one row at a time; {reason} does not")
        names = node.get("column_names", ())
        used |= {*names, ".".join(names)}
    return used


def _walk(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    for inner in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _walk(inner)


def _evaluate(
    connection: duckdb.DuckDBPyConnection, where: str, used: list[str], rows: pa.RecordBatch | pa.Table
) -> pa.Array:
    """Whether the condition is true, row by row. DuckDB gets one batch at a time, which keeps row order and types."""
    columns = [to_duckdb(rows.column(name)) for name in used]
    table = pa.table([*columns, pa.nulls(rows.num_rows)], [*used, "karat_no_column"])  # a table needs a column

    def evaluate() -> pa.Table:
        connection.register("karat_rows", table)
        return connection.sql(f"SELECT CAST(({where}\n) AS BOOLEAN) FROM karat_rows").to_arrow_table()  # noqa: S608

    try:
        with interruptible():
            mask = run_within_limits(connection, evaluate)
    except (duckdb.Error, MemoryError, QueryLimit) as error:
        unquoted = [name for name in used if "." in name and f'"{name}"' not in where]
        hint = f'; names with dots need double quotes: "{unquoted[0]}"' if unquoted else ""
        raise DataError(f"the condition {where!r} does not work: {explain(error)}{hint}") from error
    if mask.shape != (rows.num_rows, 1):
        raise DataError(f"the condition {where!r} must hold for one row at a time; an aggregate does not")
    return mask.column(0).combine_chunks()


def filter_batch(batch: pa.RecordBatch, mask: pa.Array) -> pa.RecordBatch:
    """The rows where the mask is true. Types that Arrow cannot filter are sliced, run by run."""
    try:
        return batch.filter(mask)
    except pa.ArrowNotImplementedError:
        chosen = np.flatnonzero(mask.fill_null(False).to_numpy(zero_copy_only=False))
        runs = np.split(chosen, np.flatnonzero(np.diff(chosen) > 1) + 1) if len(chosen) else []
        return pa.concat_batches([batch.slice(run[0], len(run)) for run in runs]) if runs else batch.slice(0, 0)
