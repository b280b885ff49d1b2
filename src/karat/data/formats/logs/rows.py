"""What the readers of logs share: rows to a source, and further columns of a source."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from karat.core.columns.python_values import rows_to_python
from karat.core.errors import DataError, KaratError, RowError, spell_error
from karat.data.formats.json import open_json_rows
from karat.data.source import Source
from karat.data.storage.files import TemporaryFile

T = TypeVar("T")


def check_rows(rows: Iterable[T], name: str, tool: str, row: int = 1) -> Iterator[T]:
    """The same rows, read from a log of a tool; `RowError` for one that is not as the tool writes it.

    `row` is the number of the first.
    """
    try:
        for each in rows:
            yield each
            row += 1
    except KaratError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise RowError(f"{name}, row {row}: not as {tool} writes it: {spell_error(error)}") from error


def open_rows(rows: Iterable[Mapping[str, Any]], name: str, tool: str) -> Source:
    """Open rows of a tool's log as a source, through a temporary file: few are in memory, and all decide the types.

    Raises `DataError` if there are none, and what `check_rows` raises.
    """
    file = TemporaryFile(".jsonl")
    with file.writing(), Path(file.name).open("w", encoding="utf-8") as lines:
        lines.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in check_rows(rows, name, tool))
    if not Path(file.name).stat().st_size:
        raise DataError(f"{name}: a log of {tool} without samples")
    source = open_json_rows(Path(file.name), name, "newline_delimited")

    def read(_kept: Any = file) -> Iterator[pa.RecordBatch]:
        yield from source.read()

    return replace(source, read=read, tool=tool)


def records(batch: pa.RecordBatch, names: Iterable[str]) -> list[dict[str, Any]]:
    """The rows of a batch as Python values of these columns, with JSON text parsed.

    >>> records(pa.record_batch({"a": pa.array(['{"b": 1}']).cast(pa.json_()), "c": [2]}), ["a"])
    [{'a': {'b': 1}}]
    """
    return rows_to_python(batch.select(list(names)), json.loads)


def add_columns(
    source: Source, tool: str, names: Iterable[str], read_row: Callable[[dict[str, Any]], tuple[Any, ...]], **types: Any
) -> Source:
    """The source of a tool's log with columns of these types added: `read_row` gives them from the columns `names`."""
    names = [name for name in names if name in source.schema.names]
    schema = pa.schema([*source.schema, *types.items()])

    def read() -> Iterator[pa.RecordBatch]:
        done = 0
        for batch in source.read():
            rows = list(check_rows(map(read_row, records(batch, names)), source.name, tool, done + 1))
            try:
                added = [pa.array([row[at] for row in rows], kind) for at, kind in enumerate(types.values())]
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                place = f"{source.name}, rows {done + 1} to {done + len(batch)}"
                raise RowError(f"{place}: not as {tool} writes it: {spell_error(error)}") from error
            done += len(batch)
            yield pa.RecordBatch.from_arrays([*batch.columns, *added], schema=schema)

    return replace(source, schema=schema, read=read, parts=(), tool=tool)
