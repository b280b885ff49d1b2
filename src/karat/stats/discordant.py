"""Two systems whose answers are each right or wrong: only the rows that one of them alone got right tell them apart."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np


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


def bonett_price(wins: int, losses: int, rows: int, confidence: float) -> tuple[float, float]:
    """The interval of (wins - losses) / rows: Wald's, after one more win and one more loss.

    Source: D. G. Bonett and R. M. Price, "Adjusted Wald confidence interval for a difference of binomial proportions
    based on paired data", Journal of Educational and Behavioral Statistics 37 (2012).

    >>> low, high = bonett_price(12, 5, 100, 0.95)
    >>> round(low, 4), round(high, 4)
    (-0.0141, 0.1513)
    """
    rows += 2
    middle = (wins - losses) / rows
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(((wins + losses + 2) / rows - middle**2) / rows)
    return max(-1.0, middle - reach), min(1.0, middle + reach)
