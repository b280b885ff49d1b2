"""Metrics of a ranked list of ids that use grades, or which ids are judged at all."""

from __future__ import annotations

from karat.core.columns.kinds import Graded, Ids, Score
from karat.core.errors import RowError
from karat.core.metric.decorator import metric
from karat.core.metric.setting import Grade, OptionalCount, Positive
from karat.metrics.retrieval.alignment import align
from karat.metrics.retrieval.binary import TREC, Empty
from karat.metrics.retrieval.gains import ANY_GAIN, Gain, as_gains
from karat.metrics.retrieval.ranking import Formula

JARVELIN = "Järvelin and Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4); "
BURGES = "; exp2: Burges et al. 2005, Learning to rank using gradient descent, ICML"


@metric(source=JARVELIN + TREC.format("m_ndcg_cut") + BURGES)
def ndcg(
    retrieved: Ids,
    relevant: Graded,
    *,
    k: OptionalCount = None,
    gain: Gain = "linear",
    empty: Empty = "zero",
) -> Score:
    """Discounted cumulative gain of the first k documents, divided by the gain of the best possible ranking.

    Each gain is divided by log2(rank + 1). A document's gain is its grade, with `gain="exp2"` 2^grade - 1; a grade
    below 0 has no gain. `gain={"1": 3.5, "2": 9}` says what these grades are worth, the others remain what they are.
    Where there is no gain above 0 the score is 0, or with `empty="unscored"` none.

    >>> linear, exp2 = (ndcg([["b", "a"]], [{"a": 2, "b": 1}], gain=gain) for gain in ("linear", "exp2"))
    >>> round(linear.to_pylist()[0], 4), round(exp2.to_pylist()[0], 4)
    (0.8597, 0.7967)
    """
    aligned = align(retrieved, relevant)
    if not isinstance(gain, str):
        aligned = as_gains(aligned, gain)
    return Formula("ndcg", k, gain == "exp2").score(aligned, empty, ANY_GAIN)


@metric(source="Chapelle et al. 2009, Expected reciprocal rank for graded relevance, CIKM, equations 4 and 5")
def err(
    retrieved: Ids, relevant: Graded, *, k: OptionalCount = None, max_grade: Positive = 4, empty: Empty = "zero"
) -> Score:
    """Expected reciprocal rank: the expected value of 1 / rank of the document that satisfies the reader.

    A document satisfies the reader with probability (2^grade - 1) / 2^max_grade, or 0 where its grade is below 0.
    `max_grade` is the largest grade that a judge could give, 4 in TREC's web tracks; a larger grade in the data is an
    error. `empty` as in `ndcg`.

    >>> err([["b", "a"]], [{"a": 2, "b": 1}], max_grade=2).to_pylist()
    [0.53125]
    """
    aligned = align(retrieved, relevant)
    if len(aligned.judged) and (largest := aligned.judged.max()) > max_grade:
        raise RowError(f"err: relevant has a grade of {largest:g}, above max_grade={max_grade:g}")
    return Formula("err", k, max_grade).score(aligned, empty, ANY_GAIN)


@metric(
    source="Buckley and Voorhees 2004, Retrieval evaluation with incomplete information, SIGIR; "
    + TREC.format("m_bpref")
)
def bpref(retrieved: Ids, relevant: Graded, *, k: OptionalCount = None, rel: Grade = 1, empty: Empty = "zero") -> Score:
    """How rarely documents judged not relevant are ranked above relevant ones; unjudged documents are ignored.

    A document is judged not relevant if its grade is from 0 to below `rel`; a grade below 0 means unjudged, as in
    trec_eval. Where nothing is relevant the score is 0, or with `empty="unscored"` none.

    >>> bpref([["x", "n", "a", "b"]], [{"a": 1, "b": 1, "n": 0, "m": 0}]).to_pylist()
    [0.5]
    """
    return Formula("bpref", k, rel).score(align(retrieved, relevant), empty)


@metric(
    source="Yilmaz and Aslam 2006, Estimating average precision with incomplete and imperfect judgments, CIKM; "
    + TREC.format("m_infap"),
    aliases=("infAP",),
)
def inferred_average_precision(
    retrieved: Ids, relevant: Graded, *, k: OptionalCount = None, rel: Grade = 1, empty: Empty = "zero"
) -> Score:
    """Average precision, estimated where only a sample of the documents that were pooled is judged.

    A document with a grade below 0 is in the pool but not judged; one without a grade is in no pool and not relevant.
    `rel` and `empty` as in `precision`.

    >>> inferred_average_precision([["u", "a"]], [{"a": 1, "u": -1}]).to_pylist()
    [0.75]
    """
    return Formula("inferred_precision", k, rel).score(align(retrieved, relevant), empty)


@metric(source=TREC.format("m_unjudged") + "; Judged of ir_measures 0.4.3")
def judged(retrieved: Ids, relevant: Graded, *, k: OptionalCount = None) -> Score:
    """The share of the retrieved documents, of the first k at most, that are judged: with a grade of 0 or more.

    Where the share is low, other metrics count many documents as not relevant that nobody has judged. The gold must
    contain its grades of 0. Where nothing is retrieved the score is 0.

    >>> judged([["a", "x", "n"]], [{"a": 1, "n": 0}]).to_pylist()
    [0.6666666666666666]
    """
    return Formula("judged", k, 0).score(align(retrieved, relevant))
