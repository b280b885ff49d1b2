"""Rows of a log through a temporary file, so that few of them are in memory, to columns with the types of all rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from karat.core.errors import DataError, KaratError, RowError, spell_error
from karat.data.json.reader import open_json_rows
from karat.data.source import Source
from karat.data.storage.files import TemporaryFile


def check_rows(rows: Iterable[Mapping[str, Any]], name: str, tool: str) -> Iterator[Mapping[str, Any]]:
    """The same rows, read from a log of a tool; `RowError` for one that is not as the tool writes it."""
    row = 1
    try:
        for each in rows:
            yield each
            row += 1
    except KaratError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise RowError(f"{name}, row {row}: not as {tool} writes it: {spell_error(error)}") from error


def open_rows(rows: Iterable[Mapping[str, Any]], name: str, tool: str) -> Source:
    """Open rows of a tool's log as a source. Raises `DataError` if there are none, and what `check_rows` raises."""
    file = TemporaryFile(".jsonl")
    with file.writing(), Path(file.name).open("w", encoding="utf-8") as lines:
        lines.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in check_rows(rows, name, tool))
    if not Path(file.name).stat().st_size:
        raise DataError(f"{name}: a log of {tool} without samples")
    source = open_json_rows(Path(file.name), name, "newline_delimited")

    def read(text: frozenset[str], _kept: Any = file) -> Iterator[pa.RecordBatch]:
        return source.read(text)

    return replace(source, read=read, tool=tool)
