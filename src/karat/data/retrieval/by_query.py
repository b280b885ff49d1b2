"""Rows of a long table put together by query, on disk where memory does not suffice."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pyarrow as pa

from karat.data.source import BATCH_ROWS
from karat.data.storage.duckdb import connect, interruptible, stream

_MEMORY_LIMIT = "200MB"


def gather_queries(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of query, document and value such that those of a query follow one another, and otherwise as they are.

    >>> rows = pa.record_batch({"query": ["1", "2", "1"], "document": ["a", "b", "c"], "value": [3.0, 2.0, 1.0]})
    >>> [batch.column("document").to_pylist() for batch in gather_queries(iter([rows]))]
    [['a', 'c', 'b']]
    """
    with (
        tempfile.TemporaryDirectory(prefix="karat-") as folder,
        connect(temp_directory=folder, memory_limit=_MEMORY_LIMIT) as connection,
        interruptible(),
    ):
        connection.execute('CREATE TABLE long (query VARCHAR, document VARCHAR, "value" DOUBLE, row BIGINT)')
        done = 0
        for batch in rows:
            numbers = pa.array(range(done, done + batch.num_rows), pa.int64())
            connection.register("part", pa.table([*batch.columns, numbers], [*batch.schema.names, "row"]))
            connection.execute("INSERT INTO long FROM part")
            done += batch.num_rows
        query = (
            'SELECT query, document, "value" FROM long '
            "JOIN (SELECT query, min(row) AS first FROM long GROUP BY query) USING (query) ORDER BY first, row"
        )
        yield from stream(connection, query, BATCH_ROWS)
