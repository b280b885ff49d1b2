"""A coefficient of agreement and what each row contributes to it, from which its interval and differences follow."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from karat.core.metric.definition import Finish
from karat.stats.intervals.mover import joint_reach
from karat.stats.intervals.student import student_quantile
from karat.stats.intervals.wilson import ROUNDING, Ends, effective_interval
from karat.stats.value import Estimate

FEWEST = 2  # independent rows that an interval needs


@dataclass(frozen=True, eq=False)
class Coefficient:
    """A coefficient, and how much each row moves it.

    `influence`, shape (rows,), is the first-order change of the value by each row; it sums to 0. `shares`, shape
    (parts, rows), is the share of each row in the sample (for AUROC in each of two samples) and 0 for a row that is not
    used. `bounds` are the least and the greatest possible value. `reason` is not None where the coefficient is not
    defined. `unseen` is the coefficient with one row more, such as a small sample may lack: the interval reaches as far
    up as its.

    The variance of the value is the sum of squares of the influence, added up by cluster: for kappa by Fleiss,
    Cohen and Everitt (1969), for Gwet's coefficients and alpha by Gwet (2014), for AUROC by DeLong and others
    (1988), each times n / (n - 1).
    """

    value: float
    influence: NDArray[np.float64]
    shares: NDArray[np.float64]
    bounds: Ends
    reason: str | None = None
    unseen: Coefficient | None = None

    @property
    def used(self) -> NDArray[np.bool_]:
        """Whether each row is used."""
        return np.asarray(self.shares.any(axis=0))

    @property
    def n(self) -> int:
        """The number of rows used."""
        return int(np.count_nonzero(self.used))

    def estimate(self, clusters: NDArray[np.int64] | None = None, confidence: float = 0.95) -> Estimate:
        """The value with Wilson's interval for the effective number of trials.

        `clusters`, shape (rows,), are numbers from 0 that are equal in rows which are not independent.
        """
        reason, used = self.reason, _count_units(self.used, clusters)
        if reason is None and used < FEWEST:
            what = "row" if clusters is None else "cluster"
            reason = f"{used} {what}{'s' * (used != 1)}, and an interval needs {FEWEST}"
        if reason is not None:
            return Estimate(None, None, None, self.n, reason)
        variance, size = self.spread(clusters)
        low, high = effective_interval(self.value, variance, size, self.bounds, confidence)
        if self.unseen is not None:
            more = None if clusters is None else np.append(clusters, clusters.max() + 1)
            high = max(high, self.unseen.estimate(more, confidence).high or high)
        return Estimate(float(self.value), float(low), float(high), self.n)

    def spread(self, clusters: NDArray[np.int64] | None = None) -> tuple[float, Ends]:
        """The variance of the value, and the size of the sample as `effective_interval` takes it."""
        used = _count_units(self.used, clusters)
        moved = add_up(self.influence, clusters)
        variance = float(moved @ moved)
        weight = max(float(each @ each) for each in (add_up(part, clusters) for part in self.shares))
        room = (self.value - self.bounds[0]) * (self.bounds[1] - self.value)
        if math.isclose(variance, weight * room, rel_tol=ROUNDING):  # a share, which determines its variance
            return variance, (weight, math.inf)
        return variance * used / (used - 1), (weight, used - 1)


def undefined(reason: str, rows: int) -> Coefficient:
    """The coefficient of data for which it is not defined."""
    return Coefficient(math.nan, np.zeros(rows), np.zeros((1, rows)), (-1.0, 1.0), reason)


def value_of_sums(
    statistics: NDArray[np.float64], finish: Finish, *, weights: NDArray[np.float64] | None = None, empty: str
) -> Coefficient:
    """The value from 0 to 1 that `finish` makes of the sums of rows' statistics, shape (rows, width).

    Rows with a NaN do not count. `empty`: why the value may be undefined. A row moves the value by as much as it
    differs without the row (jackknife).

    >>> ratio = value_of_sums(np.array([[1.0, 2], [0, 1], [2, 3]]), lambda sums: sums[..., 0] / sums[..., 1], empty="")
    >>> print(ratio.estimate())
    0.5000 (0.0813 – 0.9187)
    """
    used: NDArray[np.bool_] = ~np.asarray(np.isnan(statistics).any(axis=1))
    if not used.any():
        return undefined("there is no row", len(used))
    rows = np.where(used[:, None], statistics if weights is None else statistics * weights[:, None], 0.0)
    total = rows.sum(axis=0)
    with np.errstate(all="ignore"):
        value, without = float(finish(total)), finish(total - rows)
    if not (math.isfinite(value) and np.isfinite(without[used]).all()):
        return undefined("a single row decides it" if math.isfinite(value) else empty, len(used))
    n = np.count_nonzero(used)
    influence = np.where(used, (without[used].mean() - without) * (n - 1) / n, 0.0)
    return Coefficient(value, influence, shares_of(used, weights)[None], (0.0, 1.0))


def difference(
    first: Coefficient, second: Coefficient, clusters: NDArray[np.int64] | None = None, confidence: float = 0.95
) -> Estimate:
    """The first coefficient minus the second, on the same rows, on some of the same, or on others.

    It combines the two intervals, with the correlation of their influence (MOVER), so it is not empty where
    both are perfect; and it is never shorter than Student's.

    >>> from karat.stats.agreement.accuracy import accuracy
    >>> people, judge = np.ones(20), np.repeat([1.0, 0.0], [19, 1])
    >>> other_judge = np.repeat([1.0, 0.0], [12, 8])
    >>> found = difference(accuracy(judge, people), accuracy(other_judge, people))
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.35, 0.121, 0.579)
    """
    one, two = (each.estimate(clusters, confidence) for each in (first, second))
    rows = first.used | second.used
    n = int(np.count_nonzero(rows))
    if one.value is None or two.value is None or one.low is None or two.low is None:
        return Estimate(None, None, None, n, one.reason or two.reason)
    assert one.high is not None  # noqa: S101  (for the type checker: an interval has two ends)
    assert two.high is not None  # noqa: S101
    a, b = (add_up(each.influence, clusters) for each in (first, second))
    opposite = (-correlate(first, second, clusters),)
    value, apart, units = one.value - two.value, a - b, _count_units(rows, clusters)
    error = math.sqrt(float(apart @ apart) * units / (units - 1))
    student = student_quantile((1 + confidence) / 2, units - 1) * error
    low = value - max(student, joint_reach((one.value - one.low, two.high - two.value), opposite))
    high = value + max(student, joint_reach((one.high - one.value, two.value - two.low), opposite))
    return Estimate(value, low, high, n)


def correlate(first: Coefficient, second: Coefficient, clusters: NDArray[np.int64] | None = None) -> float:
    """The correlation of two coefficients on the same rows or clusters, from their influence; 0 where one is sure.

    >>> from karat.stats.agreement.accuracy import mean
    >>> accepted = np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0, 0])
    >>> round(correlate(*map(mean, accepted)), 3)
    0.577
    """
    a, b = (add_up(each.influence, clusters) for each in (first, second))
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return min(1.0, max(-1.0, float(a @ b) / scale)) if scale else 0.0


def _count_units(used: NDArray[np.bool_], clusters: NDArray[np.int64] | None) -> int:
    """The number of rows that are used, or of clusters with such a row."""
    return int(np.count_nonzero(used)) if clusters is None else len(np.unique(clusters[used]))


def add_up(values: NDArray[np.float64], clusters: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """The sums of the values by cluster; the values themselves where rows are independent."""
    return values if clusters is None else np.asarray(np.bincount(clusters, weights=values), np.float64)


def shares_of(used: NDArray[np.bool_], weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """The share of each row in the sample, shape (rows,): in proportion to its weight, 0 where it is not `used`."""
    shares = used.astype(np.float64) if weights is None else np.where(used, weights, 0.0)
    total = shares.sum()
    return shares / total if total else shares
