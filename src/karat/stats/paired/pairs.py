"""Two systems on the rows on which both are scored: the difference, its interval, and the test that suits it.

Here are the formulas; `PairedRows` and `PairedSums` give them what they need of the rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from karat.core.columns.kinds import Array
from karat.stats.aggregate import Bounds, Finish, Units, observe
from karat.stats.intervals.interval import interval
from karat.stats.intervals.student import student_quantile
from karat.stats.paired.comparison import Test
from karat.stats.paired.mcnemar import mcnemar_test, tango_interval
from karat.stats.paired.permutation import permutation_test
from karat.stats.paired.power import smallest_share, smallest_visible

NOISE = 1e-12  # a standard deviation this small, relative to the scores, counts as 0


@dataclass(frozen=True)
class Spread:
    """How contributions to a difference vary: their number, their variance, and the square of a typical size.

    The variance is NaN where it is not known. The typical square is the sum of fourth powers by that of squares.
    """

    count: int
    variance: float
    square: float

    @classmethod
    def of(cls, contributions: Array) -> Spread:
        """The spread of these contributions, shape (n,)."""
        with np.errstate(all="ignore"):
            known = len(contributions) > 1 and np.isfinite(contributions).all()
            squares = contributions**2
            variance = float(contributions.var(ddof=1)) if known else math.nan
            return cls(len(contributions), variance, float((squares @ squares) / squares.sum()))


class Pairs(ABC):
    """The rows on which two systems are scored, A and B; `finish` and `bounds` as in `Scale`."""

    finish: Finish | None
    bounds: Bounds
    seed: int

    @property
    @abstractmethod
    def clustered(self) -> bool:
        """Whether rows with the same key belong together."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def sums(self) -> NDArray[np.float64]:
        """The sums of the statistics of A and of B, shape (2, statistics)."""

    @property
    @abstractmethod
    def higher(self) -> tuple[int, int]:
        """The number of rows on which B scores higher than A, and the number on which it scores lower."""

    @property
    @abstractmethod
    def binary(self) -> bool:
        """Whether every statistic is 0 or 1."""

    @property
    @abstractmethod
    def differing(self) -> Units:
        """The units of the rows whose statistics differ: those of A and of B side by side."""

    @property
    @abstractmethod
    def units(self) -> Units:
        """The units of the difference: rows' differences or, with a finish, both systems' statistics side by side."""

    @property
    @abstractmethod
    def row_spread(self) -> Spread:
        """The spread of the rows' differences, without a finish."""

    def value_of(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """One system's value for its totals over all rows, shape (..., statistics)."""
        return sums[..., 0] / self.rows if self.finish is None else self.finish(sums)

    @cached_property
    def values(self) -> tuple[float, float] | None:
        """The value of A and of B; None where one is undefined."""
        with np.errstate(all="ignore"):
            a, b = (float(self.value_of(side)) for side in self.sums)
        return (a, b) if math.isfinite(a) and math.isfinite(b) else None

    @property
    def difference(self) -> float | None:
        """The value of B minus the value of A."""
        return None if self.values is None else self.values[1] - self.values[0]

    @property
    def kind(self) -> Test:
        """The test that suits the metric: McNemar's for right and wrong, sign flips for other means, else swaps."""
        if self.finish is not None:
            return "swap"
        if self.clustered or self.bounds != (0.0, 1.0):
            return "sign_flip"
        return "mcnemar" if self.binary else "sign_flip"

    def test(self) -> tuple[float, int]:
        """The p under the hypothesis of equal systems, and the number of random swaps (0: the test is exact)."""
        if self.kind == "mcnemar":
            return mcnemar_test(*self.higher), 0
        totals, width = self.differing.totals, self.sums.shape[1]
        if not len(self.differing):
            return 1.0, 0
        equal = self.sums - totals.sum(axis=0).reshape(2, width)
        return permutation_test(totals[:, :width], totals[:, width:], equal, self.value_of, seed=self.seed)

    def interval(self, confidence: float) -> Bounds:
        """The ends of the difference's interval; None for an end that is not known.

        With two bounds, the differences are replaced by wins and losses of a typical size in as many trials as have the
        same variance; the interval is Tango's for these, and never shorter than Student's (docs/statistics.md).
        """
        span, likely = self._span, (1 + confidence) / 2
        if math.isinf(span):
            open_ends = (None, None)
            return interval(self.units, self._difference_of, bounds=open_ends, confidence=confidence, seed=self.seed)
        if self.kind == "mcnemar":
            return tango_interval(*self.higher, self.rows, student_quantile(likely, math.inf))
        if self.difference is None or self.deviation is None:
            return -span, span
        trials = float(self._spread.count)
        if not self.varies:
            return identical_interval(self.difference, trials, span, confidence)
        size, variance = min(span, math.sqrt(self._spread.square)), self._spread.variance / trials
        mean = self.difference / size
        differing = min(1.0, max(trials * variance / size**2 + mean**2, abs(mean)))
        trials = max(trials, (differing - mean**2) * size**2 / variance)
        wins, losses = (trials * (differing + sign * mean) / 2 for sign in (1, -1))
        low, high = tango_interval(wins, losses, trials, student_quantile(likely, math.inf))
        reach = student_quantile(likely, self.independent - 1) * math.sqrt(variance)
        low, high = min(low * size, self.difference - reach), max(high * size, self.difference + reach)
        return max(-span, low), min(span, high)

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the rows' differences; for other values, the standard error times √rows."""
        spread = self._spread
        if math.isnan(spread.variance):
            return None
        return math.sqrt(spread.variance) * math.sqrt(self.rows / spread.count)

    @cached_property
    def _spread(self) -> Spread:
        """That of each unit's contribution: for a mean over rows their differences, else pseudo-values.

        Source: J. W. Tukey, "Bias and confidence in not quite large samples", Annals of Mathematical Statistics 29
        (1958).
        """
        if self.finish is None and not self.clustered:
            return self.row_spread
        observed, value_of = observe(self.units, self._difference_of)
        total = observed.sum(axis=0)
        with np.errstate(all="ignore"):
            return Spread.of(len(observed) * value_of(total) - (len(observed) - 1) * value_of(total - observed))

    @property
    def varies(self) -> bool:
        """Whether the differences vary by more than rounding."""
        return self.deviation is not None and self.deviation > NOISE * max(map(abs, self.values or (0.0,)))

    @property
    def effect(self) -> float | None:
        """The odds ratio of McNemar's test, or Cohen's d_z; None where neither is defined."""
        higher, lower = self.higher
        if self.kind == "mcnemar":
            return higher / lower if lower else None
        if self.finish is not None or self.difference is None or not self.varies:
            return None
        return self.difference / math.sqrt(self.row_spread.variance)

    def visible(self, power: float, level: float) -> float | None:
        """The smallest difference that is detected with probability `power`; None where none within the range is."""
        if not self.varies or self.deviation is None:
            return None
        if self.kind == "mcnemar":
            return smallest_share(self.rows, sum(self.higher) / self.rows, power=power, level=level)
        error = self.deviation / math.sqrt(self.rows)
        visible = smallest_visible(error, self.independent - 1, power=power, level=level)
        return visible if visible <= self._span else None

    @property
    def _span(self) -> float:
        low, high = self.bounds
        return math.inf if low is None or high is None else high - low

    @property
    def independent(self) -> int:
        """The number of rows or clusters; of groups of them, for values that are not means of very many rows."""
        return self.rows if not self.clustered and self.finish is None else len(self.units)

    @property
    def _difference_of(self) -> Finish | None:
        """From totals of both systems' statistics side by side to the difference; None for a mean of differences."""
        finish, width = self.finish, self.sums.shape[1]
        return None if finish is None else lambda sums: finish(sums[..., width:]) - finish(sums[..., :width])


def identical_interval(difference: float, units: float, span: float, confidence: float) -> tuple[float, float]:
    """The interval of the difference where each of the units has this one: few units may hide rare large ones.

    It is Tango's for as many wins, or losses, of the whole `span` as have this mean.

    >>> [round(end, 3) for end in identical_interval(0.1, 20, 1.0, 0.95)]
    [-0.077, 0.301]
    """
    won = units * abs(difference) / span
    counts = (won, 0.0) if difference > 0 else (0.0, won)
    low, high = tango_interval(*counts, units, student_quantile((1 + confidence) / 2, math.inf))
    return low * span, high * span


def count_higher(a: Array, b: Array, finish: Finish | None) -> tuple[int, int]:
    """The number of rows on which B scores higher than A, and the number on which it scores lower."""
    with np.errstate(all="ignore"):
        a, b = (side[:, 0] if finish is None else finish(side) for side in (a, b))
        return int(np.count_nonzero(b > a)), int(np.count_nonzero(b < a))


def is_binary(*sides: Array) -> bool:
    """Whether every statistic is 0 or 1."""
    return all(bool(((side == 0) | (side == 1)).all()) for side in sides)
