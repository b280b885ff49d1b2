"""Files that exist whole or not at all, even after a power failure; and locks of files."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from karat.core.errors import DataError

if sys.platform == "win32":
    import msvcrt

    def acquire(handle: int) -> None:
        """Lock an open file for this handle alone; raises one of `HELD` at once where another one holds it."""
        at = os.lseek(handle, 0, os.SEEK_CUR)
        os.lseek(handle, _FAR, os.SEEK_SET)  # on Windows nobody else can read a locked byte
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(handle, at, os.SEEK_SET)
else:
    import fcntl

    def acquire(handle: int) -> None:
        """Lock an open file, or folder, for this handle alone; raises one of `HELD` where another one holds it."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


HELD = (BlockingIOError, PermissionError)
"""Raised by Linux and by Windows for a lock that is held."""
_FAR = 1 << 30


@contextmanager
def replacing(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """A temporary file beside `path` that is renamed to it at the end, or deleted if an error is raised.

    Two processes that write the same file do not mix: the last to finish wins. The temporary file of a process that was
    killed is used again by the next one. A file that is not `durable` may be lost or damaged by a power failure; it is
    written without waiting for the disk. Of a link the file that it names is replaced. Raises `DataError` for a device.
    """
    check_is_file(path)
    path = Path(os.path.realpath(path))
    with _reserved(path) as temporary:
        try:
            with name_full_disk(path, "free some room there, or write to another disk"):
                yield temporary
            if durable:
                sync(temporary)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    if durable:
        sync(path.parent)


@contextmanager
def name_full_disk(path: Path, remedy: str) -> Iterator[None]:
    """Name the file that a full disk, or a quota, has no room for, where the error names none, and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT) or error.filename is not None:
            raise
        raise OSError(error.errno, f"the disk is full: {remedy}", str(path)) from error


def check_is_file(path: Path) -> None:
    """Raise `DataError` where a path is not a plain file, such as /dev/null, which stays in place."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; expected the name of a file")
    if path.exists() and not path.is_file():
        raise DataError(f"{path} is a device or a pipe; expected the name of a file")


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def sync(path: Path) -> None:
    """Wait until the disk holds a file's content, or a folder's list of files."""
    if os.name == "nt" and path.is_dir():  # Windows opens no folders
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def syncing(path: Path) -> Iterator[Callable[[], None]]:
    """Within the block a call has a thread `sync` what was written so far, unless it is at it.

    So a large file is on the disk soon after it was written, and whoever writes it computes meanwhile. An error of the
    disk is raised by a later call, or at the end: Linux reports it to nobody else.
    """
    running: Future[None] | None = None
    with ThreadPoolExecutor(1, thread_name_prefix="karat-sync") as thread:

        def start() -> None:
            nonlocal running
            if running is None or running.done():
                if running is not None:
                    running.result()
                running = thread.submit(sync, path)

        yield start
        if running is not None:
            running.result()


def open_locked(path: Path) -> int:
    """Open a file, which is made if it is missing, and lock it; raises one of `HELD` where another one holds it.

    It is opened again where another process has removed it in between; a link is not followed.
    """
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            acquire(handle)
            if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


@contextmanager
def _reserved(path: Path) -> Iterator[Path]:
    """The path of a temporary file beside another one, that no other process uses.

    It is always the same one, locked, so that what a killed process left there is used again; but not where it is
    taken or is not a plain file of ours, and not on Windows, which cannot rename open files.
    """
    temporary, handle = path.with_name(f".{path.name}.new"), None
    if sys.platform != "win32":
        with suppress(OSError):
            handle = open_locked(temporary)
            about = os.fstat(handle)
            if stat.S_ISREG(about.st_mode) and about.st_nlink == 1 and about.st_uid == os.geteuid():
                os.truncate(handle, 0)
            else:
                os.close(handle)
                handle = None
    if handle is None:
        yield path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
        return
    try:
        yield temporary
    finally:
        os.close(handle)
