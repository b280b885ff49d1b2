"""How good a ranked list of ids is where each id is relevant or not.

In all metrics of rankings an id retrieved twice counts at its first rank and fills the later one, null and empty ids
fill ranks and match nothing, an id judged twice has its largest grade, and one that is not judged is not relevant.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from karat.core.columns.kinds import Graded, Ids, Score
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.rows import Rows
from karat.metrics.retrieval import rows
from karat.metrics.retrieval.alignment import align
from karat.metrics.retrieval.rows import score_rows

TREC = "trec_eval 10, https://github.com/usnistgov/trec_eval/tree/f4253652c8, {}.c"


def check_cutoff(k: int | None) -> None:
    if k is not None and k < 1:
        raise SpecError("a cut-off is 1 or more, or None")


def check_positive(value: float) -> None:
    if not 0 < value < float("inf"):
        raise SpecError("a number above 0 is expected")


def check_share(value: float | None) -> None:
    if value is not None and not 0 <= value <= 1:
        raise SpecError("a number from 0 to 1 is expected")


Cutoff: TypeAlias = Annotated[int | None, check_cutoff]
Positive: TypeAlias = Annotated[float, check_positive]
Share: TypeAlias = Annotated[float, check_share]
Level: TypeAlias = Annotated[float | None, check_share]
Empty: TypeAlias = Literal["zero", "unscored"]


@metric(source=TREC.format("m_P"))
def precision(retrieved: Ids, relevant: Graded, *, k: Cutoff = None, rel: float = 1, empty: Empty = "zero") -> Score:
    """The share of the first k that is relevant.

    Of k, also where fewer are retrieved; without k of all that is retrieved. Relevant is a grade of `rel` or more.
    Where nothing is relevant the score is 0, with `empty="unscored"` there is none.

    >>> precision([["a", "x", "b", "y"]], [["a", "b"]]).to_pylist()
    [0.5]
    >>> precision([["a", "x"]], [{"a": 2, "x": 1}], k=5, rel=2).to_pylist()
    [0.2]
    """
    return _score(rows.precision, retrieved, relevant, k, rel, 0, empty)


@metric(source=TREC.format("m_recall"))
def recall(
    retrieved: Ids,
    relevant: Graded,
    *,
    k: Cutoff = None,
    rel: float = 1,
    capped: bool = False,
    empty: Empty = "zero",
) -> Score:
    """The share of what is relevant that is among the first k.

    With `capped=True` the share of what could be there, of k at most: trec_eval's relative_P, BEIR's capped recall.
    `rel` and `empty` as in `precision`.

    >>> recall([["a", "x", "b"]], [["a", "b", "c", "d"]]).to_pylist()
    [0.5]
    >>> recall([["a", "x", "b"]], [["a", "b", "c", "d"]], k=2, capped=True).to_pylist()
    [0.5]
    """
    return _score(rows.recall, retrieved, relevant, k, rel, capped, empty)


@metric(source=TREC.format("m_set_F"))
def f_measure(
    retrieved: Ids,
    relevant: Graded,
    *,
    k: Cutoff = None,
    rel: float = 1,
    beta: Positive = 1,
    empty: Empty = "zero",
) -> Score:
    """The harmonic mean of precision and recall, where recall weighs beta times as much.

    trec_eval's parameter is beta squared. `k`, `rel` and `empty` as in `precision`.

    >>> f_measure([["a", "x", "y", "z"]], [["a"]]).to_pylist()
    [0.4]
    """
    return _score(rows.f_measure, retrieved, relevant, k, rel, beta, empty)


@metric(source=TREC.format("m_success"), aliases=("success",))
def hit_rate(retrieved: Ids, relevant: Graded, *, k: Cutoff = None, rel: float = 1, empty: Empty = "zero") -> Score:
    """1 where anything relevant is among the first k, else 0.

    `rel` and `empty` as in `precision`.

    >>> hit_rate([["x", "a"], ["x", "y"]], [["a"], ["a"]]).to_pylist()
    [1.0, 0.0]
    >>> hit_rate([["x", "a"]], [["a"]], k=1).to_pylist()
    [0.0]
    """
    return _score(rows.hit_rate, retrieved, relevant, k, rel, 0, empty)


@metric(source=TREC.format("m_recip_rank"), aliases=("mrr", "recip_rank"))
def reciprocal_rank(
    retrieved: Ids, relevant: Graded, *, k: Cutoff = None, rel: float = 1, empty: Empty = "zero"
) -> Score:
    """One over the rank of the first that is relevant; 0 where none is among the first k.

    `rel` and `empty` as in `precision`.

    >>> reciprocal_rank([["x", "a", "b"]], [["a", "b"]]).to_pylist()
    [0.5]
    """
    return _score(rows.reciprocal_rank, retrieved, relevant, k, rel, 0, empty)


@metric(source=TREC.format("m_map_cut"), aliases=("map",))
def average_precision(
    retrieved: Ids, relevant: Graded, *, k: Cutoff = None, rel: float = 1, empty: Empty = "zero"
) -> Score:
    """The mean, over all that is relevant, of the precision at its rank; 0 for what is not among the first k.

    `rel` and `empty` as in `precision`.

    >>> average_precision([["a", "x", "b"]], [["a", "b"]]).to_pylist()
    [0.8333333333333333]
    >>> average_precision([["a", "x", "b"]], [["a", "b"]], k=1).to_pylist()
    [0.5]
    """
    return _score(rows.average_precision, retrieved, relevant, k, rel, 0, empty)


@metric(source=TREC.format("m_Rprec_mult"), aliases=("Rprec",))
def r_precision(
    retrieved: Ids,
    relevant: Graded,
    *,
    k: Cutoff = None,
    rel: float = 1,
    multiple: Positive = 1,
    empty: Empty = "zero",
) -> Score:
    """Precision at rank R, where R documents are relevant.

    `multiple=0.2` looks at a fifth of R, rounded as trec_eval does: up, but for less than a tenth. `rel` and `empty` as
    in `precision`.

    >>> r_precision([["a", "x", "b"]], [["a", "b"]]).to_pylist()
    [0.5]
    """
    return _score(rows.r_precision, retrieved, relevant, k, rel, multiple, empty)


@metric(source=TREC.format("m_iprec_at_recall"))
def interpolated_precision(
    retrieved: Ids,
    relevant: Graded,
    *,
    k: Cutoff = None,
    rel: float = 1,
    at: Level = None,
    rounding: Literal["up", "nearest"] = "up",
    empty: Empty = "zero",
) -> Score:
    """The best precision at any rank from where recall reaches a level; without one, the mean over eleven.

    The levels are 0, 0.1, … 1, as in trec_eval's 11pt_avg. Of R relevant ones `at * R` have to be found, rounded as
    trec_eval 9, and so pytrec_eval and ir_measures, do: up, but for less than a tenth; `rounding="nearest"` is what
    version 10 does. `rel` and `empty` as in `precision`.

    >>> interpolated_precision([["x", "a", "b"]], [["a", "b"]], at=0.5).to_pylist()
    [0.6666666666666666]
    """
    definition = rows.interpolated_up if rounding == "up" else rows.interpolated_nearest
    return _score(definition, retrieved, relevant, k, rel, -1 if at is None else at, empty)


@metric(source="Moffat and Zobel 2008, Rank-Biased Precision, ACM TOIS 27(1), section 3")
def rank_biased_precision(
    retrieved: Ids,
    relevant: Graded,
    *,
    k: Cutoff = None,
    rel: float = 1,
    persistence: Share = 0.8,
    empty: Empty = "zero",
) -> Score:
    """What a reader gains a document who goes on to the next rank with a probability of `persistence`.

    Its sum runs over what is retrieved; what lies beyond counts as not relevant. `rel` and `empty` as in `precision`.

    >>> rank_biased_precision([["a", "x", "b"]], [["a", "b"]], persistence=0.5).to_pylist()
    [0.625]
    """
    return _score(rows.rank_biased_precision, retrieved, relevant, k, rel, persistence, empty)


def _score(
    definition: rows.Definition,
    retrieved: Ids,
    relevant: Graded,
    k: int | None,
    rel: float,
    other: float,
    empty: Empty,
) -> Rows:
    return score_rows(definition, align(retrieved, relevant), k, rel, other, empty=empty, rel=rel)
