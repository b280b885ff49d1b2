"""The question, prediction, contexts and ids of spans, extracted from their attributes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_text
from karat.core.columns.ids import ATTRIBUTE_COLUMNS
from karat.data.spans import names
from karat.data.spans.tree import Tree

CONTENT_FIELDS = ("question", "prediction", "contexts", "retrieved", "retrieved_scores")
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
"""How exports write that a span has no parent."""
_NOTHING = r'^\s*(\[\s*\]|null|None|\{(\s*"[^"]*"\s*:\s*(\[\s*\]|null)\s*,?)*\s*\})?\s*$'
"""JSON without a value in it: empty lists, alone or in an object."""
_PARSE_TIME = (
    "CASE WHEN regexp_full_match(cell, '[0-9]{18,19}') THEN make_timestamp(cell::BIGINT // 1000) "
    "WHEN regexp_full_match(cell, '[0-9]{12,13}') THEN make_timestamp(cell::BIGINT * 1000) "
    "ELSE TRY_CAST(cell AS TIMESTAMP) END"
)
"""Nanoseconds or milliseconds since 1970, or a time as text, which is UTC if it names no time zone."""


def extract_fields(
    batch: pa.RecordBatch, connection: duckdb.DuckDBPyConnection, unreadable: list[int]
) -> tuple[pa.RecordBatch, np.ndarray]:
    """The fields of spans, and hashes of the ids of span, parent and trace, 0 for null.

    For each invalid cell, `unreadable` gets 1 if it looks like attributes, else 0.

    >>> from karat.data.storage.duckdb import connect
    >>> batch = pa.RecordBatch.from_pylist([{"span_id": "a", "attributes": {"input": {"value": "Who?"}}}])
    >>> extract_fields(batch, connect(), [])[0].column("question").to_pylist()
    ['Who?']
    """
    columns = list(zip(batch.schema.names, batch.columns, strict=True))
    if all(is_text(column.type) for column in batch.columns):  # as in CSV, where an empty cell means null
        columns = [(name, _unless_empty(column)) for name, column in columns]
    own = [(name, column) for name, column in columns if name.split(".")[0] in _IDENTIFYING]
    row = Tree(tuple(own), batch.num_rows, connection, unreadable).unfold(names.IDENTITY)
    attributes = tuple((_attribute(name), column) for name, column in columns if name not in _IDENTIFYING)
    tree = Tree(attributes, batch.num_rows, connection, unreadable).unfold(names.ATTRIBUTES, names.LISTS)
    kind = _kind(row, tree)
    query, input_value, output = (tree.get(paths) for paths in (names.QUERY, names.INPUT, names.OUTPUT))
    user = _last_message(tree, names.INPUT_MESSAGES, ("user", "human"))
    assistant = _last_message(tree, names.OUTPUT_MESSAGES, ("assistant", "ai", "model"))
    is_llm = pc.fill_null(pc.equal(kind, "LLM"), False)
    contexts, retrieved, scores = _documents(tree, _found_nothing(kind, output))
    span, trace, parent = (_ids(row, paths) for paths in (names.SPAN_ID, names.TRACE_ID, names.PARENT_ID))
    started = row.select(_PARSE_TIME, row.get(names.START_TIME))
    fields = {
        "question": pc.if_else(is_llm, pc.coalesce(user, input_value), pc.coalesce(query, input_value, user)),
        "prediction": pc.if_else(is_llm, pc.coalesce(assistant, output), pc.coalesce(output, assistant)),
        "contexts": contexts,
        "retrieved": retrieved,
        "retrieved_scores": scores,
        "span_id": span,
        "trace_id": trace,
        "parent_id": parent,
        "span_kind": kind,
        "start_time": started.cast(pa.timestamp("us")).cast(FIELDS.field(9).type),
    }
    derived = pa.RecordBatch.from_arrays([fields[name] for name in FIELDS.names], schema=FIELDS)
    hashed = "CASE WHEN cell IS NULL THEN 0::UBIGINT ELSE hash(cell) END"
    return derived, np.stack([row.select(hashed, ids).to_numpy() for ids in (span, parent, trace)], axis=1)


_IDENTIFYING = {path.split(".")[0] for path in names.IDENTITY}


def _unless_empty(column: pa.Array) -> pa.Array:
    """The column with null for empty texts; the text itself is not copied."""
    not_empty = pc.greater(pc.binary_length(column), 0)
    if column.offset or column.null_count:
        return pc.if_else(not_empty, column, None)
    return pa.Array.from_buffers(column.type, len(column), [not_empty.buffers()[1], *column.buffers()[1:]])


def _attribute(name: str) -> str:
    """The attribute that a column holds; empty for a column that holds all attributes."""
    return "" if name in ATTRIBUTE_COLUMNS else name.removeprefix("attributes.")


def _ids(row: Tree, paths: Sequence[str]) -> pa.Array:
    return null_if_no_id(row.get(paths))


def null_if_no_id(ids: pa.Array) -> pa.Array:
    """The ids, with null for the words that exports write instead of it.

    >>> null_if_no_id(pa.array(["a1", "None", ""])).to_pylist()
    ['a1', None, None]
    """
    return pc.if_else(pc.is_in(ids, _NO_ID.cast(ids.type)), None, ids)


def _kind(row: Tree, tree: Tree) -> pa.Array:
    """The kind by OpenInference's name, or by the export's own name if OpenInference has none."""
    own = pc.utf8_upper(row.get(("span_kind",)))
    own = pc.if_else(pc.is_in(own, pa.array(names.KINDS)), own, None)
    kinds = pc.coalesce(tree.get(names.KIND[:1]), own, tree.get(names.KIND[1:]))
    each = pc.utf8_upper(kinds).dictionary_encode()
    words = pa.array([names.KIND_SYNONYMS.get(word, word) for word in each.dictionary.to_pylist()], pa.string())
    return words.take(each.indices)


def _last_message(tree: Tree, paths: Sequence[str], roles: Collection[str]) -> pa.Array:
    """The text of the last message with one of the roles."""
    texts = [pa.nulls(tree.rows, pa.string())]
    for path in paths:
        for messages in tree.items(path, (*names.ROLE, *names.CONTENT, *names.PARTS)):
            text = _message_text(messages.tree)
            matches = pc.and_(pc.is_in(messages.tree.get(names.ROLE), pa.array(roles)), text.is_valid())
            places = np.flatnonzero(matches.to_numpy(zero_copy_only=False))
            last = np.full(tree.rows, -1)
            last[messages.row[places]] = places  # later messages overwrite earlier ones
            texts.append(text.take(pa.array(last, mask=last < 0)))
    return pc.coalesce(*texts)


def _message_text(message: Tree) -> pa.Array:
    """The text of a message: its content, or its text parts, one per line."""
    texts = [message.get(names.CONTENT)]
    for path in names.PARTS:
        for parts in message.items(path, (*names.PART, *names.PART_TYPE)):
            kind = parts.tree.get(names.PART_TYPE)
            text = pc.if_else(pc.fill_null(pc.equal(kind, "text"), True), parts.tree.get(names.PART), None)
            valid = text.is_valid().to_numpy(zero_copy_only=False)
            row = parts.row[valid]
            lists = make_lists(text.filter(pa.array(valid)), row, np.isin(np.arange(message.rows), row))
            texts.append(pc.binary_join(lists, "\n"))
    return pc.coalesce(*texts)


def _found_nothing(kind: pa.Array, output: pa.Array) -> pa.Array:
    """Which spans, if they have no documents, are retrievers that found none: their output holds nothing else."""
    nothing = pc.fill_null(pc.match_substring_regex(output, _NOTHING), True)
    return pc.and_(pc.fill_null(pc.equal(kind, "RETRIEVER"), False), nothing)


def _documents(tree: Tree, found_nothing: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The texts, ids and scores of the documents of each span; null for a span without documents.

    For a span that `found_nothing` they are empty lists.
    """
    texts, ids, scores = ([pa.nulls(tree.rows, FIELDS.field(at).type)] for at in (2, 3, 4))
    for path in names.DOCUMENTS:
        for documents in tree.items(path, (*names.DOCUMENT, *names.DOCUMENT_ID, *names.DOCUMENT_SCORE)):
            texts.append(make_lists(documents.tree.get(names.DOCUMENT), documents.row, documents.present))
            ids.append(make_lists(documents.tree.get(names.DOCUMENT_ID), documents.row, documents.present))
            number = documents.tree.select("TRY_CAST(cell AS DOUBLE)", documents.tree.get(names.DOCUMENT_SCORE))
            scores.append(make_lists(number, documents.row, documents.present))
    for path in names.PASSAGES:
        for documents in tree.items(path, ()):
            texts.append(make_lists(documents.tree.get(("",)), documents.row, documents.present))
    lists = [pc.coalesce(*each) for each in (texts, ids, scores)]
    absent = pc.and_(pc.and_(lists[0].is_null(), lists[1].is_null()), found_nothing)
    text, identity, score = (pc.if_else(absent, pa.scalar([], each.type), each) for each in lists)
    return text, identity, score


def null_if_blank(lists: pa.Array) -> pa.Array:
    """The lists, with null for a list that has items but no values.

    >>> null_if_blank(pa.array([[None, "a"], [None, None], []])).to_pylist()
    [[None, 'a'], None, []]
    """
    row = pc.list_parent_indices(lists).to_numpy()
    with_values = row[pc.list_flatten(lists).is_valid().to_numpy(zero_copy_only=False)]
    every = np.arange(len(lists))
    return pc.if_else(pa.array(np.isin(every, row) & ~np.isin(every, with_values)), None, lists)


def make_lists(values: pa.Array, row: np.ndarray, present: np.ndarray) -> pa.Array:
    """A list of the values of each row. Values are sorted by row; a row that is not `present` gets null.

    >>> make_lists(pa.array(["a", "b", "c"]), np.array([0, 0, 2]), np.array([True, False, True])).to_pylist()
    [['a', 'b'], None, ['c']]
    """
    offsets = np.zeros(len(present) + 1, np.int32)
    np.cumsum(np.bincount(row, minlength=len(present)), out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(~present))
