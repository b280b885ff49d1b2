"""Arrow types of JSON columns: from DuckDB's structures or the text of values, to SQL, and the common type of two."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import reduce
from typing import Any

import pyarrow as pa

from karat.core.columns.arrow import is_list
from karat.core.columns.json_text import RAW
from karat.data.storage.duckdb import quote

_SQL = {pa.string(): "VARCHAR", pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.bool_(): "BOOLEAN"}
_LEAVES = {name: kind for kind, name in _SQL.items()} | {"UBIGINT": pa.int64(), "NULL": pa.null()}
_DEEPEST = 16
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})")
_REAL = re.compile(r"-?(0|[1-9][0-9]{0,14})([.][0-9]{1,15})?(e-?[0-9]{1,2})?")
_MOST_KEYS = 1000
"""An object with more keys than this, over all rows, is a map by id and stays JSON text."""


def to_type(structure: Any) -> pa.DataType:
    """The type of a value with the given `json_structure` of DuckDB.

    >>> to_type({"a": ["VARCHAR"], "b": "UBIGINT"})
    StructType(struct<a: list<item: string>, b: int64>)
    """
    if isinstance(structure, list):
        return make_list(to_type(structure[0]))
    if isinstance(structure, dict):
        return make_struct({key: to_type(value) for key, value in structure.items()})
    return _LEAVES.get(structure, RAW)


def find_type(text: str) -> pa.DataType:
    """The type of a value that is valid JSON; `ValueError` where DuckDB may see another.

    >>> find_type('{"a": [1, 2.5]}')
    StructType(struct<a: list<item: double>>)
    """
    return _type_of(json.loads(text, parse_float=_parse_number, parse_int=_parse_number), _DEEPEST)


class _Real(float):
    """A number that is not whole, or not spelled so."""


def _parse_number(text: str) -> int | _Real:
    if _WHOLE.fullmatch(text):
        return int(text)
    if _REAL.fullmatch(text):
        return _Real(text)
    raise ValueError(text)


def _type_of(value: Any, depth: int) -> pa.DataType:
    if isinstance(value, list | dict) and not depth:
        raise ValueError("it is nested deeply")
    match value:
        case None:
            return pa.null()
        case bool():
            return pa.bool_()
        case str():
            return pa.string()
        case int():
            return pa.int64()
        case _Real():
            return pa.float64()
        case list():
            return make_list(reduce(unify_types, (_type_of(each, depth - 1) for each in value), pa.null()))
        case dict():
            return make_struct({key: _type_of(each, depth - 1) for key, each in value.items()})
    raise ValueError(value)  # NaN, infinity


def unify_types(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The type that can hold values of both types: `RAW` if nothing else can.

    >>> unify_types(pa.int64(), pa.float64()), unify_types(pa.string(), pa.list_(pa.string())) == RAW
    (DataType(double), True)
    """
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if {left, right} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if pa.types.is_list(left) and pa.types.is_list(right):
        return make_list(unify_types(left.value_type, right.value_type))
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        fields = {field.name: field.type for field in left}
        for field in right:
            fields[field.name] = unify_types(fields.get(field.name, pa.null()), field.type)
        return make_struct(fields)
    return RAW


def replace_null_types(kind: pa.DataType, *, nested: bool = False) -> pa.DataType:
    """The type with text in place of nested nulls: a list that is empty in every row is a list of texts."""
    if pa.types.is_list(kind):
        return pa.list_(replace_null_types(kind.value_type, nested=True))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, replace_null_types(field.type, nested=True)) for field in kind])
    return pa.string() if nested and pa.types.is_null(kind) else kind


def to_sql(kind: pa.DataType) -> str:
    """DuckDB's name for a type.

    >>> to_sql(pa.list_(pa.struct([("a b", pa.int64())])))
    'STRUCT("a b" BIGINT)[]'
    """
    if is_list(kind):
        return f"{to_sql(kind.value_type)}[]"
    if pa.types.is_struct(kind):
        return f"STRUCT({', '.join(f'{quote(field.name)} {to_sql(field.type)}' for field in kind)})"
    return _SQL.get(kind, "VARCHAR")


def has_numbers(kind: pa.DataType) -> bool:
    """Whether values of the type contain numbers."""
    if pa.types.is_list(kind):
        return has_numbers(kind.value_type)
    if pa.types.is_struct(kind):
        return any(has_numbers(field.type) for field in kind)
    return kind in (pa.int64(), pa.float64())


def same_but_case(names: list[str]) -> set[str]:
    """The names that differ from another only in case; to DuckDB these are the same.

    >>> sorted(same_but_case(["Answer", "id", "answer"]))
    ['Answer', 'answer']
    """
    folded = Counter(name.lower() for name in names)
    return {name for name in names if folded[name.lower()] > 1}


def make_list(inner: pa.DataType) -> pa.DataType:
    return RAW if inner == RAW else pa.list_(inner)


def make_struct(fields: dict[str, pa.DataType]) -> pa.DataType:
    kept = 0 < len(fields) <= _MOST_KEYS and "" not in fields and RAW not in fields.values()
    return pa.struct(list(fields.items())) if kept and not same_but_case(list(fields)) else RAW
