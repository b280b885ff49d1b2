"""The confusion matrix of two raters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from karat.stats.agreement.accuracy import Scores, both
from karat.stats.agreement.distance import CodedLabels


@dataclass(frozen=True)
class Confusion:
    """How often each label of the first rater (rows) meets each label of the second (columns).

    `labels` are both raters', in ascending order; `counts` has a tuple for each label of the first rater.
    """

    labels: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]


def confusion_matrix(a: Scores, b: Scores) -> Confusion:
    """Count the labels of two raters, each of shape (rows,); rows in which one is NaN are left out.

    >>> confusion_matrix(np.array([1.0, 1, 0]), np.array([1.0, 0, 0])).counts
    ((1, 0), (1, 1))
    """
    labels = CodedLabels.of(np.column_stack([a, b])[both(a, b)])
    size = len(labels)
    cells = labels.codes @ np.array([size, 1])
    counts = np.bincount(cells, minlength=size**2).reshape(size, size).tolist()
    return Confusion(tuple(labels.values.tolist()), tuple(map(tuple, counts)))
