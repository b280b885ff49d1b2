"""From a test to the interval of the values that it does not reject, and from an interval to the p of its test."""

from __future__ import annotations

import math
from collections.abc import Callable

from karat.stats.aggregate import Bounds
from karat.stats.intervals.student import normal_share

HALVINGS = 50  # bisection steps: enough for the precision of floats
MOST = 6.0  # standard errors beyond which a p is not told from `LEAST`
LEAST = 2 * normal_share(-MOST)
STEP = 1e-4  # standard errors to which a p is found


def last_kept(inside: float, outside: float, rejected: Callable[[float], bool]) -> float:
    """The value closest to `outside` that is not rejected, by bisection; `inside` is not rejected.

    >>> round(last_kept(0.0, 1.0, lambda value: value > 0.25), 9)
    0.25
    """
    if not rejected(outside):
        return outside
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if rejected(middle) else (middle, outside)
    return inside


def p_value(value: float, ends: Callable[[float], Bounds]) -> float | None:
    """The smallest level at which an interval does not hold 0, from its `ends` at a confidence; at least `LEAST`.

    So p and interval never contradict each other, whatever the method of the interval. None where the end towards 0 is
    not known.

    >>> from karat.stats.intervals.student import student_quantile
    >>> reach = lambda confidence: student_quantile((1 + confidence) / 2, math.inf)
    >>> round(p_value(2.5, lambda confidence: (2.5 - reach(confidence), 2.5 + reach(confidence))), 4)
    0.0124
    """
    if value == 0:
        return 1.0
    side, sign = (0, 1) if value > 0 else (1, -1)

    def beyond(deviations: float) -> float:
        end = ends(2 * normal_share(deviations) - 1)[side]
        return -math.inf if end is None else sign * end

    if math.isinf(beyond(0.5)):
        return None
    near, far = (0.0, abs(value)), (MOST, beyond(MOST))
    if far[1] > 0:
        return LEAST
    while far[0] - near[0] > STEP:  # an end moves nearly in proportion to the deviations: the Illinois method
        share = near[1] / (near[1] - far[1]) if math.isfinite(far[1]) else 0.5
        middle = near[0] + max(0.01, min(0.99, share)) * (far[0] - near[0])
        if (excess := beyond(middle)) > 0:
            near, far = (middle, excess), (far[0], far[1] / 2)
        else:
            near, far = (near[0], near[1] / 2), (middle, excess)
    return 2 * normal_share(-far[0])
