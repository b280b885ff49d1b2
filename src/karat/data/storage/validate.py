"""What is wrong with a source, told with its name: columns twice, text that is none, files that break off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa

from karat.core.errors import ColumnError, DataError, RowError
from karat.data.source import Source


@contextmanager
def name_errors(name: str) -> Iterator[None]:
    """Raise what Arrow says of a file that cannot be read as `DataError` with its name."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{name}: {error}") from error


def validate_source(source: Source, *, checked: bool) -> Source:
    """The source, whose batches hold only text that is UTF-8 (which may be `checked` already) and whose errors name it.

    Raises `ColumnError` for a column that is there twice; reading raises `RowError` for a cell that is not UTF-8, and
    `DataError` for a file that breaks off or is damaged.
    """
    names = source.schema.names
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ColumnError(f"{source.name} has {', '.join(map(repr, twice))} more than once")

    def read(text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        done = 0
        with name_errors(source.name):
            for batch in source.read(text):
                if not checked:
                    _check(batch, source.name, done)
                yield batch
                done += batch.num_rows

    return replace(source, read=read)


def _check(batch: pa.RecordBatch, name: str, done: int) -> None:
    """Raise `RowError` for the first cell whose text is not UTF-8: some GB a second."""
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if "str" not in str(field.type):  # text, or text inside of lists, structs and dictionaries
            continue
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            raise RowError(f"{name}, column {field.name!r}, row {done + _bad_row(column)}: {error}") from error


def _bad_row(column: pa.Array) -> int:
    for row in range(len(column)):
        try:
            column[row].as_py()
        except UnicodeDecodeError:
            return row + 1
    return 1
