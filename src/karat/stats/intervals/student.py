"""The quantile of Student's t distribution, and the two-sided p of its tests, without scipy."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

MANY = 1e5  # degrees of freedom
NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)


def normal_share(deviations: float) -> float:
    """The share of a normal distribution below so many standard deviations: the same bits on every Python.

    `NormalDist.cdf` has others since Python 3.14.

    >>> round(normal_share(1.959964), 6)
    0.975
    """
    return 0.5 * (1.0 + math.erf(deviations / math.sqrt(2.0)))


@lru_cache
def student_quantile(probability: float, freedom: float) -> float:
    """The quantile of Student's t with `freedom` degrees of freedom.

    With t = √f·tan θ, the probability between 0 and t is the integral of the (f - 1)-th power of cos from 0 to θ over
    that from -π/2 to π/2, by quadrature. It is concave in θ, so Newton's method converges from the normal quantile.
    For many degrees of freedom it is the normal quantile with the first two terms of its expansion, which is closer.

    `probability` is in [0.5, 1) and `freedom` at least 1; an infinite `freedom` is the normal distribution.

    >>> round(student_quantile(0.975, 4), 6)
    2.776445
    >>> round(student_quantile(0.975, math.inf), 6)
    1.959964
    """
    normal = NormalDist().inv_cdf(probability)
    if freedom > MANY:
        second = (5 * normal**5 + 16 * normal**3 + 3 * normal) / 96
        return normal + (normal**3 + normal) / 4 / freedom + second / freedom / freedom
    whole = math.sqrt(math.pi) * math.exp(math.lgamma(freedom / 2) - math.lgamma((freedom + 1) / 2))
    wanted = (probability - 0.5) * whole
    angle = math.atan(normal / math.sqrt(freedom))
    while True:
        area = angle / 2 * float(WEIGHTS @ np.cos(angle / 2 * (NODES + 1)) ** (freedom - 1))
        step = (wanted - area) / math.cos(angle) ** (freedom - 1)
        angle += step
        if step <= 1e-12 * angle:
            return math.sqrt(freedom) * math.tan(angle)


def student_p(ratios: NDArray[np.float64], freedom: float) -> NDArray[np.float64]:
    """The two-sided p of each ratio of an estimate to its standard error, of the shape of `ratios`; NaN of NaN.

    The integral of `student_quantile`, over the angles beyond the ratio's for as far as the power of cos matters.

    >>> [round(p, 6) for p in student_p(np.array([2.776445, 0.0]), 4).tolist()]
    [0.05, 1.0]
    >>> [round(p, 6) for p in student_p(np.array([-1.959964, np.nan]), math.inf).tolist()]
    [0.05, nan]
    """
    if math.isinf(freedom):
        return np.array([math.erfc(abs(ratio) / math.sqrt(2)) for ratio in ratios.ravel()]).reshape(ratios.shape)
    start = np.arctan(np.abs(ratios) / math.sqrt(freedom))
    reach = np.minimum(math.pi / 2 - start, 12 / math.sqrt(freedom))
    with np.errstate(under="ignore"):
        heights = np.cos(start[..., None] + reach[..., None] / 2 * (NODES + 1)) ** (freedom - 1)
    whole = math.sqrt(math.pi) * math.exp(math.lgamma(freedom / 2) - math.lgamma((freedom + 1) / 2))
    area = (heights * WEIGHTS).sum(axis=-1)  # the same bits for one ratio and for many, unlike a product of matrices
    p: NDArray[np.float64] = np.minimum(1.0, reach * area / whole)
    return p
