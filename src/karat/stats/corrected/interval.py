"""The interval of a corrected value, from the influence of its units, and how many labels alone would give it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from karat.stats.aggregate import Bounds
from karat.stats.bootstrap import bootstrap_interval
from karat.stats.corrected.corrected import Method
from karat.stats.inference import Inference
from karat.stats.student import student_quantile
from karat.stats.wilson import effective_interval

ENOUGH = (
    25  # typical deviations from which the normal approximation holds; by simulation: docs/explanation/statistics.md
)


@dataclass(frozen=True, eq=False)
class Spread:
    """What the interval needs, by unit, which is a row or cluster: shape (units,) each.

    `influence` is that of each unit on the value, `labels` that on the mean of the labels alone, `weights` the share of
    each in that mean: 0 for units without a label.
    """

    influence: NDArray[np.float64]
    labels: NDArray[np.float64]
    weights: NDArray[np.float64]

    def interval(self, value: float, bounds: Bounds, inference: Inference) -> tuple[Method, Bounds, float]:
        """The method, the ends, and the variance that they express.

        Where few deviations were seen, it is Wilson's interval of labels alone, as many times more as the judge makes
        the variance smaller. `unseen` is what one more difference between labels, of the size that is typical of them,
        would add to a variance: for labels of 0 and 1 it is 1/n², since the judge may err once more than was seen. It
        may do so in the row of the greatest weight.
        """
        squares, units = self.labels**2, int(np.count_nonzero(self.weights))
        alone, variance = float(squares.sum()), float(self.influence @ self.influence)
        unseen = float(squares @ squares) / alone + 3 * alone / units if alone else 0.0
        seen = self.weights[self.weights > 0]
        unseen *= float(seen.max()) ** 2 * units / float(seen @ seen)
        if alone and variance >= ENOUGH * unseen:
            reach = student_quantile((1 + inference.confidence) / 2, math.inf) * math.sqrt(variance)
            return "normal", _clip((value - reach, value + reach), bounds), variance
        variance, alone, freedom = variance * units / max(units - 2, 1), alone * units / (units - 1), max(units - 2, 1)
        low, high = bounds
        if low is None or high is None:
            return "bootstrap", _clip(self._bootstrap(value, inference), bounds), variance
        ratio = (variance + unseen) / (alone + unseen) if alone else 1.0
        size = ratio * float(self.weights @ self.weights), freedom
        return (
            "wilson",
            effective_interval(value, ratio * alone, size, (low, high), inference.confidence),
            ratio * alone,
        )

    def _bootstrap(self, value: float, inference: Inference) -> Bounds:
        """The ends by the bootstrap over labelled units, widened by the variance that the other units add."""
        labelled = self.weights > 0
        drawn = self.influence[labelled, None]
        ends = bootstrap_interval(
            drawn, lambda sums: sums[..., 0], confidence=inference.confidence, seed=inference.seed
        )
        rest = self.influence[~labelled]
        add = student_quantile((1 + inference.confidence) / 2, math.inf) ** 2 * float(rest @ rest)
        centre = float(drawn.sum())
        low, high = (None if end is None else math.sqrt((end - centre) ** 2 + add) for end in ends)
        return None if low is None else value - low, None if high is None else value + high


def _clip(ends: Bounds, bounds: Bounds) -> Bounds:
    low, high = (
        end if bound is None or end is None else pick(end, bound)
        for end, bound, pick in zip(ends, bounds, (max, min), strict=True)
    )
    return low, high
