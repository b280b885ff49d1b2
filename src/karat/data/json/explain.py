"""Why a JSON file could not be read: parses it again, slowly, to find the line and the reason."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from karat.core.errors import DataError, KaratError, RowError, spell_error
from karat.data.storage.duckdb import explain
from karat.data.storage.files import LONGEST_ROW, open_bytes

_DEEPEST = 128
_TOO_DEEP = f"values are nested more than {_DEEPEST} deep"
_MOST_EXPLAINED = 64 << 20
"""DuckDB's limit of nesting depth; and the bytes of a document that is parsed again."""


@contextmanager
def explain_errors(path: Path, name: str, layout: str) -> Iterator[None]:
    """Turn errors of DuckDB and of parsers on a file of JSON objects into `DataError`s that name line and reason."""
    try:
        yield
    except KaratError:
        raise
    except (duckdb.Error, ValueError, RecursionError) as error:
        raise _explain(path, name, layout, error) from error


def _explain(path: Path, name: str, layout: str, error: Exception) -> DataError:
    if layout != "newline_delimited":
        return _explain_document(path, name, error)
    longest = _longest(error)
    with open_bytes(path) as stream:
        for number, line in enumerate(io.BufferedReader(stream), 1):
            if line.strip() and (reason := _find_problem(line, longest)):
                return RowError(f"{name}, line {number}: {reason}")
    return DataError(f"{name}: {explain(error)}")


def _explain_document(path: Path, name: str, error: Exception) -> DataError:
    with open_bytes(path) as stream:
        content = stream.read(_MOST_EXPLAINED + 1)
    if "maximum_object_size" in str(error) and len(content) > LONGEST_ROW:
        return RowError(f"{name}: an item has more than 16 MB, but a row may have at most 16 MB")
    if len(content) > _MOST_EXPLAINED:
        return DataError(f"{name}: {explain(error)}")
    if reason := _find_parse_error(content):
        return RowError(f"{name}: {reason}")
    items = document if isinstance(document := json.loads(content), list) else [document]
    for row, item in enumerate(items, 1):
        if reason := _find_problem(json.dumps(item).encode(), _longest(error)):
            return RowError(f"{name}, item {row}: {reason}")
    return DataError(f"{name}: {explain(error)}")


def _longest(error: Exception) -> float:
    """The most bytes that a row may have; infinite unless DuckDB reported that its limit was exceeded."""
    return LONGEST_ROW if "maximum_object_size" in str(error) else math.inf


def _find_problem(line: bytes, longest: float) -> str | None:
    """What is wrong with a line that should be one JSON object; `None` if nothing is."""
    if reason := _find_parse_error(line):
        return reason
    if not isinstance(row := json.loads(line), dict):
        return f"expected an object {{…}}, found {type(row).__name__}"
    if _depth(row) > _DEEPEST:
        return _TOO_DEEP
    return f"{len(line) >> 20} MB, but a row may have at most 16 MB" if len(line) > longest else None


def _depth(value: Any) -> int:
    depth, layer = 0, [value]
    while layer:
        depth += 1
        nested = [each for each in layer if isinstance(each, (dict, list))]
        layer = [inner for outer in nested for inner in (outer.values() if isinstance(outer, dict) else outer)]
    return depth


def _find_parse_error(content: bytes) -> str | None:
    try:
        content.decode()
        json.dumps(json.loads(content, object_pairs_hook=reject_duplicates), ensure_ascii=False).encode()
    except json.JSONDecodeError as wrong:
        where = f"line {wrong.lineno}, " if wrong.lineno > 1 else ""
        return f"not valid JSON: {wrong.msg} at {where}character {wrong.colno}"
    except UnicodeDecodeError as wrong:
        return f"not UTF-8: byte 0x{content[wrong.start]:02x} at byte {wrong.start + 1}"
    except UnicodeEncodeError:
        return "half of a surrogate pair (\\ud800 to \\udfff), which is not a character"
    except ValueError as wrong:
        return spell_error(wrong) + _place(content, _find_digits(content))
    except RecursionError:
        return _TOO_DEEP + _place(content, _find_depth(content))
    return None


def _place(content: bytes, at: int | None) -> str:
    """Where a byte of a document is, in words."""
    if at is None:
        return ""
    line, before = content.count(b"\n", 0, at), content.rfind(b"\n", 0, at)
    return f" at {f'line {line + 1}, ' if line else ''}character {at - before}"


def _find_digits(content: bytes) -> int | None:
    digits = re.search(rb"[0-9]{4301,}", content)
    return digits.start() if digits else None


def _find_depth(content: bytes) -> int | None:
    """The byte at which values are nested too deeply."""
    depth = 0
    for token in re.finditer(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', content):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(token[0], 0)
        if depth > _DEEPEST:
            return token.start()
    return None


def reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An `object_pairs_hook` that raises `ValueError` for a key that occurs twice in an object."""
    row: dict[str, Any] = {}
    for key, value in pairs:
        if key in row:
            raise ValueError(f"key {key!r} occurs twice in one object")
        row[key] = value
    return row
