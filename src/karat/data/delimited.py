"""CSV and TSV: every cell is text, and every row has as many cells as the header."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import duckdb
import pyarrow as pa

from karat.core.errors import ColumnError, DataError
from karat.data.cells import read_cells
from karat.data.duck import connect, literal, stream, structure
from karat.data.files import read_head
from karat.data.source import BATCH_BYTES, Source, rows_per_batch

DELIMITERS = {"csv": ",", "tsv": "\t"}


def open_delimited(path: Path, name: str, kind: str) -> Source:
    """Open a CSV or TSV file: a header, ``"`` around cells that hold delimiters or newlines.

    An empty cell is the empty text. Many TSV files know no quoting; one that does not read with quoting, but does when
    quotes are plain characters, is read so. Raises :class:`~karat.core.errors.ColumnError` for a header with a name
    twice, and, when the rows are read, :class:`~karat.core.errors.RowError` naming the line of a row with a cell too
    few or too many.
    """
    delimiter = DELIMITERS[kind]
    names = _read_header(path, name, delimiter)
    schema = pa.schema([(column, pa.string()) for column in names])
    head = read_head(path)
    many = rows_per_batch(len(head), head.count(b"\n") or 1)
    quotes, table = '"', _table(path, delimiter, len(names), '"')
    if kind == "tsv" and not _reads(table) and _reads(literally := _table(path, delimiter, len(names), "")):
        quotes, table = "", literally

    def read(_text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        done = 0
        try:
            for batch in stream(connect(), f"FROM {table}", many):
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
                done += batch.num_rows
        except duckdb.Error:  # a row of more than 2 MB, lines that end in several ways, or an error to be told
            rows = read_cells(path, name, delimiter, quotes)
            yield from _gather(islice(rows, 1 + done, None), schema, many)

    return Source(name, schema, None, read)


def _gather(rows: Iterator[list[str]], schema: pa.Schema, many: int) -> Iterator[pa.RecordBatch]:
    """Rows in batches of so many, or of less where these are large."""
    held: list[list[str]] = []
    size = 0
    for row in rows:
        held.append(row)
        size += sum(map(len, row))
        if len(held) == many or size > BATCH_BYTES:
            yield _batch(held, schema)
            held, size = [], 0
    if held:
        yield _batch(held, schema)


def _batch(rows: list[list[str]], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(cells, pa.string()) for cells in zip(*rows, strict=True)], schema=schema
    )


def _table(path: Path, delimiter: str, cells: int, quotes: str) -> str:
    keys = [f"c{at}" for at in range(cells)]  # DuckDB takes names that differ by case for one
    return (
        f"read_csv({literal(str(path))}, auto_detect=false, header=true, strict_mode=true, null_padding=false, "
        f"delim={literal(delimiter)}, quote={literal(quotes)}, escape={literal(quotes)}, "
        f"force_not_null={keys}, columns={structure(dict.fromkeys(keys, 'VARCHAR'))})"
    )


def _reads(table: str) -> bool:
    try:
        connect().execute(f"SELECT count(COLUMNS(*)) FROM {table}")  # noqa: S608
    except duckdb.Error:
        return False
    return True


def _read_header(path: Path, name: str, delimiter: str) -> list[str]:
    names = next(read_cells(path, name, delimiter, '"'), None)
    if not names:
        raise DataError(f"{name}: expected a header with the columns' names, found none")
    if twice := sorted({column for column in names if names.count(column) > 1}):
        raise ColumnError(f"{name}: the header has {', '.join(map(repr, twice))} more than once")
    return names
