"""A corrected value whose interval can be computed at any confidence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from karat.stats.aggregate import Bounds
from karat.stats.corrected.influence import Influence
from karat.stats.corrected.interval import Spread
from karat.stats.corrected.judged import Judged
from karat.stats.corrected.value import Corrected, Method

FEWEST = 10  # labelled rows or clusters from which the judge's weight is estimated
_NONE = 1e-9  # share of the variance of independent labels that is rounding


@dataclass(frozen=True, eq=False)
class Fit:
    """The estimate from the influence of each row, within `bounds`.

    `alone`: the interval of the labels alone at a confidence, where it is known.
    """

    judged: Judged
    influence: Influence
    bounds: Bounds
    seed: int
    alone: Callable[[float], Bounds] | None

    @cached_property
    def spread(self) -> Spread:
        """The influence by row or cluster."""
        columns = (self.influence.labels, self.influence.judge, self.influence.shares)
        labels, judge, shares = (add_up(each, self.judged) for each in columns)
        weight = self.influence.weight if np.count_nonzero(shares) >= FEWEST else 0.0
        return Spread(labels, judge, shares, weight, self.influence.shift, self.seed)

    @cached_property
    def value(self) -> float:
        """The value, within the bounds."""
        low, high = (sign * math.inf if end is None else end for end, sign in zip(self.bounds, (-1, 1), strict=True))
        return max(low, min(high, self.influence.mean + self.spread.weight * self.influence.shift))

    def interval(self, confidence: float) -> tuple[Method, Bounds, float]:
        """The method, the ends, and the variance that they express."""
        method, ends, variance = self.spread.interval(self.value, self.bounds, confidence)
        if self.spread.weight == 0:
            method, ends = "labels", self.labels_alone(confidence)
        if np.count_nonzero(self.influence.shares) == self.influence.limit:
            ends = self.value, self.value
        return method, ends, variance

    def labels_alone(self, confidence: float) -> Bounds:
        """The interval of the mean of the labels."""
        if self.alone is not None:
            return self.alone(confidence)
        return self.spread.alone.interval(self.influence.mean, self.bounds, confidence)[1]

    def corrected(self, confidence: float) -> Corrected:
        """The value with all that is said of it; without a p."""
        method, (low, high), variance = self.interval(confidence)
        spread = self.spread
        labelled = int(np.count_nonzero(self.influence.shares))
        scores = self.judged.scores
        return Corrected(
            value=self.value,
            low=low,
            high=high,
            n=len(scores),
            labelled=labelled,
            method=method,
            weight=spread.weight,
            effective=self._worth(variance) if spread.weight else float(labelled),
            uncorrected=mean_score(scores),
            labels_alone=(self.influence.mean, *self.labels_alone(confidence)),
        )

    def _worth(self, variance: float) -> float | None:
        """How many labels alone have this variance; None where the labels of every cluster sum alike."""
        rows = self.influence.labels
        alike = self.spread.variances[1] / float(rows @ rows)  # in one cluster
        return self.influence.worth(variance / alike) if alike > _NONE else None


def add_up(values: NDArray[np.float64], judged: Judged) -> NDArray[np.float64]:
    """The sums of the values of rows by cluster; the values themselves where rows are independent."""
    if judged.clusters is None:
        return values
    return np.bincount(np.unique(judged.clusters, return_inverse=True)[1], values).astype(float)


def mean_score(scores: NDArray[np.float64]) -> float | None:
    """The mean of the scores there are."""
    return None if np.isnan(scores).all() else float(np.nanmean(scores))
