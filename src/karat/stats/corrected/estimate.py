"""Corrects the mean of a judge's scores, or the difference of two such means, by people's labels of some rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from karat.core.errors import DataError, RowError
from karat.core.metric.definition import Direction
from karat.stats.aggregate import Bounds, Scale
from karat.stats.corrected.difference import Moves, ValueAndEnds, subtract
from karat.stats.corrected.fit import Fit, add_up, mean_score
from karat.stats.corrected.influence import influence_of
from karat.stats.corrected.judged import Judged
from karat.stats.corrected.value import Corrected
from karat.stats.inference import Inference
from karat.stats.intervals.interval import interval
from karat.stats.intervals.inversion import p_value
from karat.stats.intervals.wilson import ROUNDING
from karat.stats.paired.margin import EndsAt, margin_test
from karat.stats.paired.systems import Systems
from karat.stats.sums.units import Units


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
    return _fit(judged, bounds, inference, finite=finite).corrected(inference.confidence)


def corrected_difference(
    first: Judged,
    second: Judged,
    *,
    bounds: Bounds = (0.0, 1.0),
    inference: Inference = Inference(),  # noqa: B008
    finite: bool = False,
    within: tuple[float, Direction] | None = None,
) -> Corrected:
    """The mean that people would give to all rows of the second system, minus the first system's.

    Rows of equal position are the same row and are compared in pairs; a row may have the label of one system only.
    `bounds` are a label's. Clusters and strata are the first system's. Where the systems have labels of
    different rows, each is corrected by its own, and the two intervals are combined. `within`: a margin, as in
    `margin_test`, and whether more or less is better.

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
        sides = [_fit(side, bounds, inference, finite=finite) for side in (first, second)]
        corrected, ends = _subtract(pairs, sides, inference.confidence)
        return _test(corrected, ends, within, inference)
    alone = None
    if pairs.plain and not finite:
        keys, labels = _keys(pairs), np.stack([side.labels[pairs.labelled] for side in (first, second)], axis=1)
        systems = Systems(2, 1, Scale(None, bounds), clustered=keys is not None, inference=inference)
        systems.add(labels[:, :, None], np.arange(len(labels), dtype=np.uint64), keys)
        alone = systems.interval
    influence = influence_of(replace(pairs, scores=second.filled - first.filled), finite=finite)
    fit = Fit(pairs, influence, span, inference.seed, alone)
    return _test(fit.corrected(inference.confidence), lambda confidence: fit.interval(confidence)[1], within, inference)


def _test(
    corrected: Corrected, ends: EndsAt, within: tuple[float, Direction] | None, inference: Inference
) -> Corrected:
    """A corrected difference, whose `ends` are known at any confidence, with its p and the test within a margin."""
    if corrected.value is None:
        return corrected
    p, margin = p_value(corrected.value, ends), None
    if within is not None:
        margin = margin_test(corrected.value, ends, within[0], round(1 - inference.confidence, 12), within[1])
    return replace(corrected, p=p, margin=margin)


def _fit(judged: Judged, bounds: Bounds, inference: Inference, *, finite: bool) -> Fit:
    """The estimate of one mean."""
    alone = None
    if judged.plain and not finite:
        units = Units(1, clustered=judged.clusters is not None, seed=inference.seed)
        units.add(judged.labels[judged.labelled, None], _keys(judged))
        alone = partial(_interval_alone, units, bounds, inference.seed)
    return Fit(judged, influence_of(judged, finite=finite), bounds, inference.seed, alone)


def _interval_alone(units: Units, bounds: Bounds, seed: int, confidence: float) -> Bounds:
    return interval(units, bounds=bounds, confidence=confidence, seed=seed)


def _subtract(pairs: Judged, sides: Sequence[Fit], confidence: float) -> tuple[Corrected, EndsAt]:
    """The second of two corrected means minus the first, and its ends; `pairs` has the differences of the scores."""

    def moves(weights: Sequence[float]) -> tuple[Moves, Moves]:
        a, b = (
            add_up(each.influence.labels + weight * each.influence.judge, pairs)
            for each, weight in zip(sides, weights, strict=True)
        )
        return a, b

    corrected, alone = moves([each.spread.weight for each in sides]), moves((0.0, 0.0))

    def ends(confidence: float) -> ValueAndEnds:
        first, second = ((each.value, *each.interval(confidence)[1]) for each in sides)
        return subtract(first, second, corrected, confidence)

    first, second = ((each.influence.mean, *each.labels_alone(confidence)) for each in sides)
    value, low, high = ends(confidence)
    labelled = int(np.count_nonzero(sides[0].influence.shares + sides[1].influence.shares))
    labels_alone = subtract(first, second, alone, confidence)
    used = any(each.spread.weight for each in sides)
    difference = Corrected(
        value=value,
        low=low,
        high=high,
        n=len(pairs.scores),
        labelled=labelled,
        method="combined",
        weight=None if used else 0.0,
        effective=_worth(labelled, (low, high), labels_alone[1:]),
        uncorrected=mean_score(pairs.scores),
        labels_alone=labels_alone,
    )
    return difference, lambda confidence: ends(confidence)[1:]


def _worth(labelled: int, ends: Bounds, alone: Bounds) -> float | None:
    """How many labels alone give an interval with these ends, if so many give the interval of the labels `alone`."""
    if None in (*ends, *alone) or ends[0] == ends[1]:
        return None
    width, other = (float(np.diff(np.array(each, float))[0]) for each in (ends, alone))
    return labelled * (other / width) ** 2


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
    if judged.strata is not None and judged.probabilities is None:
        strata, place = np.unique(judged.strata, return_inverse=True)
        counts = np.bincount(place, labelled)
        if counts.min() < 2:
            return f"at least 2 labels expected in each of {len(strata)} strata, found {counts.min():.0f} in one"
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
        uncorrected=mean_score(judged.scores),
        labels_alone=None,
        reason=reason,
    )


def _check(labels: NDArray[np.float64], bounds: Bounds) -> None:
    low, high = (sign * np.inf if end is None else end for end, sign in zip(bounds, (-1, 1), strict=True))
    wrong = (labels < low - ROUNDING) | (labels > high + ROUNDING)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(f"labels from {bounds[0]} to {bounds[1]} expected, found {labels[row]:g} in row {row}")
