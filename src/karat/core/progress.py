"""How rows are told that are done one by one, in metrics that wait for others.

>>> done = []
>>> with listening(done.append):
...     advance(2)
>>> advance(1)  # nobody listens
>>> done
[2]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[int], None] | None] = ContextVar("listener", default=None)


def advance(rows: int) -> None:
    """Say that so many more rows are done."""
    if (listener := _listener.get()) is not None:
        listener(rows)


@contextmanager
def listening(listener: Callable[[int], None]) -> Iterator[None]:
    """Within it, `listener` is told of rows as they are done."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
