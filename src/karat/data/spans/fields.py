"""What is asked, said and retrieved in spans, from their attributes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import is_text
from karat.data.roles import ATTRIBUTE_COLUMNS
from karat.data.spans import names
from karat.data.spans.tree import Tree

ANSWERS = ("question", "prediction", "contexts", "retrieved", "retrieved_scores")
FIELDS = pa.schema(
    [
        ("question", pa.string()),
        ("prediction", pa.string()),
        ("contexts", pa.list_(pa.string())),
        ("retrieved", pa.list_(pa.string())),
        ("retrieved_scores", pa.list_(pa.float64())),
        ("span_id", pa.string()),
        ("trace_id", pa.string()),
        ("parent_id", pa.string()),
        ("span_kind", pa.string()),
        ("start_time", pa.timestamp("us", "UTC")),
    ]
)
_NO_ID = pa.array(["", "None", "null", "nan", "NaN", "<NA>", "0000000000000000", "0"])
"""How exports spell that a span has no parent."""
_STARTED = (
    "CASE WHEN regexp_full_match(cell, '[0-9]{18,19}') THEN make_timestamp(cell::BIGINT // 1000) "
    "WHEN regexp_full_match(cell, '[0-9]{12,13}') THEN make_timestamp(cell::BIGINT * 1000) "
    "ELSE TRY_CAST(cell AS TIMESTAMP) END"
)
"""Nanoseconds or milliseconds since 1970, or a time as text, which is UTC where it names no zone."""


@dataclass(frozen=True)
class Derived:
    """The fields of a batch of spans, and numbers that stand for the ids of span, parent and trace, 0 for none."""

    fields: pa.RecordBatch
    ids: np.ndarray


def derive(batch: pa.RecordBatch, run: duckdb.DuckDBPyConnection, lost: list[int]) -> Derived:
    """The fields of spans; `lost` gets the number of cells that hold attributes in no form that can be read.

    >>> from karat.data.storage.duckdb import connect
    >>> batch = pa.RecordBatch.from_pylist([{"span_id": "a", "attributes": {"input": {"value": "Who?"}}}])
    >>> derive(batch, connect(), []).fields.column("question").to_pylist()
    ['Who?']
    """
    columns = list(zip(batch.schema.names, batch.columns, strict=True))
    if all(is_text(column.type) for column in batch.columns):  # as in CSV, where an empty cell says nothing
        columns = [(name, _unless_empty(column)) for name, column in columns]
    own = [(name, column) for name, column in columns if name.split(".")[0] in _IDENTIFYING]
    row = Tree(tuple(own), batch.num_rows, run, lost).unfold(names.IDENTITY)
    told = tuple((_attribute(name), column) for name, column in columns if name not in _IDENTIFYING)
    tree = Tree(told, batch.num_rows, run, lost).unfold(names.ATTRIBUTES, names.LISTS)
    kind = _kind(row, tree)
    asked, said = tree.get(names.INPUT), tree.get(names.OUTPUT)
    user, assistant = _last(tree, names.ASKED, ("user", "human")), _last(tree, names.SAID, ("assistant", "ai", "model"))
    of_model = pc.fill_null(pc.equal(kind, "LLM"), False)
    contexts, retrieved, scores = _documents(tree)
    span, trace, parent = (_ids(row, paths) for paths in (names.SPAN_ID, names.TRACE_ID, names.PARENT_ID))
    fields = {
        "question": pc.if_else(of_model, pc.coalesce(user, asked), pc.coalesce(tree.get(names.QUERY), asked, user)),
        "prediction": pc.if_else(of_model, pc.coalesce(assistant, said), pc.coalesce(said, assistant)),
        "contexts": contexts,
        "retrieved": retrieved,
        "retrieved_scores": scores,
        "span_id": span,
        "trace_id": trace,
        "parent_id": parent,
        "span_kind": kind,
        "start_time": row.select(_STARTED, row.get(names.STARTED)).cast(pa.timestamp("us")).cast(FIELDS.field(9).type),
    }
    found = pa.RecordBatch.from_arrays([fields[name] for name in FIELDS.names], schema=FIELDS)
    ids = [
        row.select("CASE WHEN cell IS NULL THEN 0::UBIGINT ELSE hash(cell) END", column).to_numpy()
        for column in (span, parent, trace)
    ]
    return Derived(found, np.stack(ids, axis=1))


_IDENTIFYING = {path.split(".")[0] for path in names.IDENTITY}


def _unless_empty(column: pa.Array) -> pa.Array:
    """Text without the empty ones, which are null; what is there is not copied."""
    there = pc.greater(pc.binary_length(column), 0)
    if column.offset or column.null_count:
        return pc.if_else(there, column, None)
    return pa.Array.from_buffers(column.type, len(column), [there.buffers()[1], *column.buffers()[1:]])


def _attribute(name: str) -> str:
    """The attribute that a column holds; nothing for a column that holds them all."""
    return "" if name in ATTRIBUTE_COLUMNS else name.removeprefix("attributes.")


def _ids(row: Tree, paths: Sequence[str]) -> pa.Array:
    found = row.get(paths)
    return pc.if_else(pc.is_in(found, _NO_ID), None, found)


def _kind(row: Tree, tree: Tree) -> pa.Array:
    """The kind in OpenInference's words, or in the export's own where it has none."""
    own = pc.utf8_upper(row.get(("span_kind",)))
    own = pc.if_else(pc.is_in(own, pa.array(names.KINDS)), own, None)
    found = pc.coalesce(tree.get(names.KIND[:1]), own, tree.get(names.KIND[1:]))
    each = pc.utf8_upper(found).dictionary_encode()
    words = pa.array([names.CALLED.get(word, word) for word in each.dictionary.to_pylist()], pa.string())
    return words.take(each.indices)


def _last(tree: Tree, paths: Sequence[str], roles: Collection[str]) -> pa.Array:
    """The text of the last message of a role."""
    found = [pa.nulls(tree.rows, pa.string())]
    for path in paths:
        for messages in tree.items(path, (*names.ROLE, *names.CONTENT, *names.PARTS)):
            text = _text(messages.tree)
            theirs = pc.and_(pc.is_in(messages.tree.get(names.ROLE), pa.array(roles)), text.is_valid())
            places = np.flatnonzero(theirs.to_numpy(zero_copy_only=False))
            last = np.full(tree.rows, -1)
            last[messages.row[places]] = places  # of several the last is kept
            found.append(text.take(pa.array(last, mask=last < 0)))
    return pc.coalesce(*found)


def _text(message: Tree) -> pa.Array:
    """A message's text: its content, or its parts that are text, one a line."""
    found = [message.get(names.CONTENT)]
    for path in names.PARTS:
        for parts in message.items(path, (*names.PART, *names.PART_TYPE)):
            kind = parts.tree.get(names.PART_TYPE)
            text = pc.if_else(pc.fill_null(pc.equal(kind, "text"), True), parts.tree.get(names.PART), None)
            some = text.is_valid().to_numpy(zero_copy_only=False)
            row = parts.row[some]
            lists = listed(text.filter(pa.array(some)), row, np.isin(np.arange(message.rows), row))
            found.append(pc.binary_join(lists, "\n"))
    return pc.coalesce(*found)


def _documents(tree: Tree) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Of the documents of each span their texts, ids and scores, null for those that have none."""
    texts, ids, scores = ([pa.nulls(tree.rows, FIELDS.field(at).type)] for at in (2, 3, 4))
    for path in names.DOCUMENTS:
        for found in tree.items(path, (*names.DOCUMENT, *names.DOCUMENT_ID, *names.DOCUMENT_SCORE)):
            texts.append(listed(found.tree.get(names.DOCUMENT), found.row, found.there))
            ids.append(listed(found.tree.get(names.DOCUMENT_ID), found.row, found.there))
            number = found.tree.select("TRY_CAST(cell AS DOUBLE)", found.tree.get(names.DOCUMENT_SCORE))
            scores.append(listed(number, found.row, found.there))
    for path in names.PASSAGES:
        for found in tree.items(path, ()):
            texts.append(listed(found.tree.get(("",)), found.row, found.there))
    return pc.coalesce(*texts), pc.coalesce(*ids), pc.coalesce(*scores)


def without_blank(lists: pa.Array) -> pa.Array:
    """The lists, null for one that has items but none with a value.

    >>> without_blank(pa.array([[None, "a"], [None, None], []])).to_pylist()
    [[None, 'a'], None, []]
    """
    row = pc.list_parent_indices(lists).to_numpy()
    said = row[pc.list_flatten(lists).is_valid().to_numpy(zero_copy_only=False)]
    every = np.arange(len(lists))
    return pc.if_else(pa.array(np.isin(every, row) & ~np.isin(every, said)), None, lists)


def listed(values: pa.Array, row: np.ndarray, there: np.ndarray) -> pa.Array:
    """Lists of the values of each row, which come row by row; null where a row is not there.

    >>> listed(pa.array(["a", "b", "c"]), np.array([0, 0, 2]), np.array([True, False, True])).to_pylist()
    [['a', 'b'], None, ['c']]
    """
    offsets = np.zeros(len(there) + 1, np.int32)
    np.cumsum(np.bincount(row, minlength=len(there)), out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(~there))
