"""Correlations of two raters: Pearson's of scores, Spearman's of ranks, Kendall's of the order of each pair."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from karat.stats.agreement.accuracy import NO_ROWS, Scores, Weights, both
from karat.stats.agreement.coefficient import Coefficient, shares_of, undefined
from karat.stats.agreement.distance import number_values

Correlation: TypeAlias = Literal["pearson", "spearman", "kendall"]


def correlation(a: Scores, b: Scores, kind: Correlation, *, weights: Weights = None) -> Coefficient:
    """Pearson's r, Spearman's rho (ties have their mean rank) or Kendall's tau-b of two raters.

    `a` and `b` have shape (rows,); rows in which one is NaN are left out. There is none where a rater is constant.

    Source: M. G. Kendall, "Rank Correlation Methods" (1948).

    >>> a, b = np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 9])
    >>> [round(correlation(a, b, kind).value, 4) for kind in ("pearson", "spearman", "kendall")]
    [0.8262, 0.8, 0.6667]
    """
    used = both(a, b)
    if not used.any():
        return undefined(NO_ROWS, len(a))
    x, y = a[used], b[used]
    for scores, name in ((x, "first"), (y, "second")):
        if np.ptp(scores) == 0:
            return undefined(f"the {name} rater gives one score only, {scores[0]:g}", len(a))
    shares = shares_of(used, weights)
    value, moved = {"pearson": _pearson, "spearman": _spearman, "kendall": _kendall}[kind](x, y, shares[used])
    influence = np.zeros(len(a))
    influence[used] = shares[used] * moved
    return Coefficient(min(1.0, max(-1.0, value)), influence, shares[None], (-1.0, 1.0))


def _pearson(x: Scores, y: Scores, shares: Scores) -> tuple[float, Scores]:
    """The correlation, and the influence of each row by its share."""
    x, y = (_standardise(each, shares) for each in (x, y))
    r = float(shares @ (x * y))
    return r, x * y - r / 2 * (x**2 + y**2)


def _standardise(scores: Scores, shares: Scores) -> Scores:
    centred = scores - shares @ scores
    standard: Scores = centred / np.sqrt(shares @ centred**2)
    return standard


def _spearman(x: Scores, y: Scores, shares: Scores) -> tuple[float, Scores]:
    """Pearson's correlation of mean ranks; a row also moves the ranks of all others."""
    ranks = [Ranks.of(each) for each in (x, y)]
    below = [each.below(shares) for each in ranks]
    rho, moved = _pearson(below[0], below[1], shares)
    standard = [_standardise(each, shares) for each in below]
    for rank, own, mine, other in zip(ranks, below, standard, standard[::-1], strict=True):
        error = np.sqrt(shares @ (own - shares @ own) ** 2)
        moved += rank.above(shares * (other - rho * mine)) / error
    return rho, moved


def _kendall(x: Scores, y: Scores, shares: Scores) -> tuple[float, Scores]:
    """Concordant less discordant pairs, by the geometric mean of the pairs that are not tied in each rater."""
    codes = [Ranks.of(each).codes for each in (x, y)]
    first, second = codes
    concordance = np.zeros(len(x))
    for a, b in ((first, second), (-first, -second)):
        concordance += dominated(a, b, shares) - dominated(a, -b, shares)
    apart = [1 - np.bincount(each, shares)[each] for each in codes]
    untied = [float(shares @ each) for each in apart]
    tau = float(shares @ concordance) / np.sqrt(untied[0] * untied[1])
    moved = 2 * (concordance / np.sqrt(untied[0] * untied[1]) - tau)
    for each, whole in zip(apart, untied, strict=True):
        moved -= tau * (each / whole - 1)
    return float(tau), moved


class Ranks:
    """The places of scores in their order, `codes`, which are equal for equal scores."""

    def __init__(self, codes: NDArray[np.int64]) -> None:
        self.codes = codes

    @classmethod
    def of(cls, scores: Scores) -> Ranks:
        return cls(number_values(scores)[1])

    def below(self, weights: Scores) -> Scores:
        """The weight of the rows with a lower score and half of that with the same, shape (rows,): the mean rank."""
        sums = np.bincount(self.codes, weights)
        ranked: Scores = (np.cumsum(sums) - sums / 2)[self.codes]
        return ranked

    def above(self, weights: Scores) -> Scores:
        """The weight of the rows with a higher score and half of that with the same, shape (rows,)."""
        return float(weights.sum()) - self.below(weights)


def dominated(x: NDArray[np.int64], y: NDArray[np.int64], weights: Scores) -> Scores:
    """For each row, the weight of the rows that are lower both in `x` and in `y`, in n·log(n) steps.

    The rows are halved by each binary digit of `y`, the highest first. Of two rows that this digit tells apart, the one
    with 0 is lower in `y`; in the order of `x`, a running sum counts those before.
    """
    if len(np.unique(x)) < len(np.unique(y)):
        x, y = y, x
    order = np.lexsort((y, x))
    x, y = x[order], y[order] - y.min()
    total, places = np.zeros(len(x)), np.arange(len(x))
    for digit in reversed(range(int(y.max()).bit_length())):
        node = y >> (digit + 1)
        zero = (y >> digit) & 1 == 0
        running = np.concatenate([[0.0], np.cumsum(np.where(zero, weights[order], 0.0))])
        new_node = np.concatenate([[True], node[1:] != node[:-1]])
        new_tie = new_node | np.concatenate([[True], x[1:] != x[:-1]])
        start, tie = (np.maximum.accumulate(np.where(new, places, 0)) for new in (new_node, new_tie))
        total[order] += np.where(zero, 0.0, running[tie] - running[start])
        halves = np.argsort(y >> digit, kind="stable")
        order, x, y = order[halves], x[halves], y[halves]
    return total
