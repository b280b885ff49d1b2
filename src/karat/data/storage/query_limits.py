"""Limits of time and memory for SQL that people or models write, as in `--where`; Ctrl-C arrives while it runs.

DuckDB looks for interrupts between the parts of a query, and bounds the memory of tables, but not of one function:
`repeat('x', 10000000000)`. So the query runs in a thread of its own, and the caller's thread watches it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, Protocol, TypeVar

from karat.core.errors import DataError, SpecError
from karat.core.parallel import is_stopped

Out = TypeVar("Out")

SECONDS = 60
"""How long a condition may take for a batch of rows, unless `KARAT_WHERE_SECONDS` says otherwise."""
MEMORY = 2 << 30
"""By how many bytes the memory of the process may grow meanwhile."""
_GRACE = 0.3  # seconds without a look at the memory, which other threads use too
_POLL = 0.05
THREAD = "karat-query"
"""The name of the threads; one that is left behind ends with its query, or with the process."""


class QueryLimit(DataError):
    """A query that takes too long, or too much memory."""


class Interruptible(Protocol):
    """A connection of DuckDB's or of SQLite's."""

    def interrupt(self) -> Any:
        """End the query that runs on it, from another thread."""


class QueryThread:
    """A thread that runs one query after another, which is faster than one thread for each; it ends with the process.

    `close` ends it after its query.
    """

    def __init__(self) -> None:
        self._queries = SimpleQueue[Callable[[], None] | None]()
        Thread(target=self._run, name=THREAD, daemon=True).start()

    def start(self, query: Callable[[], None]) -> None:
        self._queries.put(query)

    def close(self) -> None:
        self._queries.put(None)

    def _run(self) -> None:
        while (query := self._queries.get()) is not None:
            query()


def run_within_limits(
    connection: Interruptible,
    query: Callable[[], Out],
    seconds: float | None = None,
    start: Callable[[Callable[[], None]], None] | None = None,
) -> Out:
    """What a query on this connection returns; `QueryLimit` where it takes too long or too much memory.

    Such a query is interrupted, and one whose result nobody waits for any more: `InterruptedError`. Where the database
    does not notice, its thread is left behind. Without `seconds` it is a condition on rows, and may take
    `KARAT_WHERE_SECONDS` for a batch of them. `start` runs it in another thread.
    """
    batch, advice = (" for one batch of rows", " (KARAT_WHERE_SECONDS)") if seconds is None else ("", "")
    limit, result = _seconds() if seconds is None else seconds, Future[Out]()

    def run() -> None:
        try:
            result.set_result(query())
        except BaseException as error:  # noqa: BLE001  (it is raised in the caller's thread)
            result.set_exception(error)

    began, before = monotonic(), _memory()
    if start is None:
        Thread(target=run, name=THREAD, daemon=True).start()
    else:
        start(run)
    try:
        while not _is_done(result):
            if is_stopped():
                raise InterruptedError("stopped")
            took = monotonic() - began
            if took > limit:
                raise QueryLimit(f"it takes longer than {limit:g} s{batch}{advice}")
            if took > _GRACE and _memory() - before > MEMORY:
                raise QueryLimit(f"it takes more than {MEMORY >> 30} GB of memory{batch}")
    except BaseException:
        connection.interrupt()
        raise
    return result.result()


def _is_done(result: Future[Out]) -> bool:
    """Whether there is a result, after waiting a moment for it."""
    try:
        result.exception(timeout=_POLL)
    except TimeoutError:
        return False
    return True


def _seconds() -> int:
    setting = os.environ.get("KARAT_WHERE_SECONDS", "") or str(SECONDS)
    if not setting.isdecimal() or not 1 <= int(setting) <= 10**6:
        raise SpecError(f"KARAT_WHERE_SECONDS={setting!r}: a whole number from 1 to 1000000 is expected")
    return int(setting)


def _memory() -> int:
    """The bytes that this process has in memory; the most it ever had, or 0, where the system does not tell."""
    try:
        import resource  # noqa: PLC0415  (not on Windows)
    except ImportError:
        return 0
    with suppress(OSError):  # only Linux has this file
        file = os.open("/proc/self/statm", os.O_RDONLY)
        try:
            return int(os.read(file, 200).split()[1]) * resource.getpagesize()
        finally:
            os.close(file)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10
