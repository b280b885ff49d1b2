"""CSV and TSV: every cell is text, and every row has as many cells as the header."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.errors import ColumnError, DataError
from karat.data.formats.csv_lines import read_cells
from karat.data.source import BATCH_BYTES, Source, rows_per_batch
from karat.data.storage.duckdb import connect, interruptible, literal, one_file, stream, structure
from karat.data.storage.file_names import split_name
from karat.data.storage.files import open_bytes, read_head

DELIMITERS = {"csv": ",", "tsv": "\t"}
_BUFFER_BYTES = 16 << 20
"""Half of what DuckDB holds of a file at a time."""


def open_delimited(path: Path, name: str, kind: str) -> Source:
    """Open a CSV or TSV file: a header, `"` around cells that hold delimiters or newlines.

    An empty cell is the empty text. Many TSV files know no quoting; one that does not read with quoting, or joins whole
    rows then, is read with quotes as plain characters. Raises `ColumnError` for a header with a name
    twice, and, when the rows are read, `RowError` naming the line of a row with a cell too
    few or too many.
    """
    delimiter = DELIMITERS[kind]
    names = _read_header(path, name, delimiter)
    schema = pa.schema([(column, pa.string()) for column in names])
    head = read_head(path)
    many = rows_per_batch(len(head), head.count(b"\n") or 1)
    quotes = '"' if kind == "csv" else _find_quotes(path, delimiter, len(names))
    parallel = split_name(path)[1] is None
    table = _table(path, delimiter, len(names), quotes, parallel=parallel)

    def read(_text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        done, size = 0, 0
        try:
            for batch in stream(connect(), f"FROM {table}", many):
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
                done += batch.num_rows
                size += sum(pc.sum(pc.binary_length(column)).as_py() or 0 for column in batch.columns)
            if parallel and path.stat().st_size - size - done * len(names) > _BUFFER_BYTES:
                _check_count(_table(path, delimiter, len(names), quotes, parallel=False), done)
        except duckdb.Error:  # a row of more than 2 MB, lines that end in several ways, or an error to be told
            rows = read_cells(path, name, delimiter, quotes)
            yield from _gather(islice(rows, 1 + done, None), schema, many)

    return Source(name, schema, None, read)


def _find_quotes(path: Path, delimiter: str, cells: int) -> str:
    """Which quotes a TSV file uses, where some know none.

    Where both readings work, quotes that would join lines, each of which has the header's number of cells, are plain
    characters; unless the header itself is quoted.
    """
    if not _has_quote(path):
        return '"'
    quoted, literally = (_count(_table(path, delimiter, cells, quotes, parallel=True)) for quotes in ('"', ""))
    if quoted is None or literally is None:
        return '"' if literally is None else ""
    joins = quoted < literally and cells > 1 and b'"' not in read_head(path).split(b"\n", 1)[0]
    return "" if joins else '"'


def _has_quote(path: Path) -> bool:
    with open_bytes(path) as stream:
        return any(b'"' in part for part in iter(lambda: stream.read(1 << 20), b""))


def _check_count(table: str, rows: int) -> None:
    """Raise `duckdb.Error` where rows are missing: in parallel, a last row longer than DuckDB's buffer vanishes."""
    if _count(table) != rows:
        raise duckdb.Error(f"expected more than {rows} rows")


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


def _table(path: Path, delimiter: str, cells: int, quotes: str, *, parallel: bool) -> str:
    keys = [f"c{at}" for at in range(cells)]  # DuckDB takes names that differ by case for one
    return (
        f"read_csv({one_file(path)}, parallel={parallel}, auto_detect=false, header=true, "
        f"strict_mode=true, null_padding=false, "
        f"delim={literal(delimiter)}, quote={literal(quotes)}, escape={literal(quotes)}, "
        f"force_not_null={keys}, columns={structure(dict.fromkeys(keys, 'VARCHAR'))})"
    )


@interruptible()
def _count(table: str) -> int | None:
    """The number of rows, `None` where they do not read."""
    try:
        found = connect().execute(f"SELECT count(COLUMNS(*)) FROM {table}").fetchall()  # noqa: S608
    except duckdb.Error:
        return None
    return int(found[0][0])


def _read_header(path: Path, name: str, delimiter: str) -> list[str]:
    names = next(read_cells(path, name, delimiter, '"'), None)
    if not names:
        raise DataError(f"{name}: expected a header with the columns' names, found none")
    if twice := sorted({column for column in names if names.count(column) > 1}):
        raise ColumnError(f"{name}: the header has {', '.join(map(repr, twice))} more than once")
    return names
