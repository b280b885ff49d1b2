"""The quantile of Student's t distribution, without scipy."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)


@lru_cache
def student_quantile(probability: float, freedom: float) -> float:
    """The quantile of Student's t with `freedom` degrees of freedom.

    With t = √f·tan θ, the probability between 0 and t is the integral of the (f - 1)-th power of cos from 0 to θ over
    that from -π/2 to π/2, by quadrature. It is concave in θ, so Newton's method converges from the normal quantile.

    `probability` is in [0.5, 1) and `freedom` at least 1; an infinite `freedom` is the normal distribution.

    >>> round(student_quantile(0.975, 4), 6)
    2.776445
    >>> round(student_quantile(0.975, math.inf), 6)
    1.959964
    """
    normal = NormalDist().inv_cdf(probability)
    if math.isinf(freedom):
        return normal
    whole = math.sqrt(math.pi) * math.exp(math.lgamma(freedom / 2) - math.lgamma((freedom + 1) / 2))
    wanted = (probability - 0.5) * whole
    angle = math.atan(normal / math.sqrt(freedom))
    while True:
        area = angle / 2 * float(WEIGHTS @ np.cos(angle / 2 * (NODES + 1)) ** (freedom - 1))
        step = (wanted - area) / math.cos(angle) ** (freedom - 1)
        angle += step
        if step <= 1e-12 * angle:
            return math.sqrt(freedom) * math.tan(angle)
