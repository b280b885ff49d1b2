"""What the JSON text of a column holds: the type of its values is kept beside it, for those who want values."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Collection
from functools import cache

import pyarrow as pa

from karat.core.columns.arrow import is_list
from karat.core.columns.json_text import RAW
from karat.data.json.arrow_types import to_sql
from karat.data.storage.duckdb import connect, literal, to_duckdb

_VALUES = b"karat.values"  # in the metadata of a field
_DEEPEST = 32
"""Lists and objects below one another of which Arrow hands the type to other libraries: 60 or so."""


def spell_field(name: str, kind: pa.DataType) -> pa.Field:
    """The field of a column with JSON values of a type: JSON text where the type does not keep their spelling.

    >>> spell_field("n", pa.int64()), spell_field("x", pa.float64()).type == RAW
    (pyarrow.Field<n: int64>, True)
    """
    if kind == RAW or keeps_spelling(kind):
        return pa.field(name, kind)
    return pa.field(name, RAW) if _is_json_alone(kind, _DEEPEST) else as_json(name, kind)


def _is_json_alone(kind: pa.DataType, most: int) -> bool:
    """Whether no other file holds values of a type: they are too deep, or objects without keys are among them."""
    if most < 0 or (pa.types.is_struct(kind) and not kind.num_fields):
        return True
    return any(_is_json_alone(kind.field(at).type, most - 1) for at in range(kind.num_fields))


def as_json(name: str, kind: pa.DataType) -> pa.Field:
    """The field of a column with JSON text of values of a type."""
    return pa.field(name, RAW, metadata={_VALUES: b64encode(pa.schema([("", kind)]).serialize())})


def keeps_spelling(kind: pa.DataType) -> bool:
    """Whether a column of a type is what JSON has: text, whole numbers, and lists of these.

    Of other numbers 1.10 would become 1.1, and objects would get the keys of all rows.
    """
    kind = kind.value_type if is_list(kind) else kind
    return kind in (pa.null(), pa.string(), pa.int64())


def value_type(field: pa.Field) -> pa.DataType:
    """The type of a column's values: of JSON text the type that all of them have, `RAW` where they have none.

    >>> value_type(spell_field("x", pa.list_(pa.float64()))), value_type(pa.field("x", RAW)) == RAW
    (ListType(list<item: double>), True)
    """
    kept = (field.metadata or {}).get(_VALUES) if field.type == RAW else None
    return field.type if kept is None else _parse_type(kept)


@cache
def _parse_type(kept: bytes) -> pa.DataType:
    return pa.ipc.read_schema(pa.py_buffer(b64decode(kept))).field(0).type


def value_schema(schema: pa.Schema, names: Collection[str] | None = None) -> pa.Schema:
    """The schema with the types of values in place of JSON text, for these columns or for all."""
    kinds = ((f, value_type(f) if names is None or f.name in names else f.type) for f in schema)
    return pa.schema([f if f.type == kind else pa.field(f.name, kind) for f, kind in kinds], schema.metadata)


def forget_values(schema: pa.Schema, names: Collection[str]) -> pa.Schema:
    """The schema in which JSON text in these columns is text and nothing else."""
    return pa.schema([f.remove_metadata() if f.name in names and f.type == RAW else f for f in schema], schema.metadata)


def read_values(column: pa.Array, field: pa.Field) -> pa.Array:
    """A column of JSON text as values of their type; any other column as it is.

    >>> texts = pa.array(["1.10", "1e3", None]).cast(RAW)
    >>> read_values(texts, spell_field("x", pa.float64())).to_pylist()
    [1.1, 1000.0, None]
    >>> texts = pa.array(['{"a": [0.5]}', "{}"]).cast(RAW)
    >>> read_values(texts, spell_field("x", pa.struct([("a", pa.list_(pa.float64()))]))).to_pylist()
    [{'a': [0.5]}, {'a': None}]
    """
    kind = value_type(field)
    if column.type != RAW or kind == RAW:
        return column
    if not pa.types.is_nested(kind):
        return column.storage.cast(kind)
    return _select(f"from_json(cell, {literal(json.dumps(to_sql(kind)))})", column.storage).cast(kind)


def read_batch(batch: pa.RecordBatch, fields: pa.Schema, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with `read_values` of its columns; `schema` is a `value_schema` of its `fields`."""
    columns = [
        column if field.type == kind else read_values(column, field)
        for column, field, kind in zip(batch.columns, fields, schema.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def to_json_text(column: pa.Array) -> pa.Array:
    """A column as JSON text (`RAW`).

    >>> to_json_text(pa.array(["a", None])).to_pylist(), to_json_text(pa.array([[1], [2, 3]])).to_pylist()
    (['"a"', None], ['[1]', '[2,3]'])
    """
    if column.type == RAW or pa.types.is_null(column.type):
        return column.cast(RAW)
    return _select("CAST(to_json(cell) AS VARCHAR)", to_duckdb(column)).cast(RAW)


def _select(expression: str, column: pa.Array) -> pa.Array:
    """The value of an expression of `cell` for each cell."""
    connection = connect()
    connection.register("karat_cells", pa.table([column], ["cell"]))
    return connection.sql(f"SELECT {expression} FROM karat_cells").to_arrow_table().column(0).combine_chunks()  # noqa: S608
