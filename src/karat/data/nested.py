"""Values inside objects as columns of their own, by path: `attributes.metadata.gold`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_text
from karat.core.columns.kinds import Array
from karat.data.json.raw import extract_members, from_python
from karat.data.source import RAW, Source


def extract_nested(source: Source, paths: Iterable[str], *, keep_json: bool = True) -> Source:
    """The source with a further column for each path that leads into one of its columns.

    A path is keys joined by dots; a key may itself contain dots. Objects are structs or JSON text. Values in JSON text
    come as `RAW` with their spelling, or as plain text without `keep_json`. A path that leads nowhere adds no column.

    >>> from karat.data.formats.frames import open_frame
    >>> source = extract_nested(open_frame([{"meta": {"gold": "Paris"}}, {"meta": None}]), ["meta.gold"])
    >>> [batch.column("meta.gold").to_pylist() for batch in source.batches()]
    [['Paris', None]]
    """
    return add_nested(source, find_nested(source, paths), keep_json=keep_json)


def find_nested(source: Source, paths: Iterable[str]) -> dict[str, pa.DataType]:
    """The type of the values at each path that leads into one of the source's columns; `RAW` in JSON text."""
    return {path: kind for path in paths if (kind := _find_type(source, path)) is not None}


def add_nested(source: Source, types: Mapping[str, pa.DataType], *, keep_json: bool = True) -> Source:
    """The source with a further column for each of these paths, found by `find_nested`."""
    kinds = {path: kind if keep_json or kind != RAW else pa.string() for path, kind in types.items()}
    if not types:
        return source

    def extend(batch: pa.RecordBatch) -> pa.RecordBatch:
        added = []
        for path, kind in kinds.items():
            column = _column(batch, path)
            added.append((unquote(column) if types[path] != kind else column).cast(kind))
        schema = pa.schema([*batch.schema, *kinds.items()])
        return pa.RecordBatch.from_arrays([*batch.columns, *added], schema=schema)

    def read(text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        return map(extend, source.read(text - types.keys()))

    def read_numbered(text: frozenset[str]) -> Iterator[tuple[Array, pa.RecordBatch]]:
        return ((numbers, extend(batch)) for numbers, batch in source.numbered_batches(text - types.keys()))

    return replace(source, schema=pa.schema([*source.schema, *kinds.items()]), read=read, numbered=read_numbered)


def _find_type(source: Source, path: str) -> pa.DataType | None:
    """The type of the values at a path; `RAW` in JSON text if any row has a value there; else None."""
    if path in source.schema.names:
        return None
    holders = [name for name in source.schema.names if path.startswith(f"{name}.")]
    for name in holders:
        empty = pa.nulls(0, source.schema.field(name).type)
        if (inside := _field(empty, path[len(name) + 1 :])) is not None:
            return inside.type
    kinds = [source.schema.field(name).type for name in holders]
    present = (any(value is not None for value in _column(batch, path).to_pylist()) for batch in source.batches())
    return RAW if any(kind == RAW or is_text(kind) for kind in kinds) and any(present) else None


def _column(batch: pa.RecordBatch, path: str) -> pa.Array:
    for name in batch.schema.names:
        if path.startswith(f"{name}."):
            column, rest = batch.column(name), path[len(name) + 1 :]
            if (inside := _field(column, rest)) is not None:
                return inside
            if column.type == RAW or is_text(column.type):
                cells = (column.storage if column.type == RAW else column).to_pylist()
                return pa.array([None if cell is None else _extract_text(cell, rest) for cell in cells], pa.string())
    return pa.nulls(batch.num_rows, pa.string())


def unquote(column: pa.Array) -> pa.Array:
    """JSON values as text: strings without quotes and escapes, null for `null`, other values as they are spelled."""
    cells = (json.loads(cell) if cell == "null" or (cell and cell[0] == '"') else cell for cell in column.to_pylist())
    return pa.array(cells, pa.string())


def _field(column: pa.Array, path: str) -> pa.Array | None:
    """The column at a path inside structs, None if there is none."""
    if not pa.types.is_struct(column.type):
        return None
    for at, field in enumerate(column.type):
        if field.name == path:
            return pc.struct_field(column, [at])
        below = path[len(field.name) + 1 :] if path.startswith(f"{field.name}.") else None
        if below is not None and (inside := _field(pc.struct_field(column, [at]), below)) is not None:
            return inside
    return None


def _extract_text(text: str, path: str) -> str | None:
    """The JSON text of the value at a path in an object; a string on the way may itself hold JSON."""
    try:
        members = extract_members(json.loads(text) if text.startswith('"') else text)
    except ValueError:
        again = from_python(text) if text.startswith("{") else None
        return None if again is None or again == text else _extract_text(again, path)
    for key, value in members.items():
        if key == path:
            return None if value == "null" else value
        if path.startswith(f"{key}.") and (inside := _extract_text(value, path[len(key) + 1 :])) is not None:
            return inside
    return None
