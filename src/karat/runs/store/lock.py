"""Locks of files: one for each run, so that one process at a time writes it, and those of other rooms."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from karat.core.errors import DataError
from karat.data.storage.addresses import is_address

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
        """Lock an open file for this handle alone; raises one of `HELD` at once where another one holds it."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


HELD = (BlockingIOError, PermissionError)
"""Raised by Linux and by Windows for a lock that is held."""
_FAR = 1 << 30


@contextmanager
def lock(path: str | Path, run: str) -> Iterator[Callable[[], None]]:
    """Hold the lock file `path` within the block; `DataError` where another process holds it.

    The operating system releases the lock when the process ends, however it ends; that of a store expires. What the
    block gets raises `DataError` if the lock was lost, which only one of a store can be.
    """
    if is_address(path):
        from karat.runs.store.lease import hold_lease  # noqa: PLC0415  (seldom)

        with hold_lease(str(path), run) as check:
            yield check
        return
    path = Path(path)
    handle = _open_locked(path, run)
    try:
        os.truncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield lambda: None
    finally:
        with suppress(OSError):  # Windows cannot remove an open file
            path.unlink()
        os.close(handle)


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock file; a file that a stopped process left does not count."""
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        acquire(handle)
    except HELD:
        return True
    finally:
        os.close(handle)
    return False


def _open_locked(path: Path, run: str) -> int:
    """Open the lock file and lock it; again where another process has removed it in between."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            acquire(handle)
            if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        except HELD:
            holder = os.read(handle, 20).decode() or "?"
            os.close(handle)
            raise DataError(f"run {run} is being written by another process ({holder}): wait until it ends") from None
        os.close(handle)
