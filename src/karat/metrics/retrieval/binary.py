"""Metrics of a ranked list of ids in which each id is relevant or not.

In all metrics of rankings an id retrieved twice counts at its first rank only, but keeps both ranks; null and empty ids
keep their ranks and match nothing; an id judged twice has the larger grade; an id that is not judged is not relevant.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from karat.core.columns.kinds import Graded, Ids, Score
from karat.core.metric.decorator import metric
from karat.core.metric.setting import Fraction, Grade, OptionalCount, Positive, check_fraction
from karat.metrics.retrieval.alignment import align
from karat.metrics.retrieval.ranking import Formula

TREC = "trec_eval 10, https://github.com/usnistgov/trec_eval/tree/f4253652c8, {}.c"


Empty: TypeAlias = Literal["zero", "unscored"]


@metric(source=TREC.format("m_P"))
def precision(
    retrieved: Ids, relevant: Graded, *, k: OptionalCount = None, rel: Grade = 1, empty: Empty = "zero"
) -> Score:
    """The share of the first k retrieved documents that are relevant.

    The denominator is k even where fewer are retrieved; without k it is the number retrieved. A document is relevant
    if its grade is `rel` or more. Where nothing is relevant the score is 0, or with `empty="unscored"` none.

    >>> precision([["a", "x", "b", "y"]], [["a", "b"]]).to_pylist()
    [0.5]
    >>> precision([["a", "x"]], [{"a": 2, "x": 1}], k=5, rel=2).to_pylist()
    [0.2]
    """
    return Formula("precision", k, rel).score(align(retrieved, relevant), empty)


@metric(source=TREC.format("m_recall"))
def recall(
    retrieved: Ids,
    relevant: Graded,
    *,
    k: OptionalCount = None,
    rel: Grade = 1,
    capped: bool = False,
    empty: Empty = "zero",
) -> Score:
    """The share of the relevant documents that are among the first k.

    With `capped=True` the denominator is k at most: trec_eval's relative_P, BEIR's capped recall. `rel` and `empty` as
    in `precision`.

    >>> recall([["a", "x", "b"]], [["a", "b", "c", "d"]]).to_pylist()
    [0.5]
    >>> recall([["a", "x", "b"]], [["a", "b", "c", "d"]], k=2, capped=True).to_pylist()
    [0.5]
    """
    return Formula("recall", k, rel, capped).score(align(retrieved, relevant), empty)


@metric(source=TREC.format("m_set_F"))
def f_measure(
    retrieved: Ids,
    relevant: Graded,
    *,
    k: OptionalCount = None,
    rel: Grade = 1,
    beta: Positive = 1,
    empty: Empty = "zero",
) -> Score:
    """The weighted harmonic mean of precision and recall, in which recall weighs `beta` times as much.

    trec_eval's parameter is the square of beta. `k`, `rel` and `empty` as in `precision`.

    >>> f_measure([["a", "x", "y", "z"]], [["a"]]).to_pylist()
    [0.4]
    """
    return Formula("f_measure", k, rel, beta).score(align(retrieved, relevant), empty)


@metric(source=TREC.format("m_success"), aliases=("success",))
def hit_rate(
    retrieved: Ids, relevant: Graded, *, k: OptionalCount = None, rel: Grade = 1, empty: Empty = "zero"
) -> Score:
    """1 where a relevant document is among the first k, else 0.

    `rel` and `empty` as in `precision`.

    >>> hit_rate([["x", "a"], ["x", "y"]], [["a"], ["a"]]).to_pylist()
    [1.0, 0.0]
    >>> hit_rate([["x", "a"]], [["a"]], k=1).to_pylist()
    [0.0]
    """
    return Formula("hit_rate", k, rel).score(align(retrieved, relevant), empty)


@metric(source=TREC.format("m_recip_rank"), aliases=("mrr", "recip_rank"))
def reciprocal_rank(
    retrieved: Ids, relevant: Graded, *, k: OptionalCount = None, rel: Grade = 1, empty: Empty = "zero"
) -> Score:
    """1 divided by the rank of the first relevant document; 0 where none is among the first k.

    `rel` and `empty` as in `precision`.

    >>> reciprocal_rank([["x", "a", "b"]], [["a", "b"]]).to_pylist()
    [0.5]
    """
    return Formula("reciprocal_rank", k, rel).score(align(retrieved, relevant), empty)


@metric(source=TREC.format("m_map_cut"), aliases=("map",))
def average_precision(
    retrieved: Ids, relevant: Graded, *, k: OptionalCount = None, rel: Grade = 1, empty: Empty = "zero"
) -> Score:
    """The mean over all relevant documents of the precision at their rank; 0 for those not among the first k.

    `rel` and `empty` as in `precision`.

    >>> average_precision([["a", "x", "b"]], [["a", "b"]]).to_pylist()
    [0.8333333333333333]
    >>> average_precision([["a", "x", "b"]], [["a", "b"]], k=1).to_pylist()
    [0.5]
    """
    return Formula("average_precision", k, rel).score(align(retrieved, relevant), empty)


@metric(source=TREC.format("m_Rprec_mult"), aliases=("Rprec",))
def r_precision(
    retrieved: Ids,
    relevant: Graded,
    *,
    k: OptionalCount = None,
    rel: Grade = 1,
    multiple: Positive = 1,
    empty: Empty = "zero",
) -> Score:
    """Precision at rank R, where R is the number of relevant documents.

    `multiple=0.2` is precision at rank R / 5, rounded up unless the fraction is below 0.1, as in trec_eval. `rel` and
    `empty` as in `precision`.

    >>> r_precision([["a", "x", "b"]], [["a", "b"]]).to_pylist()
    [0.5]
    """
    return Formula("r_precision", k, rel, multiple).score(align(retrieved, relevant), empty)


@metric(source=TREC.format("m_iprec_at_recall"))
def interpolated_precision(
    retrieved: Ids,
    relevant: Graded,
    *,
    k: OptionalCount = None,
    rel: Grade = 1,
    at: Annotated[float | None, check_fraction] = None,
    rounding: Literal["up", "nearest"] = "up",
    empty: Empty = "zero",
) -> Score:
    """The best precision at any rank where recall is at least `at`; without `at` the mean over eleven levels.

    The levels are 0, 0.1, … 1, as in trec_eval's 11pt_avg. Recall is `at` once `at * R` of R relevant documents are
    retrieved, rounded up unless the fraction is below 0.1, as in trec_eval 9, pytrec_eval and ir_measures;
    `rounding="nearest"` is what trec_eval 10 does. `rel` and `empty` as in `precision`.

    >>> interpolated_precision([["x", "a", "b"]], [["a", "b"]], at=0.5).to_pylist()
    [0.6666666666666666]
    """
    formula = Formula(f"interpolated_{rounding}", k, rel, -1 if at is None else at)
    return formula.score(align(retrieved, relevant), empty)


@metric(source="Moffat and Zobel 2008, Rank-Biased Precision, ACM TOIS 27(1), section 3")
def rank_biased_precision(
    retrieved: Ids,
    relevant: Graded,
    *,
    k: OptionalCount = None,
    rel: Grade = 1,
    persistence: Fraction = 0.8,
    empty: Empty = "zero",
) -> Score:
    """The expected share of relevant documents for a reader who goes on to each next rank with `persistence`.

    `persistence` is a probability. Documents beyond those retrieved count as not relevant. `rel` and `empty` as in
    `precision`.

    >>> rank_biased_precision([["a", "x", "b"]], [["a", "b"]], persistence=0.5).to_pylist()
    [0.625]
    """
    return Formula("rank_biased_precision", k, rel, persistence).score(align(retrieved, relevant), empty)
