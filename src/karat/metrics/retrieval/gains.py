"""Gains of grades, and metrics of a ranked list of ids that count gains in other ways than nDCG."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf, ulp
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from karat.core.columns.kinds import Array, Graded, Ids, Score
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.setting import Grade
from karat.metrics.retrieval.alignment import Aligned, align
from karat.metrics.retrieval.binary import TREC, Empty
from karat.metrics.retrieval.ranking import Formula

ANY_GAIN = ulp(0.0)
"""The least gain above 0: what has it counts as relevant."""


def check_gain(gain: Any) -> Any:
    """The setting as it is kept: the grades as text, ascending."""
    if not isinstance(gain, Mapping):
        return gain
    try:
        worth = {float(grade): each for grade, each in gain.items()}
    except (TypeError, ValueError):
        worth = {}
    if not worth or not all(isinstance(each, int | float) and 0 <= each < inf for each in worth.values()):
        raise SpecError("a gain of 0 or more for each grade is expected, such as {'1': 3.5, '2': 9}")
    return {f"{grade:.17g}": worth[grade] for grade in sorted(worth)}


Gain: TypeAlias = Annotated[Literal["linear", "exp2"] | dict[str, float], check_gain]
"""What a grade is worth: itself, 2^grade - 1, or what is said of it; a grade of which nothing is said is itself."""


def as_gains(aligned: Aligned, gain: str | Mapping[str, float]) -> Aligned:
    """The same rankings with gains in the place of grades; a grade below 0 has no gain."""
    if gain == "linear":
        return aligned
    grades, judged = _gains(aligned.grades, gain), _gains(aligned.judged, gain)
    rows = np.repeat(np.arange(len(aligned.sizes)), np.diff(aligned.judged_ends))
    return replace(aligned, grades=grades, judged=judged[np.lexsort((-judged, rows))])


def _gains(grades: Array, gain: str | Mapping[str, float]) -> Array:
    gains: Array = np.maximum(grades, 0.0)
    if isinstance(gain, str):
        with np.errstate(over="ignore"):
            return np.exp2(gains) - 1
    for grade, worth in gain.items():
        gains[grades == float(grade)] = worth
    return gains


@metric(source=TREC.format("m_G"), aliases=("G",))
def normalized_gain(retrieved: Ids, relevant: Graded, *, gain: Gain = "linear", empty: Empty = "zero") -> Score:
    """The gain of each document, less the more gain was missed above it, divided by all gain there is.

    A gain is divided by log2(2 + c - g): g is the gain of all documents up to this rank, c the gain that the best
    possible ranking has there, each of its documents counting 1 at least. `gain` and `empty` as in `ndcg`.

    >>> [score] = normalized_gain([["x", "a", "b"]], [{"a": 1, "b": 1}]).to_pylist()
    >>> round(score, 4)
    0.6309
    """
    return Formula("normalized_gain", None, 0).score(as_gains(align(retrieved, relevant), gain), empty, ANY_GAIN)


@metric(source=TREC.format("m_binG"), aliases=("binG",))
def binary_gain(retrieved: Ids, relevant: Graded, *, rel: Grade = 1, empty: Empty = "zero") -> Score:
    """The mean over all relevant documents of 1 / log2(2 + the documents above it that are not relevant).

    A relevant document that is not retrieved counts 0. `rel` and `empty` as in `precision`.

    >>> [score] = binary_gain([["x", "a", "b"]], [["a", "b"]]).to_pylist()
    >>> round(score, 4)
    0.6309
    """
    return Formula("binary_gain", None, rel).score(align(retrieved, relevant), empty)


@metric(source=TREC.format("m_ndcg_rel"), aliases=("ndcg_rel",))
def ndcg_at_relevant(retrieved: Ids, relevant: Graded, *, gain: Gain = "linear", empty: Empty = "zero") -> Score:
    """The mean of nDCG at the rank of each document that has a gain.

    For a document that is not retrieved it is nDCG at the end of the ranking. `gain` and `empty` as in `ndcg`.

    >>> [score] = ndcg_at_relevant([["b", "a"]], [{"a": 2, "b": 1}]).to_pylist()
    >>> round(score, 4)
    0.6799
    """
    return Formula("ndcg_at_relevant", None, 0).score(as_gains(align(retrieved, relevant), gain), empty, ANY_GAIN)


@metric(source=TREC.format("m_Rndcg"), aliases=("Rndcg",))
def ndcg_at_levels(retrieved: Ids, relevant: Graded, *, gain: Gain = "linear", empty: Empty = "zero") -> Score:
    """The mean of nDCG at the ranks where the documents of each gain end in the best possible ranking.

    With two documents of gain 3 and five of gain 1 these are the ranks 2 and 7; a ranking longer than these by two or
    more is measured at its end too, as in trec_eval. `gain` and `empty` as in `ndcg`.

    >>> [score] = ndcg_at_levels([["b", "a"]], [{"a": 2, "b": 1}]).to_pylist()
    >>> round(score, 4)
    0.6799
    """
    return Formula("ndcg_at_levels", None, 0).score(as_gains(align(retrieved, relevant), gain), empty, ANY_GAIN)
