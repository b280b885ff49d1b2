"""JSON Lines, and JSON arrays of objects, read by DuckDB without re-typing any text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from karat.core.errors import DataError
from karat.data.diagnose import explain_json
from karat.data.duck import connect, literal, quote, stream, structure
from karat.data.files import BOM, open_bytes, read_head, spool
from karat.data.raw import cut
from karat.data.shape import has_numbers, settle, to_sql, to_structure, to_type, twins, unite
from karat.data.source import RAW, Source, rows_per_batch

Kinds = dict[str, pa.DataType]


def open_json_rows(path: Path, name: str, layout: str) -> Source:
    """Open a file of JSON objects; ``layout`` is ``newline_delimited`` or ``array``.

    All rows are looked at first, so that a key that appears late is a column too. Raises
    :class:`~karat.core.errors.RowError` with the line of what cannot be read.
    """
    plain = _drop_bom(path)
    path = Path(plain.name) if plain else path
    rows_of = f"read_json_objects({literal(str(path))}, format={literal(layout)})"
    try:
        kinds, rows, size = _look(rows_of, path, layout)
    except (duckdb.Error, ValueError) as error:
        raise explain_json(path, name, layout, error) from error
    if not kinds:
        raise DataError(f"{name} has no rows with columns")
    many = rows_per_batch(size, rows)

    def read(text: frozenset[str], _kept: Any = plain) -> Iterator[pa.RecordBatch]:
        target = {key: RAW if key in text else kind for key, kind in kinds.items()}
        try:
            if RAW in target.values():
                yield from _read_spelled(rows_of, target, many)
            else:
                yield from _read_typed(path, layout, target, many)
        except (duckdb.Error, ValueError) as error:
            raise explain_json(path, name, layout, error) from error

    return Source(name, pa.schema(list(kinds.items())), rows, read, respells=True)


def _drop_bom(path: Path) -> Any:
    """A copy of the file without its byte order mark, which DuckDB refuses; ``None`` where it has none."""
    if read_head(path, len(BOM)) != BOM:
        return None
    with open_bytes(path) as stream:
        stream.read(len(BOM))
        return spool(stream)


def _look(rows_of: str, path: Path, layout: str) -> tuple[Kinds, int, int]:
    """The columns' types, the number of rows and their bytes, from all rows."""
    connection = connect()
    found = connection.execute(
        f"SELECT json_structure(json) AS shape, count(*) AS n, sum(strlen(json)) FROM {rows_of} "  # noqa: S608
        "GROUP BY shape ORDER BY n DESC, shape"
    )
    kinds: Kinds = {}
    rows = size = 0
    while some := found.fetchmany(1000):
        for shape, count, length in some:
            members = json.loads(shape)
            if members == "JSON":  # DuckDB's structure of {}
                members = {}
            if not isinstance(members, dict):
                raise ValueError("expected an object {…} in every row")  # noqa: TRY004 (the file's fault)
            for key, value in members.items():
                kinds[key] = unite(kinds.get(key, pa.null()), to_type(value))
            rows, size = rows + count, size + int(length)
    blurred = twins(list(kinds)) | ({""} & kinds.keys())
    kinds = {key: RAW if key in blurred else settle(kind) for key, kind in kinds.items()}
    for key in _too_long(connection, path, layout, kinds):
        kinds[key] = RAW
    return kinds, rows, size


def _too_long(connection: duckdb.DuckDBPyConnection, path: Path, layout: str, kinds: Kinds) -> list[str]:
    """The columns with whole numbers of more digits than their type holds."""
    keys = [key for key, kind in kinds.items() if has_numbers(kind)]
    if not keys:
        return []
    digits = {key: "[0-9]{16,}" if "double" in str(kinds[key]) else "([0-9]{20,}|9[2-9][0-9]{17})" for key in keys}
    tests = (f"bool_or(regexp_matches({quote(key)}, '(^|[^0-9.eE+-])-?{digits[key]}([^0-9.eE]|$)'))" for key in keys)
    found = connection.execute(
        f"SELECT {', '.join(tests)} FROM {_table(path, layout, dict.fromkeys(keys, 'JSON'))}"  # noqa: S608
    ).fetchall()
    return [key for key, long in zip(keys, found[0], strict=True) if long]


def _table(path: Path, layout: str, columns: dict[str, str]) -> str:
    return f"read_json({literal(str(path))}, format={literal(layout)}, records=true, columns={structure(columns)})"


def _read_typed(path: Path, layout: str, target: Kinds, many: int) -> Iterator[pa.RecordBatch]:
    columns = {key: to_sql(kind) for key, kind in target.items()}
    for batch in stream(connect(), f"FROM {_table(path, layout, columns)}", many):
        yield _settle(batch.columns, target)


def _read_spelled(rows_of: str, target: Kinds, many: int) -> Iterator[pa.RecordBatch]:
    """Read the columns of type ``RAW`` from the objects' own text, the others by DuckDB beside it."""
    typed = {key: kind for key, kind in target.items() if kind != RAW}
    shape = json.dumps({key: to_structure(kind) for key, kind in typed.items()})
    query = f"SELECT json, unnest(from_json(json, {literal(shape)})) FROM {rows_of}" if typed else f"FROM {rows_of}"  # noqa: S608
    for batch in stream(connect(), query, many):
        objects = [cut(text) for text in batch.column(0).to_pylist()]
        beside = dict(zip(typed, batch.columns[1:], strict=True))
        columns = [beside[key] if key in typed else _raw([row.get(key) for row in objects]) for key in target]
        yield _settle(columns, target)


def _raw(cells: list[str | None]) -> pa.Array:
    return pa.array([None if cell == "null" else cell for cell in cells], pa.string())


def _settle(columns: list[pa.Array], target: Kinds) -> pa.RecordBatch:
    """Columns as their schema says them: Arrow's null type and JSON text are DuckDB's VARCHAR."""
    settled = [
        column if column.type == kind else pa.nulls(len(column)) if pa.types.is_null(kind) else column.cast(kind)
        for column, kind in zip(columns, target.values(), strict=True)
    ]
    return pa.RecordBatch.from_arrays(settled, schema=pa.schema(list(target.items())))
