"""CSV and TSV read by the standard library: slower than DuckDB, without its limits, with line numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from karat.core.errors import RowError
from karat.data.storage.files import LONGEST_LINE, open_bytes


def read_cells(path: Path, name: str, delimiter: str, quotes: str, skip: int = 0) -> Iterator[list[str]]:
    """The header and the rows of a file; line ends may be mixed, and cells may have 64 MB.

    The first `skip` lines are left out.

    Raises `RowError`, with the line, for a row that cannot be read or has another number of cells than the header.
    """
    line, cells = 1 + skip, 0
    csv.field_size_limit(LONGEST_LINE)  # of the whole process: put back, it would break off other readers
    try:
        with open_bytes(path) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            for _ in range(skip):
                text.readline()
            reader = csv.reader(text, delimiter=delimiter, quotechar=quotes or None, strict=True)
            for line_cells in reader:
                row = line_cells or [""] * (cells == 1)  # an empty line is an empty cell where there is one column
                cells = cells or len(row)
                if row and len(row) != cells:
                    actual = f"found {len(row)}: {_short(row)}"
                    raise RowError(f"{name}, line {line}: expected {cells} cells as in the header, {actual}")
                if row:
                    yield row
                line = reader.line_num + 1 + skip
    except UnicodeDecodeError as wrong:
        raise RowError(f"{name}: not UTF-8: {_where(path, wrong)}; save it as CSV UTF-8") from wrong
    except csv.Error as wrong:
        raise RowError(f"{name}, line {line}: {wrong}") from wrong


def _where(path: Path, wrong: UnicodeDecodeError) -> str:
    with open_bytes(path) as stream:
        for number, line in enumerate(io.BufferedReader(stream), 1):
            try:
                line.decode()
            except UnicodeDecodeError as here:
                return f"line {number}, byte {here.start + 1} of it (0x{line[here.start]:02x})"
    return wrong.reason


def _short(row: list[str]) -> str:
    text = " | ".join(row)
    return text if len(text) <= 80 else f"{text[:79]}…"
