"""How much each row moves a value of rows in the order of their confidence."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from karat.core.columns.kinds import Array
from karat.core.metric.in_order import Curve

STEPS = 256  # confidences that are told apart where only the spread of a value is computed


def steps(rows: Array) -> NDArray[np.int64]:
    """The step of each confidence, shape (m,): neighbours together, so that at most `STEPS` hold about as many rows.

    >>> steps(np.ones(4)).tolist()
    [0, 1, 2, 3]
    """
    if len(rows) <= STEPS:
        return np.arange(len(rows))
    middle = np.cumsum(rows) - rows / 2
    return np.unique((middle * (STEPS / rows.sum())).astype(np.int64), return_inverse=True)[1].reshape(-1)


def combine_steps(confidences: Array, rows: Array, scores: Array, at: NDArray[np.int64]) -> tuple[Array, Array, Array]:
    """Confidences, rows and scores by step; the confidence of a step is the mean of its rows."""
    count, sums = np.bincount(at, rows), np.bincount(at, scores)
    return np.bincount(at, rows * confidences) / count, count, sums


def influence(curve: Curve, confidences: Array, rows: Array, scores: Array) -> Array:
    """By how much the value is larger than without one of the rows, for wrong and right rows: shape (2, m).

    NaN where there is no such row, or no value without it.
    """
    one = np.eye(len(confidences))
    with np.errstate(all="ignore"):
        value = curve.value(confidences, rows, scores)
        less = np.stack([curve.value(confidences, rows - one, scores - right * one) for right in (0, 1)])
    moved: Array = np.where(np.stack([rows - scores, scores]) > 0, value - less, np.nan)
    return moved


def jackknife_variance(curve: Curve, confidences: Array, rows: Array, scores: Array) -> float:
    """The variance of the value, by leaving out each row; infinite where there is no value without one of them.

    A score between 0 and 1 counts as that share of a right row. Source: B. Efron and R. Tibshirani, "An Introduction to
    the Bootstrap" (1993), chapter 11; for the area under the ROC curve it is DeLong's variance but for rounding.
    """
    confidences, rows, scores = combine_steps(confidences, rows, scores, steps(rows))
    weights = np.stack([rows - scores, scores])
    moved, n = influence(curve, confidences, rows, scores), float(rows.sum())
    if np.isnan(moved[weights > 0]).any() or n < 2:
        return math.inf
    moved = np.where(weights > 0, moved, 0.0)
    mean = float((weights * moved).sum() / n)
    return float((n - 1) / n * (weights * (moved - mean) ** 2).sum())
