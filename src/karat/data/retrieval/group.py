"""Groups tables with one document per row into one row per query, with its ranked or judged documents."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Array
from karat.core.columns.subtopics import JUDGED
from karat.data.retrieval.long_table import LONG_SCHEMA, find_columns, read_long
from karat.data.roles import Side
from karat.data.source import Source
from karat.data.storage.batches import BATCH_ROWS
from karat.data.storage.duckdb import connect_on_disk, interruptible, stream
from karat.data.storage.files import BatchFile

_RANKED = [("retrieved", pa.list_(pa.string())), ("retrieved_scores", pa.list_(pa.float64()))]
_SCHEMAS: dict[Side, pa.Schema] = {
    "prediction": pa.schema([("query_id", pa.string()), *_RANKED]),
    "reference": pa.schema([("query_id", pa.string()), ("relevant", pa.map_(pa.string(), pa.float64()))]),
}
_BY_SUBTOPIC = _SCHEMAS["reference"].append(pa.field("subtopics", JUDGED))


class _NotSortedError(Exception):
    """The rows of a query are not contiguous."""


def group_by_query(source: Source, side: Side, query: str | None = None) -> Source:
    """Turn a source with one document per row into one with one query per row; return any other source as it is.

    The columns are `query_id` and, for predictions, `retrieved` and `retrieved_scores`, best first; for references
    `relevant`, a map from document to grade; where documents are judged by subtopic it has their largest grade, and
    `subtopics` has the grades by document and subtopic. The order is trec_eval's: by score in single precision,
    and for equal scores by the document's bytes, last first. A column of ranks is ignored. Queries keep the order in
    which they first appear. A row with neither document nor score is a query without results. `query` is the name of
    the query column, if it is not a known one.

    `notes` counts `duplicates`: documents that occur twice for a query. Ranked duplicates are kept; judged ones get the
    largest grade. Raises `ColumnError` for documents without scores or grades, `RowError` for a row without a query or
    without a number.

    >>> from karat.data.formats.frames import open_frame
    >>> run = group_by_query(open_frame({"1": {"a": 0.5, "b": 2}, "2": {}}), "prediction")
    >>> for batch in run.batches():
    ...     print(*batch.to_pylist())
    {'query_id': '1', 'retrieved': ['b', 'a'], 'retrieved_scores': [2.0, 0.5]}
    {'query_id': '2', 'retrieved': [], 'retrieved_scores': []}
    """
    columns = find_columns(source, side, query)
    if columns is None:
        return source
    schema = _SCHEMAS[side] if columns.subtopic is None else _BY_SUBTOPIC
    notes = {"duplicates": 0}
    try:
        file = BatchFile(schema, _group(read_long(source, columns), schema, notes))
    except _NotSortedError:
        notes = {"duplicates": 0}
        file = BatchFile(schema, _group(_sort_by_query(read_long(source, columns)), schema, notes))
    rows = sum(len(batch) for batch in file.read())
    return Source(source.name, schema, rows, file.read, notes={**source.notes, **notes})


def _group(batches: Iterator[pa.RecordBatch], schema: pa.Schema, notes: dict[str, int]) -> Iterator[pa.RecordBatch]:
    """The rows of each query together. Raises `_NotSortedError` if they are not contiguous."""
    seen: set[str] = set()
    pending = LONG_SCHEMA.empty_table()
    make = _rank if "retrieved" in schema.names else _judge_by_subtopic if "subtopics" in schema.names else _judge
    for batch in chain(batches, [None]):
        if batch is not None:
            pending = pa.concat_tables([pending, pa.Table.from_batches([batch])]).combine_chunks()
        if not pending.num_rows:
            continue
        rows = pending.to_batches()[0]
        other = pc.not_equal(rows.column(0)[1:], rows.column(0)[:-1]).to_numpy(zero_copy_only=False)
        starts = np.flatnonzero(np.concatenate([[True], other]))
        end = rows.num_rows if batch is None else int(starts[-1])  # the last query may continue in the next batch
        pending = pending.slice(end)
        starts = starts[starts < end]
        queries = rows.column(0).take(pa.array(starts))
        ids = queries.to_pylist()
        if len(set(ids)) < len(ids) or not seen.isdisjoint(ids):
            raise _NotSortedError
        seen.update(ids)
        if end:
            yield make(queries, np.append(starts, end), rows.slice(0, end), notes)


def _rank(queries: pa.Array, bounds: Array, rows: pa.RecordBatch, notes: dict[str, int]) -> pa.RecordBatch:
    parents, documents, scores = _documents(bounds, rows)
    notes["duplicates"] += len(parents) - len(np.unique(_pairs(parents, documents)))
    with np.errstate(over="ignore"):
        single = np.asarray(scores).astype(np.float32)
    table = pa.table({"query": parents, "score": single, "document": documents})
    order = pc.sort_indices(table, [("query", "ascending"), ("score", "descending"), ("document", "descending")])
    offsets = _offsets(parents, len(queries))
    ranked = [pa.ListArray.from_arrays(offsets, column.take(order)) for column in (documents, scores)]
    return pa.RecordBatch.from_arrays([queries, *ranked], schema=_SCHEMAS["prediction"])


def _judge(queries: pa.Array, bounds: Array, rows: pa.RecordBatch, notes: dict[str, int]) -> pa.RecordBatch:
    """Queries with the grades of their documents; the largest grade of a document that occurs twice."""
    parents, documents, grades = _documents(bounds, rows)
    _, first, which = np.unique(_pairs(parents, documents), return_index=True, return_inverse=True)
    notes["duplicates"] += len(parents) - len(first)
    if len(first) < len(parents):
        best = np.full(len(first), -np.inf)
        np.maximum.at(best, which, np.asarray(grades))
        order = np.argsort(first)
        kept = first[order]
        parents, documents, grades = parents[kept], documents.take(pa.array(kept)), pa.array(best[order])
    relevant = pa.MapArray.from_arrays(_offsets(parents, len(queries)), documents.fill_null(""), grades)
    return pa.RecordBatch.from_arrays([queries, relevant], schema=_SCHEMAS["reference"])


def _judge_by_subtopic(queries: pa.Array, bounds: Array, rows: pa.RecordBatch, notes: dict[str, int]) -> pa.RecordBatch:
    """Queries with the grades of their documents by subtopic; the largest grade of what is judged twice."""
    parents, documents, grades = _documents(bounds, rows)
    topics = rows.column(3).filter(rows.column(2).is_valid()).fill_null("")
    _, first, which = np.unique(_pairs(parents, documents), return_index=True, return_inverse=True)
    kept = np.sort(first)  # documents in the order in which they first appear
    judged = _pairs(np.searchsorted(kept, first)[which], topics)
    judged, starts, which = np.unique(judged, return_index=True, return_inverse=True)
    notes["duplicates"] += len(parents) - len(judged)
    best = np.full(len(judged), -np.inf)
    np.maximum.at(best, which, np.asarray(grades))
    ends = np.searchsorted(judged >> 32, np.arange(len(kept) + 1))
    largest = np.maximum.reduceat(best, ends[:-1]) if len(kept) else best
    inner = pa.MapArray.from_arrays(pa.array(ends, pa.int32()), topics.take(pa.array(starts)), pa.array(best))
    names, offsets = documents.take(pa.array(kept)).fill_null(""), _offsets(parents[kept], len(queries))
    maps = [pa.MapArray.from_arrays(offsets, names, each) for each in (pa.array(largest), inner)]
    return pa.RecordBatch.from_arrays([queries, *maps], schema=_BY_SUBTOPIC)


def _documents(bounds: Array, rows: pa.RecordBatch) -> tuple[Array, pa.Array, pa.Array]:
    """The index of the query of each document, the documents, and their scores or grades."""
    valid = np.asarray(rows.column(2).is_valid())
    parents = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    if valid.all():
        return parents, rows.column(1), rows.column(2)
    return parents[valid], rows.column(1).filter(pa.array(valid)), rows.column(2).filter(pa.array(valid))


def _pairs(parents: Array, documents: pa.Array) -> Array:
    codes = documents.dictionary_encode(null_encoding="encode").indices
    return np.asarray(parents.astype(np.int64) << 32 | np.asarray(codes))


def _offsets(parents: Array, queries: int) -> pa.Array:
    return pa.array(np.searchsorted(parents, np.arange(queries + 1)), pa.int32())


def _sort_by_query(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows with each query's together, otherwise in their order; on disk if memory does not suffice.

    >>> columns = {"query": ["1", "2", "1"], "document": ["a", "b", "c"], "value": [3.0, 2.0, 1.0]}
    >>> rows = pa.record_batch({**columns, "subtopic": pa.nulls(3, "string")})
    >>> [batch.column("document").to_pylist() for batch in _sort_by_query(iter([rows]))]
    [['a', 'c', 'b']]
    """
    with connect_on_disk() as connection, interruptible():
        connection.execute(
            'CREATE TABLE long (query VARCHAR, document VARCHAR, "value" DOUBLE, subtopic VARCHAR, row BIGINT)'
        )
        done = 0
        for batch in rows:
            numbers = pa.array(range(done, done + batch.num_rows), pa.int64())
            connection.register("part", pa.table([*batch.columns, numbers], [*batch.schema.names, "row"]))
            connection.execute("INSERT INTO long FROM part")
            done += batch.num_rows
        query = (
            'SELECT query, document, "value", subtopic FROM long '
            "JOIN (SELECT query, min(row) AS first FROM long GROUP BY query) USING (query) ORDER BY first, row"
        )
        yield from stream(connection, query, BATCH_ROWS)
