"""How far the value could lie from the truth: an interval for any metric, from the totals of its units."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from karat.core.errors import SpecError
from karat.stats.aggregate import Finish, Units
from karat.stats.bootstrap import resample
from karat.stats.wilson import enclose

Bounds: TypeAlias = tuple[float | None, float | None]


def interval(
    units: Units, finish: Finish | None = None, *, bounds: Bounds, confidence: float = 0.95, seed: int = 0
) -> Bounds:
    """Find the lowest and the highest value the rows are compatible with; None for an end that is not known.

    `finish` turns totals of shape (..., width) into values of shape (...); None is the mean. `bounds` are the least
    and the greatest value the metric can take, None where there is none. With both, the interval is Wilson's with an
    effective number of trials; else a seeded bootstrap over the units. docs/explanation/statistics.md has the formulas.

    `DataError` for scores beyond the bounds; `SpecError` for a confidence outside (0, 1) and for several statistics
    without a finish.

    >>> units = Units(width=1)
    >>> units.add(np.ones((5, 1)))
    >>> low, high = interval(units, bounds=(0.0, 1.0))
    >>> round(low, 3), high
    (0.566, 1.0)
    """
    if not 0 < confidence < 1:
        raise SpecError(f"confidence between 0 and 1 expected, found {confidence}")
    observed, value_of = observe(units, finish)
    low, high = bounds
    if len(units) == 0:
        return None, None
    if low is None or high is None:
        lowest, highest = resample(observed, value_of, confidence=confidence, seed=seed)
        if low is not None and lowest is not None:
            lowest = max(low, lowest)
        if high is not None and highest is not None:
            highest = min(high, highest)
        return lowest, highest
    if len(units) == 1:
        return low, high
    return enclose(units, observed, value_of, mean=finish is None, low=low, high=high, confidence=confidence)


def observe(units: Units, finish: Finish | None) -> tuple[NDArray[np.float64], Finish]:
    """Choose what is summed over units, shape (units, statistics), and the function from such sums to values."""
    if finish is not None:
        return units.totals, finish
    if units.width != 1:
        raise SpecError(f"a metric with {units.width} statistics a row needs a finish")
    return np.column_stack([units.totals, units.sizes]), _divide


def _divide(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = sums[..., 0] / sums[..., 1]
    return mean
