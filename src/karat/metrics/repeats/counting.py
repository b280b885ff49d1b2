"""What is counted in the answers to each question: right ones, which are the same text, and votes.

The answers of all questions stand in one column, one question after the other. Where nothing was compiled (`COMPILED`),
the definitions are used; the kernels return the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from karat.core.columns.kinds import Array
from karat.metrics.text.string_comparison import parts

try:
    from karat.metrics._kernels import samples as kernel

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False


class Groups(NamedTuple):
    """The different texts of each question.

    `numbers`, shape (texts,): the number of each text among the different ones. `rows`, shape (different,), ascending:
    where each of these comes first; `weights`, shape (different,): how many texts are the same. `counts`, shape
    (questions,): how many different ones a question has.
    """

    numbers: NDArray[np.int64]
    rows: NDArray[np.int64]
    weights: NDArray[np.int64]
    counts: NDArray[np.int64]


def group_texts(texts: pa.Array, sizes: Array) -> Groups:
    """Which texts of a question are the same; a null is the same as no other.

    >>> [each.tolist() for each in group_texts(pa.array(["a", "b", "a", None, "a", None]), np.array([4, 2]))]
    [[0, 1, 0, 2, 3, 4], [0, 1, 3, 4, 5], [2, 1, 1, 1, 1], [3, 2]]
    """
    if COMPILED:
        numbers, rows, weights = np.empty((3, len(texts)), np.int64)
        counts = np.empty(len(sizes), np.int64)
        total = kernel.group_texts(*parts(texts), sizes, numbers, rows, weights, counts)
        return Groups(numbers, rows[:total], weights[:total], counts)
    seen: dict[tuple[int, str | int], int] = {}
    questions = np.repeat(np.arange(len(sizes)), sizes)
    keys = zip(questions.tolist(), texts.to_pylist(), strict=True)
    first = [
        seen.setdefault((question, row if text is None else text), row) for row, (question, text) in enumerate(keys)
    ]
    rows, numbers, weights = np.unique(np.array(first, np.int64), return_inverse=True, return_counts=True)
    return Groups(numbers.reshape(-1), rows, weights, np.bincount(questions[rows], minlength=len(sizes)))


def count_ones(scores: Array, sizes: Array) -> NDArray[np.int64] | None:
    """How many scores of each question are 1; None if one is neither 0 nor 1.

    >>> count_ones(np.array([1.0, 0.0, 1.0, 0.0]), np.array([3, 0, 1])).tolist()
    [2, 0, 0]
    """
    if COMPILED:
        counts = np.empty(len(sizes), np.int64)
        return counts if kernel.count_ones(np.ascontiguousarray(scores), sizes, counts) else None
    if not ((scores == 0) | (scores == 1)).all():
        return None
    return np.bincount(np.repeat(np.arange(len(sizes)), sizes), scores, len(sizes)).astype(np.int64)


def vote(weights: Array, scores: Array, sizes: Array) -> NDArray[np.float64]:
    """The mean score of the texts of each question that have the largest weight; NaN where none has one above 0.

    >>> vote(np.array([2, 1, 1, 1]), np.array([0.0, 1.0, 0.0, 1.0]), np.array([2, 2, 0])).tolist()
    [0.0, 0.5, nan]
    """
    means = np.full(len(sizes), np.nan)
    if COMPILED:
        kernel.vote(weights, np.ascontiguousarray(scores), sizes, means)
        return means
    starts = np.cumsum(sizes) - sizes
    for question, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        part = slice(start, start + size)
        won = weights[part] == max(1, weights[part].max(initial=0))
        if won.any():
            means[question] = scores[part][won].mean()
    return means
