"""Were the two systems one, either could have given either answer: the test that swaps their answers unit by unit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from karat.stats.aggregate import Finish

DRAWS = 9_999  # so that p is a multiple of 1/10,000
COUNTED = 16  # units up to which every swap is counted
CELLS = 1_000_000  # numbers drawn at a time
ROUNDING = 1e-12  # differences of values are equal when they are this close beside the values


def swap(
    a: NDArray[np.float64], b: NDArray[np.float64], rest: NDArray[np.float64], value_of: Finish, *, seed: int
) -> tuple[float, int]:
    """The two-sided p of the difference between two systems, and how many swaps were drawn (0: all were counted).

    `a` and `b` are the totals of the units on which the systems differ, shape (units, statistics); `rest` those of all
    others, shape (2, statistics). Each swap exchanges the systems' totals of some units; p is the share of swaps whose
    difference is at least as large either way, the one observed among them. One in which a value is undefined counts
    as large. For a mean this is the sign-flip test. A unit of many rows is swapped as a whole; that keeps the level.

    Source: R. A. Fisher, "The Design of Experiments" (1935), section 21; S. Riezler and J. T. Maxwell, "On some
    pitfalls in automatic evaluation and significance testing for MT" (2005), for values that are no means.

    >>> right, wrong = np.ones((5, 1)), np.zeros((5, 1))
    >>> swap(wrong, right, np.zeros((2, 1)), lambda sums: sums[..., 0] / 5, seed=0)
    (0.0625, 0)
    """
    first, second = a.sum(axis=0) + rest[0], b.sum(axis=0) + rest[1]
    gap = b - a
    values = value_of(np.stack([first, second]))
    least = abs(float(values[1] - values[0])) - ROUNDING * float(np.abs(values).max())
    large = drawn = 0
    with np.errstate(all="ignore"):
        for chosen in _choose(len(gap), seed):
            moved = chosen @ gap
            change = value_of(second - moved) - value_of(first + moved)
            large += len(change) - int(np.count_nonzero(np.abs(change) < least))
            drawn += len(change)
    return (large / drawn, 0) if len(gap) <= COUNTED else ((large + 1) / (drawn + 1), drawn)


def _choose(units: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Which units are swapped: 1 or 0, shape (swaps, units), a bounded chunk at a time."""
    if units <= COUNTED:
        yield (np.arange(2**units)[:, None] >> np.arange(units) & 1).astype(float)
        return
    random = np.random.default_rng(seed)
    chunk = max(1, CELLS // units)
    for start in range(0, DRAWS, chunk):
        swaps = min(chunk, DRAWS - start)
        coins = np.frombuffer(random.bytes(swaps * units // 8 + 1), np.uint8)
        yield np.unpackbits(coins, count=swaps * units).reshape(swaps, units).astype(float)
