"""JSON Lines, and JSON arrays of objects, read by DuckDB without re-typing any text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from karat.core.errors import DataError, KaratError
from karat.data.json.arrow_types import to_sql, to_structure
from karat.data.json.explain import explain_json
from karat.data.json.infer import JsonFile, Kinds, look
from karat.data.json.members import cut_all, unquote
from karat.data.source import RAW, Source, keeps_spelling, rows_per_batch
from karat.data.storage.duckdb import connect, literal, stream
from karat.data.storage.file_names import BOM
from karat.data.storage.files import open_bytes, read_head, spool


def open_json_rows(path: Path, name: str, layout: str) -> Source:
    """Open a file of JSON objects; `layout` is `newline_delimited` or `array`.

    All rows are looked at first, so that a key that appears late is a column too. Raises
    `RowError` with the line of what cannot be read.
    """
    plain = _drop_bom(path)
    path = Path(plain.name) if plain else path
    file = JsonFile(str(path), layout)
    try:
        kinds, rows, size = look(file)
    except KaratError:
        raise
    except (duckdb.Error, ValueError, RecursionError) as error:
        raise explain_json(path, name, layout, error) from error
    if not kinds:
        raise DataError(f"{name} has no rows with columns")
    many = rows_per_batch(size, rows)

    def read(text: frozenset[str], _kept: Any = plain) -> Iterator[pa.RecordBatch]:
        target = {key: RAW if key in text else kind for key, kind in kinds.items()}
        try:
            if RAW in target.values():
                yield from _read_spelled(file, target, many)
            else:
                yield from _read_typed(file, target, many)
        except KaratError:
            raise
        except (duckdb.Error, ValueError, RecursionError) as error:
            raise explain_json(path, name, layout, error) from error

    lossy_columns = frozenset(key for key, kind in kinds.items() if not keeps_spelling(kind))
    return Source(name, pa.schema(list(kinds.items())), rows, read, lossy_columns, spelled=True)


def _drop_bom(path: Path) -> Any:
    """A copy of the file without its byte order mark, which DuckDB refuses; `None` where it has none."""
    if read_head(path, len(BOM)) != BOM:
        return None
    with open_bytes(path) as stream:
        stream.read(len(BOM))
        return spool(stream)


def _read_typed(file: JsonFile, target: Kinds, many: int) -> Iterator[pa.RecordBatch]:
    columns = {key: to_sql(kind) for key, kind in target.items()}
    for batch in stream(connect(), f"FROM {file.columns(columns)}", many):
        yield _settle(batch.columns, target)


def _read_spelled(file: JsonFile, target: Kinds, many: int) -> Iterator[pa.RecordBatch]:
    """Read the columns of type `RAW`, and text beside them, from the objects' own text; the others by DuckDB."""
    plain = all(kind in (RAW, pa.string(), pa.null()) for kind in target.values())
    typed = {} if plain else {key: kind for key, kind in target.items() if kind != RAW}
    shape = json.dumps({key: to_structure(kind) for key, kind in typed.items()})
    beside = f", unnest(from_json(json, {literal(shape)}))" if typed else ""
    query = f"SELECT json{beside} FROM {file.objects()}"  # noqa: S608
    for batch in stream(connect(), query, many):
        spelled = [key for key in target if key not in typed]
        texts = cut_all(batch.column(0), list(target), spelled)
        cells = (
            unquote(text) if target[key] == pa.string() else text for key, text in zip(spelled, texts, strict=True)
        )
        read = dict(zip([*typed, *spelled], [*batch.columns[1:], *cells], strict=True))
        yield _settle([read[key] for key in target], target)


def _settle(columns: list[pa.Array], target: Kinds) -> pa.RecordBatch:
    """Columns as their schema says them: Arrow's null type and JSON text are DuckDB's VARCHAR."""
    settled = [
        column if column.type == kind else pa.nulls(len(column)) if pa.types.is_null(kind) else column.cast(kind)
        for column, kind in zip(columns, target.values(), strict=True)
    ]
    return pa.RecordBatch.from_arrays(settled, schema=pa.schema(list(target.items())))
