"""The confidence interval of a value, for any metric, from the totals of its units."""

from __future__ import annotations

from karat.core.errors import SpecError
from karat.core.metric.definition import Finish, before_cut
from karat.stats.aggregate import Bounds
from karat.stats.intervals.bootstrap import bootstrap_interval
from karat.stats.intervals.wilson import Summed, bounded_interval


def interval(
    units: Summed,
    finish: Finish | None = None,
    *,
    bounds: Bounds,
    confidence: float = 0.95,
    seed: int = 0,
    unit_weight: float | None = None,
) -> Bounds:
    """The ends of the confidence interval; None for an end that is not known.

    `finish` and `bounds` as in `Scale`. With both bounds the interval is Wilson's with an effective number of trials;
    otherwise it is a seeded bootstrap over the units. Of a value that is cut to a range it is the interval of the value
    before, within the bounds and what units reach beyond them, with its ends cut. `unit_weight` is the inverse of the
    effective number of units where these have unequal weights; None where rows weigh the same.
    docs/explanation/statistics.md has the formulas.

    Raises `DataError` for scores beyond the bounds, `SpecError` for a confidence outside (0, 1) and for several
    statistics without a finish.

    >>> import numpy as np
    >>> from karat.stats.sums.units import Units
    >>> units = Units(width=1)
    >>> units.add(np.ones((5, 1)))
    >>> low, high = interval(units, bounds=(0.0, 1.0))
    >>> round(low, 3), high
    (0.566, 1.0)
    """
    if not 0 < confidence < 1:
        raise SpecError(f"confidence between 0 and 1 expected, found {confidence}")
    observed, value_of = units.observe(finish)
    low, high = bounds
    if len(units) == 0:
        return None, None
    if low is None or high is None:
        lowest, highest = bootstrap_interval(observed, value_of, confidence=confidence, seed=seed)
        if low is not None and lowest is not None:
            lowest = max(low, lowest)
        if high is not None and highest is not None:
            highest = min(high, highest)
        return lowest, highest
    if len(units) == 1:
        return low, high
    uncut = before_cut(finish)
    if uncut is not finish:  # where it is cut, a value does not move with its rows, and seems sure
        each = uncut(observed)
        around = min(low, float(each.min())), max(high, float(each.max()))
        ends = bounded_interval(units, uncut, around, confidence, unit_weight)
        return min(max(ends[0], low), high), min(max(ends[1], low), high)
    return bounded_interval(units, finish, (low, high), confidence, unit_weight)
