"""How good a ranked list of ids is where grades, or what is judged at all, matter."""

from __future__ import annotations

from math import ulp
from typing import Literal

from karat.core.columns.kinds import Graded, Ids, Score
from karat.core.errors import RowError
from karat.core.metric.decorator import metric
from karat.metrics.retrieval import rows
from karat.metrics.retrieval.alignment import align
from karat.metrics.retrieval.binary import TREC, Cutoff, Empty, Positive
from karat.metrics.retrieval.rows import score_rows

JARVELIN = "Järvelin and Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4); "
BURGES = "; exp2: Burges et al. 2005, Learning to rank using gradient descent, ICML"


@metric(source=JARVELIN + TREC.format("m_ndcg_cut") + BURGES)
def ndcg(
    retrieved: Ids,
    relevant: Graded,
    *,
    k: Cutoff = None,
    gain: Literal["linear", "exp2"] = "linear",
    empty: Empty = "zero",
) -> Score:
    """The gain of the first k, each divided by log2(rank + 1), as a share of the best ranking's.

    A document's gain is its grade, with `gain="exp2"` 2^grade - 1; a grade below 0 gains nothing. Where no grade is
    above 0 the score is 0, with `empty="unscored"` there is none.

    >>> ndcg([["b", "a"]], [{"a": 2, "b": 1}]).to_pylist()
    [0.8597186998521972]
    >>> ndcg([["b", "a"]], [{"a": 2, "b": 1}], gain="exp2").to_pylist()
    [0.7967075809905066]
    """
    return score_rows(rows.ndcg, align(retrieved, relevant), k, gain == "exp2", empty=empty, rel=ulp(0.0))


@metric(source="Chapelle et al. 2009, Expected reciprocal rank for graded relevance, CIKM, equations 4 and 5")
def err(retrieved: Ids, relevant: Graded, *, k: Cutoff = None, max_grade: Positive = 4, empty: Empty = "zero") -> Score:
    """One over the rank at which a reader is expected to be satisfied, who is so with (2^grade - 1) / 2^max_grade.

    `max_grade` is the largest grade that a judge could give, 4 in TREC's web tracks; a larger one in the data is an
    error. A grade below 0 satisfies nobody. `empty` as in `ndcg`.

    >>> err([["b", "a"]], [{"a": 2, "b": 1}], max_grade=2).to_pylist()
    [0.53125]
    """
    aligned = align(retrieved, relevant)
    if len(aligned.judged) and (largest := aligned.judged.max()) > max_grade:
        raise RowError(f"err: relevant has a grade of {largest:g}, above max_grade={max_grade:g}")
    return score_rows(rows.err, aligned, k, max_grade, empty=empty, rel=ulp(0.0))


@metric(
    source="Buckley and Voorhees 2004, Retrieval evaluation with incomplete information, SIGIR; "
    + TREC.format("m_bpref")
)
def bpref(retrieved: Ids, relevant: Graded, *, k: Cutoff = None, rel: float = 1, empty: Empty = "zero") -> Score:
    """How seldom something judged not relevant stands above something relevant; what is not judged is passed over.

    Judged not relevant is a grade from 0 to below `rel`; one below 0 says, as in trec_eval, that nobody judged. Where
    nothing is relevant the score is 0, with `empty="unscored"` there is none.

    >>> bpref([["x", "n", "a", "b"]], [{"a": 1, "b": 1, "n": 0, "m": 0}]).to_pylist()
    [0.5]
    """
    return score_rows(rows.bpref, align(retrieved, relevant), k, rel, empty=empty, rel=rel)


@metric(source=TREC.format("m_unjudged") + "; Judged of ir_measures 0.4.3")
def judged(retrieved: Ids, relevant: Graded, *, k: Cutoff = None) -> Score:
    """The share of what is retrieved, of the first k at most, that has a grade of 0 or more.

    A low share says that other metrics take much for not relevant that nobody looked at. The gold needs its grades of 0
    for that. Where nothing is retrieved the score is 0.

    >>> judged([["a", "x", "n"]], [{"a": 1, "n": 0}]).to_pylist()
    [0.6666666666666666]
    """
    return score_rows(rows.judged, align(retrieved, relevant), k, 0)
