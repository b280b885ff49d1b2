"""Scores by their size, in bounded memory, and their percentiles with intervals."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import RowError
from karat.stats.aggregate import LIMIT, Bounds, Estimated, Scale
from karat.stats.inference import Inference
from karat.stats.sums.tally import Tally, add_up

_SHIFT = 44  # bits of a float64 that a bin leaves out: it is 1/256 of an octave wide


class ScoreCounts(Tally):
    """Scores and how often each occurs: exact up to 16,384 different ones, of more, bins of 0.4 % of the score.

    Parts of a table, merged in any order, are what the whole table is.

    >>> values = ScoreCounts()
    >>> values.add(np.array([[3.0], [1.0], [2.0], [10.0]]))
    >>> values.percentile(0.5), values.interval(0.5, 0.8)
    (2.5, (1.0, 10.0))
    """

    keeps = "values"
    most = LIMIT

    def __init__(self, width: int = 1, *, clustered: bool = False, seed: int = 0) -> None:
        super().__init__(width, clustered=clustered, seed=seed)

    def add(self, statistics: Array, _keys: Array | None = None) -> None:
        """Add the scores of rows, shape (rows, 1); `RowError` for one that is not finite."""
        if not np.isfinite(statistics).all():
            at = int(np.isfinite(statistics).all(axis=1).argmin())
            raise RowError(f"row {at}: a finite statistic expected, found {statistics[at].tolist()}")
        self._put(statistics[:, 0] + 0.0, np.ones((1, len(statistics)), np.int64))

    def estimate(self, scale: Scale, inference: Inference, unit_weight: float | None = None) -> Estimated:  # noqa: ARG002
        """The percentile, and the ends of its `interval`."""
        finish: Any = scale.finish
        return self.percentile(finish.share), *self.interval(finish.share, inference.confidence)

    def percentile(self, share: float) -> float:
        """The score below which a share of the rows is, between two scores by linear interpolation; NaN without rows.

        Source: R. Hyndman and Y. Fan, "Sample quantiles in statistical packages", American Statistician 50 (1996),
        definition 7, as in NumPy and pandas.
        """
        if not self.rows:
            return math.nan
        place = (self.rows - 1) * share
        below, above = self._find(math.floor(place)), self._find(math.ceil(place))
        return below + (above - below) * (place - math.floor(place))

    def interval(self, share: float, confidence: float) -> Bounds:
        """The two scores that hold the percentile of the population; None where so few rows have no such score.

        They are order statistics: no shape of the distribution is assumed. There is no interval where rows share a
        cluster.

        Source: W. Conover, "Practical Nonparametric Statistics" (1999), section 3.2.
        """
        if self.clustered or not self.rows:
            return None, None
        low, high = find_order(self.rows, share, confidence)
        return (self._find(low) if low >= 0 else None), (self._find(high) if high < self.rows else None)

    def _find(self, place: int) -> float:
        """The score at a place in their order, from 0."""
        return float(self._numbers[np.searchsorted(np.cumsum(self._counts), place, side="right")])

    def _bin(self, numbers: Array, counts: Array) -> tuple[Array, Array]:
        return add_up(_middles(numbers), counts)


def find_order(rows: int, share: float, confidence: float) -> tuple[int, int]:
    """The places, from 0, of the two order statistics that hold a percentile; -1 or `rows` where there is none.

    By the binomial distribution, of more than 16,384 rows by its normal approximation.

    >>> find_order(100, 0.5, 0.95), find_order(20, 0.95, 0.95)
    ((39, 60), (16, 20))
    """
    tail = (1 - confidence) / 2
    if rows > LIMIT:
        reach = NormalDist().inv_cdf(1 - tail) * math.sqrt(rows * share * (1 - share))
        return max(-1, math.floor(rows * share - reach) - 1), min(rows, math.ceil(rows * share + reach))
    counts = np.arange(rows + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, rows + 1)))])
    chances = np.exp(logs[rows] - logs - logs[::-1] + counts * math.log(share) + (rows - counts) * math.log1p(-share))
    below = np.cumsum(chances)
    return int(np.count_nonzero(below <= tail)) - 1, int(np.count_nonzero(below < 1 - tail))


def _middles(scores: Array) -> Array:
    """Each score as the middle of its bin; bins are as wide relative to the score, and in its order."""
    bits = np.ascontiguousarray(scores).view(np.int64)
    middle = (bits >> _SHIFT << _SHIFT) | (1 << (_SHIFT - 1))
    return np.where(scores == 0, 0.0, middle.view(np.float64))
