"""Wilson's interval, for shares and, with an effective number of trials, for any value with two bounds."""

from __future__ import annotations

import math
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from karat.core.errors import DataError
from karat.core.metric.definition import Finish
from karat.stats.intervals.student import student_quantile

Ends: TypeAlias = tuple[float, float]  # of an interval
PRIOR = 0.375  # unseen units at an end, where all seen are; by simulation: docs/explanation/validation.md
ROUNDING = 1e-9  # how far sums of floats may overstep a bound


class Summed(Protocol):
    """Rows summed by unit: the side of `karat.stats.sums.units.Units` that intervals need."""

    clustered: bool
    collapsed: bool

    def __len__(self) -> int: ...

    @property
    def rows(self) -> int: ...

    @property
    def sizes(self) -> NDArray[np.float64]: ...

    @property
    def total_square(self) -> float: ...

    def value(self, finish: Finish | None, /) -> float: ...

    def observe(self, finish: Finish | None, /) -> tuple[NDArray[np.float64], Finish]: ...


def wilson_interval(share: float, trials: float, deviations: float) -> Ends:
    """Wilson's score interval for a share of `trials`, `deviations` standard errors wide.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).

    >>> [round(end, 4) for end in wilson_interval(0.95, 20, 1.959964)]
    [0.7639, 0.9911]
    """
    shrink = deviations**2 / trials
    middle = (share + shrink / 2) / (1 + shrink)
    reach = math.sqrt(shrink * share * (1 - share) + shrink**2 / 4) / (1 + shrink)
    return (max(0.0, middle - reach) if share > 0 else 0.0), (min(1.0, middle + reach) if share < 1 else 1.0)


def bounded_interval(
    units: Summed, finish: Finish | None, bounds: Ends, confidence: float, weight: float | None = None
) -> Ends:
    """Wilson's interval of any value within its bounds; the whole range where a single unit decides the value.

    The value becomes a share of its range. Its variance, as scores or a jackknife give it, tells how many independent
    trials would vary as much; Wilson's interval then describes the share in so many trials. `weight` is the inverse of
    the effective number of units, `unit_weight` of them if it is None.

    Raises `DataError` for scores beyond the bounds.
    """
    observed, value_of = units.observe(finish)
    low, high = bounds
    span = high - low
    of_rows = finish is None and not units.clustered  # whose sums are the same bits however they are grouped
    share = ((units.value(None) if of_rows else float(value_of(observed.sum(axis=0)))) - low) / span
    if not -ROUNDING <= share <= 1 + ROUNDING:
        raise DataError(f"a value from {low} to {high} expected, found {low + span * share}")
    share = min(max(share, 0.0), 1.0)
    room = share * (1 - share)
    rows = units.rows
    if of_rows:
        # With y = (x - low) / span, the mean of y·(1 - y): 0 when all scores are at a bound, below 0 beyond one.
        between = share - (units.total_square / rows - 2 * low * (low + span * share) + low**2) / span**2
        if between < -ROUNDING:
            raise DataError(f"scores from {low} to {high} expected, found some beyond")
        if between < ROUNDING:
            variance, freedom = room / rows, math.inf  # every score is at a bound, so the mean determines the variance
        else:
            variance, freedom = (room - between) / (rows - 1), rows - 1
    else:
        variance, freedom = jackknife(observed, value_of) / span**2, len(units) - 1
    if math.isinf(variance):
        return low, high
    size = unit_weight(units) if weight is None else weight, freedom
    return effective_interval(low + span * share, variance * span**2, size, bounds, confidence)


def effective_interval(value: float, variance: float, size: Ends, bounds: Ends, confidence: float) -> Ends:
    """Wilson's interval of a value within its bounds that has this variance, for the effective number of trials.

    `size` is the inverse of the effective number of units, and the degrees of freedom of the variance.

    >>> [round(end, 4) for end in effective_interval(0.95, 0.95 * 0.05 / 20, (1 / 20, math.inf), (0.0, 1.0), 0.95)]
    [0.7639, 0.9911]
    """
    low, high = bounds
    span = high - low
    share = min(max((value - low) / span, 0.0), 1.0)
    room = share * (1 - share)
    variance /= span**2
    each, freedom = size
    spread = variance / (each * room) if each * room else 0.0  # 1 where each unit is at a bound
    likely = (1 + confidence) / 2
    if spread > ROUNDING:
        prior = PRIOR * min(1.0, spread)
        trials = (room + prior * each) / (variance + prior * each**2)
    else:
        trials, freedom = 1 / each, math.inf
    lowest, highest = wilson_interval(share, trials, student_quantile(likely, freedom))
    # No interval may be shorter than the interval of units that are all at a bound.
    surest = wilson_interval(1.0, 1 / each, student_quantile(likely, math.inf))[0]
    lowest, highest = min(lowest, surest), max(highest, 1 - surest)
    return low + span * lowest, low + span * highest


def jackknife(observed: NDArray[np.float64], value_of: Finish) -> float:
    """The jackknife variance of the value, from leaving out each unit in turn; infinite where a value is undefined.

    Source: B. Efron and C. Stein, "The jackknife estimate of variance", Annals of Statistics 9 (1981).

    >>> scores = np.array([1.0, 2.0, 4.0, 5.0])
    >>> observed = np.column_stack([scores, np.ones(4)])
    >>> round(jackknife(observed, lambda sums: sums[..., 0] / sums[..., 1]), 9)
    0.833333333
    >>> round(float(scores.var(ddof=1) / 4), 9)
    0.833333333
    """
    with np.errstate(all="ignore"):
        left = value_of(observed.sum(axis=0) - observed)
    return float(left.var()) * (len(left) - 1) if np.isfinite(left).all() else math.inf


def unit_weight(units: Summed) -> float:
    """The inverse of the effective number of units: Σm²/(Σm)² for units of sizes m.

    For hashed groups of units, the share of row pairs that are in one group by chance (1/groups) is subtracted.
    """
    if not units.clustered:
        return 1 / units.rows
    sizes = units.sizes
    meeting = float(sizes @ sizes) / float(sizes.sum()) ** 2
    if units.collapsed:
        meeting = max((len(sizes) * meeting - 1) / (len(sizes) - 1), 1 / units.rows)
    return meeting
