"""Values that are computed once, and again after they were dropped for others."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Any, Generic, TypeVar

Kept = TypeVar("Kept")


def _count(_: Any) -> int:
    return 1


class Recent(Generic[Kept]):
    """The values that were used last: as many as have, together, at most the size `most`, and always one.

    Threads that ask for the same value wait for one of them to compute it.

    >>> recent = Recent(2)
    >>> [recent.get(key, key.upper) for key in "aba"], recent.get("c", lambda: "C"), recent.get("a", lambda: "new")
    (['A', 'B', 'A'], 'C', 'A')
    """

    def __init__(self, most: int, size: Callable[[Kept], int] = _count) -> None:
        self._most, self._size = most, size
        self._values: OrderedDict[Hashable, Kept] = OrderedDict()
        self._lock = RLock()

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """The value of a key."""
        with self._lock:
            value = self._values[key] if key in self._values else make()
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > 1 and sum(map(self._size, self._values.values())) > self._most:
                self._values.popitem(last=False)
            return value
