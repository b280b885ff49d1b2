"""Several sources as one, with the columns of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import pyarrow as pa

from karat.core.columns.json_text import RAW
from karat.core.errors import ColumnError
from karat.data.json.arrow_types import unify_types
from karat.data.json.values import spell_field, to_json_text, value_type
from karat.data.source import Part, Source


def unite_sources(name: str, sources: Sequence[Source]) -> Source:
    """The rows of all sources, one source after the other; a column that a source lacks is null there.

    Raises `ColumnError`, with both files, if the types of a column have no common type.
    """
    if len(sources) == 1:
        return sources[0]
    if is_json := all(source.is_json for source in sources):  # the columns that one file with all the rows would have
        kinds: dict[str, pa.DataType] = {}
        for field in chain.from_iterable(source.schema for source in sources):
            kinds[field.name] = unify_types(kinds.get(field.name, pa.null()), value_type(field))
        schema = pa.schema([spell_field(name, kind) for name, kind in kinds.items()])
    else:
        sources = [source.as_values() for source in sources]
        schema = sources[0].schema
        for source in sources[1:]:
            schema = _unite(schema, source, sources)
    rows = [source.rows for source in sources]
    notes: dict[str, int] = {}

    def read() -> Iterator[pa.RecordBatch]:
        for source in sources:
            for batch in source.batches():
                yield _fit(batch, schema)
        for key in {key for source in sources for key in source.notes}:
            notes[key] = sum(source.notes.get(key, 0) for source in sources)

    known = None if None in rows else sum(row for row in rows if row is not None)
    parts = list[Part]()
    if known is not None and all(source.parts for source in sources if source.rows):
        first = 0
        for source in sources:
            parts += [replace(part, first=part.first + first) for part in source.parts]
            first += source.rows or 0
    return Source(name, schema, known, read, is_json, notes=notes, parts=tuple(parts))


def _unite(schema: pa.Schema, source: Source, sources: Sequence[Source]) -> pa.Schema:
    try:
        return pa.unify_schemas([schema, source.schema], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        for field in source.schema:
            for other in sources:
                at = other.schema.get_field_index(field.name)
                if at >= 0 and not _have_common_type(field, other.schema.field(at)):
                    here, there = f"{field.type} in {source.name}", f"{other.schema.field(at).type} in {other.name}"
                    raise ColumnError(f"column {field.name!r} is {there} but {here}") from error
        raise ColumnError(f"{source.name}: {error}") from error


def _have_common_type(one: pa.Field, other: pa.Field) -> bool:
    try:
        pa.unify_schemas([pa.schema([one]), pa.schema([other])], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True


def fit_source(source: Source, schema: pa.Schema) -> Source:
    """The source with the columns of this schema: cast to its types, and nulls where the source has no such column."""

    def read() -> Iterator[pa.RecordBatch]:
        return (_fit(batch, schema) for batch in source.read())

    return replace(source, schema=schema, read=read)


def _fit(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    places = [(batch.schema.get_field_index(field.name), field.type) for field in schema]
    columns = [pa.nulls(len(batch), kind) if at < 0 else _cast(batch.column(at), kind) for at, kind in places]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return to_json_text(column) if kind == RAW else column.cast(kind)
