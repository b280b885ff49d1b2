"""Whether scores change in the course of asking, as those of a judge whose model was exchanged meanwhile do."""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np

from karat.core.columns.kinds import Array

LEVEL = 0.001  # a chance that is small enough for a warning without being asked
_LEAST = 20  # scores


@dataclass(frozen=True)
class Drift:
    """The mean scores of the earlier and of the later half, and `p`: how often chance alone gives such a course."""

    earlier: float
    later: float
    p: float

    @property
    def in_words(self) -> str:
        """The course, as a caution.

        >>> print(Drift(0.71, 0.5, 2e-6).in_words.partition(" (")[0])
        in the order of asking the mean score went from 0.71 in the first half to 0.50 in the second
        """
        course = f"the mean score went from {self.earlier:.2f} in the first half to {self.later:.2f} in the second"
        return f"in the order of asking {course} (p = {self.p:.1g}): did the judge's model change meanwhile?"


def find_drift(scores: Array) -> Drift | None:
    """The drift of scores in the order in which they were asked, shape (scores,); None for fewer than 20 or all equal.

    In a random order no place says anything of a score: the rank correlation of scores with their places has the mean 0
    and the variance 1 / (n - 1) over all orders, whatever the scores are (Kendall 1938; Hotelling & Pabst 1936).

    >>> drift = find_drift(np.repeat([1.0, 0.0, 1.0, 0.0], [60, 20, 30, 50]))
    >>> drift.earlier, drift.later, drift.p < 0.001
    (0.75, 0.375, True)
    """
    if len(scores) < _LEAST or (scores == scores[0]).all():
        return None
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (counts.cumsum() - (counts - 1) / 2)[places]  # those of equal scores are the mean of theirs
    correlation = np.corrcoef(ranks, np.arange(len(scores)))[0, 1]
    half = len(scores) // 2
    p = erfc(abs(correlation) * sqrt((len(scores) - 1) / 2))
    return Drift(float(scores[:half].mean()), float(scores[half:].mean()), float(p))
