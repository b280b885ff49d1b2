"""The interval of a corrected value, from the influence of its units, and how many labels alone would give it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from karat.stats.aggregate import Bounds
from karat.stats.corrected.value import Method
from karat.stats.intervals.bootstrap import Studentised, studentise
from karat.stats.intervals.student import student_quantile
from karat.stats.intervals.wilson import effective_interval

ENOUGH = (
    25  # typical deviations from which the normal approximation holds; by simulation: docs/explanation/validation.md
)


@dataclass(frozen=True, eq=False)
class Spread:
    """What the interval needs, by unit, which is a row or cluster: shape (units,) each.

    `labels` is the influence of each unit on the mean of the labels, `judge` what a judge's weight of 1 adds, `shares`
    the share of each in that mean: 0 for units without a label. `weight` and `shift` are as in `Influence`, `seed`
    is of the bootstrap.
    """

    labels: NDArray[np.float64]
    judge: NDArray[np.float64]
    shares: NDArray[np.float64]
    weight: float
    shift: float
    seed: int

    @property
    def alone(self) -> Spread:
        """The same without a judge."""
        return replace(self, weight=0.0)

    @cached_property
    def influence(self) -> NDArray[np.float64]:
        """The influence of each unit on the value."""
        return self.labels + self.weight * self.judge

    @cached_property
    def units(self) -> int:
        """The number of units with a label."""
        return int(np.count_nonzero(self.shares))

    @cached_property
    def variances(self) -> tuple[float, float]:
        """The variance of the value and of the mean of the labels, as the squares of the influence give them."""
        return float(self.influence @ self.influence), float(self.labels @ self.labels)

    @cached_property
    def unseen(self) -> float:
        """What one more difference between labels, of the size that is typical of them, would add to a variance.

        For labels of 0 and 1 it is 1/n², since the judge may err once more than was seen. It may do so in the row of
        the greatest weight. 0 where labels do not vary.
        """
        squares, alone = self.labels**2, self.variances[1]
        if not alone:
            return 0.0
        seen = self.shares[self.shares > 0]
        uneven = float(seen.max()) ** 2 * self.units / float(seen @ seen)
        return (float(squares @ squares) / alone + 3 * alone / self.units) * uneven

    @cached_property
    def jackknifed(self) -> tuple[float, float]:
        """The two variances by the jackknife: a unit with a great share pulls the mean to itself, and looks sure.

        For units of equal shares they are n / (n - 1) times the others. The weight of the judge takes one more degree
        of freedom.
        """
        left = np.maximum(1 - self.shares, 1 / max(self.units, 2)) ** 2
        part = (self.units - 1) / self.units
        value, labels = (float((moves**2 / left).sum()) * part for moves in (self.influence, self.labels))
        return value * (self.units - 1) / max(self.units - 2, 1), labels

    def interval(self, value: float, bounds: Bounds, confidence: float) -> tuple[Method, Bounds, float]:
        """The method, the ends, and the variance that they express.

        Where few deviations were seen, it is Wilson's interval of labels alone, as many times more as the judge makes
        the variance smaller.
        """
        variance, alone = self.variances
        if alone and min(variance, alone) >= ENOUGH * self.unseen:
            reach = student_quantile((1 + confidence) / 2, math.inf) * math.sqrt(variance)
            return "normal", _clip((value - reach, value + reach), bounds), variance
        variance, alone = self.jackknifed
        low, high = bounds
        if low is None or high is None:
            return "bootstrap", _clip(self._bootstrap(value, confidence), bounds), variance
        ratio = (variance + self.unseen) / (alone + self.unseen) if alone else 1.0
        size = ratio * float(self.shares @ self.shares), max(self.units - 2, 1)
        ends = effective_interval(value, ratio * alone, size, (low, high), confidence)
        return "wilson", ends, ratio * alone

    def _bootstrap(self, value: float, confidence: float) -> Bounds:
        """The ends by the bootstrap over labelled units, widened by the variance that the other units add."""
        rest = self.influence[self.shares == 0]
        add = student_quantile((1 + confidence) / 2, math.inf) ** 2 * float(rest @ rest)
        draws = self._draws
        low, high = (
            None if end is None else math.sqrt((end - draws.value) ** 2 + add) for end in draws.interval(confidence)
        )
        return None if low is None else value - low, None if high is None else value + high

    @cached_property
    def _draws(self) -> Studentised:
        """Draws of the labelled units, each of which finds the weight of the judge anew."""
        labelled = self.shares > 0
        labels, judge = self.labels[labelled], self.judge[labelled]
        near, both = float(judge.sum()), float(labels @ judge)

        def value_of(sums: NDArray[np.float64]) -> NDArray[np.float64]:
            mean, score, product = sums[..., 0], sums[..., 1], sums[..., 2]
            weight = self.weight / both * (product - mean * score / self.units) if both else 0.0
            return mean + weight * (self.shift + score - near)

        return studentise(np.column_stack([labels, judge, labels * judge]), value_of, self.seed)


def _clip(ends: Bounds, bounds: Bounds) -> Bounds:
    low, high = (
        end if bound is None or end is None else pick(end, bound)
        for end, bound, pick in zip(ends, bounds, (max, min), strict=True)
    )
    return low, high
