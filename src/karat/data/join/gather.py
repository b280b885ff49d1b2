"""Gathers the rows of each question into one row, where answers came one a row."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import from_numpy
from karat.core.columns.hashes.texts import hash_texts
from karat.core.columns.ids import spell_id
from karat.core.columns.json_text import RAW
from karat.core.columns.kinds import Array
from karat.core.errors import JoinError
from karat.data.json.raw import spell_ids
from karat.data.json.values import spell_field, value_type
from karat.data.source import Source
from karat.data.storage.batches import DiskTable


@dataclass(frozen=True)
class Gathered(Source):
    """Rows that were gathered by the column `by`; `lists` are the columns that hold a list in each row since.

    `gathered` is the number of rows before.
    """

    by: str = field(kw_only=True)
    lists: frozenset[str] = field(kw_only=True)
    gathered: int = field(kw_only=True)


def repeats(source: Source, name: str) -> bool:
    """Whether a column of ids has a value in more than one row; false where a row has none, or a list or an object."""
    try:
        keys = _read_keys(source, name)
    except JoinError:
        return False
    return len(np.unique(keys)) < len(keys)


def gather_rows(source: Source, by: str, answers: Collection[str] = ()) -> Gathered:
    """One row for each value of a column, in the order in which the values first occur.

    Columns of `answers`, and each other column whose values differ within a row, are lists, in the order of the rows;
    others stay as they are. Rows are spooled to a file; 32 bytes for each are in memory. Raises `JoinError` for a row
    without a value.

    >>> from karat.data.open import open_source
    >>> rows = open_source({"id": [1, 2, 1], "gold": ["a", "b", "a"], "answer": ["a", "x", "y"]})
    >>> [batch.to_pylist() for batch in gather_rows(rows, "id", ["answer"]).batches()]
    [[{'id': 1, 'gold': 'a', 'answer': ['a', 'y']}, {'id': 2, 'gold': 'b', 'answer': ['x']}]]
    """
    _, first, group, sizes = np.unique(
        _read_keys(source, by), return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first[group], kind="stable")
    bounds = np.concatenate([[0], np.cumsum(sizes[np.argsort(first)])])
    table = DiskTable(source.schema, source.batches())

    def pieces() -> Iterator[tuple[Array, pa.RecordBatch]]:
        """Rows of some groups, about 32 MB at a time, with the first row of each group, and the number of rows."""
        low = 0
        while low < len(sizes):
            high = max(low + 1, int(np.searchsorted(bounds, bounds[low] + table.batch_rows, "right")) - 1)
            rows = order[bounds[low] : bounds[high]]
            yield bounds[low : high + 1] - bounds[low], table.take(from_numpy(rows))
            low = high

    lists = {name for starts, rows in pieces() for name in _find_different(starts, rows)} - {by} | {*answers}

    schema = pa.schema([_as_list(each) if each.name in lists else each for each in source.schema])

    def read() -> Iterator[pa.RecordBatch]:
        for starts, rows in pieces():
            columns = [
                _as_lists(starts, column) if name in lists else column.take(from_numpy(starts[:-1]))
                for name, column in zip(rows.schema.names, rows.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return Gathered(
        source.name,
        schema,
        len(sizes),
        read,
        notes=source.notes,
        tool=source.tool,
        by=by,
        lists=frozenset(lists),
        gathered=len(order),
    )


def _read_keys(source: Source, name: str) -> Array:
    """The hash of each row's value, which is not null."""
    where, keys, done = f"{source.name}: column {name!r}", [np.empty(0, np.uint64)], 0
    for batch in source.batches([name]):
        ids = spell_ids(batch.column(name), where, done + 1)
        if ids.null_count:
            row = done + int(np.flatnonzero(np.asarray(ids.is_null()))[0]) + 1
            raise JoinError(f"{where} is null or empty in row {row}; every row needs the id of its question")
        keys.append(hash_texts(ids))
        done += len(ids)
    return np.concatenate(keys)


def _find_different(starts: Array, rows: pa.RecordBatch) -> Iterator[str]:
    """The columns whose values differ within a group."""
    later = np.ones(len(rows), bool)
    later[starts[:-1]] = False
    right = np.flatnonzero(later)
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if _differ(column.take(from_numpy(right)), column.take(from_numpy(right - 1))):
            yield name


def _differ(one: pa.Array, other: pa.Array) -> bool:
    """Whether the values of two columns differ in a row; JSON text differs by its values, of which 1.0 is 1.

    >>> texts = [pa.array([text]).cast(RAW) for text in ('{"a": 1, "b": 2}', '{"b": 2.0, "a": 1}', '{"a": 1}')]
    >>> [_differ(texts[0], each) for each in texts]
    [False, False, True]
    """
    if one.type != RAW:
        return not one.equals(other)
    pair = [column.storage.fill_null("null") for column in (one, other)]
    spelled = pc.not_equal(*pair)
    left, right = (map(json.loads, column.filter(spelled).to_pylist()) for column in pair)
    return any(spell_id([value]) != spell_id([beside]) for value, beside in zip(left, right, strict=True))


def _as_list(each: pa.Field) -> pa.Field:
    if each.type != RAW:
        return pa.field(each.name, pa.list_(each.type))
    kind = value_type(each)
    return pa.field(each.name, RAW) if kind == RAW else spell_field(each.name, pa.list_(kind))


def _as_lists(starts: Array, column: pa.Array) -> pa.Array:
    """The values of each group as a list; JSON text as a list of JSON."""
    if column.type != RAW:
        return pa.ListArray.from_arrays(from_numpy(starts.astype(np.int32)), column)
    cells = [cell or "null" for cell in column.storage.to_pylist()]
    lists = [f"[{', '.join(cells[low:high])}]" for low, high in pairwise(starts)]
    return pa.ExtensionArray.from_storage(RAW, pa.array(lists, pa.string()))
