"""AUROC: how well a score tells yes from no, whatever threshold is chosen later."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from karat.core.errors import DataError
from karat.stats.agreement.accuracy import NO_ROWS, Scores, Weights, both
from karat.stats.agreement.coefficient import Coefficient, shares_of, undefined
from karat.stats.agreement.correlation import Ranks


def auroc(scores: Scores, labels: Scores, *, weights: Weights = None) -> Coefficient:
    """The probability that a row labelled 1 has a higher score than one labelled 0; equal scores count half.

    `scores` and `labels` have shape (rows,); rows in which one is NaN are left out. There is none where all labels are
    the same. Raises `DataError` for a label that is not 0 or 1.

    Source: E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under two or more correlated
    receiver operating characteristic curves", Biometrics 44 (1988); for clusters, N. A. Obuchowski, Biometrics 53
    (1997).

    >>> round(auroc(np.array([0.9, 0.4, 0.6, 0.1]), np.array([1.0, 1, 0, 0])).value, 4)
    0.75
    """
    used = both(scores, labels)
    if not used.any():
        return undefined(NO_ROWS, len(scores))
    score, yes = scores[used], binary(labels[used])
    if yes.all() or not yes.any():
        return undefined(f"every label is {int(yes[0])}", len(scores))
    kept = None if weights is None else weights[used]
    right, wrong = shares_of(yes, kept), shares_of(~yes, kept)
    ranks = Ranks.of(score)
    lower, higher = ranks.below(wrong), ranks.above(right)
    value = float(right @ lower)
    moved = right * (lower - value) * _unbiased(yes) + wrong * (higher - value) * _unbiased(~yes)
    influence, shares = np.zeros(len(scores)), np.zeros((2, len(scores)))
    influence[used], shares[:, used] = moved, (right, wrong)
    return Coefficient(min(1.0, max(0.0, value)), influence, shares, (0.0, 1.0))


def binary(labels: Scores) -> NDArray[np.bool_]:
    """Whether each label is 1; `DataError` for one that is neither 0 nor 1."""
    if odd := set(np.unique(labels)) - {0.0, 1.0}:
        raise DataError(f"labels 0 and 1 expected, found {min(odd):g}")
    return np.asarray(labels == 1)


def _unbiased(part: NDArray[np.bool_]) -> float:
    """What makes the variance within one of two samples unbiased, as n / (n - 1) of all rows will not."""
    size, n = int(part.sum()), len(part)
    return float(np.sqrt(size / max(size - 1, 1) * (n - 1) / n))
