"""Streams over files: decompressed bytes, the first bytes, copies in temporary files."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import pyarrow as pa

from karat.core.errors import DataError, nearest_name
from karat.data.storage.file_names import split_name

_SPOOLED_BYTES = 4 << 20  # each read from a store is a request
_UNCHECKED_BYTES = 64 << 20  # so few are always copied
_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}


def find_file(path: Path) -> None:
    """Raise `DataError` for a name that is not UTF-8 or no file, with the most similar name in the folder."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:  # Arrow opens no such file
        raise DataError(f"{str(path)!r}: the name of this file is not UTF-8; rename it") from error
    if path.is_dir():
        raise DataError(f"{path} is a folder; to read the files in it, write {path}/*.jsonl")
    if path.is_symlink() and not path.exists():
        raise DataError(f"{path} is a link to {path.readlink()}, which does not exist")
    if not path.exists():
        near = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        similar = nearest_name(path.name, near) if len(near) <= 1000 else None
        raise DataError(f"{path}: no such file" + (f"; did you mean {similar!r}?" if similar else ""))
    if path.is_fifo():  # can be read only once
        raise DataError(f"{path} is a pipe; write - and give its rows on standard input: … | karat score -")
    if not path.is_file():
        raise DataError(f"{path} is a device; expected the name of a file, or - for standard input")


def open_bytes(path: str | Path) -> pa.NativeFile:
    """The file's bytes, decompressed if its name ends in .gz or .zst."""
    return pa.input_stream(str(path), compression=split_name(path)[1])


def read_head(path: str | Path, size: int = 1 << 16) -> bytes:
    """The first bytes of a file, decompressed."""
    try:
        with open_bytes(path) as stream:
            return bytes(stream.read(size))
    except OSError as error:
        raise DataError(f"{path}: {error}") from error


class TemporaryFile:
    """A temporary file at `name`, deleted when the object is garbage-collected."""

    def __init__(self, suffix: str = "") -> None:
        handle, self.name = tempfile.mkstemp(prefix="karat-", suffix=suffix)
        os.close(handle)
        self._finalizer = weakref.finalize(self, Path(self.name).unlink, missing_ok=True)

    def keep(self) -> None:
        """Leave the file on the disk."""
        self._finalizer.detach()


def spool(stream: IO[bytes] | pa.NativeFile, suffix: str = "", size: int | None = None) -> TemporaryFile:
    """Copy a stream into a temporary file.

    Raises `OSError` where it has not `size` bytes, `DataError` where the disk is full before its end.
    """
    file = TemporaryFile(suffix)
    with Path(file.name).open("wb") as copy:
        while part := stream.read(_SPOOLED_BYTES):
            copy.write(part)
            if copy.tell() > _UNCHECKED_BYTES and _is_full(file.name):
                raise DataError(
                    f"after {copy.tell() >> 20:,} MB there are more rows, and no more room in "
                    f"{Path(file.name).parent}; save them in a file, or set TMPDIR to a folder with more room"
                )
        if size not in (None, copy.tell()):
            raise OSError(f"truncated: {copy.tell()} of {size} bytes")
    return file


def _is_full(path: str) -> bool:
    """Whether a disk has less room than other programs may need: a GB, or a tenth of it."""
    disk = shutil.disk_usage(path)
    return disk.free < min(1 << 30, disk.total // 10)


def spool_stdin() -> TemporaryFile:
    """Copy standard input into a temporary file, with .gz or .zst as its suffix if it is compressed."""
    if sys.stdin is None:
        raise DataError("standard input is closed; expected rows on standard input")
    head = sys.stdin.buffer.peek(4)[:4] if hasattr(sys.stdin.buffer, "peek") else b""
    suffix = next((suffix for magic, suffix in _MAGIC.items() if head.startswith(magic)), "")
    return spool(sys.stdin.buffer, suffix)


class BatchFile(TemporaryFile):
    """Record batches in a temporary file."""

    def __init__(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        super().__init__()
        with pa.ipc.new_stream(self.name, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)

    def read(self, _text: frozenset[str] = frozenset()) -> Iterator[pa.RecordBatch]:
        """The batches, mapped into memory; can be the `read` of a `Source`."""
        yield from pa.ipc.open_stream(pa.memory_map(self.name))
