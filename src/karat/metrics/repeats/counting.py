"""What is counted in the answers to each question: right ones, which are the same text, and votes.

The answers of all questions stand in one column, one question after the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from karat.core.columns.kinds import Array
from karat.core.metric.rows import divide


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
    plain = texts.cast(texts.type.value_type) if pa.types.is_dictionary(texts.type) else texts
    codes = np.asarray(plain.dictionary_encode().indices.fill_null(-1), np.int64)
    questions = np.repeat(np.arange(len(sizes)), sizes)
    keys = np.where(codes < 0, -1 - np.arange(len(codes)), codes + questions * (codes.max(initial=0) + 1))
    _, first, numbers, weights = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    counts = np.bincount(questions[first], minlength=len(sizes))
    return Groups(np.argsort(order)[numbers.reshape(-1)], first[order], weights[order], counts)


def count_ones(scores: Array, sizes: Array) -> NDArray[np.int64] | None:
    """How many scores of each question are 1; None if one is neither 0 nor 1.

    >>> count_ones(np.array([1.0, 0.0, 1.0, 0.0]), np.array([3, 0, 1])).tolist()
    [2, 0, 0]
    """
    if not ((scores == 0) | (scores == 1)).all():
        return None
    return np.bincount(np.repeat(np.arange(len(sizes)), sizes), scores, len(sizes)).astype(np.int64)


def vote(weights: Array, scores: Array, sizes: Array) -> NDArray[np.float64]:
    """The mean score of the texts of each question that have the largest weight; NaN where none has one above 0.

    >>> vote(np.array([2, 1, 1, 1]), np.array([0.0, 1.0, 0.0, 1.0]), np.array([2, 2, 0])).tolist()
    [0.0, 0.5, nan]
    """
    questions = np.repeat(np.arange(len(sizes)), sizes)
    most = np.ones(len(sizes), np.int64)
    np.maximum.at(most, questions, weights)
    won = weights == most[questions]
    sums, winners = (
        np.bincount(questions[won], scores[won], len(sizes)),
        np.bincount(questions[won], minlength=len(sizes)),
    )
    return divide(sums, winners, np.nan)
