"""Two systems whose answers are each right or wrong: only the rows that one of them alone got right tell them apart."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

HALVINGS = 50  # of the way to an end: as near as floats come


def mcnemar(wins: int, losses: int) -> float:
    """The two-sided p of McNemar's exact test: how often a fair coin falls at least as unevenly.

    Source: Q. McNemar, "Note on the sampling error of the difference between correlated proportions", Psychometrika 12
    (1947); the exact form is the binomial test of `wins` in `wins + losses`.

    >>> round(mcnemar(1, 7), 9), mcnemar(4, 4), mcnemar(0, 0)
    (0.0703125, 1.0, 1.0)
    """
    fewer, rows = min(wins, losses), wins + losses
    if fewer == rows - fewer:
        return 1.0
    largest = math.lgamma(rows + 1) - math.lgamma(fewer + 1) - math.lgamma(rows - fewer + 1) - rows * math.log(2)
    below = np.arange(fewer, 0, -1)
    ratios = np.cumsum(np.log(below) - np.log(rows - below + 1))  # of each smaller count's chance to the largest
    return min(1.0, 2 * math.exp(largest) * (1 + float(np.exp(ratios).sum())))


def tango(wins: float, losses: float, rows: float, deviations: float) -> tuple[float, float]:
    """The interval of (wins - losses) / rows: the differences that a score test does not reject.

    `deviations` is the quantile that the test may reach. With real numbers in place of counts the three stand for a
    mean difference, its spread and the trials that it rests on.

    Source: T. Tango, "Equivalence test and confidence interval for the difference in proportions for the paired-sample
    design", Statistics in Medicine 17 (1998).

    >>> [round(end, 3) for end in tango(1, 7, 21, 1.959964)]
    [-0.517, -0.026]
    """
    seen = (wins - losses) / rows

    def rejected(difference: float) -> bool:
        # `losing` is the likeliest share of losses, were this the difference: the root of a quadratic.
        linear = (2 * rows - wins + losses) * difference - (wins + losses)
        root = math.sqrt(max(0.0, linear**2 + 8 * rows * losses * difference * (1 - difference)))
        losing = (root - linear) / (4 * rows)
        variance = max(0.0, rows * (2 * losing + difference * (1 - difference)))
        return (wins - losses - rows * difference) ** 2 > deviations**2 * variance

    return _last(seen, -1.0, rejected), _last(seen, 1.0, rejected)


def _last(inside: float, outside: float, rejected: Callable[[float], bool]) -> float:
    """The difference farthest towards `outside` that is not rejected."""
    if not rejected(outside):
        return outside
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if rejected(middle) else (middle, outside)
    return inside
