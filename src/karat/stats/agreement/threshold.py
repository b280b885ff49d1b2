"""The threshold that best cuts a score into yes and no, and what it is worth on rows that did not choose it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from karat.stats.agreement.accuracy import NO_ROWS, Scores, Weights, both
from karat.stats.agreement.auroc import auroc, binary
from karat.stats.agreement.coefficient import Coefficient
from karat.stats.agreement.distance import number_values
from karat.stats.intervals.wilson import ROUNDING

ClusterNumbers: TypeAlias = NDArray[np.int64] | None
FOLDS = 10
FEWEST = 5  # rows or clusters of each label: with fewer, folds and draws lack one label too often
DRAWS = (200, 1_000)  # the least and the greatest number of bootstrap draws
CELLS = 100_000_000  # rows of all draws together


@dataclass(frozen=True, eq=False)
class Threshold:
    """The least score that counts as yes: `value`, with its interval from `low` to `high`.

    `calls`, shape (rows,), is 1 where the score is at least `value`. `crossed`, shape (rows,), is the same with a
    threshold for each row that other rows chose: agreement computed from it is free of optimism. Both are NaN for rows
    not used. `reason` says why there is no threshold, where `value` is None.
    """

    value: float | None
    low: float | None
    high: float | None
    calls: Scores
    crossed: Scores
    reason: str | None = None


def best_threshold(
    scores: Scores,
    labels: Scores,
    *,
    clusters: ClusterNumbers = None,
    weights: Weights = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Threshold:
    """The threshold with the greatest sensitivity plus specificity (Youden's J).

    `scores` and `labels` (0 or 1) have shape (rows,); rows in which one is NaN are left out. The threshold lies
    half-way between two scores. Its interval is the bootstrap's, over rows or clusters, and holds all thresholds that
    are as good. `crossed` comes from 10-fold cross-validation in which no cluster is divided.

    Source: W. J. Youden, "Index for rating diagnostic tests", Cancer 3 (1950).

    >>> scores = np.arange(20) / 20
    >>> round(best_threshold(scores, np.where(scores > 0.42, 1.0, 0.0)).value, 4)
    0.425
    """
    used = both(scores, labels)
    nothing = np.full(len(scores), np.nan)
    if not used.any():
        return Threshold(None, None, None, nothing, nothing, NO_ROWS)
    cuts = _Cuts(scores[used], binary(labels[used]))
    if not len(cuts.between):
        return Threshold(None, None, None, nothing, nothing, f"every score is {cuts.scores[0]:g}")
    units = np.arange(len(cuts.yes)) if clusters is None else np.unique(clusters[used], return_inverse=True)[1]
    size = int(units.max()) + 1
    fewest = min(len(np.unique(units[cuts.yes == side])) for side in (True, False))
    if fewest < FEWEST:
        what = "rows" if clusters is None else "clusters"
        reason = f"{fewest} labelled {what} of one of the two labels; {FEWEST} needed"
        return Threshold(None, None, None, nothing, nothing, reason)
    kept = np.ones(len(units)) if weights is None else weights[used]
    random = np.random.default_rng(seed)
    drawn = [
        cuts.best(kept * np.bincount(random.integers(size, size=size), minlength=size)[units])
        for _ in range(int(np.clip(CELLS // len(units), *DRAWS)))
    ]
    tail = (1 - confidence) / 2
    ends = np.array(drawn)
    low, high = np.nanquantile(ends[:, 1], tail), np.nanquantile(ends[:, 2], 1 - tail)
    folds = (random.permutation(size) % FOLDS)[units]
    value = cuts.best(kept)[0]
    others = np.array([cuts.best(kept * (folds != fold))[0] for fold in range(FOLDS)])
    calls, crossed = nothing.copy(), nothing
    calls[used], crossed[used] = cuts.scores >= value, cuts.scores >= others[folds]
    return Threshold(value, float(low), float(high), calls, crossed)


def fit_threshold(scores: Scores, labels: Scores) -> Callable[[Scores], Scores]:
    """Verdicts, 1 from the best threshold on, as a function of scores; the most frequent label where there is none.

    `scores` and `labels` (0 or 1) have shape (rows,) and no NaN.

    >>> fit_threshold(np.array([0.1, 0.4, 0.8]), np.array([0.0, 0.0, 1.0]))(np.array([0.5, 0.7])).tolist()
    [0.0, 1.0]
    """
    cuts = _Cuts(scores, labels == 1)
    value = cuts.best(np.ones(len(scores)))[0] if len(cuts.between) else math.nan
    if math.isnan(value):
        return lambda new: np.full(len(new), float(labels.mean() >= 0.5))
    return lambda new: (new >= value).astype(float)


class _Cuts:
    """All thresholds half-way between two scores."""

    def __init__(self, scores: Scores, yes: NDArray[np.bool_]) -> None:
        self.scores, self.yes = scores, yes
        self._values, codes = number_values(scores)
        self.between = (self._values[:-1] + self._values[1:]) / 2
        self._cells = codes + len(self._values) * yes

    def best(self, weights: NDArray[np.float64]) -> tuple[float, float, float]:
        """The best threshold for these weights of the rows, and the two scores between which all that are as good lie.

        NaN where one label has no weight.
        """
        sums = np.bincount(self._cells, weights, minlength=2 * len(self._values)).reshape(2, -1)
        no, yes = np.cumsum(sums, axis=1)
        if not (no[-1] and yes[-1]):
            return math.nan, math.nan, math.nan
        youden = no[:-1] / no[-1] - yes[:-1] / yes[-1]
        best = np.flatnonzero(youden >= youden.max() - ROUNDING)
        first, last = best[0], best[-1] + 1
        return float(self.between[first]), float(self._values[first]), float(self._values[last])


def youden_index(calls: Scores, labels: Scores, *, weights: Weights = None) -> Coefficient:
    """Youden's J of calls, 0 or 1: how often yes is called where it is right, less how often where it is wrong.

    It is 2·AUROC - 1 of the calls.

    >>> youden_index(np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0, 0])).value
    0.6666666666666667
    """
    area = auroc(calls, labels, weights=weights)
    return Coefficient(2 * area.value - 1, 2 * area.influence, area.shares, (-1.0, 1.0), area.reason)
