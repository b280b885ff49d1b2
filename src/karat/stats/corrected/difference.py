"""The difference of two corrected values whose labels are of different rows: their intervals, combined (MOVER)."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from karat.stats.intervals.mover import joint_reach
from karat.stats.intervals.student import student_quantile

ValueAndEnds: TypeAlias = tuple[float, float | None, float | None]  # a value, low and high
Moves: TypeAlias = NDArray[np.float64]  # how much each row or cluster moves a value


def subtract(first: ValueAndEnds, second: ValueAndEnds, moves: tuple[Moves, Moves], confidence: float) -> ValueAndEnds:
    """The second value minus the first, each of which its own rows or clusters move.

    A value from few labels has a wide interval, and so has the difference, however many labels the other one has. The
    correlation is taken from normal intervals as wide as these are.

    >>> apart = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    >>> [round(each, 3) for each in subtract((0.8, 0.5, 0.9), (0.6, 0.2, 0.8), apart, 0.95)]
    [-0.2, -0.612, 0.161]
    """
    a, b = moves
    wide = (max((abs(end - each[0]) for end in each[1:] if end is not None), default=0.0) for each in (first, second))
    scale = math.prod(wide) / student_quantile((1 + confidence) / 2, math.inf) ** 2
    correlation = min(1.0, max(-1.0, float(a @ b) / scale)) if scale else 0.0
    value = second[0] - first[0]
    down = _reach((first[0], first[2]), (second[0], second[1]), correlation)
    up = _reach((first[0], first[1]), (second[0], second[2]), correlation)
    return value, None if down is None else value - down, None if up is None else value + up


def _reach(first: tuple[float, float | None], second: tuple[float, float | None], correlation: float) -> float | None:
    """The distance of an end from the difference, from the opposite ends of two values; None where one is not known."""
    (a, far), (b, near) = first, second
    if far is None or near is None:
        return None
    own, other = abs(near - b), abs(far - a)
    return joint_reach((own, other), (-correlation,))
