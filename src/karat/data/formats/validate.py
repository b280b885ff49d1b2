"""What holds for every source: unique names of columns, valid UTF-8, plain layouts, its name in every error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

import pyarrow as pa

from karat.core.columns.arrow import is_ascii, plain_column
from karat.core.columns.python_values import to_python
from karat.core.errors import ColumnError, DataError, RowError
from karat.data.source import Source
from karat.data.storage.batches import cut_batch
from karat.data.storage.duckdb import MOST_COLUMNS, too_many_columns
from karat.data.storage.stores import name_errors

AnySource = TypeVar("AnySource", bound=Source)
_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}


def check_unique(names: list[str], owner: str) -> None:
    """Raise `ColumnError` for names that occur more than once, and for too many."""
    if len(names) > MOST_COLUMNS:
        raise ColumnError(too_many_columns(owner))
    if duplicates := sorted(name for name, count in Counter(names).items() if count > 1):
        raise ColumnError(f"{owner} has {', '.join(map(repr, duplicates[:8]))} more than once")


def validate_source(source: AnySource, *, checked: bool) -> AnySource:
    """The source in plain layouts (`plain_column`), with checks while it is read and its name in every error.

    `checked`: its text is known to be valid UTF-8. Raises `ColumnError` for duplicate columns. Reading raises
    `RowError` for a cell that is not UTF-8, `DataError` for a truncated or damaged file.
    """
    check_unique(source.schema.names, source.name)

    def read() -> Iterator[pa.RecordBatch]:
        row = first = source.parts[0].first if source.parts else 0
        with name_errors(source.name):
            for batch in source.read():
                if not checked:
                    _check_cells(batch, source.name, row)
                yield from map(_plain_batch, cut_batch(batch, source.name, row))
                row += batch.num_rows
        if source.rows not in (None, row - first):
            raise DataError(f"{source.name}: expected {source.rows} rows, found {row - first}: is it damaged?")

    schema = _plain_schema(source.schema)
    return replace(source, schema=schema, read=read)


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_type(plain_column(pa.nulls(0, field.type)).type) for field in schema])


def _plain_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = list(map(plain_column, batch.columns))
    fields = [field.with_type(column.type) for field, column in zip(batch.schema, columns, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _check_cells(batch: pa.RecordBatch, name: str, row: int) -> None:
    """Raise `RowError` for the first cell whose text is not UTF-8, `DataError` for a damaged column.

    Checks a few GB a second, of ASCII many.
    """
    for field, column in zip(batch.schema, batch.columns, strict=True):
        try:
            column.validate()  # that the buffers are as long as they should be
            if not (pa.types.is_primitive(field.type) or is_ascii(column)):
                _check_nested(column)
            else:
                _check_nulls(column)  # the cells are right whatever their bytes are
        except pa.ArrowInvalid as error:
            where = f"{name}, column {field.name!r}"
            if "UTF8" in str(error) and _is_readable(column):
                raise RowError(f"{where}, row {row + _first_invalid_row(column)}: {error}") from error
            raise DataError(f"{where}: {error}") from error


def _check_nested(column: pa.Array) -> None:
    """Raise `ArrowInvalid` as `validate(full=True)` does, which of a slice of lists checks the cells of all of them."""
    if type(column) not in (pa.ListArray, pa.LargeListArray):
        column.validate(full=True)
        return
    if not len(column):
        return
    _check_nulls(column)
    ends = column.offsets.to_numpy()
    if ends[0] < 0 or ends[-1] > len(column.values) or (ends[1:] < ends[:-1]).any():
        column.validate(full=True)
    _check_nested(column.values.slice(ends[0], ends[-1] - ends[0]))


def _check_nulls(column: pa.Array) -> None:
    """Raise `ArrowInvalid` where the nulls of a column, by its bits, are not as many as its file says."""
    if (bits := column.buffers()[0]) is None:
        return
    valid = pa.BooleanArray.from_buffers(pa.bool_(), len(column), [None, bits], 0, column.offset)
    if (nulls := len(column) - int(valid.true_count)) != column.null_count:
        raise pa.ArrowInvalid(f"expected {column.null_count} nulls, found {nulls}: is it damaged?")


def _is_readable(column: pa.Array) -> bool:
    """Whether the cells of a damaged column can be read one by one: nothing but the bytes of its text is wrong."""
    try:
        column.view(_with_bytes(column.type)).validate(full=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def _with_bytes(kind: pa.DataType) -> pa.DataType:
    """The same type with bytes for text, also inside of lists, objects and dictionaries."""
    if kind in _BYTES:
        return _BYTES[kind]
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _with_bytes(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_with_bytes(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_with_bytes(kind.value_type)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_with_bytes(kind.value_type)))
    return kind


def _first_invalid_row(column: pa.Array) -> int:
    for row in range(len(column)):
        try:
            to_python(column[row : row + 1])
        except UnicodeDecodeError:
            return row + 1
    return 1
