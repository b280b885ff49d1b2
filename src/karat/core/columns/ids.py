"""Ids of documents: when two are equal, and columns of ranked and of judged ids.

Two ids are equal when their spelling is: 7, 7.0 and "7" are one id, "007" another; true is `true`; lists and objects
are compared as JSON. Null, NaN and the empty text match nothing. A ranked column becomes list<int64> or (large_)list<
(large_)string>, a judged one the same (every grade is 1) or map<int64 or string, double> from id to grade.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from karat.core.columns.arrow import (
    is_list,
    is_number,
    is_text,
    keep_nulls,
    lists_of_one,
    plain_lists,
    to_float64,
    whole_offsets,
)
from karat.core.columns.python_values import read_rows, time_texts, to_python

ROW_IDS = ("id", "question_id", "example_id", "sample_id", "row_id", "uid", "uuid", "guid")
QUERY_IDS = ("query_id", "qid", "q_id", "topic_id", "topic")
DOCUMENT_IDS = ("doc_id", "docno", "id", "document_id", "corpus_id", "docid", "doc", "pid", "passage_id", "document")
GRADES = ("relevance", "rel", "grade", "label", "score")
SPAN_IDS = ("context.span_id", "span_id")
TRACE_IDS = ("context.trace_id", "trace_id")
"""Names of columns, and of keys in objects, in the singular. Where several are there, the first in this order counts:
PyTerrier's frames hold a `docid` beside the `docno`."""
ATTRIBUTE_COLUMNS = ("attributes", "record_attributes")
"""Columns that hold all attributes as one object."""
_ATTRIBUTE_NAMES = (
    *("attributes.", "gen_ai.", "llm.", "openinference.", "retrieval.documents", "input.value", "output.value"),
)


def is_spans(names: Collection[str]) -> bool:
    """Whether columns belong to spans: a span's id, its trace's, and attributes.

    >>> is_spans(["context.span_id", "context.trace_id", "attributes.input.value"]), is_spans(["context", "attributes"])
    (True, False)
    """
    with_ids = not {*SPAN_IDS, "spanId"}.isdisjoint(names) and not {*TRACE_IDS, "traceId"}.isdisjoint(names)
    in_context = {"context", "parent_id", "start_time"}.issubset(names)
    in_trace = {"trace", "event_id", "record_attributes"}.issubset(names)
    has_attributes = any(name in ATTRIBUTE_COLUMNS or name.startswith(_ATTRIBUTE_NAMES) for name in names)
    return (with_ids or in_context or in_trace) and has_attributes


def spell_id(value: Any) -> str | None:
    """The spelling of an id; None for null, NaN and the empty text, which are not ids.

    >>> [spell_id(value) for value in (7, 7.0, "7", "007", True, {"b": [2.0], "a": None})]
    ['7', '7', '7', '007', 'true', '{"a":null,"b":[2]}']
    >>> [spell_id(value) for value in (None, float("nan"), "")]
    [None, None, None]
    """
    plain = value if isinstance(value, str) else _json_value(value)
    if plain is None or isinstance(plain, str):
        return plain or None
    return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _json_value(value: Any) -> Any:
    """A value as JSON, with equal numbers spelled equally: no fraction of zero, no NaN."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value  # noqa: PLR0124  (NaN)
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays
        return _json_value(value.tolist())
    if isinstance(value, Mapping):
        return {spell_id(key) or "": _json_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(inner) for inner in value]
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def cast_ids(column: pa.Array) -> pa.Array | None:
    """A column of ranked ids, best first; None where its rows are not lists."""
    if pt.is_null(column.type):
        return column.cast(pa.list_(pa.string()))
    if not is_list(column.type):
        return None
    if _is_canonical(column.type.value_type) and plain_lists(column) is column:
        return column
    column, values, offsets = _opened(column)
    ids = _pairs(values)[0] if _pair_names(values.type) else spell_values(values)
    return keep_nulls(pa.LargeListArray.from_arrays(offsets, ids), column)


def cast_graded(column: pa.Array) -> pa.Array | None:
    """A column of judged ids: lists, one id a row, or grades by id; None where the values are none of these."""
    kind = column.type
    if pt.is_struct(kind):
        return _from_struct(column)
    if pt.is_map(kind):
        if _is_canonical(kind.key_type) and pt.is_float64(kind.item_type):
            return column
        column, entries, offsets = _opened(column)
        return _graded(offsets, spell_values(entries.field(0)), entries.field(1), column)
    if is_list(kind) and _pair_names(kind.value_type):
        column, values, offsets = _opened(column)
        return _graded(offsets, *_pairs(values), column)
    if is_list(kind) or pt.is_null(kind):
        return cast_ids(column)
    return keep_nulls(lists_of_one(spell_values(column)), column)


def read_ids(rows: Iterable[Any], place: Callable[[int], str] | None = None) -> pa.Array:
    """Ranked ids from Python: a list of anything a row, or None.

    >>> read_ids([["a", 7, None], None]).to_pylist()
    [['a', '7', None], None]
    """
    return _build(read_rows(_listed, rows, place))


def read_graded(rows: Iterable[Any], place: Callable[[int], str] | None = None) -> pa.Array:
    """Judged ids from Python: grades by id, a list of ids, or one id a row; or None.

    >>> read_graded([{"a": 2, 7: 1}, ["b"], None]).to_pylist()
    [[('a', 2.0), ('7', 1.0)], [('b', 1.0)], None]
    >>> read_graded([["b", "c"], "d"]).to_pylist()
    [['b', 'c'], ['d']]
    """
    judged = read_rows(_judged, rows, place)
    ids = _build([None if row is None else list(row[0]) for row in judged])
    if all(row is None or row[1] is None for row in judged):
        return ids
    grades = [grade for row in judged if row for grade in (row[1] or [1.0] * len(row[0]))]
    return _graded(whole_offsets(ids), ids.values, pa.array(grades, pa.float64()), ids)


def _listed(row: Any) -> list[Any]:
    if isinstance(row, str | bytes | Mapping | set | frozenset) or not hasattr(row, "__iter__"):
        raise ValueError(f"a list of ids, best first, is expected; found {row!r:.80}")
    row = row if isinstance(row, list) else list(row)
    names = _names_of_pairs(row)
    return row if names is None else [each[name] for each, (name, _) in zip(row, names, strict=True)]


def _judged(row: Any) -> tuple[list[Any], list[float] | None]:
    """The ids of one row, and their grades where it has any."""
    if isinstance(row, Mapping):
        pairs = list(row.items())
    elif isinstance(row, str | bytes) or not hasattr(row, "__iter__"):
        return [row], None
    else:
        row = list(row)
        if (names := _names_of_pairs(row)) is None:
            return row, None
        pairs = [(each[name], each[grade]) for each, (name, grade) in zip(row, names, strict=True)]
    try:
        return [key for key, _ in pairs], [np.nan if grade is None else float(grade) for _, grade in pairs]
    except (TypeError, ValueError):
        raise ValueError(f"grades by id are expected, such as {{'a': 2}}; found {row!r:.80}") from None


def _names_of_pairs(row: list[Any]) -> list[tuple[str, str]] | None:
    """The keys of the id and the grade in each object; None where an object lacks one."""
    if not row or not isinstance(row[0], Mapping):
        return None
    names = [_names_of(each) if isinstance(each, Mapping) else None for each in row]
    return None if None in names else [name for name in names if name]


def _build(lists: list[list[Any] | None]) -> pa.Array:
    offsets = np.cumsum([0, *(0 if each is None else len(each) for each in lists)])
    values = [value for each in lists if each for value in each]
    column = pa.LargeListArray.from_arrays(offsets, _ids_of(values))
    return pc.if_else(pa.array([each is not None for each in lists]), column, None) if None in lists else column


def _ids_of(values: list[Any]) -> pa.Array:
    kinds = set(map(type, values)) - {type(None)}
    if kinds == {int}:
        try:
            return pa.array(values, pa.int64())
        except OverflowError:
            pass
    return pa.array(values if kinds <= {str} else map(spell_id, values), pa.large_string())


def _is_canonical(kind: pa.DataType) -> bool:
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_int64(kind))


def spell_values(values: pa.Array) -> pa.Array:
    """Values of any type, or of JSON text, as int64, string or large_string, so that equal ids have equal values.

    >>> spell_values(pa.array(['"7"', "7.0", '"007"']).cast(pa.json_())).to_pylist()
    ['7', '7', '007']
    """
    kind = values.type
    if _is_canonical(kind):
        return values
    if pt.is_dictionary(kind):
        return spell_values(values.dictionary).take(values.indices)
    if is_text(kind):
        return values.cast(pa.large_string())
    if pt.is_null(kind):
        return values.cast(pa.string())
    if pt.is_temporal(kind):  # finer and later than Python's may be
        return time_texts(values).cast(pa.large_string())
    try:
        if pt.is_integer(kind):
            return values.cast(pa.int64())
        if pt.is_floating(kind):
            values = values.cast(pa.float64())
            return pc.if_else(pc.is_nan(values), None, values).cast(pa.int64())
    except pa.ArrowInvalid:  # beyond 64 bits, or with a fraction
        pass
    return _ids_of(to_python(values, json.loads))


def _opened(column: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """A list or map column, the values of its rows only, and the offsets into these."""
    if pt.is_map(column.type):
        values = pa.StructArray.from_arrays([column.keys, column.items], ["id", "grade"])
    else:
        column = plain_lists(column)
        values = column.values
    offsets = np.asarray(whole_offsets(column)).astype(np.int64)
    first = int(offsets[0])
    return column, values.slice(first, int(offsets[-1]) - first), pa.array(offsets - first)


def _names_of(names: Iterable[Any]) -> tuple[str, str] | None:
    """The names of the id and of the grade; None where there is no id, or not exactly one grade."""
    keys = {name for name in names if isinstance(name, str)}
    ids, grades = [name for name in DOCUMENT_IDS if name in keys], [name for name in GRADES if name in keys]
    return (ids[0], grades[0]) if ids and len(grades) == 1 else None


def _pair_names(kind: pa.DataType) -> tuple[str, str] | None:
    return _names_of([field.name for field in kind]) if pt.is_struct(kind) else None


def _pairs(values: pa.StructArray) -> tuple[pa.Array, pa.Array]:
    fields = [values.type.get_field_index(name) for name in _pair_names(values.type) or ()]
    ids, grades = pc.struct_field(values, fields[0]), pc.struct_field(values, fields[1])
    return spell_values(ids), grades


def _graded(offsets: pa.Array, ids: pa.Array, grades: pa.Array, column: pa.Array) -> pa.Array | None:
    """Grades by id, null where the column is null; None where the grades are not numbers."""
    if not is_number(grades.type):
        return None
    if ids.null_count:  # a map has no null keys; the empty text is not an id either
        ids = ids.cast(pa.large_string()).fill_null("")
    return keep_nulls(pa.MapArray.from_arrays(offsets.cast(pa.int32()), ids, to_float64(grades)), column)


def _from_struct(column: pa.StructArray) -> pa.Array | None:
    """JSON objects as Arrow infers them: a field for each id of any row, null where a row lacks it."""
    names = [field.name for field in column.type]
    fields = [pc.struct_field(column, at) for at in range(len(names))]
    if not all(is_number(each.type) or each.null_count == len(each) for each in fields):
        return None
    grades = np.full((len(column), len(names)), np.nan)
    for at, each in enumerate(fields):
        grades[:, at] = to_float64(each).to_numpy(zero_copy_only=False)
    there = ~np.isnan(grades)
    offsets = pa.array(np.concatenate([[0], np.cumsum(there.sum(axis=1))]))
    ids = pa.array(names, pa.large_string()).take(pa.array(np.nonzero(there)[1]))
    return _graded(offsets, ids, pa.array(grades[there]), column)
