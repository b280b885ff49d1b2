"""Parquet and Arrow IPC (file or stream): types stay exactly as they are stored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from karat.core.errors import DataError
from karat.data.formats.union import fit_source
from karat.data.formats.validate import validate_source
from karat.data.source import Part, Source, group_parts
from karat.data.storage.addresses import hide_secrets
from karat.data.storage.batches import BATCH_BYTES, rows_per_batch, slice_batches
from karat.data.storage.file_names import split_name
from karat.data.storage.files import open_bytes, spool
from karat.data.storage.remote_files import identify, open_file
from karat.data.storage.stores import name_errors

_MOST_OF_LISTS = 512 << 20
_PROBED_BYTES = 64 << 10
_WIDTHS = {"BOOLEAN": 0.125, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}
_WIDTHS |= dict.fromkeys(("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"), 4)
"""The bytes of a value of Parquet's types in memory, without those that are stored for each."""


def open_columnar(path: Path, name: str, kind: str) -> Source:
    """Open a Parquet or an Arrow file; a compressed one is first decompressed into a temporary file."""
    copy = None
    if split_name(path)[1]:
        with open_bytes(path) as stream:
            copy = spool(stream)
        path = Path(copy.name)
    return (open_parquet if kind == "parquet" else _open_arrow)(path, name, copy)


def open_parquet(path: str | Path, name: str, copy: Any = None) -> Source:
    """Open a Parquet file at a path or an address, of which only the ranges that are read are fetched."""
    with open_file(path) as stored, pq.ParquetFile(stored, pre_buffer=False) as file:
        schema, footer = file.schema_arrow, file.metadata
    batch_rows = _batch_rows(footer, range(footer.num_row_groups))

    def read(_kept: Any = copy) -> Iterator[pa.RecordBatch]:
        with open_file(path) as stored, pq.ParquetFile(stored, pre_buffer=False) as file:
            for groups in _group_runs(footer, batch_rows):
                if shared := _find_shared(path, name, footer, groups, schema.names):
                    with open_file(path) as again, pq.ParquetFile(again, read_dictionary=shared) as other:
                        yield from other.iter_batches(batch_rows, groups)
                else:
                    yield from file.iter_batches(batch_rows, groups)

    parts = () if copy else tuple(_find_parts(path, footer))
    return Source(name, schema, footer.num_rows, read, parts=parts)


def _group_runs(footer: pq.FileMetaData, rows: int) -> Iterator[list[int]]:
    """The row groups in runs of at least so many rows."""
    run, count = list[int](), 0
    for group in range(footer.num_row_groups):
        run.append(group)
        count += footer.row_group(group).num_rows
        if count >= rows:
            yield run
            run, count = [], 0
    if run:
        yield run


def _batch_rows(footer: pq.FileMetaData, groups: Iterable[int]) -> int:
    sizes = [(_plain_bytes(footer, group), footer.row_group(group).num_rows) for group in groups]
    return rows_per_batch(sum(size for size, _ in sizes), sum(rows for _, rows in sizes))


def _plain_bytes(footer: pq.FileMetaData, group: int) -> int:
    """The bytes of a row group in memory, at least, without what values of a dictionary have."""
    columns = map(footer.row_group(group).column, range(footer.num_columns))
    return sum(
        max(column.total_uncompressed_size, int(column.num_values * _WIDTHS[column.physical_type]))
        for column in columns
    )


def _find_shared(
    path: str | Path, name: str, footer: pq.FileMetaData, groups: Iterable[int], read: Collection[str]
) -> list[str]:
    """The columns that are `read` whose values share so many bytes that they must stay dictionaries until they are cut.

    Their longest value is looked up in the dictionary of each row group where all rows might otherwise have more than
    a batch's bytes. Raises `DataError` for lists whose few bytes in the file stand for more than 512 MB.
    """
    wanted = dict[int, list[Any]]()
    for group in groups:
        for at in range(footer.num_columns):
            column, is_list = footer.row_group(group).column(at), footer.schema.column(at).max_repetition_level > 0
            if not any(f"{column.path_in_schema}.".startswith(f"{each}.") for each in read):
                continue
            plain, stored = int(column.num_values * _WIDTHS[column.physical_type]), column.total_uncompressed_size
            if is_list and plain > _MOST_OF_LISTS and plain > 100 * stored:
                problem = f"row group {group} stores {plain >> 20:,} MB of lists in {stored:,} bytes"
                raise DataError(f"{name}, column {column.path_in_schema!r}: {problem}; is it damaged?")
            may_share = column.physical_type == "BYTE_ARRAY" and column.has_dictionary_page
            if may_share and column.num_values * stored > BATCH_BYTES:
                wanted.setdefault(group, []).append(column)
    return _look_up(path, wanted) if wanted else []


def _look_up(path: str | Path, wanted: Mapping[int, Sequence[Any]]) -> list[str]:
    """Of the columns of each row group those whose longest value in all rows has more than a batch's bytes."""
    paths_read = sorted({column.path_in_schema for columns in wanted.values() for column in columns})
    shared = set[str]()
    with (
        open_file(path) as stored,
        pq.ParquetFile(stored, read_dictionary=paths_read, pre_buffer=False, buffer_size=_PROBED_BYTES) as file,
    ):
        for group, columns in wanted.items():
            paths = [column.path_in_schema for column in columns]
            for first in islice(file.iter_batches(1, [group], paths, use_threads=False), 1):
                for column, its_path in zip(columns, paths, strict=True):
                    names = [name for name in first.schema.names if f"{its_path}.".startswith(f"{name}.")]
                    longest = max((_longest(first.column(name)) for name in names), default=0)
                    if column.num_values * longest > BATCH_BYTES + column.total_uncompressed_size:
                        shared.add(its_path)
    return sorted(shared)


def _longest(column: pa.Array) -> int:
    if pa.types.is_dictionary(column.type):
        return int(pc.max(pc.binary_length(column.dictionary)).as_py() or 0)
    if pa.types.is_struct(column.type):
        return max((_longest(each) for each in column.flatten()), default=0)
    return _longest(column.values) if pa.types.is_nested(column.type) else 0


def _find_parts(path: str | Path, footer: pq.FileMetaData) -> Iterator[Part]:
    """A part for each row group that is not empty."""
    file, first = identify(path), 0
    for at in range(footer.num_row_groups):
        if rows := footer.row_group(at).num_rows:
            yield Part(file.path, file.size, file.tag, (at,), first, rows)
        first += rows


def open_part(
    part: Part, name: str, schema: pa.Schema, columns: Collection[str] | None = None, most: int | None = None
) -> Source:
    """Open the rows of a part, with the columns of `schema`; only those in `columns`, where they are named.

    `name` is the whole source's; `most` bounds the rows of a batch. Raises `DataError` where the file is another
    than it was.
    """
    if columns is not None:
        schema = pa.schema([field for field in schema if field.name in columns])
    name_of_file = _check_same(part)
    with name_errors(name_of_file), open_file(part.file) as opened, pq.ParquetFile(opened) as file:
        own, footer = file.schema_arrow, file.metadata
    stored = pa.schema([field for field in own if field.name in schema.names])
    batch_rows = min(_batch_rows(footer, part.groups), most or part.rows)

    def read() -> Iterator[pa.RecordBatch]:
        shared = _find_shared(part.file, name_of_file, footer, part.groups, stored.names)
        with (
            open_file(part.file) as opened,
            pq.ParquetFile(opened, metadata=footer, pre_buffer=True, read_dictionary=shared) as file,
        ):
            for group in part.groups:  # one at a time: what is fetched ahead of a group is in memory
                for batch in file.iter_batches(batch_rows, [group], stored.names, use_threads=False):
                    yield batch.select(stored.names)
        _check_same(part)

    source = validate_source(Source(name, stored, part.rows, read, parts=(part,)), checked=False)
    return source if source.schema.equals(schema) else fit_source(source, schema)


def _check_same(part: Part) -> str:
    """The name of a part's file; `DataError` where it is another file than it was."""
    name = hide_secrets(part.file)
    if not is_same(part):
        raise DataError(f"{name} has changed since it was opened; score it again")
    return name


def is_same(part: Part) -> bool:
    """Whether a part's file is the one that was opened, and has not changed since."""
    identity = identify(part.file)
    return (identity.size, identity.tag) == (part.size, part.version)


def read_columns(source: Source, names: Collection[str], most: int | None = None) -> Iterator[pa.RecordBatch]:
    """Some columns of a source, in this order; where it has parts no others are read, and at most `most` rows ahead."""
    batches = source.batches()
    if source.parts:
        files = group_parts(source.parts, source.rows or 0)
        opened = (open_part(part, source.name, source.schema, names, most) for part in files)
        batches = chain.from_iterable(each.batches() for each in opened)
    return (batch.select(list(names)) for batch in batches)


def _open_arrow(path: Path, name: str, copy: Any) -> Source:
    with _ipc(path) as reader:
        schema = reader.schema

    def read(_kept: Any = copy) -> Iterator[pa.RecordBatch]:
        with _ipc(path) as reader:
            yield from slice_batches(_ipc_batches(reader))

    return Source(name, schema, None, read)


def _ipc(path: Path) -> Any:
    mapped = pa.memory_map(str(path))
    is_file = mapped.read(6) == b"ARROW1"
    mapped.seek(0)
    return pa.ipc.open_file(mapped) if is_file else pa.ipc.open_stream(mapped)


def _ipc_batches(reader: Any) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        return map(reader.get_batch, range(reader.num_record_batches))
    return iter(reader)
