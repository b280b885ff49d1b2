"""False praise and false blame: how often a score finds an answer good that people find bad, and the other way round.

Where scores are labels that people give, the label itself is
compared: praise is above people's label. Any other score is cut: beside two labels at the best threshold, which for
each row other rows chose; else in the middle of the range, where a score exactly on the cut counts as half an error,
since it says neither, and an answer that people put there as neither good nor bad.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from karat.core.columns.kinds import Array
from karat.stats.aggregate import Bounds
from karat.stats.agreement.accuracy import Weights, both, mean
from karat.stats.agreement.coefficient import Coefficient
from karat.stats.agreement.threshold import ClusterNumbers, Threshold, best_threshold
from karat.stats.inference import Inference


@dataclass(frozen=True, eq=False)
class Beside:
    """A score beside people's label of the same rows, each of shape (rows,), NaN for none.

    `alike`: scores are labels that people give. `minimize`: less of the score is better; then labels are as bad as the
    score is high or, where they say how good a row is, the score is `turned`: its sign is reversed. `limits` are the
    least and the greatest score, before it is turned.
    """

    score: Array
    label: Array
    alike: bool
    minimize: bool
    own: bool
    limits: Bounds
    weights: Weights
    clusters: ClusterNumbers

    @property
    def turned(self) -> bool:
        """Whether labels say how good a row is, and the score how bad; `own`: the labels are the judge's."""
        return self.minimize and not self.alike and not self.own

    @property
    def signed(self) -> Array:
        """The score, its sign reversed if turned."""
        return -self.score if self.turned else self.score

    @property
    def yes(self) -> Array:
        """Whether people's label is the higher one of two: 1 or 0."""
        return np.where(np.isnan(self.label), np.nan, self.label == np.nanmax(self.label))

    def find_threshold(self, inference: Inference) -> Threshold | None:
        """The best threshold of a score with more than two values, where people say yes or no; else None."""
        scores = np.unique(self.score[~np.isnan(self.score)])
        if self.alike or len(np.unique(self.label[~np.isnan(self.label)])) != 2 or len(scores) < 3:
            return None
        return best_threshold(
            self.signed,
            self.yes,
            clusters=self.clusters,
            weights=self.weights,
            confidence=inference.confidence,
            seed=inference.seed,
        )

    @cached_property
    def range(self) -> tuple[float, float] | None:
        """The least and the greatest score, within which labels lie too; None where labels are on another scale.

        Without limits, the labels' limits are taken, if all scores are within.
        """
        low, high = self.limits
        values, scores = (each[~np.isnan(each)] for each in (self.label, self.score))
        if not len(values) or not len(scores):
            return None
        if low is None or high is None:
            low, high = float(values.min()), float(values.max())
        within = all(low <= each.min() and each.max() <= high for each in (values, scores))
        return (low, high) if within and low < high else None


@dataclass(frozen=True, eq=False)
class Errors:
    """False praise and false blame, None where there is no cut, and where the score was cut.

    `calls` is the score's label of each row, shape (rows,), with a threshold that other rows chose; `shown` with the
    one of all rows; None where neither scores are labels nor a threshold was found. `cut`: where the score is cut, as
    it was scored; None where scores are labels. `on_cut`: how many scores lie on it, each of which is half an error.
    """

    praise: Coefficient | None = None
    blame: Coefficient | None = None
    calls: Array | None = None
    shown: Array | None = None
    cut: float | None = None
    on_cut: int = 0


def find_errors(beside: Beside, threshold: Threshold | None) -> Errors:
    """The errors of a score at its `threshold`, which `Beside.find_threshold` finds.

    >>> people = np.repeat([0.0, 1.0], 60)
    >>> unsure = Beside(np.full(120, 0.5), people, False, False, False, (0.0, 1.0), None, None)
    >>> found = find_errors(unsure, None)
    >>> found.praise.value, found.blame.value, found.cut, found.on_cut
    (0.5, 0.5, 0.5, 120)
    """
    score, label, sign = beside.signed, beside.label, -1 if beside.turned else 1
    values = np.unique(label[~np.isnan(label)])
    calls = shown = score if beside.alike else None
    cut, on_cut = None, 0
    if threshold is not None and threshold.value is not None:
        cut = sign * threshold.value
        calls, shown = (
            np.where(np.isnan(each), np.nan, values[0] + np.ptp(values) * each)
            for each in (threshold.crossed, threshold.calls)
        )
    if calls is not None and len(values):
        praise = _share(beside, calls > label, label < values[-1])
        blame = _share(beside, calls < label, label > values[0])
    elif beside.range is not None:
        middle = sum(beside.range) / 2
        praised, good = accepts(score, sign * middle), np.sign(label - middle)
        praise, blame = _share(beside, praised, good < 0), _share(beside, 1 - praised, good > 0)
        cut, on_cut = middle, int(np.count_nonzero((praised == 0.5) & (np.abs(good) == 1)))
    else:
        return Errors(calls=calls, shown=shown)
    if beside.minimize and not beside.turned:  # praise is always too kind
        praise, blame = blame, praise
    return Errors(praise, blame, calls, shown, cut, on_cut)


def accepts(score: Array, middle: float) -> Array:
    """Whether each score is above the middle of its range: 1, below it: 0, exactly on it: a half. NaN for none.

    >>> accepts(np.array([0.2, 0.5, 0.9, np.nan]), 0.5)
    array([0. , 0.5, 1. , nan])
    """
    return np.asarray((1 + np.sign(score - middle)) / 2)


def _share(beside: Beside, happens: Array, possible: Array) -> Coefficient:
    """How often something happens in the rows that are scored, labelled, and in which it is possible."""
    rows = possible & both(beside.score, beside.label)
    return mean(np.where(rows, happens, np.nan), weights=beside.weights)
