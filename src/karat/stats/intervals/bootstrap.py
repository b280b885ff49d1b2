"""The studentised bootstrap over units: the interval of a value without a lower or without an upper bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from karat.core.metric.definition import Finish

DRAWS = 2_000
CELLS = 2**17  # numbers drawn at a time: they stay in the cache, and BLAS multiplies so few in one thread
STEP = 0.01  # in standard errors: half the distance over which a slope is computed
ROUNDING = 1e-14  # relative to the value: a standard error this small counts as 0
FLAT = 1e-6  # relative to the whole: so does the standard error of a draw of nearly equal units


def bootstrap_interval(
    observed: NDArray[np.float64], value_of: Finish, *, confidence: float, seed: int
) -> tuple[float | None, float | None]:
    """The bootstrap-t interval of `value_of(observed.sum(axis=0))` over the units, which are the rows of `observed`.

    The distance of each draw from the value, in the draw's own standard errors (by the delta method), replaces
    Student's t. An end is None where too few units vary, both where the value is undefined for some draw.

    Source: B. Efron and R. Tibshirani, "An Introduction to the Bootstrap" (1993), section 12.5.
    """
    return studentise(observed, value_of, seed).interval(confidence)


@dataclass(frozen=True, eq=False)
class Studentised:
    """A value, its standard error, and the distance of each draw from it in the draw's own standard errors."""

    value: float
    scale: float
    distances: NDArray[np.float64]

    def interval(self, confidence: float) -> tuple[float | None, float | None]:
        """The ends at this confidence."""
        if not len(self.distances):
            return None, None
        tail = (1 - confidence) / 2
        least, most = np.quantile(self.distances, [tail, 1 - tail], method="inverted_cdf")
        low, high = self.value - self.scale * float(most), self.value - self.scale * float(least)
        return (low if math.isfinite(low) else None), (high if math.isfinite(high) else None)


def studentise(observed: NDArray[np.float64], value_of: Finish, seed: int) -> Studentised:
    """The draws behind `bootstrap_interval`; none where the units do not vary."""
    units, width = observed.shape
    total = observed.sum(axis=0)
    centred = observed - total / max(units, 1)
    pairs = (centred[:, :, None] * centred[:, None, :]).reshape(units, width**2)
    spread = pairs.sum(axis=0).reshape(width, width)
    step = STEP * np.sqrt(np.diag(spread))
    step[step == 0] = 1.0  # the slope of a statistic that does not vary has no effect

    def error(totals: NDArray[np.float64], spread: NDArray[np.float64]) -> NDArray[np.float64]:
        totals = totals[..., None, :]
        slopes = (value_of(totals + np.diag(step)) - value_of(totals - np.diag(step))) / (2 * step)
        variance: NDArray[np.float64] = np.einsum("...i,...ij,...j", slopes, spread, slopes)
        return np.sqrt(np.maximum(variance, 0))

    with np.errstate(all="ignore"):
        value, scale = float(value_of(total)), float(error(total, spread))
        if not scale > ROUNDING * abs(value):
            return Studentised(value, scale, np.empty(0))
        distances: list[NDArray[np.float64]] = []
        both = np.column_stack([centred, pairs])
        for counts in draw(units, seed):
            sums = counts.astype(np.float64) @ both
            moved = sums[:, :width]
            around = sums[:, width:].reshape(-1, width, width) - moved[:, :, None] * moved[:, None, :] / units
            errors = error(total + moved, around)
            errors[errors < FLAT * scale] = 0.0
            change = value_of(total + moved) - value
            distances.append(np.where(change == 0, 0.0, change / errors))
    return Studentised(value, scale, np.concatenate(distances))


def draw(units: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """The count of each unit in each of `DRAWS` draws, shape (draws, units), a bounded number of draws at a time.

    >>> [counts.shape for counts in draw(100, seed=0)]
    [(1310, 100), (690, 100)]
    """
    random = np.random.default_rng(seed)
    chunk = max(1, CELLS // units)
    for start in range(0, DRAWS, chunk):
        draws = min(chunk, DRAWS - start)
        drawn = random.integers(units, size=(draws, units)) + units * np.arange(draws)[:, None]
        yield np.bincount(drawn.ravel(), minlength=draws * units).reshape(draws, units)
