"""Metrics of a ranked list of ids in which each id is judged by subtopic: how many of them it covers, and how early.

A document is relevant to a subtopic if its grade there is `rel` or more. A subtopic to which nothing is relevant plays
no part. Of two documents with equal gain the best ranking has the one with the larger id first, as in ndeval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Ids, Score, Subtopics
from karat.core.metric.decorator import metric
from karat.core.metric.definition import Definition
from karat.core.metric.rows import Rows, find_too_long, score_rest
from karat.core.metric.setting import Fraction, Grade, OptionalCount
from karat.metrics.retrieval.binary import Empty
from karat.metrics.retrieval.coverage import cover
from karat.metrics.retrieval.novelty import Novelty

NDEVAL = "ndeval 4.5 of the TREC web tracks, https://github.com/trec-web/trec-web-2013/tree/master/src/eval"
Ideal: TypeAlias = Literal["judged", "perfect"]
DOCUMENTS = 10  # the cost of a pair of a rank and a document


def _bound(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    """No upper bound where the best ranking of the judged documents is found greedily: there may be a better one."""
    return replace(definition, high=1.0 if settings["ideal"] == "perfect" else None)


def _score(formula: Novelty, retrieved: pa.Array, subtopics: pa.Array, rel: float, empty: Empty) -> Rows:
    """The score of each row by the formula; a row whose ideal ranking takes too many comparisons is unscored."""
    documents = np.diff(np.asarray(subtopics.offsets)) if formula.name.endswith("_judged") else np.zeros(len(subtopics))
    depth = documents if formula.k is None else np.minimum(documents, formula.k)
    reasons = find_too_long(depth, documents, "judged documents", DOCUMENTS)
    return score_rest(reasons, (retrieved, subtopics), lambda one, other: formula.score(cover(one, other, rel), empty))


@metric(source=f"Clarke et al. 2008, Novelty and diversity, SIGIR; {NDEVAL}", high=None, specialise=_bound)
def alpha_ndcg(
    retrieved: Ids,
    subtopics: Subtopics,
    *,
    k: OptionalCount = None,
    rel: Grade = 1,
    alpha: Fraction = 0.5,
    ideal: Ideal = "judged",
    empty: Empty = "zero",
) -> Score:
    """Discounted cumulative gain in which a subtopic gains less each further time, divided by the best possible.

    A document gains 1 for each of its subtopics, times 1 - alpha for each time that one was covered above it, divided
    by log2(rank + 1). The best possible ranking is of the documents that are `judged`, found greedily, so that a
    score above 1 is possible; or a `perfect` one, in which each document is relevant to all subtopics: ndeval's
    alpha-DCG. Where nothing is relevant the score is 0, or with `empty="unscored"` none. A row with more than
    1,000,000,000 pairs of a rank and a judged document is unscored.

    >>> [score] = alpha_ndcg([["b", "a"]], [{"a": {"1": 1, "2": 1}, "b": {"1": 1}}]).to_pylist()
    >>> round(score, 4)
    0.8406
    """
    return _score(Novelty(f"logarithm_{ideal}", k, alpha), retrieved, subtopics, rel, empty)


@metric(source=f"Chapelle et al. 2009, Expected reciprocal rank, CIKM; {NDEVAL}", specialise=_bound)
def err_ia(
    retrieved: Ids,
    subtopics: Subtopics,
    *,
    k: OptionalCount = None,
    rel: Grade = 1,
    alpha: Fraction = 0.5,
    ideal: Ideal = "perfect",
    empty: Empty = "zero",
) -> Score:
    """Expected reciprocal rank, by intent: as `alpha_ndcg`, but each gain is divided by the rank.

    With `ideal="judged"` it is ndeval's nERR-IA. Other settings as in `alpha_ndcg`.

    >>> err_ia([["b", "a"]], [{"a": {"1": 1, "2": 1}, "b": {"1": 1}}]).to_pylist()
    [0.7]
    """
    return _score(Novelty(f"rank_{ideal}", k, alpha), retrieved, subtopics, rel, empty)


@metric(
    source=f"Clarke et al. 2009, An effectiveness measure for ambiguous and underspecified queries, ICTIR; {NDEVAL}",
    specialise=_bound,
    aliases=("nrbp",),
)
def novelty_rank_biased_precision(
    retrieved: Ids,
    subtopics: Subtopics,
    *,
    k: OptionalCount = None,
    rel: Grade = 1,
    alpha: Fraction = 0.5,
    persistence: Fraction = 0.5,
    ideal: Ideal = "perfect",
    empty: Empty = "zero",
) -> Score:
    """As `alpha_ndcg`, for a reader who goes on to each next rank with a probability, `persistence`.

    With `ideal="judged"` it is ndeval's nNRBP. Other settings as in `alpha_ndcg`.

    >>> novelty_rank_biased_precision([["b", "a"]], [{"a": {"1": 1, "2": 1}, "b": {"1": 1}}]).to_pylist()
    [0.65625]
    """
    return _score(Novelty(f"persistence_{ideal}", k, alpha, persistence), retrieved, subtopics, rel, empty)


@metric(source=f"Zhai et al. 2003, Beyond independent relevance, SIGIR; {NDEVAL}")
def subtopic_recall(
    retrieved: Ids, subtopics: Subtopics, *, k: OptionalCount = None, rel: Grade = 1, empty: Empty = "zero"
) -> Score:
    """The share of the subtopics to which one of the first k documents is relevant.

    `rel` and `empty` as in `alpha_ndcg`.

    >>> subtopic_recall([["b", "a"]], [{"a": {"1": 1, "2": 1}, "b": {"1": 1}}], k=1).to_pylist()
    [0.5]
    """
    return Novelty("subtopic_recall", k).score(cover(retrieved, subtopics, rel), empty)


@metric(source=f"Agrawal et al. 2009, Diversifying search results, WSDM; {NDEVAL}")
def precision_ia(
    retrieved: Ids, subtopics: Subtopics, *, k: OptionalCount = None, rel: Grade = 1, empty: Empty = "zero"
) -> Score:
    """Precision, by intent: the mean over the subtopics of the share of the first k documents relevant to each.

    The denominator is k even where fewer are retrieved. `rel` and `empty` as in `alpha_ndcg`.

    >>> precision_ia([["b", "a"]], [{"a": {"1": 1, "2": 1}, "b": {"1": 1}}]).to_pylist()
    [0.75]
    """
    return Novelty("precision", k).score(cover(retrieved, subtopics, rel), empty)


@metric(source=f"Agrawal et al. 2009, Diversifying search results, WSDM; {NDEVAL}")
def average_precision_ia(
    retrieved: Ids, subtopics: Subtopics, *, k: OptionalCount = None, rel: Grade = 1, empty: Empty = "zero"
) -> Score:
    """Average precision, by intent: the mean over the subtopics of `average_precision` for each.

    `rel` and `empty` as in `alpha_ndcg`.

    >>> average_precision_ia([["b", "a"]], [{"a": {"1": 1, "2": 1}, "b": {"1": 1}}]).to_pylist()
    [0.75]
    """
    return Novelty("average_precision", k).score(cover(retrieved, subtopics, rel), empty)
