"""CSV and TSV: every cell is text, and every row must have as many cells as the header."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.errors import DataError, RowError
from karat.data.formats.csv_lines import read_cells
from karat.data.formats.validate import check_unique
from karat.data.source import Source
from karat.data.storage.batches import BATCH_BYTES, rows_per_batch
from karat.data.storage.duckdb import connect, interruptible, literal, one_file, stream, structure
from karat.data.storage.file_names import split_name
from karat.data.storage.files import open_bytes, read_head

DELIMITERS = {"csv": ",", "tsv": "\t"}
_EXCEL = re.compile(rb"(?:\xef\xbb\xbf)?\"?sep=([,;\t|])\"?\r?\n")
_PROBED = 20  # rows that show the delimiter
_LONGEST = 256 << 10
"""The most bytes of a row that DuckDB reads; from a longer one on, the standard library reads the file."""
_SMALL = 64 << 20  # a file that is never more than this in memory
_BUFFER_BYTES = 16 << 20
"""Half of what DuckDB holds of a file in memory at a time."""


def open_delimited(path: Path, name: str, kind: str) -> Source:
    """Open a CSV or TSV file: a header, `"` around cells that hold delimiters or newlines.

    A CSV file has commas, or semicolons or tabs where its first rows are as many cells as the header by these alone;
    a first line `sep=;`, as Excel writes it, names the delimiter. An empty
    cell is the empty text. If a TSV file cannot be read with quoting, or quoting would merge whole rows, quotes are
    plain characters. Raises `ColumnError` for a name that is in the header twice. Reading raises `RowError`, with the
    line, for a row with too few or too many cells.
    """
    named = _EXCEL.match(read_head(path))
    skip = int(named is not None)
    delimiter = named[1].decode() if named else DELIMITERS[kind] if kind == "tsv" else _find_delimiter(path, name)
    names = _read_header(path, name, delimiter, skip)
    schema = pa.schema([(column, pa.string()) for column in names])
    head = read_head(path)
    batch_rows = rows_per_batch(len(head), head.count(b"\n") or 1)
    quotes = '"' if kind == "csv" or skip else _find_quotes(path, delimiter, len(names))
    parallel = split_name(path)[1] is None
    table = _table(path, delimiter, len(names), quotes, parallel=parallel)
    longest = None if parallel and path.stat().st_size <= _SMALL else _LONGEST

    def read() -> Iterator[pa.RecordBatch]:
        if skip:  # after a skipped line with another line end, DuckDB loses rows
            yield from _gather(islice(read_cells(path, name, delimiter, quotes, skip), 1, None), schema, batch_rows)
            return
        done, size = 0, 0
        try:
            for batch in stream(connect(), f"FROM {table}", batch_rows, longest):
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
                done += batch.num_rows
                size += sum(pc.sum(pc.binary_length(column)).as_py() or 0 for column in batch.columns)
            if parallel and path.stat().st_size - size - done * len(names) > _BUFFER_BYTES:
                _check_count(_table(path, delimiter, len(names), quotes, parallel=False), done)
        except duckdb.Error:  # a long row, mixed line ends, or an error to explain
            rows = read_cells(path, name, delimiter, quotes)
            yield from _gather(islice(rows, 1 + done, None), schema, batch_rows)

    return Source(name, schema, None, read)


def _find_delimiter(path: Path, name: str) -> str:
    """The delimiter of a CSV file: a comma, or a semicolon or tab where the first rows are cells of that alone."""
    header = read_head(path).split(b"\n", 1)[0]
    if b";" not in header and b"\t" not in header:
        return ","
    return next((each for each in ",;\t" if _fits(path, name, each)), ",")


def _fits(path: Path, name: str, delimiter: str) -> bool:
    """Whether the first rows have several cells, and as many as the header."""
    try:
        return all(len(row) > 1 for row in islice(read_cells(path, name, delimiter, '"'), _PROBED))
    except RowError:
        return False


def _find_quotes(path: Path, delimiter: str, cells: int) -> str:
    """The quote character of a TSV file, empty if it has no quoting."""
    with open_bytes(path) as stream:
        if not any(b'"' in part for part in iter(lambda: stream.read(1 << 20), b"")):
            return '"'
    quoted, literally = (_count(_table(path, delimiter, cells, quotes, parallel=True)) for quotes in ('"', ""))
    if quoted is None or literally is None:
        return '"' if literally is None else ""
    # quoting merges lines that have the right number of cells each, and the header is not quoted
    joins = quoted < literally and cells > 1 and b'"' not in read_head(path).split(b"\n", 1)[0]
    return "" if joins else '"'


def _check_count(table: str, rows: int) -> None:
    """Raise `duckdb.Error` if rows are missing: in parallel, DuckDB drops a last row longer than its buffer."""
    if _count(table) != rows:
        raise duckdb.Error(f"expected more than {rows} rows")


def _gather(rows: Iterator[list[str]], schema: pa.Schema, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Rows in batches of `batch_rows`, or of fewer rows if these are large."""
    held: list[list[str]] = []
    size = 0
    for row in rows:
        held.append(row)
        size += sum(map(len, row))
        if len(held) == batch_rows or size > BATCH_BYTES:
            yield _batch(held, schema)
            held, size = [], 0
    if held:
        yield _batch(held, schema)


def _batch(rows: list[list[str]], schema: pa.Schema) -> pa.RecordBatch:
    columns = [pa.array(cells, pa.string()) for cells in zip(*rows, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _table(path: Path, delimiter: str, cells: int, quotes: str, *, parallel: bool) -> str:
    keys = [f"c{at}" for at in range(cells)]  # to DuckDB, names that differ only in case are the same
    return (
        f"read_csv({one_file(path)}, parallel={parallel}, max_line_size={_LONGEST}, auto_detect=false, header=true, "
        f"strict_mode=true, null_padding=false, delim={literal(delimiter)}, quote={literal(quotes)}, "
        f"escape={literal(quotes)}, force_not_null={keys}, columns={structure(dict.fromkeys(keys, 'VARCHAR'))})"
    )


@interruptible()
def _count(table: str) -> int | None:
    """The number of rows, `None` if they cannot be read."""
    try:
        rows = connect().execute(f"SELECT count(COLUMNS(*)) FROM {table}").fetchall()  # noqa: S608
    except duckdb.Error:
        return None
    return int(rows[0][0])


def _read_header(path: Path, name: str, delimiter: str, skip: int) -> list[str]:
    names = next(read_cells(path, name, delimiter, '"', skip), None)
    if not names:
        raise DataError(f"{name}: expected a header with the columns' names, found none")
    check_unique(names, f"{name}: the header")
    return names
