"""Keep some rows of a source: those an SQL condition holds for, the first so many."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa

from karat.core.errors import DataError
from karat.data.duck import connect, explain
from karat.data.source import Source


def keep(source: Source, where: str | None, limit: int | None) -> Source:
    """The rows for which the SQL condition ``where`` holds, and of these the first ``limit``.

    Raises :class:`~karat.core.errors.DataError` with DuckDB's reason for a condition that is none.
    """
    if limit is not None and limit < 0:
        raise DataError(f"limit is {limit}; expected 0 or more")
    if where is not None:
        _mask(_connect(), where, pa.RecordBatch.from_pylist([], source.schema))
    rows = source.rows if where is None else None

    def read(text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        connection = _connect()
        left = limit
        for batch in source.read(text):
            if left == 0:
                return
            kept = batch if where is None else batch.filter(_mask(connection, where, batch))
            if left is not None:
                kept = kept.slice(0, left)
                left -= kept.num_rows
            if kept.num_rows:
                yield kept

    known = rows if limit is None or rows is None else min(rows, limit)
    return Source(source.name, source.schema, known, read, source.respelled)


def _connect() -> duckdb.DuckDBPyConnection:
    return connect(enable_external_access="false")  # a condition reads no files


def _mask(connection: duckdb.DuckDBPyConnection, where: str, batch: pa.RecordBatch) -> pa.Array:
    """For each row whether the condition holds; DuckDB sees one batch at a time, so row order and types are safe."""
    try:
        connection.register("karat_rows", pa.Table.from_batches([batch]))
        found = connection.sql(f"SELECT CAST(({where}\n) AS BOOLEAN) FROM karat_rows").to_arrow_table()  # noqa: S608
    except duckdb.Error as error:
        raise DataError(f"the condition {where!r} does not work: {explain(error)}") from error
    if found.num_rows != batch.num_rows:
        raise DataError(f"the condition {where!r} must hold for one row at a time; an aggregate does not")
    return found.column(0).combine_chunks()
