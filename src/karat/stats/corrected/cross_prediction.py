"""Scores by a rule that was fitted to the labels: each row's own label has no part in its score."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from karat.core.errors import DataError
from karat.stats.corrected.judged import Judged

Rule: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
FOLDS = 10


def cross_predict(
    judged: Judged, fit: Callable[[NDArray[np.float64], NDArray[np.float64]], Rule], *, seed: int = 0
) -> NDArray[np.float64]:
    """The judge's scores after a rule, such as a threshold, that `fit` finds from scores and labels, shape (rows,).

    A rule that was chosen to agree with some labels agrees with them better than with others, and a value corrected by
    them would look too sure. So the labels are divided into ten folds, by cluster if there are clusters. A row with a
    label is scored by the rule of the other nine folds; other rows have the mean over the ten rules. Rows without a
    score stay NaN.

    Raises `DataError` for fewer than two labels, rows or clusters that have score and label.

    Source: T. Zrnic and E. Candès, "Cross-prediction-powered inference", PNAS 121 (2024), arXiv:2309.16598.

    >>> scores = np.array([0.9, 0.8, 0.3, 0.2, 0.7, 0.1])
    >>> judged = Judged(scores, np.array([1.0, 1.0, 0.0, 0.0, np.nan, np.nan]))
    >>> cross_predict(judged, lambda scores, labels: lambda new: (new > scores.mean()).astype(float)).tolist()
    [1.0, 1.0, 0.0, 0.0, 1.0, 0.0]
    """
    there = ~np.isnan(judged.scores)
    both = np.flatnonzero(judged.labelled & there)
    fold = assign_folds(both if judged.clusters is None else judged.clusters[both], seed)
    folds = int(fold.max()) + 1
    scores, labels = judged.scores[both], judged.labels[both]
    predicted = np.zeros((2, len(there)))
    for each in range(folds):
        rule = fit(scores[fold != each], labels[fold != each])
        predicted[0, there] += rule(judged.scores[there]) / folds
        predicted[1, both[fold == each]] = rule(scores[fold == each])
    mean, own = predicted
    mean[both], mean[~there] = own[both], np.nan
    return mean


def assign_folds(units: NDArray[np.integer], seed: int = 0) -> NDArray[np.int64]:
    """The fold of each row, shape (rows,): ten of about equally many units, or as many as there are units.

    `units`, shape (rows,), are equal in rows that belong together, which are in one fold. Raises `DataError` for fewer
    than two units.

    >>> assign_folds(np.array([7, 7, 8, 9])).tolist()
    [2, 2, 0, 1]
    """
    groups, place = np.unique(units, return_inverse=True)
    if len(groups) < 2:
        raise DataError(f"at least 2 labelled rows or clusters with scores expected, found {len(groups)}")
    folds = min(FOLDS, len(groups))
    return np.random.default_rng(seed).permutation(np.arange(len(groups)) % folds)[place]
