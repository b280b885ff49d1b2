"""A lock of each run, so that one process at a time writes it: a file on a disk, a lease in a store.

Object stores have no locks, so each process that wants to write a run writes an object of its own, and then lists those
of all. It continues where it is alone. Stores list what was written before, so of two processes that go on, one would
have seen the other. While it writes the run it writes its object again every few seconds; one that was not written for
long is of a process that was killed, and is removed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import gethostname
from threading import Event, Thread
from uuid import uuid4

from karat.core.atomic import HELD, acquire, open_locked
from karat.core.errors import DataError
from karat.data.storage.addresses import is_address
from karat.data.storage.remote_files import exists, list_times, read_bytes
from karat.data.storage.whole_files import remove_file, write_bytes

BEAT = 5.0  # seconds between two writings of an object
EXPIRY = 30.0  # seconds, by the clock of the store, after which an object that was not written is removed


@contextmanager
def lock(path: str | Path, run: str) -> Iterator[Callable[[], None]]:
    """Hold the lock file `path` within the block; `DataError` where another process holds it.

    The operating system releases the lock when the process ends, however it ends; a store's expires. What the
    block gets raises `DataError` if the lock was lost, which only one of a store can be.
    """
    if is_address(path):
        with _hold_lease(str(path), run) as check:
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


def is_locked(path: str | Path) -> bool:
    """Whether a process holds the lock; what a stopped process left does not count, but for a while in a store."""
    if is_address(path):
        folder, _, name = str(path).rpartition("/")
        recent = time.time() - EXPIRY  # by the clock of this machine
        return any(each.startswith(f"{name}.") and at > recent for each, at in list_times(folder).items())
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


@contextmanager
def _hold_lease(address: str, run: str) -> Iterator[Callable[[], None]]:
    """Hold the lock at an address within the block; `DataError` where another process holds it.

    Where the object of another process may be a killed one's, wait up to `EXPIRY` seconds for its next writing.
    What the block gets raises `DataError` if this process was itself taken for killed, as after a suspension.
    """
    own, stopped = f"{address}.{uuid4().hex}", Event()
    holder = f"{os.getpid()} on {gethostname()}".encode()

    def check() -> None:
        if not exists(own):
            problem = f"this process was not heard of for {EXPIRY:g} s, and another one may write it now"
            raise DataError(f"run {run}: {problem}; what is written stays, and --resume continues it")

    def beat() -> None:
        while not stopped.wait(BEAT):
            with suppress(DataError):  # the store may answer again
                check()
                write_bytes(own, holder)

    write_bytes(own, holder)
    thread = Thread(target=beat, name="karat-lease", daemon=True)
    thread.start()
    try:
        _wait_until_alone(address, own, run, check)
        yield check
    finally:
        stopped.set()
        thread.join()
        with suppress(DataError):  # it expires
            remove_file(own)


def _wait_until_alone(address: str, own: str, run: str, check: Callable[[], None]) -> None:
    folder, _, name = address.rpartition("/")
    known: dict[str, float] = {}
    while True:
        check()
        locks = {each: at for each, at in list_times(folder).items() if each.rpartition(".")[0] == name}
        if (now := locks.pop(own.rpartition("/")[2], None)) is None:
            continue
        old = [each for each, at in locks.items() if now - at > EXPIRY]
        for each in old:
            remove_file(f"{folder}/{each}")
        if len(old) == len(locks):
            return
        if alive := [each for each, at in locks.items() if known.setdefault(each, at) != at]:
            holder = "?"
            with suppress(DataError):
                holder = read_bytes(f"{folder}/{alive[0]}").decode()
            raise DataError(f"run {run} is being written by another process ({holder}): wait until it ends")
        time.sleep(BEAT / 2)
