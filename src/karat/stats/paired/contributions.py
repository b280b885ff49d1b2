"""The difference of two values on the same rows, its interval and its p, from what each unit adds to either value.

There is one inference for means, values with a finish and curves, for two systems and for hundreds. The interval is the
set of differences that its test does not reject, so that both agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from karat.core.columns.kinds import Array
from karat.stats.aggregate import Bounds
from karat.stats.intervals.student import student_p, student_quantile
from karat.stats.paired.pair_tests import PairTests

NOISE = 1e-12  # a standard error this small, relative to the values, counts as 0
_STRAIGHT = 1e-6  # a skewness this small is none


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each unit adds to the values of systems on the same rows.

    `values` has shape (systems,), NaN where a value is undefined. A value moves with the mean of its row of `moved`,
    shape (systems, units): scores or, of values that are not means, pseudo-values. `sums`, shape (systems, units,
    width), are equal where a unit is the same in two systems. `weight` is the inverse of the effective number of units.
    """

    values: Array
    moved: Array
    sums: Array
    weight: float
    bounds: Bounds

    def test(self, confidence: float) -> PairTests:
        """Student's paired test of each pair, which allows for skewness and for what few units cannot show.

        p is the largest of five. Student's p; the same after Hall's transformation, which removes skewness; what
        remains possible if the systems were unrelated on the share of units that so many may hide; the same if one of
        the values, near an end of the range, were not surer than of units that are all at the end; and 2 to the
        minus number of units that differ, the mid-p where all speak for one system.

        Source: P. Hall, "On the removal of skewness by transformation", JRSS B 54 (1992); for the last, M. Fagerland,
        S. Lydersen and P. Laake, BMC Medical Research Methodology 13:91 (2013).

        >>> moved = np.array([[0.0, 0.5, 1.0, 0.5], [0.5, 0.6, 1.0, 0.8]])
        >>> found = Contributions(moved.mean(axis=1), moved, moved[:, :, None], 1 / 4, (0.0, 1.0)).test(0.95)
        >>> [float(round(each[1, 0], 3)) for each in (found.difference, found.low, found.high, found.p)]
        [0.225, -0.128, 0.62, 0.135]
        """
        systems = len(self.values)
        upper = np.full((5, systems, systems), np.nan)
        for one in range(systems - 1):
            upper[:, one, one + 1 :] = self._test(one, confidence)
        return PairTests.mirror(tuple(upper), "student")

    @property
    def _range(self) -> tuple[float, float]:
        """The least value, and how far the greatest is from it: infinite without either."""
        low, high = self.bounds
        return (0.0, math.inf) if low is None or high is None else (low, high - low)

    @cached_property
    def _errors(self) -> Array:
        """The squared standard error of each value, shape (systems,)."""
        units = self.moved.shape[1]
        centred = self.moved - self.moved.mean(axis=1, keepdims=True)
        errors: Array = (centred**2).sum(axis=1) / max(units - 1, 1) / max(units, 1)
        return errors

    def _test(self, one: int, confidence: float) -> tuple[Array, ...]:
        """Difference, low, high, p and error of one system minus each of those after it."""
        rest = slice(one + 1, None)
        difference, units = self.values[one] - self.values[rest], self.moved.shape[1]
        _, span = self._range
        if units < 2:
            unknown = np.where(np.isnan(difference), np.nan, 1.0)
            end = unknown * (span if math.isfinite(span) else math.nan)
            return difference, -end, end, unknown, np.full(len(difference), np.nan)
        with np.errstate(all="ignore"):
            apart = self.moved[one] - self.moved[rest]
            centred = apart - apart.mean(axis=1, keepdims=True)
            squares = centred**2
            error = np.sqrt(squares.sum(axis=1) / (units - 1) / units)
            noise = NOISE * np.maximum(abs(self.values[one]), np.abs(self.values[rest]))
            alike = error <= noise
            error = np.where(alike, 0.0, error)
            skew = np.where(alike, 0.0, (squares * centred).sum(axis=1) / units**3 / error**3)
            unrelated = np.sqrt((self._errors[one] + self._errors[rest]) / self.weight)
            unrelated = np.where(unrelated <= noise, 0.0, unrelated)
            unrelated = np.where(alike & math.isfinite(span), span, unrelated)
            differing = (self.sums[one] != self.sums[rest]).any(axis=2).sum(axis=1)
            p = np.maximum(_skewed_p(difference, error, skew, units - 1), self._unseen_p(one, difference, unrelated))
            p = np.where(difference == 0, 1.0, np.maximum(p, 2.0 ** -np.minimum(differing, 1000.0)))
            lost = ~np.isfinite(error) & np.isfinite(difference)  # as where a value is undefined without one unit
            p = np.where(lost, 1.0, p)
            low, high = self._ends(one, difference, error, skew, unrelated, confidence)
            whole = span if math.isfinite(span) else math.nan
            low, high = np.where(lost, -whole, np.maximum(low, -span)), np.where(lost, whole, np.minimum(high, span))
        return difference, *reach_zero(low, high, p, confidence), p, error

    def _shares(self, one: int) -> tuple[Array, Array]:
        """The values of one system and of those after it, as shares of the range."""
        low, span = self._range
        shares = np.clip((self.values - low) / span, 0.0, 1.0)
        return shares[one], shares[one + 1 :]

    def _unseen_p(self, one: int, difference: Array, unrelated: Array) -> Array:
        """The p of what units like these may hide; see `_ends`."""
        count = 1 / self.weight
        share = np.where(difference == 0, 0.0, np.abs(difference) / unrelated)
        odds = np.where(share < 1, share / (1 - share), np.inf)
        if math.isfinite(self._range[1]):
            ours, theirs = self._shares(one)
            larger, smaller = np.maximum(ours, theirs), np.minimum(ours, theirs)
            odds = np.minimum(odds, np.minimum((1 - smaller) / smaller, larger / (1 - larger)))
        return student_p(np.sqrt(count * odds), math.inf)

    def _ends(
        self, one: int, difference: Array, error: Array, skew: Array, unrelated: Array, confidence: float
    ) -> tuple[Array, Array]:
        """The differences that no test rejects; z²/(N + z²) is the share of units that N alike ones may hide."""
        t, z = (student_quantile((1 + confidence) / 2, freedom) for freedom in (self.moved.shape[1] - 1, math.inf))
        hidden = z**2 * self.weight / (1 + z**2 * self.weight)
        low = difference - np.maximum(error * np.maximum(t, _straighten(t, skew)), hidden * unrelated)
        high = difference + np.maximum(error * np.maximum(t, -_straighten(-t, skew)), hidden * unrelated)
        _, span = self._range
        if math.isinf(span):
            alike = (error == 0) & (unrelated == 0)
            return np.where(alike, np.nan, low), np.where(alike, np.nan, high)
        ours, theirs = self._shares(one)
        surest = 1 - hidden
        low = np.minimum(low, span * np.where(ours > surest, surest - theirs, np.inf))
        low = np.minimum(low, span * np.where(theirs < hidden, ours - hidden, np.inf))
        high = np.maximum(high, span * np.where(theirs > surest, ours - surest, -np.inf))
        high = np.maximum(high, span * np.where(ours < hidden, hidden - theirs, -np.inf))
        return low, high


def _skewed_p(difference: Array, error: Array, skew: Array, freedom: int) -> Array:
    """The larger p of Student's test and of Hall's, by his cubic transformation of Student's ratio."""
    ratio = np.where(difference == 0, 0.0, np.abs(difference) / error)
    skew = np.sign(difference) * skew
    straight = ratio + skew * ratio**2 / 3 + skew**2 * ratio**3 / 27 + skew / 6
    return student_p(np.where(np.isinf(ratio), ratio, np.clip(straight, 0.0, ratio)), freedom)


def _straighten(quantile: float, skew: Array) -> Array:
    """The ratio that Hall's transformation takes to a quantile, for each skewness of a mean."""
    curved = 3 / skew * (np.cbrt(1 + skew * (quantile - skew / 6)) - 1)
    return np.where(np.abs(skew) < _STRAIGHT, quantile, curved)


def reach_zero(low: Array, high: Array, p: Array, confidence: float) -> tuple[Array, Array]:
    """Ends that leave out 0 only where p is small enough: what the test does not reject is in the interval."""
    kept = p > 1 - confidence + 1e-12
    return np.where(kept, np.minimum(low, 0.0), low), np.where(kept, np.maximum(high, 0.0), high)
