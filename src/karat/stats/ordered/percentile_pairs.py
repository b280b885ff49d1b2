"""What each row adds to a percentile, and the test of two percentiles of the same rows."""

from __future__ import annotations

import math

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.metric.in_order import Percentile
from karat.stats.intervals.student import student_quantile
from karat.stats.ordered.percentile_values import ScoreCounts, find_order

_SURE = 0.95  # of the order statistics whose distance says how dense scores are


def move_percentile(statistics: Array, finish: Percentile) -> tuple[float, Array]:
    """The percentile of rows, and by how much each row moves it; NaN where too few rows are beyond it to tell.

    That follows from the density of scores around the percentile, and this from the distance of order statistics.

    Source: R. Bahadur, "A note on quantiles in large samples", Annals of Mathematical Statistics 37 (1966); R. Price
    and D. Bonett, "Estimating the variance of the sample median", Journal of Statistical Computation and Simulation 68
    (2001).

    >>> value, moved = move_percentile(np.arange(1.0, 41.0)[:, None], Percentile(0.5))
    >>> value, round(float(moved.std()), 3)
    (20.5, 0.524)
    """
    scores, share, rows = statistics[:, 0], finish.share, len(statistics)
    kept = ScoreCounts()
    kept.add(statistics)
    value = kept.percentile(share)
    low, high = find_order(rows, share, _SURE)
    if low < 0 or high >= rows:
        return value, np.full(rows, np.nan)
    ends = np.sort(scores)[[low, high]]
    z, spread = student_quantile((1 + _SURE) / 2, math.inf), math.sqrt(share * (1 - share))
    sparsity = float(ends[1] - ends[0]) * math.sqrt(rows) / (2 * z * spread)
    exceeds = scores > value
    return value, sparsity * (exceeds - exceeds.mean()) / rows


def exceed(a: Array, b: Array, finish: Percentile) -> Array:
    """Which rows of two systems exceed the percentile of all their scores together, as 0 and 1: shape (2, rows).

    If the systems are equal, swapping a row's two scores changes nothing, and that percentile stays the same: the rows
    on which one system alone exceeds it are fair coins.
    """
    limit = np.quantile(np.concatenate([a[:, 0], b[:, 0]]), finish.share)
    return np.stack([a[:, 0] > limit, b[:, 0] > limit]).astype(float)
