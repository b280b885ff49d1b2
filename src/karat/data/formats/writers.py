"""One writer for each format: record batches to a stream of bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

import duckdb
import pyarrow as pa

from karat.core.columns.arrow import is_bytes, is_text
from karat.core.columns.json_text import RAW
from karat.core.columns.python_values import are_late
from karat.core.errors import DataError
from karat.data.formats.csv import DELIMITERS
from karat.data.formats.spreadsheet import is_for_spreadsheets, show_formula_texts, show_formulas
from karat.data.json.values import read_batch, value_schema, value_type
from karat.data.storage.duckdb import connect, duckdb_type, explain, literal, stream, to_duckdb

WriteBatch = Callable[[pa.RecordBatch], object]
_ROWS_AT_ONCE = 8192


@contextmanager
def _parquet(sink: pa.NativeFile, schema: pa.Schema) -> Iterator[WriteBatch]:
    values = value_schema(schema)
    # answers rarely repeat: dictionaries would only cost time
    repeating = [field.name for field in values if not (is_text(field.type) or pa.types.is_nested(field.type))]
    import pyarrow.parquet as pq  # noqa: PLC0415  (slow to import)

    with pq.ParquetWriter(sink, values, compression="snappy", use_dictionary=repeating) as writer:
        yield lambda batch: writer.write_batch(read_batch(batch, schema, values))


@contextmanager
def _arrow(sink: pa.NativeFile, schema: pa.Schema) -> Iterator[WriteBatch]:
    # a file has one dictionary a column, batches may have several
    values = value_schema(schema)
    plain = pa.schema([f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in values])
    with pa.ipc.new_file(sink, plain) as writer:
        yield lambda batch: writer.write_batch(read_batch(batch, schema, values).cast(plain))


@contextmanager
def _json(
    sink: pa.NativeFile, schema: pa.Schema, *, start: str, before: str, after: str, end: str
) -> Iterator[WriteBatch]:
    """Write rows as JSON text made by DuckDB; the separator `before` a row is left out for the first row."""
    encode = _encoder([f"concat({literal(before)}, {_row(schema)}, {literal(after)})"], len(schema))
    sink.write(start.encode())
    skip = len(before)

    def put(batch: pa.RecordBatch) -> None:
        nonlocal skip
        for encoded in encode(batch):
            text = encoded.column(0)
            _, offsets, content = text.buffers()
            used = memoryview(offsets).cast("i")[len(text)]
            sink.write(content.slice(skip, used - skip))
            skip = 0

    yield put
    sink.write(end.encode())


@contextmanager
def _csv(sink: pa.NativeFile, schema: pa.Schema, delimiter: str) -> Iterator[WriteBatch]:
    cells = {at: cell for at, field in enumerate(schema) if (cell := _csv_cell(at, field)) is not None}
    shown = is_for_spreadsheets()
    texts = {at for at, kind in enumerate(schema.types) if at in cells or (shown and is_text(kind))}
    kinds = [pa.string() if at in texts else duckdb_type(kind) for at, kind in enumerate(schema.types)]
    flat = pa.schema(list(zip(show_formula_texts(schema.names) if shown else schema.names, kinds, strict=True)))
    encode = _encoder(list(cells.values()), len(schema))
    import pyarrow.csv as pc  # noqa: PLC0415  (slow to import)

    with pc.CSVWriter(sink, flat, write_options=pc.WriteOptions(delimiter=delimiter)) as writer:

        def put(batch: pa.RecordBatch) -> None:
            if not batch.num_rows:
                return
            encoded = pa.Table.from_batches(encode(batch)).columns if cells else []
            if any(map(_holds_late_times, batch.columns)):
                raise pa.ArrowInvalid("it is a time beyond the years -30000 to 30000, or beyond a day")
            columns = dict(enumerate(batch.columns)) | dict(zip(cells, encoded, strict=True))
            written = [to_duckdb(show_formulas(column) if shown else column) for column in columns.values()]
            writer.write_table(pa.table(written, schema=flat))

        yield put


def _holds_late_times(column: pa.Array) -> bool:
    kind = column.type
    return pa.types.is_temporal(kind) and not pa.types.is_duration(kind) and bool(are_late(column).any())


def _row(schema: pa.Schema) -> str:
    """The SQL for a row as a JSON object: DuckDB's own function, unless JSON text must keep its spelling."""
    keys = [field.name for field in schema]
    if RAW not in schema.types:
        return f"CAST(json_object({', '.join(f'{literal(key)}, c{at}' for at, key in enumerate(keys))}) AS VARCHAR)"
    opens = [f"{',' if at else '{'}{json.dumps(key, ensure_ascii=False)}:" for at, key in enumerate(keys)]
    pieces = (f"{literal(text)}, {_cell(at, schema.field(at))}" for at, text in enumerate(opens))
    return f"concat({', '.join(pieces)}, '}}')"


def _cell(at: int, field: pa.Field, null: str = "'null'") -> str:
    """The SQL for a cell as JSON text; JSON text keeps its spelling, on one line."""
    if field.type == RAW and value_type(field) in (pa.float64(), pa.bool_()):
        return f"coalesce(c{at}, {null})"
    if field.type == RAW:
        return f"coalesce(translate(c{at}, chr(10) || chr(13), '  '), {null})"
    return f"coalesce(CAST(to_json(c{at}) AS VARCHAR), {null})"


def _csv_cell(at: int, field: pa.Field) -> str | None:
    """The SQL for a cell that Arrow does not write, or not as JSON has it: JSON text, or a plain text."""
    if pa.types.is_nested(field.type) or field.type == RAW:
        return _cell(at, field, "NULL")
    return f"CAST(c{at} AS VARCHAR)" if is_bytes(field.type) or pa.types.is_duration(field.type) else None


def _encoder(columns: list[str], read: int) -> Callable[[pa.RecordBatch], Iterator[pa.RecordBatch]]:
    """A function that evaluates SQL expressions on a batch with the columns c0, c1 and so on, `read` in number."""
    connection = connect(read)

    def encode(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        stored = [column.storage if column.type == RAW else to_duckdb(column) for column in batch.columns]
        connection.register("karat_rows", pa.table(stored, [f"c{at}" for at in range(len(stored))]))
        yield from stream(connection, f"SELECT {', '.join(columns)} FROM karat_rows", _ROWS_AT_ONCE)  # noqa: S608

    return encode


WRITERS: dict[str, Callable[[pa.NativeFile, pa.Schema], AbstractContextManager[WriteBatch]]] = {
    "jsonl": partial(_json, start="", before="", after="\n", end=""),
    "json": partial(_json, start="[", before=",\n", after="", end="]\n"),
    "csv": partial(_csv, delimiter=DELIMITERS["csv"]),
    "tsv": partial(_csv, delimiter=DELIMITERS["tsv"]),
    "parquet": _parquet,
    "arrow": _arrow,
}


@contextmanager
def open_format(kind: str, sink: pa.NativeFile, schema: pa.Schema) -> Iterator[WriteBatch]:
    """Write batches in a format; `DataError` names the column of a value that it cannot hold, such as a late time."""

    def refuse(batch: pa.RecordBatch, error: Exception) -> DataError:
        field = next(
            (field for field in batch.schema if not holds(kind, batch.select([field.name]))), batch.schema.field(0)
        )
        problem = f"a value of column {field.name!r}, which is {field.type}, does not fit into a file of {kind}"
        return DataError(f"{problem}: {explain(error)}")

    with WRITERS[kind](sink, schema) as put:

        def put_or_refuse(batch: pa.RecordBatch) -> None:
            try:
                put(batch)
            except (duckdb.Error, pa.ArrowException) as error:
                raise refuse(batch, error) from error

        yield put_or_refuse


def holds(kind: str, rows: pa.RecordBatch) -> bool:
    """Whether a file of a format can hold these rows, found by writing them to memory."""
    try:
        with WRITERS[kind](pa.BufferOutputStream(), rows.schema) as put:
            put(rows)
    except (duckdb.Error, pa.ArrowException):
        return False
    return True
