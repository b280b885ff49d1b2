"""The binomial distribution, and the exact upper end of a share."""

from __future__ import annotations

import math

import numpy as np

from karat.stats.intervals.inversion import last_kept


def binomial_tail(hits: int, trials: int, share: float) -> float:
    """The probability of at most so many hits in independent trials, each a hit with probability `share`.

    >>> round(binomial_tail(1, 20, 0.05), 6)
    0.73584
    """
    if hits >= trials or share <= 0:
        return 1.0
    if hits < 0 or share >= 1:
        return 0.0
    ways = math.lgamma(trials + 1) - math.lgamma(hits + 1) - math.lgamma(trials - hits + 1)
    last = ways + hits * math.log(share) + (trials - hits) * math.log1p(-share)
    fewer = np.arange(hits, 0, -1)
    ratios = np.cumsum(np.log(fewer) - np.log(trials - fewer + 1) + math.log1p(-share) - math.log(share))
    most = max(0.0, float(ratios.max(initial=0.0)))
    total = math.exp(-most) + float(np.exp(ratios - most).sum())
    return min(1.0, math.exp(last + most) * total)


def upper_end(hits: int, trials: int, alpha: float) -> float:
    """The one-sided upper end of a share, of confidence 1 - `alpha`; 1 where there are no trials.

    Source: C. Clopper and E. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26 (1934).

    >>> round(upper_end(0, 59, 0.05), 4)
    0.0495
    """
    if hits >= trials:
        return 1.0
    return last_kept(hits / trials, 1.0, lambda share: binomial_tail(hits, trials, share) < alpha)
