"""Parquet and Arrow IPC (file or stream): types stay exactly as they are stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from karat.data.source import Source, rows_per_batch, slice_batches
from karat.data.storage.file_names import split_name
from karat.data.storage.files import open_bytes, spool


def open_columnar(path: Path, name: str, kind: str) -> Source:
    """Open a Parquet or an Arrow file; a compressed one is first decompressed into a temporary file."""
    copy = None
    if split_name(path)[1]:
        with open_bytes(path) as stream:
            copy = spool(stream)
        path = Path(copy.name)
    return (_open_parquet if kind == "parquet" else _open_arrow)(path, name, copy)


def _open_parquet(path: Path, name: str, copy: Any) -> Source:
    with pq.ParquetFile(path) as file:
        schema, groups = file.schema_arrow, file.metadata
    size = sum(groups.row_group(at).total_byte_size for at in range(groups.num_row_groups))
    batch_rows = rows_per_batch(size, groups.num_rows)

    def read(_text: frozenset[str], _kept: Any = copy) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=batch_rows)

    return Source(name, schema, groups.num_rows, read)


def _open_arrow(path: Path, name: str, copy: Any) -> Source:
    with _ipc(path) as reader:
        schema = reader.schema

    def read(_text: frozenset[str], _kept: Any = copy) -> Iterator[pa.RecordBatch]:
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
