"""Write record batches to a file, whole or not at all."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from karat.core.atomic import check_is_file
from karat.core.errors import ColumnError, DataError
from karat.data.formats.writers import WRITERS, WriteBatch, holds, open_format
from karat.data.storage.addresses import covers, hide_secrets, is_address
from karat.data.storage.file_names import COMPRESSIONS, FORMATS, split_name
from karat.data.storage.whole_files import check_store, whole_file


def check_output(path: str | Path, schema: pa.Schema | None = None) -> None:
    """Raise `DataError` if a file of this name cannot be written, `ColumnError` for a type that it cannot hold.

    >>> check_output("scores.xlsx")
    Traceback (most recent call last):
    ...
    karat.core.errors.DataError: scores.xlsx: expected a name that ends in .jsonl, .ndjson, .json, .csv, .tsv, \
.parquet, .arrow, .ipc or .feather, each also with .gz or .zst
    """
    if not is_writable(path):
        *names, last = (ending for ending, kind in FORMATS.items() if kind in WRITERS)
        endings = f"{', '.join(names)} or {last}, each also with {' or '.join(COMPRESSIONS)}"
        raise DataError(f"{path}: expected a name that ends in {endings}")
    check_folder(path)
    kind = str(split_name(path)[0])
    if schema is not None and not _holds(kind, schema):
        field = next((field for field in schema if not _holds(kind, pa.schema([field]))), schema.field(0))
        raise ColumnError(f"{path}: a file of this kind cannot hold column {field.name!r}, which is {field.type}")


def check_folder(path: str | Path) -> None:
    """Raise `DataError` if this file is not a plain one, or if its folder does not exist or cannot be written to.

    Of an address, raise it if its store or its bucket is out of reach.
    """
    if is_address(path):
        check_store(str(path))
        return
    check_is_file(path := Path(path))
    if path.is_symlink():
        path = Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise DataError(f"{path}: the folder {path.parent} cannot be written to")


def is_writable(path: str | Path) -> bool:
    """Whether a file's name ends as one of the formats that `write` knows.

    >>> is_writable("scores.csv.gz"), is_writable("log.eval"), is_writable("scores")
    (True, False, False)
    """
    return split_name(path)[0] in WRITERS


def _holds(kind: str, schema: pa.Schema) -> bool:
    """Whether a file of a format can hold these types, found with one row of nulls."""
    return holds(kind, pa.RecordBatch.from_arrays([_null(field.type) for field in schema], schema=schema))


def _null(kind: pa.DataType) -> pa.Array:
    try:
        return pa.array([None], kind)  # unlike pa.nulls, keeps a nested dictionary valid
    except pa.ArrowNotImplementedError:
        return pa.nulls(1, kind)


def refuse_overwriting(output: str | Path, *sources: Any) -> None:
    """Raise `DataError` if the output is one of the input files."""
    for source in sources:
        if isinstance(source, (str, Path)) and source != "-" and _reads(source, output):
            raise DataError(f"{hide_secrets(str(output))} is an input file; expected another name for the output")


def _reads(source: str | Path, output: str | Path) -> bool:
    """Whether a source has the file that would be written; in a store also where that does not exist yet."""
    if is_address(source) or is_address(output):
        return is_address(source) and is_address(output) and covers(str(source), str(output))
    if not Path(output).exists():
        return False
    files = [Path(source)] if Path(source).exists() else map(Path, glob.glob(str(source), recursive=True))  # noqa: PTH207
    return any(file.samefile(output) for file in files)


def write(batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: str | Path) -> int:
    """Write record batches to a file, as `open_output` does; return the number of rows."""
    rows = 0
    with open_output(path, schema) as put:
        for batch in batches:
            put(batch)
            rows += batch.num_rows
    return rows


@contextmanager
def open_output(path: str | Path, schema: pa.Schema) -> Iterator[WriteBatch]:
    """What writes record batches to a file in the format of its extension, within the block.

    The file is written under a temporary name in the same folder and renamed once it is whole; one at an address of a
    store is written into a temporary file, which is sent there. If anything fails, a file that was at `path` before is
    unchanged. In CSV and TSV null is an empty cell, and lists and objects are JSON
    text. In JSON times and bytes are text. A thread writes a batch while the caller makes the next one; what writing
    raises comes with the next batch, or at the end of the block.

    Raises `DataError` as `check_output` does.
    """
    check_output(path, schema)
    kind, compression = split_name(path)
    with (
        whole_file(path, kept=True) as temporary,
        pa.output_stream(str(temporary), compression=compression) as sink,
        open_format(str(kind), sink, schema) as put,
        _write_behind(put) as put_behind,
    ):
        yield put_behind


@contextmanager
def _write_behind(put: WriteBatch) -> Iterator[WriteBatch]:
    """What hands a batch to a thread that writes it, once the batch before is written."""
    before: Future[object] | None = None
    with ThreadPoolExecutor(1, thread_name_prefix="karat-write") as thread:

        def put_behind(batch: pa.RecordBatch) -> None:
            nonlocal before
            if before is not None:
                before.result()
            before = thread.submit(put, batch)

        yield put_behind
        if before is not None:
            before.result()
