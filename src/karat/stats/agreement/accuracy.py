"""How often two raters agree, and other means over rows."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from karat.core.errors import RowError
from karat.stats.agreement.coefficient import Coefficient, shares_of, undefined
from karat.stats.agreement.distance import CodedLabels, Distance
from karat.stats.intervals.wilson import Ends
from karat.stats.sums.exact import ExactSums

Scores: TypeAlias = NDArray[np.float64]
Weights: TypeAlias = NDArray[np.float64] | None
NO_ROWS = "no row has a label of both"


def accuracy(a: Scores, b: Scores, *, weights: Weights = None) -> Coefficient:
    """The share of rows on which two raters give the same label; rows that lack one are left out.

    `a`, `b` and `weights` have shape (rows,); NaN is a missing label.

    >>> accuracy(np.array([1.0, 0, 1, 1]), np.array([1.0, 1, 1, np.nan])).value
    0.6666666666666666
    """
    return mean(np.where(both(a, b), a == b, np.nan), weights=weights, empty=NO_ROWS)


def pairwise_accuracy(ratings: Scores, *, weights: Weights = None) -> Coefficient:
    """The mean over rows of the share of pairs of raters that agree; rows with fewer than two labels are left out.

    `ratings` has shape (rows, raters), NaN where a rater gave no label.

    >>> pairwise_accuracy(np.array([[1, 1, 1], [0, 0, 1], [np.nan, 0, 0]])).value
    0.7777777777777778
    """
    number = (~np.isnan(ratings)).sum(axis=1)
    labels = CodedLabels.of(ratings)
    apart = Distance.of(labels, "nominal").within(labels.codes)
    agreed = 1 - apart / np.maximum(number * (number - 1), 1)
    return mean(np.where(number > 1, agreed, np.nan), weights=weights, empty="no row has two labels")


def accuracy_with_each(scores: Scores, ratings: Scores, *, weights: Weights = None) -> Coefficient:
    """The mean over rows of the share of raters who give the label of one other; rows that lack either are left out.

    `scores` has shape (rows,), `ratings` (rows, raters), NaN where a rater gave no label.

    >>> accuracy_with_each(np.array([1.0, 0, 1, 1]), np.array([[1, 0], [0, np.nan], [1, 1], [1, 1]])).value
    0.875
    """
    number = (~np.isnan(ratings)).sum(axis=1)
    shares = (ratings == scores[:, None]).sum(axis=1) / np.maximum(number, 1)
    return mean(np.where((number > 0) & ~np.isnan(scores), shares, np.nan), weights=weights, empty=NO_ROWS)


def mean(
    values: Scores, *, bounds: Ends = (0.0, 1.0), weights: Weights = None, empty: str = "there is no row"
) -> Coefficient:
    """The mean of the values that are not NaN; `bounds` are the least and the greatest value, `empty` why there is
    none.

    >>> mean(np.array([1.0, np.nan, 0.0, 1.0, 1.0])).value
    0.75
    """
    used = ~np.isnan(values)
    if not used.any():
        return undefined(empty, len(values))
    shares, filled = shares_of(used, weights), np.where(used, values, 0.0)
    counted = np.where(used, 1.0 if weights is None else weights, 0.0)
    sums = ExactSums(2)
    for cell, each in enumerate((counted * filled, counted)):
        sums.add(np.full(len(each), cell), each)
    value = float(np.divide(*sums.rounded()))  # each rounded once: equal on every processor
    return Coefficient(value, shares * (filled - value), shares[None], bounds)


def both(a: Scores, b: Scores) -> NDArray[np.bool_]:
    """The rows that have a label of both raters; `RowError` where the raters have different numbers of rows."""
    if a.shape != b.shape or a.ndim != 1:
        raise RowError(f"two raters with equally many rows expected, found shapes {a.shape} and {b.shape}")
    return ~(np.isnan(a) | np.isnan(b))
