"""How well confidences tell right answers from wrong ones: areas under curves, and accuracy at a coverage.

Their values depend on the order of all rows, which is kept by confidence: exactly for up to 65,536 different
confidences; of more, these are rounded to multiples of 1/65,536.
"""

# ruff: noqa: ARG001  (a metric declares settings that decide its definition, not its scores)
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from karat.core.columns.kinds import Counts, Number
from karat.core.metric.decorator import metric
from karat.core.metric.definition import Definition
from karat.core.metric.score import Inner
from karat.core.metric.setting import Range, check_fraction
from karat.metrics.confidence.curves import CoverageAccuracy, PrecisionRecallArea, RiskCoverageArea, RocArea
from karat.metrics.confidence.pairs import ConfidencePairs, ConfidenceScale, check_confidence

_SKLEARN = "scikit-learn 1.9, https://scikit-learn.org/stable/modules/model_evaluation.html, {}"
OptionalFraction = Annotated[float | None, check_fraction]


@metric(source=_SKLEARN.format("roc_auc_score"), inner="exact_match", finish=RocArea(), specialise=check_confidence)
def auroc(
    scored: Inner, confidence: Number, *, scale: ConfidenceScale = "probability", threshold: OptionalFraction = None
) -> Counts:
    """The probability that a right answer has a higher confidence than a wrong one.

    Equal confidences count half. There is no value where all answers are right, or all wrong. Answers with a score of
    1 are right, of 0 wrong; others are unscored unless `threshold` says from which score on an answer is right. `scale`
    as in `brier`. A row's own score is 1 where its answer is right, else 0.

    >>> import karat
    >>> rows = {"right": [1, 1, 0, 0], "confidence": [0.9, 0.4, 0.6, 0.1]}
    >>> karat.score(rows, "auroc(column(right))").values["auroc(column(right))"].value
    0.75
    """
    pairs = ConfidencePairs.of(scored, confidence, scale).binary(threshold)
    return pairs.rows(pairs.confidence, pairs.score)


@metric(
    source=_SKLEARN.format("average_precision_score"),
    inner="exact_match",
    finish=PrecisionRecallArea(),
    specialise=check_confidence,
)
def auprc(
    scored: Inner, confidence: Number, *, scale: ConfidenceScale = "probability", threshold: OptionalFraction = None
) -> Counts:
    """The area under the precision-recall curve of right answers by confidence, without interpolation.

    That is scikit-learn's average precision. Equal confidences are one threshold. There is no value where no answer is
    right. `threshold` and a row's own score are as in `auroc`, `scale` as in `brier`.

    >>> import karat
    >>> rows = {"right": [1, 1, 0, 0], "confidence": [0.9, 0.4, 0.6, 0.1]}
    >>> round(karat.score(rows, "auprc(column(right))").values["auprc(column(right))"].value, 4)
    0.8333
    """
    pairs = ConfidencePairs.of(scored, confidence, scale).binary(threshold)
    return pairs.rows(pairs.confidence, pairs.score)


def _choose_risk(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    return replace(check_confidence(definition, settings), finish=RiskCoverageArea(settings["excess"]))


@metric(
    source="Geifman, Uziel and El-Yaniv 2019, Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers, ICLR",
    inner="exact_match",
    finish=RiskCoverageArea(),
    direction="minimize",
    aliases=("risk_coverage",),
    specialise=_choose_risk,
)
def aurc(scored: Inner, confidence: Number, *, scale: ConfidenceScale = "probability", excess: bool = False) -> Counts:
    """The area under the risk-coverage curve: the mean risk over all coverages, most confident answers first.

    The risk at a coverage is the mean of 1 minus the score of the answers that are covered. Where confidences are equal
    it is the mean over all orders of these rows. With `excess=True` it is E-AURC: less the area of the best order of as
    many wrong answers, r + (1 - r) ln(1 - r). A row's own score is its risk. `scale` as in `brier`.

    >>> import karat
    >>> rows = {"right": [1, 1, 0, 0], "confidence": [0.9, 0.4, 0.6, 0.1]}
    >>> round(karat.score(rows, "aurc(column(right))").values["aurc(column(right))"].value, 4)
    0.3333
    """
    pairs = ConfidencePairs.of(scored, confidence, scale)
    return pairs.rows(pairs.confidence, pairs.score)


def _choose_coverage(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    return replace(check_confidence(definition, settings), finish=CoverageAccuracy(settings["c"]))


@metric(
    source="ours, after El-Yaniv and Wiener 2010, On the Foundations of Noise-free Selective Classification, JMLR 11",
    inner="exact_match",
    finish=CoverageAccuracy(0.8),
    specialise=_choose_coverage,
)
def accuracy_at_coverage(
    scored: Inner,
    confidence: Number,
    *,
    c: Annotated[float, Range(0, 1, above=True)] = 0.8,
    scale: ConfidenceScale = "probability",
) -> Counts:
    """The mean score of the share `c` of the answers that have the highest confidence.

    Where `c` is not a whole number of rows, the last row counts by the part that is within; of equal confidences at the
    edge each row counts alike. A row's own score is its answer's. `scale` as in `brier`.

    >>> import karat
    >>> rows = {"right": [1, 1, 0, 0], "confidence": [0.9, 0.7, 0.6, 0.1]}
    >>> karat.score(rows, "accuracy_at_coverage(column(right), c=0.5)").as_dict()["metrics"][0]["value"]
    1.0
    """
    pairs = ConfidencePairs.of(scored, confidence, scale)
    return pairs.rows(pairs.confidence, pairs.score)
