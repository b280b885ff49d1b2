"""Why a file could not be read: found by a second, slower look at it, and told with its line."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

from karat.core.errors import DataError, RowError
from karat.data.storage.duckdb import explain
from karat.data.storage.files import open_bytes

_DEEPEST = 128
_TOO_DEEP = f"values in one another more than {_DEEPEST} deep"
_LONGEST = 16 << 20
"""What DuckDB reads at most: depth, and bytes of one object."""


def explain_json(path: Path, name: str, layout: str, error: Exception) -> DataError:
    """The error to raise where DuckDB, or a row, did not read as JSON objects."""
    if layout != "newline_delimited":
        return _explain_document(path, name, error)
    longest = _longest(error)
    with open_bytes(path) as stream:
        for number, line in enumerate(io.BufferedReader(stream), 1):
            if line.strip() and (reason := _try(line, longest)):
                return RowError(f"{name}, line {number}: {reason}")
    return DataError(f"{name}: {explain(error)}")


def _explain_document(path: Path, name: str, error: Exception) -> DataError:
    with open_bytes(path) as stream:
        content = stream.read()
    if reason := _try_parse(content):
        return RowError(f"{name}: {reason}")
    items = found if isinstance(found := json.loads(content), list) else [found]
    for row, item in enumerate(items, 1):
        if reason := _try(json.dumps(item).encode(), _longest(error)):
            return RowError(f"{name}, item {row}: {reason}")
    return DataError(f"{name}: {explain(error)}")


def _longest(error: Exception) -> float:
    """How many bytes a row may have: a limit only where DuckDB says that one was met."""
    return _LONGEST if "maximum_object_size" in str(error) else math.inf


def _try(line: bytes, longest: float) -> str | None:
    """What is wrong with a line that should be one JSON object, `None` if nothing."""
    if reason := _try_parse(line):
        return reason
    if not isinstance(row := json.loads(line), dict):
        return f"expected an object {{…}}, found {type(row).__name__}"
    if _depth(row) > _DEEPEST:
        return _TOO_DEEP
    return f"{len(line) >> 20} MB, of which one row may have 16 at most" if len(line) > longest else None


def _depth(value: Any) -> int:
    depth, layer = 0, [value]
    while layer:
        depth += 1
        layer = [
            inner
            for outer in layer
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return depth


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
    except RecursionError:
        return _TOO_DEEP
    return None


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of a JSON object as a dict; `ValueError` for a key that is there twice."""
    row: dict[str, Any] = {}
    for key, value in pairs:
        if key in row:
            raise ValueError(f"key {key!r} is there twice in one object")
        row[key] = value
    return row
