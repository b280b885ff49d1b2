"""A lock of each run, so that one process at a time writes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from karat.core.atomic import HELD, acquire, open_locked
from karat.core.errors import DataError
from karat.data.storage.addresses import is_address


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
    try:
        handle = open_locked(path)
    except HELD:
        holder = "?"
        with suppress(OSError):  # it may just have let go
            holder = path.read_text() or holder
        raise DataError(f"run {run} is being written by another process ({holder}): wait until it ends") from None
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
