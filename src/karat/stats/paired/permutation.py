"""The permutation test of two systems: if they are equal, swapping their answers to a question changes nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from karat.stats.aggregate import Finish

DRAWS = 9_999  # so that p is a multiple of 1/10,000
COUNTED = 16  # up to this number of units, all swaps are enumerated
ROUNDING = 1e-12  # relative to the values: differences this close are equal


def permutation_test(
    a: NDArray[np.float64], b: NDArray[np.float64], rest: NDArray[np.float64], value_of: Finish, *, seed: int
) -> tuple[float, int]:
    """The two-sided p of the difference between two systems, and the number of swaps drawn (0: all were enumerated).

    `a` and `b` are the totals of the units on which the systems differ, shape (units, statistics); `rest` are the sums
    of all other units, shape (2, statistics). Each swap exchanges the systems' totals of a random subset of the units;
    p is the share of swaps, the observed assignment included, whose absolute difference is at least as large, or
    undefined. For a mean this is the sign-flip test.

    Source: R. A. Fisher, "The Design of Experiments" (1935), section 21; S. Riezler and J. T. Maxwell, "On some
    pitfalls in automatic evaluation and significance testing for MT" (2005), for values that are not means.

    >>> right, wrong = np.ones((5, 1)), np.zeros((5, 1))
    >>> permutation_test(wrong, right, np.zeros((2, 1)), lambda sums: sums[..., 0] / 5, seed=0)
    (0.0625, 0)
    """
    first, second = a.sum(axis=0) + rest[0], b.sum(axis=0) + rest[1]
    gap = b - a
    values = value_of(np.stack([first, second]))
    least = abs(float(values[1] - values[0])) - ROUNDING * float(np.abs(values).max())
    exact = len(gap) <= COUNTED
    moved = _all_sums(gap) if exact else _drawn_sums(gap, seed)
    with np.errstate(all="ignore"):
        change = value_of(second - moved) - value_of(first + moved)
    large = len(change) - int(np.count_nonzero(np.abs(change) < least))
    return (large / len(change), 0) if exact else ((large + 1) / (len(change) + 1), len(change))


def _all_sums(gap: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of each subset of the units, shape (2 ** units, statistics)."""
    units = len(gap)
    chosen: NDArray[np.float64] = (np.arange(2**units)[:, None] >> np.arange(units) & 1).astype(float)
    return chosen @ gap


def _drawn_sums(gap: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """The sums of random subsets of the units, shape (DRAWS, statistics); one random byte selects among eight units."""
    random = np.random.default_rng(seed)
    sums = np.zeros((DRAWS, gap.shape[1]))
    for start in range(0, len(gap), 8):
        parts = _all_sums(gap[start : start + 8])
        sums += np.take(parts, np.frombuffer(random.bytes(DRAWS), np.uint8) & (len(parts) - 1), axis=0)
    return sums
