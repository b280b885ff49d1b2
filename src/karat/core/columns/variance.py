"""Several numbers for each row: the sums from which their variance between rows and within rows follows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def variance_statistics(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The statistics of rows for `variance_components`, shape (rows, 6), from numbers of shape (rows, repetitions).

    They are 1, the number of numbers k, k², their sum, its square by k, and the squared distances from the row's mean;
    NaN for a row without a number.
    """
    count = (~np.isnan(numbers)).sum(axis=1).astype(float)
    count[count == 0] = np.nan
    total = np.nansum(numbers, axis=1)
    within = np.nansum((numbers - (total / count)[:, None]) ** 2, axis=1)
    return np.column_stack([np.ones(len(numbers)), count, count**2, total, total**2 / count, within])


def variance_components(sums: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The variance between rows and that within rows, by analysis of variance, from sums of shape (..., 6).

    The variance between rows, without the variance of a row's mean, may be below 0. NaN where there is one row, or
    no row has two numbers.

    Source: S. Searle, "Linear Models" (1971), chapter 11, for rows with unequal numbers of numbers.

    >>> sums = variance_statistics(np.array([[1.0, 3.0], [5.0, 7.0]])).sum(axis=0)
    >>> [round(float(each), 6) for each in variance_components(sums)]
    [7.0, 2.0]
    """
    rows, count, squared, total, between, within = np.moveaxis(sums, -1, 0)
    with np.errstate(all="ignore"):
        inside = np.where(count > rows, within / (count - rows), np.nan)
        outside = np.where(rows > 1, (between - total**2 / count) / (rows - 1), np.nan)
        size = (count - squared / count) / (rows - 1)
        return (outside - inside) / size, inside
