"""Reads JSON Lines and JSON arrays of objects with DuckDB, without re-typing any text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from karat.core.errors import DataError
from karat.data.json.arrow_types import to_sql
from karat.data.json.explain import explain_errors
from karat.data.json.infer import FIRST_ROWS, JsonFile, Kinds, infer_types
from karat.data.json.members import extract_columns, unquote
from karat.data.source import RAW, Source, is_lossless, rows_per_batch
from karat.data.storage.duckdb import connect, literal, stream, widen
from karat.data.storage.file_names import BOM
from karat.data.storage.files import open_bytes, read_head, spool


def open_json_rows(path: Path, name: str, layout: str) -> Source:
    """Open a file of JSON objects; `layout` is `newline_delimited`, `array` or `unstructured`, as DuckDB names them.

    All rows are read once to infer the types, so that a key that appears late is a column too. Raises `RowError`, with
    the line, for a row that cannot be read.
    """
    copy = _drop_bom(path)
    path = Path(copy.name) if copy else path
    file = JsonFile(str(path), layout)
    connection, few = connect(), None
    with explain_errors(path, name, layout):
        kinds, rows, size, longest = infer_types(connection, file)
        if not kinds:
            raise DataError(f"{name} has no rows with columns")
        most = rows_per_batch(size, rows), longest
        if rows < FIRST_ROWS and RAW not in kinds.values():  # another connection takes longer than these rows
            widen(connection, len(kinds))
            few = [*_read_typed(connection, file, kinds, most)]
    connection.close()

    def read(text: frozenset[str], _kept: Any = copy) -> Iterator[pa.RecordBatch]:
        target = {key: RAW if key in text else kind for key, kind in kinds.items()}
        if few is not None and target == kinds:
            yield from few
            return
        with explain_errors(path, name, layout), connect(len(kinds)) as connection:
            read_batches = _read_raw if RAW in target.values() else _read_typed
            yield from read_batches(connection, file, target, most)

    lossy_columns = frozenset(key for key, kind in kinds.items() if not is_lossless(kind))
    return Source(name, pa.schema(list(kinds.items())), rows, read, lossy_columns, reads_raw=True)


def _drop_bom(path: Path) -> Any:
    """A copy of the file without its byte order mark, which DuckDB rejects; `None` if it has none."""
    if read_head(path, len(BOM)) != BOM:
        return None
    with open_bytes(path) as stream:
        stream.read(len(BOM))
        return spool(stream)


def _read_typed(
    connection: duckdb.DuckDBPyConnection, file: JsonFile, target: Kinds, most: tuple[int, int]
) -> Iterator[pa.RecordBatch]:
    """Read columns by DuckDB; `most` are the rows of a batch, and the bytes of a row, at most."""
    columns = {key: to_sql(kind) for key, kind in target.items()}
    for batch in stream(connection, f"FROM {file.columns(columns)}", *most):
        yield _to_batch(batch.columns, target)


def _read_raw(
    connection: duckdb.DuckDBPyConnection, file: JsonFile, target: Kinds, most: tuple[int, int]
) -> Iterator[pa.RecordBatch]:
    """Read columns of type `RAW` from the text of the objects, so that values keep their spelling; others by DuckDB."""
    only_text = all(kind in (RAW, pa.string(), pa.null()) for kind in target.values())
    typed = {} if only_text else {key: kind for key, kind in target.items() if kind != RAW}
    structure = json.dumps({key: to_sql(kind) for key, kind in typed.items()})
    beside = f", unnest(from_json(json, {literal(structure)}))" if typed else ""
    query = f"SELECT json{beside} FROM {file.objects()}"  # noqa: S608
    for batch in stream(connection, query, *most):
        extracted = [key for key in target if key not in typed]
        texts = extract_columns(batch.column(0), list(target), extracted)
        read = dict(zip([*typed, *extracted], [*batch.columns[1:], *texts], strict=True))
        plain = {key for key in extracted if target[key] == pa.string()}
        yield _to_batch([unquote(read[key]) if key in plain else read[key] for key in target], target)


def _to_batch(columns: list[pa.Array], target: Kinds) -> pa.RecordBatch:
    """Columns cast to their types in the schema; DuckDB returns nulls and JSON text as VARCHAR."""
    cast = [
        column if column.type == kind else pa.nulls(len(column)) if pa.types.is_null(kind) else column.cast(kind)
        for column, kind in zip(columns, target.values(), strict=True)
    ]
    return pa.RecordBatch.from_arrays(cast, schema=pa.schema(list(target.items())))
