"""The slope of a score or an error on something that it should not depend on: the answer's length, its author."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from karat.stats.intervals.student import student_quantile
from karat.stats.value import Estimate

FEWEST = 10  # rows or clusters below which no slope is reported
VARYING = 5  # rows whose errors differ from the most frequent one, and whose x does, below which none is
ROUNDING = 1e-12


def slope(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    *,
    weights: NDArray[np.float64] | None = None,
    groups: NDArray[np.integer] | None = None,
    clusters: NDArray[np.integer] | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """The least-squares slope of y on x, shape (rows,) each, with an interval that allows unequal variances.

    With `groups`, shape (rows,), both are compared within a group alone (a group of one row tells nothing), and rows of
    a group are not independent. `clusters`: other rows that are not. `weights`: the inverse of the probability with
    which a row was drawn. Rows where x or y is NaN do not count.

    The squared standard error is Σ(b₋ᵤ - b)² over the slopes b₋ᵤ without one row or cluster u each: HC3, and for
    clusters CR3. The interval is Student's with two degrees of freedom fewer than there are rows or clusters.

    Source: J. MacKinnon and H. White, "Some heteroskedasticity-consistent covariance matrix estimators with improved
    finite sample properties", Journal of Econometrics 29 (1985).

    >>> x = np.arange(12.0)
    >>> print(slope(x, 2 * x + np.where(x % 2, 0.5, -0.5)))
    2.0210 (1.9058 – 2.1362)
    >>> print(slope(x[:4], x[:4]))
    no estimate: fewer than 10 rows (4)
    """
    present = ~(np.isnan(x) | np.isnan(y))
    x, y, weight = x[present], y[present], np.ones(int(present.sum())) if weights is None else weights[present]
    units = np.arange(len(x)) if clusters is None else np.unique(clusters[present], return_inverse=True)[1]
    if groups is None:
        x, y = x - x.sum() / max(len(x), 1), y - y.sum() / max(len(y), 1)
    else:
        _, group, sizes = np.unique(groups[present], return_inverse=True, return_counts=True)
        x, y = (each - (np.bincount(group, weight * each) / np.bincount(group, weight))[group] for each in (x, y))
        shared = sizes[group] > 1
        x, y, weight = x[shared], y[shared], weight[shared]
        units = np.unique((group if clusters is None else units)[shared], return_inverse=True)[1]
    if (reason := _too_few(x, y, units, "rows" if clusters is None and groups is None else "clusters")) is not None:
        return Estimate.missing(reason, len(x))
    parts = [np.ones(len(x)), x, y, x * x, x * y]
    sums = np.column_stack([np.bincount(units, weight * part) for part in parts])
    total = sums.sum(axis=0)
    with np.errstate(all="ignore"):
        value, without = (_slope_of(each, within=groups is not None) for each in (total, total - sums))
    variance = float(((without - value) ** 2).sum())
    if not math.isfinite(variance):
        return Estimate.missing("a single row or cluster decides it", len(x))
    reach = student_quantile((1 + confidence) / 2, len(sums) - 2) * math.sqrt(variance)
    return Estimate(float(value), float(value) - reach, float(value) + reach, len(x))


def _slope_of(sums: NDArray[np.float64], *, within: bool) -> NDArray[np.float64]:
    """The slope from the sums of 1, x, y, x² and x·y; `within` groups both are centred and need no intercept."""
    n, x, y, squares, products = np.moveaxis(sums, -1, 0)
    value: NDArray[np.float64] = products / squares if within else (products - x * y / n) / (squares - x * x / n)
    return value


def _too_few(x: NDArray[np.float64], y: NDArray[np.float64], units: NDArray[np.integer], what: str) -> str | None:
    """Why there is no estimate; None where there is one. Without errors there would be a slope of 0 that looks sure."""
    if (count := len(np.unique(units))) < FEWEST:
        return f"fewer than {FEWEST} {what} ({count})"
    for values, name in ((x, "what it depends on"), (y, "the score or its error")):
        common = np.unique(values.round(12), return_counts=True)[1].max()
        if len(values) - common < VARYING:
            return f"{name} differs on fewer than {VARYING} rows ({len(values) - common})"
    return None
