"""Reads JSON Lines and JSON arrays of objects with DuckDB, without re-typing any text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from karat.core.columns.arrow import is_list
from karat.core.columns.json_text import RAW
from karat.core.errors import DataError
from karat.data.json.arrow_types import to_sql
from karat.data.json.explain import explain_errors
from karat.data.json.infer import FIRST_ROWS, JsonFile, infer_types
from karat.data.json.lines import FEW_BYTES, Lines, scan_lines
from karat.data.json.members import extract_columns, unquote
from karat.data.json.values import spell_field
from karat.data.source import Source
from karat.data.storage.batches import rows_per_batch
from karat.data.storage.duckdb import connect, literal, stream, widen
from karat.data.storage.file_names import BOM
from karat.data.storage.files import check_whole, open_bytes, read_head, spool


def open_json_rows(path: Path, name: str, layout: str) -> Source:
    """Open a file of JSON objects; `layout` is `newline_delimited`, `array` or `unstructured`, as DuckDB names them.

    All rows are walked over once to infer the types, so that a key that appears late is a column too. Raises
    `RowError`, with the line, for a row that cannot be read.
    """
    in_lines = layout == "newline_delimited"
    lines = scan_lines(path) if in_lines else None
    if lines is not None and (kinds := lines.find_types()) is not None:
        return _open_lines(lines, kinds, name)
    if in_lines:
        check_whole(path, name, in_lines=True)
    copy = _drop_bom(path)
    path = Path(copy.name) if copy else path
    file = JsonFile(str(path), layout)
    connection, few = connect(), None
    with explain_errors(path, name, layout):
        kinds, rows, size, longest, plain = infer_types(connection, file)
        if not kinds:
            raise DataError(f"{name} has no rows with columns")
        if (lines := lines or plain) is not None:
            return _open_lines(lines, kinds, name, copy)
        fields = pa.schema([spell_field(key, kind) for key, kind in kinds.items()])
        most = rows_per_batch(size, rows), longest
        if rows < FIRST_ROWS:  # another connection takes longer than these rows
            widen(connection, len(kinds))
            few = [*_read(connection, file, fields, most)]
    connection.close()

    def read(_kept: Any = copy) -> Iterator[pa.RecordBatch]:
        if few is not None:
            yield from few
            return
        with explain_errors(path, name, layout), connect(len(kinds)) as connection:
            yield from _read(connection, file, fields, most)

    return Source(name, fields, rows, read, is_json=True)


def _open_lines(lines: Lines, kinds: Mapping[str, pa.DataType], name: str, copy: Any = None) -> Source:
    """The rows that a kernel reads; `copy` is a temporary file that they are in."""
    fields = pa.schema([spell_field(key, kinds[key]) for key in lines.keys])
    most = rows_per_batch(lines.size, lines.rows)
    few = [*lines.read(fields, most)] if lines.size <= FEW_BYTES else None

    def read(_kept: Any = copy) -> Iterator[pa.RecordBatch]:
        return lines.read(fields, most) if few is None else iter(few)

    return Source(name, fields, lines.rows, read, is_json=True)


def _drop_bom(path: Path) -> Any:
    """A copy of the file without its byte order mark, which DuckDB rejects; `None` if it has none."""
    if read_head(path, len(BOM)) != BOM:
        return None
    with open_bytes(path) as stream:
        stream.read(len(BOM))
        return spool(stream)


def _read(
    connection: duckdb.DuckDBPyConnection, file: JsonFile, fields: pa.Schema, most: tuple[int, int]
) -> Iterator[pa.RecordBatch]:
    """Read columns by DuckDB, JSON text from the text of the objects, so that values keep their spelling.

    `most` are the rows of a batch, and the bytes of a row, at most.
    """
    if RAW not in fields.types:
        columns = {field.name: to_sql(field.type) for field in fields}
        for batch in stream(connection, f"FROM {file.columns(columns)}", *most):
            yield _to_batch(batch.columns, fields)
        return
    typed = {field.name: to_sql(field.type) for field in fields if is_list(field.type)}
    beside = f", unnest(from_json(json, {literal(json.dumps(typed))}))" if typed else ""
    query = f"SELECT json{beside} FROM {file.objects()}"  # noqa: S608
    extracted = [key for key in fields.names if key not in typed]
    for batch in stream(connection, query, *most):
        texts = extract_columns(batch.column(0), fields.names, extracted)
        read = dict(zip([*typed, *extracted], [*batch.columns[1:], *texts], strict=True))
        unquoted = {key for key in extracted if fields.field(key).type == pa.string()}
        yield _to_batch([unquote(read[key]) if key in unquoted else read[key] for key in fields.names], fields)


def _to_batch(columns: list[pa.Array], fields: pa.Schema) -> pa.RecordBatch:
    """Columns cast to their types in the schema; DuckDB returns nulls and JSON text as VARCHAR."""
    cast = [
        column if column.type == kind else pa.nulls(len(column)) if pa.types.is_null(kind) else column.cast(kind)
        for column, kind in zip(columns, fields.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(cast, schema=fields)
