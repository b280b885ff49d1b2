"""Files of every format, and logs of every tool. What is read is read again alike, written and read again, and scored.

The rows of JSON and CSV are those of Python's own readers. A table in batches of one row has the scores of the whole.
"""

from __future__ import annotations

import csv as python_csv
import gzip
import io
import json as python_json
import math
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from targets import SCRATCH, take_single_rows, write

METRICS = ("exact_match", "token_f1")


def csv(data: bytes) -> None:
    """Comma-separated values; cells are those of Python's csv."""
    _same_cells(data, ",", _read(write("rows.csv", data)))


def tsv(data: bytes) -> None:
    """Values separated by tabs; cells are those of Python's csv."""
    _same_cells(data, "\t", _read(write("rows.tsv", data)))


def json(data: bytes) -> None:
    """JSON documents of any layout; of an array, rows are those of Python's json."""
    rows = _read(write("rows.json", data))
    with suppress(ValueError, RecursionError):
        document = python_json.loads(data)
        if rows is not None and isinstance(document, list):
            _same_rows(rows, document)


def jsonl(data: bytes) -> None:
    """JSON Lines; rows are those of Python's json."""
    rows = _read(write("rows.jsonl", data))
    with suppress(ValueError, RecursionError):
        lines = [python_json.loads(line) for line in data.decode("utf-8-sig").split("\n") if line.strip()]
        if rows is not None and all(isinstance(line, dict) for line in lines):
            _same_rows(rows, lines)


def parquet(data: bytes) -> None:
    """Parquet."""
    _read(write("rows.parquet", data))


def arrow(data: bytes) -> None:
    """Arrow, as a file and as a stream."""
    _read(write("rows.arrow", data))


def unnamed(data: bytes) -> None:
    """A file whose format its first bytes show: TREC's runs, qrels, diversity qrels, and all others."""
    _read(write("rows.txt", data))


def compressed(data: bytes) -> None:
    """Bytes that should be compressed, and compressed bytes."""
    _read(write("rows.jsonl.gz", data))
    _read(write("rows.csv.zst", data))
    plain, packed = _read(write("rows.jsonl", data)), _read(write("rows.jsonl.gz", gzip.compress(data, 1)))
    assert repr(plain) == repr(packed)


def inspect_log(data: bytes) -> None:
    """A packed log of Inspect: any bytes, and a zip file whose members are the lines."""
    _read(write("log.eval", data))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as log:
        for number, line in enumerate(data.split(b"\n")):
            log.writestr(f"samples/{number}.json" if number else "header.json", line)
    _read(write("log.eval", packed.getvalue()))


def log_json(data: bytes) -> None:
    """Documents of other tools: their rows, and their scores."""
    _score(write("log.json", data))


def log_jsonl(data: bytes) -> None:
    """JSON Lines of other tools: their rows, and their scores."""
    _score(write("log.jsonl", data))


def log_csv(data: bytes) -> None:
    """Tables of other tools with JSON, or Python's, in their cells."""
    _score(write("log.csv", data))


def spans(data: bytes) -> None:
    """Spans of OpenTelemetry, Phoenix and others: by row, and in one document."""
    from karat.core.errors import KaratError
    from karat.data.open import spans as read_spans

    for suffix in ("jsonl", "json"):
        path = write(f"spans.{suffix}", data)
        with suppress(KaratError):
            found = read_spans(path)
            table = pa.Table.from_batches(found.batches(), found.schema)
            table.validate(full=True)
            assert sum(found.kinds.values()) <= len(table)  # a span may have no kind
            for kind in found.kinds:
                assert sum(map(len, found.filter(kind).batches())) == found.kinds[kind], kind


def _open(path: Path) -> Any:
    """The source and its rows, or None where karat refuses them."""
    from karat.core.errors import KaratError
    from karat.data.open import open_source

    try:
        source = open_source(path)
        table = pa.Table.from_batches(source.batches(), source.schema)
    except KaratError:
        return None
    table.validate(full=True)
    again = pa.Table.from_batches(source.batches(), source.schema)
    assert repr(_rows(table)) == repr(_rows(again)), "read again"
    assert source.rows is None or source.rows == len(table)
    return source, table


def _read(path: Path) -> list[dict[str, Any]] | None:
    """The rows of a file, or None where karat refuses it; they are written and read again, too."""
    from karat.core.errors import KaratError
    from karat.data.write import check_output
    from karat.data.write import write as write_rows

    if (found := _open(path)) is None:
        return None
    source, table = found
    rows, suffix = _rows(table), ("parquet", "jsonl", "csv")[len(table.column_names) % 3]
    copy = SCRATCH / f"copy.{suffix}"
    try:
        check_output(copy, source.schema)
        write_rows(table.to_batches(), source.schema, copy)
    except KaratError:
        return rows
    if not rows:  # a file of JSON Lines without rows is empty
        return rows
    same = _open(copy)
    assert same is not None, f"{copy} was written, and is refused"
    if suffix == "parquet":
        assert repr(rows) == repr(_rows(same[1])), "written as Parquet"
    for field in table.schema if suffix != "parquet" else ():
        if pa.types.is_string(field.type):
            cells = [list(map(_or_empty, each.column(field.name).to_pylist())) for each in (table, same[1])]
            assert cells[0] == cells[1], f"{field.name!r}, written as {suffix}"
    return rows


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    return [
        dict(zip(table.column_names, row, strict=True))
        for row in zip(*(_cells(each) for each in table.columns), strict=True)
    ]


def _cells(column: pa.ChunkedArray) -> list[Any]:
    with suppress(UnicodeDecodeError, ValueError, OverflowError):  # times beyond those of Python
        return list(column.to_pylist(maps_as_pydicts=None))
    return (
        [str(cell) for cell in column.cast(pa.binary()) if cell]
        if pa.types.is_string(column.type)
        else [None] * len(column)
    )


def _score(path: Path) -> None:
    """A file, and the same in batches of one row, have the same scores."""
    import karat
    from karat.core.errors import KaratError

    if _read(path) is None:
        return
    from karat.data.open import open_source

    source = open_source(path)

    found = []
    for each in (source, take_single_rows(source)):
        try:
            result = karat.score(each, METRICS, keep=True)
            found.append(repr([result.values, result.mapping, *(result.table[name].to_pylist() for name in METRICS)]))
        except KaratError as error:
            found.append(type(error).__name__)
    assert found[0] == found[1], found


def _same_cells(data: bytes, delimiter: str, rows: list[dict[str, Any]] | None) -> None:
    """The cells of a table are those of Python's csv, where all its rows are as long as the header."""
    with suppress(UnicodeDecodeError, python_csv.Error):
        text = data.decode("utf-8-sig")
        if not rows or "\0" in text:
            return
        read = list(python_csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
        lines = [line or [""] for line in read if line or len(rows[0]) == 1]  # an empty line may be an empty cell
        if {len(line) for line in lines} == {len(set(lines[0]))} == {len(rows[0])}:
            assert [list(map(_or_empty, row.values())) for row in rows] == lines[1:]


def _or_empty(cell: str | None) -> str:
    return cell or ""


def _same_rows(rows: list[dict[str, Any]], expected: list[Any]) -> None:
    assert len(rows) == len(expected), f"{len(rows)} rows of {len(expected)}"
    for row, values in zip(rows, expected, strict=True):
        if isinstance(values, dict):
            for name, value in values.items():
                assert _is_same(row.get(name), value), f"{name!r}: {row.get(name)!r}, not {value!r}"


def _is_same(cell: Any, value: Any) -> bool:
    """Whether a cell holds a value of JSON: by itself, or as its text."""
    if isinstance(value, dict) and isinstance(cell, dict):
        return all(_is_same(cell.get(key), inner) for key, inner in value.items())
    if isinstance(value, list) and isinstance(cell, list):
        return len(value) == len(cell) and all(map(_is_same, cell, value))
    if (
        cell == value
        or repr(cell) == repr(value)
        or (isinstance(value, float | int) and isinstance(cell, float) and math.isclose(cell, value))
    ):
        return True
    with suppress(ValueError, TypeError, RecursionError):
        return bool(python_json.loads(cell) == value or repr(python_json.loads(cell)) == repr(value))
    return False
