"""Metrics of rankings that need the numbers of documents alone, not their order."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Annotated, Literal

import numpy as np

from karat.core.columns.kinds import Array, Counts, Graded, Ids, Score
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.setting import Grade, NotNegative, OptionalCount
from karat.metrics.retrieval.alignment import Aligned, align
from karat.metrics.retrieval.binary import TREC, Empty
from karat.metrics.retrieval.ranking import Formula


def total(totals: Array) -> Array:
    counted: Array = totals[..., 0]
    return counted


@metric(source=TREC.format("m_num_rel_ret"), finish=total, high=None)
def document_count(
    retrieved: Ids,
    relevant: Graded,
    *,
    of: Literal["queries", "retrieved", "relevant", "relevant_retrieved", "nonrelevant_retrieved"] = "retrieved",
    k: OptionalCount = None,
    rel: Grade = 1,
) -> Counts:
    """How many documents are retrieved, relevant or both, added up over all queries; or how many queries there are.

    `nonrelevant_retrieved` are those that are judged, with a grade from 0 to below `rel`. Retrieved documents count
    among the first k. A query without a ranking is unscored and not counted.

    >>> document_count([["a", "x", "b"], ["y"]], [["a", "b"], ["c"]], of="relevant_retrieved").to_pylist()
    [2.0, 0.0]
    """
    aligned = align(retrieved, relevant)
    if of == "queries":
        return np.ones((len(aligned.sizes), 1))
    if of == "retrieved":
        return _retrieved(aligned, k)[:, None]
    if of == "relevant":
        return _relevant(aligned, rel)[:, None]
    grades = (rel, inf) if of == "relevant_retrieved" else (0, rel)
    return _found(aligned, k, *grades)[:, None]


@metric(source=TREC.format("m_set_map"), aliases=("set_map",))
def set_average_precision(
    retrieved: Ids, relevant: Graded, *, k: OptionalCount = None, rel: Grade = 1, empty: Empty = "zero"
) -> Score:
    """Precision multiplied by recall: average precision, had all relevant documents the precision of the whole.

    `k`, `rel` and `empty` as in `precision`.

    >>> set_average_precision([["a", "x", "b", "y"]], [["a", "b", "c", "d"]]).to_pylist()
    [0.25]
    """
    aligned = align(retrieved, relevant)
    rows = Formula("recall", k, rel).score(aligned, empty)
    return replace(rows, statistics=rows.statistics * Formula("precision", k, rel).score(aligned).statistics)


def _check_weights(weights: list[float]) -> None:
    if len(weights) != 4 or not all(isinstance(each, int | float) and abs(each) < inf for each in weights):
        raise SpecError("four numbers are expected")


@metric(source=TREC.format("m_utility"), low=None, high=None)
def utility(
    retrieved: Ids,
    relevant: Graded,
    *,
    k: OptionalCount = None,
    rel: Grade = 1,
    weights: Annotated[list[float], _check_weights] = [1, -1, 0, 0],  # noqa: B006  (it is never changed)
    documents: NotNegative = 0,
) -> Score:
    """A weighted sum of the numbers of documents that are retrieved or not, relevant or not.

    The four `weights` are for relevant documents retrieved, others retrieved, relevant documents not retrieved
    and others not retrieved; for these `documents` is the size of the collection. `k` and `rel` as in `precision`.

    >>> utility([["a", "x", "y"]], [["a", "b"]]).to_pylist()
    [-1.0]
    """
    aligned = align(retrieved, relevant)
    hits, seen, known = _found(aligned, k, rel, inf), _retrieved(aligned, k), _relevant(aligned, rel)
    return np.stack([hits, seen - hits, known - hits, documents + hits - seen - known], axis=1) @ weights


def _retrieved(aligned: Aligned, k: int | None) -> Array:
    return np.minimum(aligned.sizes, inf if k is None else k)


def _relevant(aligned: Aligned, rel: float) -> Array:
    return _by_row(aligned.judged >= rel, aligned.judged_ends)


def _found(aligned: Aligned, k: int | None, low: float, high: float) -> Array:
    """How many retrieved documents have a grade from `low` to below `high`."""
    counted = (aligned.grades >= low) & (aligned.grades < high) & (aligned.ranks <= (inf if k is None else k))
    return _by_row(counted, aligned.match_ends)


def _by_row(counted: Array, ends: Array) -> Array:
    sums: Array = np.concatenate([[0.0], np.cumsum(counted)])
    return np.diff(sums[ends])
