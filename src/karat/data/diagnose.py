"""Why a file could not be read: found by a second, slower look at it, and told with its line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from karat.core.errors import DataError, RowError
from karat.data.duck import explain
from karat.data.files import open_bytes


def explain_json(path: Path, name: str, layout: str, error: Exception) -> DataError:
    """The error to raise where DuckDB, or a row, did not read as JSON objects."""
    if layout == "array":
        return _explain_document(path, name, error)
    with open_bytes(path) as stream:
        for number, line in enumerate(io.BufferedReader(stream), 1):
            if line.strip() and (reason := _try(line)):
                return RowError(f"{name}, line {number}: {reason}")
    return DataError(f"{name}: {explain(error)}")


def _explain_document(path: Path, name: str, error: Exception) -> DataError:
    with open_bytes(path) as stream:
        content = stream.read()
    if reason := _try_parse(content):
        return RowError(f"{name}: {reason}")
    for row, item in enumerate(json.loads(content), 1):
        if reason := _try(json.dumps(item).encode()):
            return RowError(f"{name}, item {row}: {reason}")
    return DataError(f"{name}: {explain(error)}")


def _try(line: bytes) -> str | None:
    """What is wrong with a line that should be one JSON object, ``None`` if nothing."""
    if reason := _try_parse(line):
        return reason
    if not isinstance(row := json.loads(line), dict):
        return f"expected an object {{…}}, found {type(row).__name__}"
    return None


def _try_parse(content: bytes) -> str | None:
    try:
        content.decode()
        json.dumps(json.loads(content, object_pairs_hook=unique), ensure_ascii=False).encode()
    except json.JSONDecodeError as wrong:
        where = f"line {wrong.lineno}, " if wrong.lineno > 1 else ""
        return f"not valid JSON: {wrong.msg} at {where}character {wrong.colno}"
    except UnicodeDecodeError as wrong:
        return f"not UTF-8: byte 0x{content[wrong.start]:02x} at byte {wrong.start + 1}"
    except UnicodeEncodeError:
        return "half of a surrogate pair (\\ud800 to \\udfff), which is no character"
    except ValueError as wrong:
        return str(wrong)
    return None


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of a JSON object as a dict; ``ValueError`` for a key that is there twice."""
    row: dict[str, Any] = {}
    for key, value in pairs:
        if key in row:
            raise ValueError(f"key {key!r} is there twice in one object")
        row[key] = value
    return row


def explain_csv(path: Path, name: str, delimiter: str, cells: int, error: Exception) -> DataError:
    """The error to raise where DuckDB did not read a file as a table of ``cells`` columns."""
    try:
        for start, row in _records(path, delimiter):
            if row and len(row) != cells:
                return RowError(
                    f"{name}, line {start}: expected {cells} cells as in the header, found {len(row)}: {_short(row)}"
                )
    except UnicodeDecodeError as wrong:
        return RowError(f"{name}: not UTF-8: {_where(path, wrong)}")
    except csv.Error as wrong:
        return RowError(f"{name}, {wrong}")
    return DataError(f"{name}: {explain(error)}")


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    with open_bytes(path) as stream:
        reader = csv.reader(
            io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""), delimiter=delimiter, strict=True
        )
        start, limit = 1, csv.field_size_limit(1 << 30)
        try:
            for row in reader:
                yield start, row
                start = reader.line_num + 1
        except csv.Error as wrong:
            raise csv.Error(f"line {start}: {wrong}") from wrong
        finally:
            csv.field_size_limit(limit)


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
