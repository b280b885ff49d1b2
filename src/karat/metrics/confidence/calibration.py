"""How far confidences are from the scores of the answers: proper scores of rows, and errors by bins of confidence."""

# ruff: noqa: ARG001  (a metric declares settings that only its finish reads)
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from karat.core.columns.kinds import Array, Counts, Number, Score
from karat.core.metric.decorator import metric
from karat.core.metric.definition import Definition
from karat.core.metric.rows import divide
from karat.core.metric.score import Inner
from karat.core.metric.setting import Range
from karat.metrics.confidence.curves import MassCalibration, calibration_error
from karat.metrics.confidence.pairs import ConfidencePairs, ConfidenceScale, check_confidence

Bins: TypeAlias = Annotated[int, Range(1, 1000)]
Norm: TypeAlias = Literal["l1", "l2", "max"]
Term: TypeAlias = Literal["reliability", "resolution", "uncertainty", "within"]


@metric(
    source="Brier 1950, Verification of Forecasts Expressed in Terms of Probability, Monthly Weather Review 78(1)",
    inner="exact_match",
    direction="minimize",
    specialise=check_confidence,
)
def brier(scored: Inner, confidence: Number, *, scale: ConfidenceScale = "probability") -> Score:
    """The square of the difference between the confidence in an answer and its score.

    `scale` says what the numbers are: "probability" from 0 to 1, "percent" from 0 to 100, "log" the logarithm of a
    probability, such as the sum of a completion's log probabilities. A row is unscored where its answer is.

    >>> brier(["Paris", "Rome"], ["Paris", "Lyon"], [0.75, 0.5]).to_pylist()
    [0.0625, 0.25]
    """
    pairs = ConfidencePairs.of(scored, confidence, scale)
    return pairs.rows((pairs.confidence - pairs.score) ** 2)


@metric(
    source="Good 1952, Rational Decisions, JRSS B 14(1); scikit-learn's log_loss, whose clip is the default",
    inner="exact_match",
    direction="minimize",
    high=None,
    specialise=check_confidence,
)
def log_loss(
    scored: Inner,
    confidence: Number,
    *,
    scale: ConfidenceScale = "probability",
    clip: Annotated[float, Range(0, 0.5, above=True)] = 2.0**-52,
) -> Score:
    """The negative natural logarithm of the probability that a confidence gives to what came.

    A confidence nearer to 0 or 1 than `clip` counts as `clip` from there: a sure wrong answer has a loss of about 36.
    A score between 0 and 1 weighs both outcomes. `scale` as in `brier`.

    >>> [round(loss, 4) for loss in log_loss(["Paris", "Rome"], ["Paris", "Lyon"], [0.9, 0.5]).to_pylist()]
    [0.1054, 0.6931]
    """
    pairs = ConfidencePairs.of(scored, confidence, scale)
    sure = np.clip(pairs.confidence, clip, 1 - clip)
    return pairs.rows(-pairs.score * np.log(sure) - (1 - pairs.score) * np.log1p(-sure))


def _error_of(totals: Array, *, norm: str) -> Array:
    """The calibration error from the sums of confidence minus score of each bin, then the rows of each bin, or of all.

    By "l1", the rows of a bin cancel out.
    """
    if norm == "l1":
        mean: Array = np.abs(totals[..., :-1]).sum(axis=-1) / totals[..., -1]
        return mean
    bins = totals.shape[-1] // 2
    return calibration_error(totals[..., :bins], totals[..., bins:], norm)


def _choose_bins(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    """The definition for bins of equally many rows, which only all rows together have."""
    definition = check_confidence(definition, settings)
    if settings["binning"] == "width":
        return definition
    return replace(definition, finish=MassCalibration(settings["bins"], settings["norm"]))


@metric(
    source="Guo, Pleiss, Sun and Weinberger 2017, On Calibration of Modern Neural Networks, arXiv:1706.04599",
    inner="exact_match",
    finish=_error_of,
    direction="minimize",
    specialise=_choose_bins,
)
def ece(
    scored: Inner,
    confidence: Number,
    *,
    bins: Bins = 15,
    binning: Literal["width", "mass"] = "width",
    norm: Norm = "l1",
    scale: ConfidenceScale = "probability",
) -> Counts:
    """The expected calibration error: by how much confidence and mean score differ, averaged over bins of confidence.

    `binning="width"`: `bins` of equal width; an edge belongs to the bin below it, 0 to the first. `binning="mass"`:
    bins of equally many rows, whose edges are quantiles of the confidences; equal confidences share a bin. `norm`:
    "l1" weighs a bin's difference by its rows; "l2" is the root of the mean square; "max" is the largest difference,
    the maximum calibration error. A row's own score is its difference. `scale` as in `brier`.

    >>> import karat
    >>> rows = {"right": [1, 0, 1, 1], "confidence": [0.9, 0.9, 0.3, 0.3]}
    >>> value = karat.score(rows, "ece(column(right), bins=10)").as_dict()["metrics"][0]["value"]
    >>> round(value, 4)
    0.55
    """
    pairs = ConfidencePairs.of(scored, confidence, scale)
    if binning == "mass":
        return pairs.rows(pairs.confidence, pairs.score)
    ones = np.ones(len(pairs.score))
    gap = pairs.confidence - pairs.score
    if norm == "l1":
        return pairs.rows(_spread(pairs.confidence, bins, gap, beside=ones))
    return pairs.rows(*(_spread(pairs.confidence, bins, each) for each in (gap, ones)))


def _term_of(totals: Array, *, term: str) -> Array:
    """A term of the decomposition from three sums of each bin (rows, confidence, score), and three of all rows."""
    bins, rest = totals[..., :-3], totals[..., -3:]
    rows, confidence, score = (bins[..., at::3] for at in range(3))
    n = rows.sum(axis=-1)
    mean = score.sum(axis=-1) / n
    sure, right = divide(confidence, rows), divide(score, rows)
    values: Array
    if term == "uncertainty":
        values = rest[..., 2] / n - mean**2
    elif term == "reliability":
        values = (rows * (sure - right) ** 2).sum(axis=-1) / n
    elif term == "resolution":
        values = (rows * (right - mean[..., None]) ** 2).sum(axis=-1) / n
    else:
        squares = rest[..., 0] - (confidence * sure).sum(axis=-1)
        products = rest[..., 1] - (confidence * right).sum(axis=-1)
        values = (squares - 2 * products) / n
    return values


def _choose_term(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    """The definition with the range and the direction of the term."""
    term = settings["term"]
    return replace(
        check_confidence(definition, settings),
        low=-1.0 if term == "within" else 0.0,
        direction="maximize" if term == "resolution" else "minimize",
    )


@metric(
    source=(
        "Murphy 1973, A New Vector Partition of the Probability Score, J. Applied Meteorology 12(4); Stephenson, "
        "Coelho and Jolliffe 2008, Two Extra Components in the Brier Score Decomposition, Weather and Forecasting 23(4)"
    ),
    inner="exact_match",
    finish=_term_of,
    direction="minimize",
    specialise=_choose_term,
)
def brier_term(
    scored: Inner,
    confidence: Number,
    *,
    term: Term = "reliability",
    bins: Bins = 10,
    scale: ConfidenceScale = "probability",
) -> Counts:
    """A term of the Brier score: reliability - resolution + uncertainty + within is the value of `brier`.

    Over `bins` of equal width as in `ece`: "reliability" is the mean square of mean confidence minus mean score of a
    bin; "resolution" the variance of a bin's mean score around the mean score of all rows; "uncertainty" the variance
    of the scores; "within" the variance of confidences within bins, less twice their covariance with the scores.
    `scale` as in `brier`.

    >>> import karat
    >>> rows = {"right": [1, 0, 1, 0], "confidence": [0.75, 0.75, 0.25, 0.25]}
    >>> karat.score(rows, "brier_term(column(right))").as_dict()["metrics"][0]["value"]
    0.0625
    """
    pairs = ConfidencePairs.of(scored, confidence, scale)
    sure, score = pairs.confidence, pairs.score
    binned = _spread(sure, bins, np.ones(len(sure)), sure, score)
    return pairs.rows(binned, sure**2, sure * score, score**2)


def _spread(confidence: Array, bins: int, *columns: Array, beside: Array | None = None) -> Array:
    """Columns in the place of each row's bin, 0 elsewhere, and one beside them: shape (n, bins * columns, and 1)."""
    rows, width = len(confidence), bins * len(columns) + (beside is not None)
    table = np.zeros((rows, width))
    place = np.arange(rows) * width + _bin_of(confidence, bins) * len(columns)
    for number, column in enumerate(columns):
        table.reshape(-1)[place + number] = column
    if beside is not None:
        table[:, -1] = beside
    return table


def _bin_of(confidence: Array, bins: int) -> Array:
    """The bin of each confidence, from 0; an edge belongs to the bin below it, other numbers to none.

    It equals `np.searchsorted`'s, from a guess that is at most one bin away.
    """
    edges = np.linspace(0, 1, bins + 1)
    sure = np.fmin(np.fmax(confidence, 0), 1)
    at = np.minimum((sure * bins).astype(np.intp), bins - 1)
    at -= (sure <= edges[at]) & (at > 0)
    at += sure > edges[at + 1]
    return at
