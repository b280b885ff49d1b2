"""The rows on which two systems are both scored: their difference, its interval, and the test that suits it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from karat.core.columns.kinds import Array
from karat.stats.aggregate import Bounds, Finish, Units, observe
from karat.stats.interval import interval
from karat.stats.paired.comparison import Test
from karat.stats.paired.mcnemar import mcnemar_test, tango_interval
from karat.stats.paired.permutation import permutation_test
from karat.stats.paired.power import smallest_share, smallest_visible
from karat.stats.student import student_quantile

BATCH = 65_536  # rows added at a time
NOISE = 1e-12  # a standard deviation this small, relative to the scores, counts as 0


@dataclass(frozen=True, eq=False)
class PairedRows:
    """Row statistics of systems A and B, all finite, shape (rows, statistics) each, and each row's cluster key."""

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    keys: NDArray[np.uint64] | None
    finish: Finish | None
    bounds: Bounds
    seed: int

    def value_of(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """One system's value for its totals over all rows, shape (..., statistics)."""
        return sums[..., 0] / len(self.a) if self.finish is None else self.finish(sums)

    @cached_property
    def values(self) -> tuple[float, float] | None:
        """The value of A and of B; None where one is undefined."""
        with np.errstate(all="ignore"):
            a, b = (float(self.value_of(side.sum(axis=0))) for side in (self.a, self.b))
        return (a, b) if math.isfinite(a) and math.isfinite(b) else None

    @property
    def difference(self) -> float | None:
        """The value of B minus the value of A."""
        return None if self.values is None else self.values[1] - self.values[0]

    @cached_property
    def higher(self) -> tuple[int, int]:
        """The number of rows on which B scores higher than A, and the number on which it scores lower."""
        higher = lower = 0
        with np.errstate(all="ignore"):
            for start in range(0, len(self.a), BATCH):
                rows = slice(start, start + BATCH)
                a, b = (side[rows, 0] if self.finish is None else self.finish(side[rows]) for side in (self.a, self.b))
                higher += int(np.count_nonzero(b > a))
                lower += int(np.count_nonzero(b < a))
        return higher, lower

    @cached_property
    def kind(self) -> Test:
        """The test that suits the metric: McNemar's for right and wrong, sign flips for other means, else swaps."""
        if self.finish is not None:
            return "swap"
        if self.keys is not None or self.bounds != (0.0, 1.0):
            return "sign_flip"
        return "mcnemar" if all(((side == 0) | (side == 1)).all() for side in (self.a, self.b)) else "sign_flip"

    def test(self) -> tuple[float, int]:
        """The p under the hypothesis of equal systems, and the number of random swaps (0: the test is exact)."""
        if self.kind == "mcnemar":
            return mcnemar_test(*self.higher), 0
        differing = np.flatnonzero((self.a != self.b).any(axis=1))
        if not len(differing):
            return 1.0, 0
        width = self.a.shape[1]
        units = self._both(differing)
        equal = np.stack([self.a.sum(axis=0), self.b.sum(axis=0)]) - units.totals.sum(axis=0).reshape(2, width)
        return permutation_test(units.totals[:, :width], units.totals[:, width:], equal, self.value_of, seed=self.seed)

    def interval(self, confidence: float) -> Bounds:
        """The ends of the difference's interval; None for an end that is not known.

        With two bounds, the differences are replaced by wins and losses of a typical size in as many trials as have the
        same variance; the interval is Tango's for these, and never shorter than Student's (docs/statistics.md).
        """
        span, likely = self._span, (1 + confidence) / 2
        if math.isinf(span):
            open_ends = (None, None)
            return interval(self._units, self._difference_of, bounds=open_ends, confidence=confidence, seed=self.seed)
        if self.kind == "mcnemar":
            return tango_interval(*self.higher, len(self.a), student_quantile(likely, math.inf))
        if self.difference is None or self.deviation is None:
            return -span, span
        trials = float(len(self._contributions))
        size, variance = span, float(self._contributions.var(ddof=1)) / trials
        if self.varies:
            squares = self._contributions**2
            size = min(span, math.sqrt((squares @ squares) / squares.sum()))
        mean = self.difference / size
        differing = min(1.0, max(trials * variance / size**2 + mean**2, abs(mean)))
        if self.varies:
            trials = max(trials, (differing - mean**2) * size**2 / variance)
        wins, losses = (trials * (differing + sign * mean) / 2 for sign in (1, -1))
        low, high = tango_interval(wins, losses, trials, student_quantile(likely, math.inf))
        reach = student_quantile(likely, self.independent - 1) * math.sqrt(variance)
        low, high = min(low * size, self.difference - reach), max(high * size, self.difference + reach)
        return max(-span, low), min(span, high)

    @cached_property
    def deviation(self) -> float | None:
        """The standard deviation of the rows' differences; for other values, the standard error times √rows."""
        contributions = self._contributions
        if len(contributions) < 2 or not np.isfinite(contributions).all():
            return None
        return float(np.std(contributions, ddof=1)) * math.sqrt(len(self.a) / len(contributions))

    @cached_property
    def _contributions(self) -> NDArray[np.float64]:
        """The contribution of each unit to the difference: for a mean over rows its own difference, else pseudo-values.

        Source: J. W. Tukey, "Bias and confidence in not quite large samples", Annals of Mathematical Statistics 29
        (1958).
        """
        if self.finish is None and self.keys is None:
            return (self.b - self.a)[:, 0]
        observed, value_of = observe(self._units, self._difference_of)
        total = observed.sum(axis=0)
        with np.errstate(all="ignore"):
            return len(observed) * value_of(total) - (len(observed) - 1) * value_of(total - observed)

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
        return self.difference / float(np.std(self.b - self.a, ddof=1))

    def visible(self, power: float, level: float) -> float | None:
        """The smallest difference that is detected with probability `power`; None where none within the range is."""
        if not self.varies or self.deviation is None:
            return None
        rows = len(self.a)
        if self.kind == "mcnemar":
            return smallest_share(rows, sum(self.higher) / rows, power=power, level=level)
        visible = smallest_visible(self.deviation / math.sqrt(rows), self.independent - 1, power=power, level=level)
        return visible if visible <= self._span else None

    @property
    def _span(self) -> float:
        low, high = self.bounds
        return math.inf if low is None or high is None else high - low

    @property
    def independent(self) -> int:
        """The number of rows or clusters; of groups of them, for values that are not means of very many rows."""
        return len(self.a) if self.keys is None and self.finish is None else len(self._units)

    @cached_property
    def _units(self) -> Units:
        """The units of the difference: rows' differences or, with a finish, both systems' statistics side by side."""
        rows = np.arange(len(self.a))
        return self._both(rows) if self.finish else self._add(1, rows, lambda part: self.b[part] - self.a[part])

    @property
    def _difference_of(self) -> Finish | None:
        """From totals of both systems' statistics side by side to the difference; None for a mean of differences."""
        finish, width = self.finish, self.a.shape[1]
        return None if finish is None else lambda sums: finish(sums[..., width:]) - finish(sums[..., :width])

    def _both(self, rows: Array) -> Units:
        return self._add(2 * self.a.shape[1], rows, lambda part: np.hstack([self.a[part], self.b[part]]))

    def _add(self, width: int, rows: Array, take: Callable[[Array], Array]) -> Units:
        """Add up what `take` returns for `rows`, a bounded number of rows at a time."""
        units = Units(width, clustered=self.keys is not None, seed=self.seed)
        for start in range(0, len(rows), BATCH):
            part = rows[start : start + BATCH]
            units.add(take(part), None if self.keys is None else self.keys[part])
        return units
