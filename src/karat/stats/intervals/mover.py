"""The interval of a sum or difference of values from the intervals of each: the method of variance estimates recovery.

Source: G. Y. Zou, "Toward using confidence intervals to compare correlations", Psychological Methods 12 (2007).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations


def joint_reach(reaches: Sequence[float], correlations: Sequence[float]) -> float:
    """The distance of an end of a sum from its value, from the distances of the terms' ends on the same side.

    `correlations`: of each pair of terms, in the order of `itertools.combinations`. Of a difference, the second term's
    distance is of its opposite end, and the correlation has the opposite sign.

    >>> joint_reach([0.3, 0.4], [0.0])
    0.5
    """
    pairs = zip(correlations, combinations(reaches, 2), strict=True)
    total = sum(reach**2 for reach in reaches) + sum(2 * each * one * two for each, (one, two) in pairs)
    return math.sqrt(max(0.0, total))
