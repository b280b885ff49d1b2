"""The ends of an interval that consists of the values which a test does not reject."""

from __future__ import annotations

from collections.abc import Callable

HALVINGS = 50  # bisection steps: enough for the precision of floats


def last_kept(inside: float, outside: float, rejected: Callable[[float], bool]) -> float:
    """The value closest to `outside` that is not rejected, by bisection; `inside` is not rejected.

    >>> round(last_kept(0.0, 1.0, lambda value: value > 0.25), 9)
    0.25
    """
    if not rejected(outside):
        return outside
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if rejected(middle) else (middle, outside)
    return inside
