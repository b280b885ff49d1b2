"""The share of one of two parts of a mixture, both of which are known."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from karat.stats.intervals.student import student_quantile
from karat.stats.value import Estimate

_SHARES = np.linspace(0, 1, 1001)[:-1]
_PART = 4096  # rows at a time


def fit_share(first: NDArray[np.float64], other: NDArray[np.float64], confidence: float = 0.95) -> Estimate:
    """The most likely share of rows that are of the other part, to 0.001, with its interval from the likelihood ratio.

    `first` and `other` have the probability of each row by either part, shape (n,).

    >>> first, other = np.array([0.9, 0.1]), np.array([0.2, 0.8])
    >>> seen = np.repeat([0, 1], [62, 38])  # 0.6 · 0.9 + 0.4 · 0.2 = 0.62
    >>> print(fit_share(first[seen], other[seen]))
    0.4000 (0.2700 – 0.5380)
    """
    if not len(first):
        return Estimate.missing("there are no rows")
    logs = np.zeros(len(_SHARES))
    pairs, counts = np.unique(np.column_stack([first, other]), axis=0, return_counts=True)
    for start in range(0, len(pairs), _PART):
        one, two = pairs[start : start + _PART].T
        mixed = np.outer(1 - _SHARES, one) + np.outer(_SHARES, two)
        logs += np.log(np.maximum(mixed, 1e-300)) @ counts[start : start + _PART]
    reach = student_quantile((1 + confidence) / 2, math.inf) ** 2 / 2
    inside = _SHARES[logs >= logs.max() - reach]
    return Estimate(float(_SHARES[logs.argmax()]), float(inside[0]), float(inside[-1]), len(first))
