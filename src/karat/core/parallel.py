"""Ordered work over the cores that ``KARAT_THREADS`` allows."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from math import ceil
from typing import TypeVar

from karat.core.context import change_context, current_context
from karat.core.errors import SpecError

In = TypeVar("In")
Out = TypeVar("Out")

_MOST = 16  # threads for each core
FEW = 1 << 13  # up to this number of rows, one thread is faster than several


def threads() -> int:
    """The number of threads that compute: ``KARAT_THREADS``, but at most 16 for each core that this process may use.

    Without the variable there are as many as cores.
    """
    if (limit := current_context().threads) is not None:
        return limit
    setting = os.environ.get("KARAT_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not setting:
        return cores
    if not setting.isdecimal() or int(setting) < 1:
        raise SpecError(f"KARAT_THREADS={setting!r}: a whole number from 1 is expected")
    return min(int(setting), _MOST * cores)


def even_part(rows: int, most: int) -> int:
    """The number of rows in a part, at most `most`, so that all threads get equally many parts; few rows are one part.

    >>> even_part(100, 1000)
    1000
    """
    workers = threads()
    if rows <= FEW or workers == 1:
        return most
    return ceil(rows / (workers * ceil(rows / (workers * most))))


class Cancellation:
    """Whether work in other threads, and what these start, is still wanted: not after Ctrl-C or another's failure."""

    def __init__(self) -> None:
        self._outer, self._is_set = current_context().stop, False

    def set(self) -> None:
        self._is_set = True

    def is_set(self) -> bool:
        return self._is_set or (self._outer is not None and self._outer.is_set())


def is_stopped() -> bool:
    """Whether nobody waits any more for what this thread computes."""
    stop = current_context().stop
    return stop is not None and bool(stop.is_set())


def map_ordered(work: Callable[[In], Out], items: Iterable[In]) -> Iterator[Out]:
    """The result of `work` for each item, in the items' order, computed by `threads()` threads.

    At most two items per thread are in progress, so memory stays bounded. With one thread there is no pool.

    >>> list(map_ordered(len, ["a", "bb"]))
    [1, 2]
    """
    workers = threads()
    if workers == 1 or (isinstance(items, Sized) and len(items) == 1):
        yield from map(work, items)
        return
    pending, stop = deque[Future[Out]](), Cancellation()

    def run(item: In) -> Out:
        with change_context(stop=stop):
            return work(item)

    with ThreadPoolExecutor(workers, thread_name_prefix="karat") as pool:
        try:
            for item in items:
                pending.append(pool.submit(run, item))
                if len(pending) > 2 * workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            stop.set()
            for future in pending:
                future.cancel()
