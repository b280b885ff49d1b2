"""Corrects the mean of a judge's scores, or the difference of two such means, by people's labels of some rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from karat.core.errors import DataError, RowError
from karat.stats.aggregate import Bounds, Units
from karat.stats.corrected.corrected import Corrected
from karat.stats.corrected.difference import Ends, subtract
from karat.stats.corrected.influence import Influence, influence_of
from karat.stats.corrected.interval import Spread
from karat.stats.corrected.judged import Judged
from karat.stats.inference import Inference
from karat.stats.interval import interval
from karat.stats.paired.paired_rows import PairedRows
from karat.stats.wilson import ROUNDING

FEWEST = 10  # labelled rows or clusters from which the judge's weight is estimated


def corrected_mean(
    judged: Judged,
    *,
    bounds: Bounds = (0.0, 1.0),
    inference: Inference = Inference(),  # noqa: B008  (it is frozen)
    finite: bool = False,
) -> Corrected:
    """The mean that people would give to all rows, from the judge's scores of all and people's labels of some.

    It is valid whatever the judge does: the better the judge, the narrower the interval. A row without a score counts
    as one of average score. `bounds` are the least and the greatest label. `finite`: the interval is for the mean of
    exactly these rows, not of the population from which they come.

    Raises `DataError` for labels beyond the bounds.

    Source: A. Angelopoulos, J. Duchi and T. Zrnic, "PPI++: efficient prediction-powered inference", arXiv:2311.01453.

    >>> scores = np.tile([1.0, 1.0, 0.0, 0.0, 1.0], 200)
    >>> labels = np.full(1_000, np.nan)
    >>> labels[:200] = np.tile([1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0], 20)
    >>> found = corrected_mean(Judged(scores, labels))
    >>> round(found.uncorrected, 3), round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.6, 0.6, 0.542, 0.658)
    >>> found.labelled, round(found.effective), found.method, [round(each, 3) for each in found.labels_alone]
    (200, 275, 'normal', [0.6, 0.531, 0.665])
    """
    _check(judged.labels, bounds)
    if reason := _reason(judged):
        return _none(reason, judged)
    alone = None
    if judged.plain and not finite:
        units = Units(1, clustered=judged.clusters is not None, seed=inference.seed)
        units.add(judged.labels[judged.labelled, None], _keys(judged))
        alone = interval(units, bounds=bounds, confidence=inference.confidence, seed=inference.seed)
    return _correct(judged, influence_of(judged, finite=finite), bounds, inference, alone)


def corrected_difference(
    first: Judged,
    second: Judged,
    *,
    bounds: Bounds = (0.0, 1.0),
    inference: Inference = Inference(),  # noqa: B008
    finite: bool = False,
) -> Corrected:
    """The mean that people would give to all rows of the second system, minus that of the first.

    Rows of equal position are the same row and are compared in pairs; a row may have the label of one system only.
    `bounds` are those of a label. Clusters and strata are those of the first system. Where the systems have labels of
    different rows, each is corrected by its own, and the two intervals are combined.

    Raises `RowError` for systems of unequal length, `DataError` for labels beyond the bounds.

    >>> random = np.random.default_rng(0)
    >>> labels = (random.random((2, 2_000)) < [[0.6], [0.7]]).astype(float)
    >>> scores = np.where(random.random((2, 2_000)) < 0.9, labels, 1 - labels)
    >>> labels[:, 400:] = np.nan
    >>> found = corrected_difference(*(Judged(*columns) for columns in zip(scores, labels, strict=True)))
    >>> found.n, found.labelled, round(found.low, 2), round(found.high, 2)
    (2000, 400, 0.07, 0.17)
    """
    if len(first.scores) != len(second.scores):
        raise RowError(f"two systems of equally many rows expected, found {len(first.scores)} and {len(second.scores)}")
    second = replace(second, clusters=first.clusters, strata=first.strata)
    for side in (first, second):
        _check(side.labels, bounds)
    pairs = replace(first, scores=second.scores - first.scores, labels=second.labels - first.labels)
    if reason := _reason(first) or _reason(second):
        return _none(reason, pairs)
    low, high = bounds
    span: Bounds = (None, None) if low is None or high is None else (low - high, high - low)
    if not _alike(first, second):
        means = [corrected_mean(side, bounds=bounds, inference=inference, finite=finite) for side in (first, second)]
        influences = [influence_of(side, finite=finite) for side in (first, second)]
        return _subtract(pairs, means, influences, inference.confidence)
    alone = None
    if pairs.plain and not finite:
        a, b = (side.labels[pairs.labelled, None] for side in (first, second))
        alone = PairedRows(a, b, _keys(pairs), None, bounds, inference.seed).interval(inference.confidence)
    influence = influence_of(replace(pairs, scores=second.filled - first.filled), finite=finite)
    return _correct(pairs, influence, span, inference, alone)


def _correct(
    judged: Judged, influence: Influence, bounds: Bounds, inference: Inference, alone: Bounds | None
) -> Corrected:
    """The estimate from the influence of each row; `alone` is the interval of the labels alone, if it is known."""
    labels, judge, shares = influence.labels, influence.judge, influence.shares
    if judged.clusters is not None:
        unit = np.unique(judged.clusters, return_inverse=True)[1]
        labels, judge, shares = (np.bincount(unit, each).astype(float) for each in (labels, judge, shares))
    weight = influence.weight if np.count_nonzero(shares) >= FEWEST else 0.0
    value = _inside(influence.mean + weight * influence.shift, bounds)
    method, (low, high), variance = Spread(labels + weight * judge, labels, shares).interval(value, bounds, inference)
    if alone is None:
        alone = Spread(labels, labels, shares).interval(influence.mean, bounds, inference)[1]
    if weight == 0:
        method, (low, high) = "labels", alone
    if np.count_nonzero(influence.shares) == influence.limit:
        low = high = value
    labelled = int(np.count_nonzero(influence.shares))
    alike = float(labels @ labels) / float(influence.labels @ influence.labels) if weight else 1.0  # in one cluster
    return Corrected(
        value=value,
        low=low,
        high=high,
        n=len(judged.scores),
        labelled=labelled,
        method=method,
        weight=weight,
        effective=influence.worth(variance / alike) if weight else float(labelled),
        uncorrected=_mean(judged.scores),
        labels_alone=(influence.mean, *alone),
    )


def _subtract(
    pairs: Judged, means: Sequence[Corrected], influences: Sequence[Influence], confidence: float
) -> Corrected:
    """The second of two corrected means minus the first; `pairs` has the differences of the scores."""
    unit = np.arange(len(pairs.scores)) if pairs.clusters is None else np.unique(pairs.clusters, return_inverse=True)[1]

    def differ(ends: Sequence[Ends | None], weights: Sequence[float | None]) -> Ends:
        a, b = (
            np.bincount(unit, each.labels + (weight or 0.0) * each.judge).astype(float)
            for each, weight in zip(influences, weights, strict=True)
        )
        first, second = ends
        assert first is not None  # noqa: S101  (for the type checker: there is a reason where there is no estimate)
        assert second is not None  # noqa: S101
        return subtract(first, second, (a, b), confidence)

    value, low, high = differ([each.ends for each in means], [each.weight for each in means])
    return Corrected(
        value=value,
        low=low,
        high=high,
        n=len(pairs.scores),
        labelled=int(np.count_nonzero(influences[0].shares + influences[1].shares)),
        method="combined",
        weight=None,
        effective=None,
        uncorrected=_mean(pairs.scores),
        labels_alone=differ([each.labels_alone for each in means], (0.0, 0.0)),
    )


def _keys(judged: Judged) -> NDArray[np.uint64] | None:
    return None if judged.clusters is None else judged.clusters[judged.labelled]


def _alike(first: Judged, second: Judged) -> bool:
    """Whether the same rows have a label in both systems, with the same probabilities."""
    labelled = first.labelled
    if (labelled != second.labelled).any():
        return False
    return (first.uniform and second.uniform) or np.array_equal(first.chances[labelled], second.chances[labelled])


def _reason(judged: Judged) -> str | None:
    """Why there is no estimate; None where there is one."""
    labelled = judged.labelled
    count = int(labelled.sum())
    if count < 2:
        return f"at least 2 labels expected, found {count} for {len(labelled)} rows"
    if np.isnan(judged.scores[labelled]).all():
        return f"none of the {count} labelled rows has a score"
    if judged.probabilities is not None:
        wrong = ~((judged.probabilities > 0) & (judged.probabilities <= 1)) & labelled
        if wrong.any():
            row = int(wrong.argmax())
            return f"row {row} has a label, but was proposed with a probability of {judged.probabilities[row]:g}"
    if judged.clusters is not None and (judged.clusters[labelled] == judged.clusters[labelled][0]).all():
        return f"all {count} labels are of one cluster"
    if judged.strata is not None:
        strata, place = np.unique(judged.strata, return_inverse=True)
        counts = np.bincount(place, labelled)
        if counts.min() < 2:
            return f"at least 2 labels expected in stratum {strata[counts.argmin()]}, found {counts.min():.0f}"
    return None


def _none(reason: str, judged: Judged) -> Corrected:
    return Corrected(
        value=None,
        low=None,
        high=None,
        n=len(judged.scores),
        labelled=int(judged.labelled.sum()),
        method=None,
        weight=None,
        effective=None,
        uncorrected=_mean(judged.scores),
        labels_alone=None,
        reason=reason,
    )


def _mean(scores: NDArray[np.float64]) -> float | None:
    """The mean of the scores there are."""
    return None if np.isnan(scores).all() else float(np.nanmean(scores))


def _inside(value: float, bounds: Bounds) -> float:
    low, high = bounds
    return max(-np.inf if low is None else low, min(np.inf if high is None else high, value))


def _check(labels: NDArray[np.float64], bounds: Bounds) -> None:
    low, high = (sign * np.inf if end is None else end for end, sign in zip(bounds, (-1, 1), strict=True))
    wrong = (labels < low - ROUNDING) | (labels > high + ROUNDING)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(f"labels from {bounds[0]} to {bounds[1]} expected, found {labels[row]:g} in row {row}")
