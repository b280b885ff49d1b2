"""The interval of a value of which only bounds are known, because some rows have no score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import NormalDist

from karat.stats.aggregate import Bounds
from karat.stats.intervals.student import normal_share

_NORMAL = NormalDist()


def critical_value(spread: float, confidence: float) -> float:
    """How many standard errors an interval reaches beyond bounds that are `spread` standard errors apart.

    It solves Φ(c + spread) - Φ(-c) = confidence: two-sided where the bounds meet, one-sided where they are far apart.

    Source: G. Imbens and C. Manski, "Confidence intervals for partially identified parameters", Econometrica 72 (2004).

    >>> [round(critical_value(spread, 0.95), 3) for spread in (0, 1, 10)]
    [1.96, 1.681, 1.645]
    """
    low, high = _NORMAL.inv_cdf(confidence), _NORMAL.inv_cdf((1 + confidence) / 2)
    while high - low > 1e-12:
        middle = (low + high) / 2
        if normal_share(middle + spread) - normal_share(-middle) < confidence:
            low = middle
        else:
            high = middle
    return high


def interval_of_bounds(
    bounds: tuple[float, float], ends: Sequence[Callable[[float], Bounds]], confidence: float
) -> Bounds:
    """The interval that holds the value of all rows, which lies between two `bounds`; None where it is not known.

    `ends`: for each bound the function from a confidence to the ends of the bound's own interval.

    >>> def wald(bound, confidence):
    ...     reach = 0.1 * NormalDist().inv_cdf((1 + confidence) / 2)
    ...     return bound - reach, bound + reach
    >>> ends = [lambda confidence, bound=bound: wald(bound, confidence) for bound in (0.4, 0.8)]
    >>> [round(end, 4) for end in interval_of_bounds((0.4, 0.8), ends, 0.95)]
    [0.2355, 0.9645]
    """
    (low, _), (_, high) = (each(confidence) for each in ends)
    if low is None or high is None:
        return None, None
    error = max(bounds[0] - low, high - bounds[1]) / _NORMAL.inv_cdf((1 + confidence) / 2)
    if error <= 0:
        return bounds
    reach = 2 * normal_share(critical_value((bounds[1] - bounds[0]) / error, confidence)) - 1
    return ends[0](reach)[0], ends[1](reach)[1]
