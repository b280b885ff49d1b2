"""Values of rows in the order of their confidence, from tables of the rows of each confidence and their scores.

Rows of equal confidence have no order: they are on the same side of every threshold, and where a curve has a point for
each row, it is the mean over all orders of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.metric.in_order import Curve

_SHIFT = 8  # steps after which the series of `_harmonic` is exact to 1e-15
_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760)


@dataclass(frozen=True)
class RocArea(Curve):
    """The area under the ROC curve: how often a right row has the higher confidence; equal ones count half."""

    def value(self, confidences: Array, rows: Array, scores: Array) -> Array:  # noqa: ARG002
        wrong = rows - scores
        lower = np.cumsum(wrong, axis=-1) - wrong / 2
        area: Array = (scores * lower).sum(axis=-1) / (scores.sum(axis=-1) * wrong.sum(axis=-1))
        return area

    def trials(self, rows: float, scores: float) -> float:
        return min(scores, rows - scores)


@dataclass(frozen=True)
class PrecisionRecallArea(Curve):
    """Average precision: the mean over right rows of the precision at the threshold of their confidence."""

    def value(self, confidences: Array, rows: Array, scores: Array) -> Array:  # noqa: ARG002
        above, right = _from_above(rows), _from_above(scores)
        share = np.divide(right, above, out=np.zeros(above.shape), where=above > 0)
        area: Array = (scores * share).sum(axis=-1) / scores.sum(axis=-1)
        return area

    def trials(self, rows: float, scores: float) -> float:
        return min(scores, rows - scores) or 1.0


@dataclass(frozen=True)
class RiskCoverageArea(Curve):
    """The mean risk over all coverages (AURC): of the most confident row, of the two most confident, and so on.

    The risk is 1 minus the score. `excess` subtracts the least possible area (E-AURC).
    """

    excess: bool = False

    def value(self, confidences: Array, rows: Array, scores: Array) -> Array:  # noqa: ARG002
        loss = rows - scores
        until, lost = _from_above(rows), _from_above(loss) - loss
        before = until - rows
        mean = np.divide(loss, rows, out=np.zeros(loss.shape), where=rows > 0)
        # rows number before + 1, before + 2, … share the mean loss: the risks there, summed
        sums = _harmonic(np.concatenate([until, np.zeros_like(until[..., :1])], axis=-1))
        risks = loss + (lost - before * mean) * (sums[..., :-1] - sums[..., 1:])
        n = rows.sum(axis=-1)
        area: Array = risks.sum(axis=-1) / n
        if not self.excess:
            return area
        risk = loss.sum(axis=-1) / n
        right = 1 - risk
        least = risk + right * np.log(right, out=np.zeros(np.shape(right)), where=right > 0)
        more: Array = np.maximum(area - least, 0.0)
        return more

    def __call__(self, statistics: Array) -> Array:
        risks: Array = 1 - statistics[..., 1]
        return risks


@dataclass(frozen=True)
class CoverageAccuracy(Curve):
    """The mean score of the most confident `share` of the rows; a row at the edge counts by the part that is within."""

    share: float

    def value(self, confidences: Array, rows: Array, scores: Array) -> Array:  # noqa: ARG002
        wanted = self.share * rows.sum(axis=-1, keepdims=True)
        taken = np.clip(wanted - (_from_above(rows) - rows), 0, rows)
        part = np.divide(taken, rows, out=np.zeros(taken.shape), where=rows > 0)
        accuracy: Array = (scores * part).sum(axis=-1) / wanted[..., 0]
        return accuracy

    def trials(self, rows: float, scores: float) -> float:  # noqa: ARG002
        return self.share * rows


@dataclass(frozen=True)
class MassCalibration(Curve):
    """The calibration error over bins of equally many rows: their edges are quantiles of the confidences."""

    bins: int
    norm: str

    def value(self, confidences: Array, rows: Array, scores: Array) -> Array:
        below = np.cumsum(rows, axis=-1)
        places = (below[..., -1:] - 1) * np.linspace(0, 1, self.bins + 1)[1:-1]
        low, high = (_at(confidences, below, whole) for whole in (np.floor(places), np.ceil(places)))
        edges = low + (high - low) * (places - np.floor(places))
        gaps, counts = rows * confidences - scores, []
        sums = []
        for number in range(self.bins):
            inside = np.ones(rows.shape, dtype=bool)
            if number:
                inside &= confidences > edges[..., number - 1, None]
            if number < self.bins - 1:
                inside &= confidences <= edges[..., number, None]
            sums.append((gaps * inside).sum(axis=-1))
            counts.append((rows * inside).sum(axis=-1))
        return calibration_error(np.stack(sums, axis=-1), np.stack(counts, axis=-1), self.norm)

    def __call__(self, statistics: Array) -> Array:
        errors: Array = np.abs(statistics[..., 1] - statistics[..., 0])
        return errors


def calibration_error(gaps: Array, counts: Array, norm: str) -> Array:
    """From sums of confidence minus score and numbers of rows by bin, shape (..., bins), to the error, shape (...)."""
    each = np.abs(np.divide(gaps, counts, out=np.zeros(gaps.shape), where=counts > 0))
    if norm == "max":
        most: Array = each.max(axis=-1)
        return most
    power = 2 if norm == "l2" else 1
    mean: Array = (counts * each**power).sum(axis=-1) / counts.sum(axis=-1)
    return mean if power == 1 else np.sqrt(mean)


def _from_above(each: Array) -> Array:
    """The sums over all confidences that are at least as high."""
    sums: Array = np.cumsum(each[..., ::-1], axis=-1)[..., ::-1]
    return sums


def _at(confidences: Array, below: Array, places: Array) -> Array:
    """The confidences at places in the order of rows, from 0; shape (..., places)."""
    at = np.stack([(below <= places[..., each, None]).sum(axis=-1) for each in range(places.shape[-1])], axis=-1)
    chosen: Array = confidences[np.minimum(at, len(confidences) - 1)]
    return chosen


def _harmonic(n: Array) -> Array:
    """The sum of 1/i for i from 1 to n, but for Euler's constant; n may be any number of 0 or more."""
    x = n + (1 + _SHIFT)
    square = 1 / (x * x)
    series = np.zeros(np.shape(x))
    for factor in reversed(_SERIES):
        series = (series + factor) * square
    sums: Array = np.log(x) - 0.5 / x - series
    for step in range(_SHIFT):
        sums = sums - 1 / (n + (1 + step))
    return sums
