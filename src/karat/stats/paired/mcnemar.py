"""McNemar's test and Tango's interval, for two systems whose answers are each right or wrong.

Only the rows that exactly one of the systems has right matter: its wins and its losses.
"""

from __future__ import annotations

import math

import numpy as np

from karat.stats.intervals.inversion import last_kept


def mcnemar_test(wins: int, losses: int) -> float:
    """The two-sided mid-p of McNemar's test: of counts as uneven as these, by a fair coin, only half are counted.

    The exact test rejects far less often than at its level; the mid-p does not exceed it, and agrees with Tango's
    interval. The exact p is larger by the chance of these counts themselves.

    Source: Q. McNemar, "Note on the sampling error of the difference between correlated proportions", Psychometrika 12
    (1947); M. Fagerland, S. Lydersen and P. Laake, "The McNemar test for binary matched-pairs data: mid-p and
    asymptotic are better than exact conditional", BMC Medical Research Methodology 13:91 (2013).

    >>> round(mcnemar_test(1, 7), 9), mcnemar_test(4, 4), mcnemar_test(0, 0)
    (0.0390625, 1.0, 1.0)
    """
    fewer, rows = min(wins, losses), wins + losses
    if fewer == rows - fewer:
        return 1.0
    largest = math.lgamma(rows + 1) - math.lgamma(fewer + 1) - math.lgamma(rows - fewer + 1) - rows * math.log(2)
    below = np.arange(fewer, 0, -1)
    ratios = np.cumsum(np.log(below) - np.log(rows - below + 1))  # of each smaller count's chance to the largest
    return min(1.0, math.exp(largest) * (1 + 2 * float(np.exp(ratios).sum())))


def variance_under(wins: float, losses: float, rows: float, difference: float) -> float:
    """The variance of wins - losses if the true difference of the shares were this one."""
    # `losing` is the maximum-likelihood share of losses under this difference: the root of a quadratic.
    linear = (2 * rows - wins + losses) * difference - (wins + losses)
    root = math.sqrt(max(0.0, linear**2 + 8 * rows * losses * difference * (1 - difference)))
    losing = (root - linear) / (4 * rows)
    return max(0.0, rows * (2 * losing + difference * (1 - difference)))


def tango_interval(wins: float, losses: float, rows: float, deviations: float) -> tuple[float, float]:
    """Tango's interval of (wins - losses) / rows: the differences that the score test does not reject.

    `deviations` is the normal quantile of the confidence. The arguments need not be whole numbers, so that they can
    also describe the mean, the variance and the effective number of other differences.

    Source: T. Tango, "Equivalence test and confidence interval for the difference in proportions for the paired-sample
    design", Statistics in Medicine 17 (1998).

    >>> [round(end, 3) for end in tango_interval(1, 7, 21, 1.959964)]
    [-0.517, -0.026]
    """
    seen = (wins - losses) / rows

    def rejected(difference: float) -> bool:
        variance = variance_under(wins, losses, rows, difference)
        return (wins - losses - rows * difference) ** 2 > deviations**2 * variance

    return last_kept(seen, -1.0, rejected), last_kept(seen, 1.0, rejected)
