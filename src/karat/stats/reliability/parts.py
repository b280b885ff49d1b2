"""What scores are over the parts of a range, such as from short answers to long ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from karat.stats.agreement.accuracy import mean
from karat.stats.value import Estimate

PARTS = 10


@dataclass(frozen=True)
class PartMean:
    """Rows whose number lies from `low` to `high`: the mean of their numbers, and the mean of their scores."""

    low: float
    high: float
    number: float
    score: Estimate


def divide(numbers: NDArray[np.float64], most: int = PARTS) -> NDArray[np.float64]:
    """The ends of at most so many parts with about equally many of the numbers; NaN does not count.

    >>> divide(np.array([1, 1, 1, 2, 3, 4, 5.0]), 2).tolist()
    [1.0, 2.0, 5.0]
    """
    there = numbers[~np.isnan(numbers)]
    return np.unique(np.quantile(there, np.linspace(0, 1, most + 1))) if len(there) else there


def mean_by_part(
    numbers: NDArray[np.float64], scores: NDArray[np.float64], ends: NDArray[np.float64], confidence: float = 0.95
) -> tuple[PartMean, ...]:
    """The mean score of the rows in each part, shape (rows,) each; parts without a row are left out.

    A number on the end of a part is in the next one, but for the last end. Rows where one is NaN do not count.

    >>> found = mean_by_part(np.array([1, 1, 2, 2.0]), np.array([0, 0.5, 1, 0.5]), np.array([1, 1.5, 2]))
    >>> [(each.number, each.score.value) for each in found]
    [(1.0, 0.25), (2.0, 0.75)]
    """
    known = ~(np.isnan(numbers) | np.isnan(scores))
    numbers, scores = numbers[known], scores[known]
    if not len(scores):
        return ()
    bounds = (float(min(0.0, scores.min())), float(max(1.0, scores.max())))
    part_of = np.clip(np.searchsorted(ends, numbers, side="right") - 1, 0, max(len(ends) - 2, 0))
    means = []
    for at in np.unique(part_of).tolist():
        rows = part_of == at
        score = mean(scores[rows], bounds=bounds).estimate(confidence=confidence)
        means.append(
            PartMean(float(ends[at]), float(ends[min(at + 1, len(ends) - 1)]), float(numbers[rows].mean()), score)
        )
    return tuple(means)
