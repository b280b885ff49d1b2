"""The Arrow type of a JSON column, from the structures its rows have."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa

from karat.data.source import RAW
from karat.data.storage.duckdb import quote

_LEAVES = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "UBIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "NULL": pa.null(),
}
_SQL = {pa.string(): "VARCHAR", pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.bool_(): "BOOLEAN"}
_MOST_KEYS = 1000
"""An object with more keys than this over all rows is a map by id, kept as JSON text."""


def to_type(structure: Any) -> pa.DataType:
    """The type of a value, from DuckDB's `json_structure` of it.

    >>> to_type({"a": ["VARCHAR"], "b": "UBIGINT"})
    StructType(struct<a: list<item: string>, b: int64>)
    """
    if isinstance(structure, list):
        return _list(to_type(structure[0]))
    if isinstance(structure, dict):
        return _struct({key: to_type(value) for key, value in structure.items()})
    return _LEAVES.get(structure, RAW)


def unite(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The type that holds both: `RAW` where they are of different kinds.

    >>> unite(pa.int64(), pa.float64()), unite(pa.null(), pa.string()), unite(pa.string(), pa.list_(pa.string())) == RAW
    (DataType(double), DataType(string), True)
    """
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if {left, right} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if pa.types.is_list(left) and pa.types.is_list(right):
        return _list(unite(left.value_type, right.value_type))
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        fields = {field.name: field.type for field in left}
        for field in right:
            fields[field.name] = unite(fields.get(field.name, pa.null()), field.type)
        return _struct(fields)
    return RAW


def settle(kind: pa.DataType) -> pa.DataType:
    """The type with text in the place of values that are null in every row: `[]` is a list of texts."""
    if pa.types.is_list(kind):
        return pa.list_(settle_inner(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, settle_inner(field.type)) for field in kind])
    return kind


def settle_inner(kind: pa.DataType) -> pa.DataType:
    """Like `settle`, for a value inside another."""
    return pa.string() if pa.types.is_null(kind) else settle(kind)


def to_sql(kind: pa.DataType) -> str:
    """DuckDB's name for a type.

    >>> to_sql(pa.list_(pa.struct([("a b", pa.int64())])))
    'STRUCT("a b" BIGINT)[]'
    """
    if pa.types.is_list(kind):
        return f"{to_sql(kind.value_type)}[]"
    if pa.types.is_struct(kind):
        return f"STRUCT({', '.join(f'{quote(field.name)} {to_sql(field.type)}' for field in kind)})"
    return _SQL.get(kind, "VARCHAR")


def to_structure(kind: pa.DataType) -> Any:
    """DuckDB's `json_structure` for a type: the inverse of `to_type`.

    >>> to_structure(pa.list_(pa.string()))
    ['VARCHAR']
    """
    if pa.types.is_list(kind):
        return [to_structure(kind.value_type)]
    if pa.types.is_struct(kind):
        return {field.name: to_structure(field.type) for field in kind}
    return _SQL.get(kind, "VARCHAR")


def has_numbers(kind: pa.DataType) -> bool:
    """Whether a value of the type holds numbers anywhere."""
    if pa.types.is_list(kind):
        return has_numbers(kind.value_type)
    if pa.types.is_struct(kind):
        return any(has_numbers(field.type) for field in kind)
    return kind in (pa.int64(), pa.float64())


def twins(names: list[str]) -> set[str]:
    """The names that differ only by case, which DuckDB would take for one.

    >>> sorted(twins(["Answer", "id", "answer"]))
    ['Answer', 'answer']
    """
    folded = Counter(name.lower() for name in names)
    return {name for name in names if folded[name.lower()] > 1}


def _list(inner: pa.DataType) -> pa.DataType:
    return RAW if inner == RAW else pa.list_(inner)


def _struct(fields: dict[str, pa.DataType]) -> pa.DataType:
    kept = 0 < len(fields) <= _MOST_KEYS and "" not in fields and RAW not in fields.values()
    return pa.struct(list(fields.items())) if kept and not twins(list(fields)) else RAW
