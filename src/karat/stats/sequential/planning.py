"""How many rows an interval that may be looked at takes, before any is asked."""

from __future__ import annotations

from math import ceil, inf

from karat.stats.aggregate import Bounds
from karat.stats.inference import Inference
from karat.stats.intervals.student import student_quantile

PRICE_OF_LOOKING = 1.5  # times the rows of an interval for a number of rows that is fixed beforehand, about


def expect_rows(width: float, rows: int, bounds: Bounds = (0.0, 1.0), inference: Inference = Inference()) -> int:  # noqa: B008
    """About how many of `rows` are asked until the interval is `width` wide, if half of the scores are at each end.

    All other scores take fewer. `bounds` are the lowest and the highest score.

    >>> expect_rows(0.04, 3_000), expect_rows(0.1, 3_000)
    (2001, 511)
    """
    low, high = bounds
    spread = ((high or 0.0) - (low or 0.0)) / 2
    alone = (2 * student_quantile((1 + inference.confidence) / 2, inf) * spread / width) ** 2
    return min(rows, ceil(PRICE_OF_LOOKING * alone / (1 + alone / rows))) if rows else 0
