"""Why a file could not be read: found by a second, slower look at it, and told with its line."""

from __future__ import annotations

import io
import json
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
