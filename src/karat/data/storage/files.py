"""Streams over files: decompressed bytes, the first bytes, copies in temporary files; and where these are."""

from __future__ import annotations

import atexit
import errno
import os
import platform
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO

import pyarrow as pa

from karat.core.atomic import HELD, acquire, check_is_file, name_full_disk
from karat.core.errors import DataError, RowError, nearest_name
from karat.data.storage.file_names import FORMATS, split_name

_SPOOLED_BYTES = 4 << 20  # each read from a store is a request
_UNCHECKED_BYTES = 64 << 20  # so few are always copied
LONGEST_LINE, LONGEST_ROW = 64 << 20, 16 << 20
"""The most bytes of a line of text, and of an object of JSON (DuckDB's limit)."""
_STEPS = (16 << 10, 256 << 10)
_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}


def find_file(path: Path) -> None:
    """Raise `DataError` for a name that is not UTF-8 or no file, with the most similar name in the folder."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:  # Arrow opens no such file
        raise DataError(f"{str(path)!r}: the name of this file is not UTF-8; rename it") from error
    if path.is_dir():
        there = sorted({file.suffix for file in path.iterdir()} & FORMATS.keys()) or [".jsonl"]
        raise DataError(f"{path} is a folder; to read the files in it, write {path}/*{there[0]}")
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


def read_small(path: str | Path, most: int = 16 << 20) -> bytes:
    """The bytes of a file that somebody wrote by hand, at most so many.

    Raises `DataError` for a folder, a device or a pipe, and `OSError` for a larger file and as reading does.
    """
    check_is_file(path := Path(path))
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most >> 20} MB; expected a small file", str(path))
    return content


def open_bytes(path: str | Path) -> pa.NativeFile:
    """The file's bytes, decompressed if its name ends in .gz or .zst."""
    return pa.input_stream(str(path), compression=split_name(path)[1])


def check_whole(path: Path, name: str, *, in_lines: bool) -> None:
    """Read a compressed file to its end: DuckDB takes one that is cut off or damaged for one with other rows.

    Raises `OSError` for such a file. What is damaged inside is found where the file has a checksum: gzip always has.
    With `in_lines`, a line of more than 64 MB is a `RowError`, in any file, before it is read whole.
    """
    if not (split_name(path)[1] or (in_lines and _may_have_long_line(path))):
        return
    try:
        for line, length in _measure_lines(path):
            if in_lines and length > LONGEST_LINE:
                most = f"more than {LONGEST_LINE >> 20} MB, but a line may have at most {LONGEST_LINE >> 20} MB"
                raise RowError(f"{name}, line {line}: {most}; is a line break missing?")
    except OSError as error:
        raise OSError(f"{error}; is it cut off or damaged?") from error


def _may_have_long_line(path: Path) -> bool:
    """Whether a file that is not compressed may have a line of more than 64 MB; few bytes of each 32 MB are read."""
    with path.open("rb") as file:
        for at in range(0, path.stat().st_size - LONGEST_LINE, LONGEST_LINE // 2):
            file.seek(at)
            if not any(b"\n" in file.read(size) for size in (64 << 10, LONGEST_LINE // 2)):
                return True
    return False


def _measure_lines(path: Path) -> Iterator[tuple[int, int]]:
    """For each block of a file the line in which it ends, from 1, and the bytes of that line so far."""
    line, length = 1, 0
    with open_bytes(path) as stream:
        while block := stream.read(1 << 20):
            end = bytes(block).rfind(b"\n")
            line, length = line + bytes(block).count(b"\n"), length + len(block) if end < 0 else len(block) - end - 1
            yield line, length


def bound_lines(block: bytes) -> int:
    r"""How many bytes the lines that end in a block have at most: 32 KB, 512 KB, or the most that are read.

    >>> bound_lines(b"{}\n" * 20_000) == 32 << 10
    True
    """
    for step in _STEPS:
        if all(block.find(b"\n", at, at + step) >= 0 for at in range(0, len(block) - step, step)):
            return 2 * step
    return LONGEST_ROW


def read_head(path: str | Path, size: int = 1 << 16) -> bytes:
    """The first bytes of a file, decompressed."""
    try:
        with open_bytes(path) as stream:
            return bytes(stream.read(size))
    except OSError as error:
        ending = path.suffix.lower() if isinstance(path, Path) else f".{path.rpartition('.')[2].lower()}"
        with Path(path).open("rb") as file:
            stored = file.read(4)
        if _MAGIC.get(stored[:2], _MAGIC.get(stored)) == ending:
            raise DataError(f"{path}: {error}; is it cut off or damaged?") from error
        raise DataError(f"{path} is not compressed, as {ending} says; take that ending off its name") from error


class TemporaryFile:
    """A temporary file at `name`, deleted when the object is garbage-collected."""

    def __init__(self, suffix: str = "") -> None:
        handle, self.name = tempfile.mkstemp(suffix, dir=temporary_place())
        os.close(handle)
        weakref.finalize(self, _remove_file, Path(self.name), os.getpid()).atexit = False

    def writing(self) -> AbstractContextManager[None]:
        """A context in which the error of a full disk names the file, and the folder to set."""
        return name_full_disk(Path(self.name), "set TMPDIR to a folder with more room")

    def keep(self) -> None:
        """Leave the file on the disk, among other programs' temporary files."""
        handle, kept = tempfile.mkstemp(Path(self.name).suffix, "karat-")
        os.close(handle)
        self.name = str(Path(self.name).replace(kept))


_places: dict[tuple[int, str], Path] = {}


def temporary_place() -> Path:
    """The folder of all temporary files of this process, which is removed when the process ends.

    It is locked, and the first process that makes another one removes those that are not: their processes were killed.
    """
    key = os.getpid(), tempfile.gettempdir()  # a process that was forked has its own
    if key not in _places or not _places[key].is_dir():
        _places[key] = folder = _make_place(Path(key[1]))
        remove = partial(_remove_place, folder, key[0])
        atexit.register(remove)
        if util := sys.modules.get("multiprocessing.util"):  # its processes leave out what is registered with atexit
            util.Finalize(None, remove, exitpriority=0)
    return _places[key]


@contextmanager
def temporary_folder() -> Iterator[str]:
    """A new folder for temporary files, which is removed at the end of the block."""
    with tempfile.TemporaryDirectory(dir=temporary_place()) as folder:
        yield folder


def _make_place(parent: Path) -> Path:
    """Make the folder of a process, and remove the folders of killed processes; Windows locks no folders."""
    edge = f"karat-temporary-{re.sub('[^A-Za-z0-9]', '_', platform.node())}-"  # locks may not reach other machines
    if sys.platform == "win32":
        return Path(tempfile.mkdtemp(prefix=edge, dir=parent))
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(edge) and entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                _remove_left(Path(entry.path))
    while True:
        folder = Path(tempfile.mkdtemp(prefix=edge, dir=parent))
        try:
            acquire(os.open(folder, os.O_RDONLY))  # until the process ends
        except (*HELD, FileNotFoundError):  # another process took it for one that was left
            continue
        except OSError:  # where folders cannot be locked none is ever taken for left
            return folder
        if folder.exists():
            return folder


def _remove_left(folder: Path) -> None:
    """Remove the folder of a process, if that has ended."""
    with suppress(OSError):  # of them `HELD`
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            acquire(handle)
            shutil.rmtree(folder)
        finally:
            os.close(handle)


def _remove_file(file: Path, process: int) -> None:
    if os.getpid() == process:  # not one that was forked
        file.unlink(missing_ok=True)


def _remove_place(folder: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def spool(stream: IO[bytes] | pa.NativeFile, suffix: str = "", size: int | None = None) -> TemporaryFile:
    """Copy a stream into a temporary file.

    Raises `OSError` where it has not `size` bytes, `DataError` where the disk is full before its end.
    """
    file = TemporaryFile(suffix)
    with file.writing(), Path(file.name).open("wb") as copy:
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
        with self.writing(), pa.ipc.new_stream(self.name, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)

    def read(self) -> Iterator[pa.RecordBatch]:
        """The batches, mapped into memory; can be the `read` of a `Source`."""
        yield from pa.ipc.open_stream(pa.memory_map(self.name))
