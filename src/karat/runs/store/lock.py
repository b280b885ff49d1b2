"""One process at a time writes a run: a lock that ends with its process, however that ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from karat.core.errors import DataError

if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def holding(path: Path, run: str) -> Iterator[None]:
    """Within it no other process holds the lock file `path`; `DataError` at once where one does.

    The lock is the system's, so that one whose process was killed stands in nobody's way.
    """
    handle = _open(path, run)
    try:
        os.truncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        with suppress(OSError):  # Windows removes no file that is open
            path.unlink()
        os.close(handle)


def _open(path: Path, run: str) -> int:
    """Open the lock file and take it; anew where another process removed it in between."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _take(handle)
            if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        except (BlockingIOError, PermissionError):  # what Linux and Windows say of a lock that is taken
            holder = os.read(handle, 20).decode() or "?"
            os.close(handle)
            raise DataError(f"run {run} is being written by another process ({holder}); wait for it") from None
        os.close(handle)
