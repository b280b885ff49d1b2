"""Rows by their confidence, in bounded memory, and the values of curves with their intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import RowError
from karat.stats.aggregate import Estimated, Scale
from karat.stats.inference import Inference
from karat.stats.intervals.wilson import effective_interval
from karat.stats.ordered.deviation import jackknife_variance
from karat.stats.sums.tally import Tally

DISTINCT = 65_536  # confidences told apart; of more, each is rounded to a multiple of 1 / DISTINCT
_UNIT = 2.0**36  # scores are summed as whole numbers of 1 / _UNIT, so that their sums are exact in any order
_EXACT = 1 << 17  # so many scores are summed as floats without rounding
_HALF = 18
_WAITING = 1 << 18  # rows that wait to be sorted


class CurveRows(Tally):
    """How many rows have each confidence, and the sum of their scores: exact up to 65,536 different confidences.

    Of more, confidences are rounded to multiples of 1/65,536. Parts of a table, merged in any order, are what the whole
    table is.
    """

    keeps = "curve"
    most = DISTINCT

    def __init__(self, width: int = 2, *, clustered: bool = False, seed: int = 0) -> None:
        super().__init__(width, clustered=clustered, seed=seed)
        self._new: list[Array] = []  # statistics of rows that are not sorted yet
        self._waiting = 0

    @property
    def rows(self) -> int:
        """The number of rows added."""
        return super().rows + self._waiting

    def add(self, statistics: Array, _keys: Array | None = None) -> None:
        """Add rows: their confidences and scores, shape (rows, 2); `RowError` for one that is not from 0 to 1."""
        if len(statistics) and not (statistics.min() >= 0 and statistics.max() <= 1):  # not so where one is NaN
            at = int(((statistics >= 0) & (statistics <= 1)).all(axis=1).argmin())
            raise RowError(f"row {at}: a confidence and a score from 0 to 1 expected, found {statistics[at].tolist()}")
        self._new.append(statistics)
        self._waiting += len(statistics)
        if self._waiting > _WAITING:
            self._settle()

    def table(self) -> tuple[Array, Array, Array]:
        """The different confidences, ascending; how many rows have each; and the sums of their scores."""
        self._settle()
        rows, scores = self._counts.astype(np.float64)
        return self._numbers, rows, scores / _UNIT

    def estimate(self, scale: Scale, inference: Inference, unit_weight: float | None = None) -> Estimated:  # noqa: ARG002
        """The value and the ends of its interval: Wilson's, with the variance of a jackknife over rows.

        None where the curve is undefined; where rows share a cluster there is a value, and no interval.
        """
        curve: Any = scale.finish
        table = self.table()
        with np.errstate(all="ignore"):
            value = float(curve.value(*table))
        low, high = scale.bounds
        if not math.isfinite(value):
            return None, None, None
        if self.clustered or low is None or high is None:
            return value, None, None
        variance = jackknife_variance(curve, *table)
        if math.isinf(variance):
            return value, low, high
        rows = float(self.rows)
        size = 1 / curve.trials(rows, float(table[2].sum())), rows - 1
        return value, *effective_interval(value, variance, size, (low, high), inference.confidence)

    def _settle(self) -> None:
        if not self._new:
            return
        statistics = np.concatenate(self._new)
        self._new, self._waiting = [], 0
        confidences, scores = statistics[:, 0] + 0.0, np.rint(statistics[:, 1] * _UNIT)
        if not self.collapsed:
            self.collapsed = bool(np.count_nonzero(np.diff(np.sort(confidences))) >= DISTINCT)
        if not self.collapsed:
            self._put(confidences, np.stack([np.ones(len(scores)), scores]).astype(np.int64))
            return
        at = np.rint(confidences * DISTINCT).astype(np.int64)
        counts = np.zeros((2, DISTINCT + 1), np.int64)
        counts[0] = np.bincount(at, minlength=DISTINCT + 1)
        for start in range(0, len(at), _EXACT):
            part = slice(start, start + _EXACT)
            counts[1] += np.bincount(at[part], scores[part], DISTINCT + 1).astype(np.int64)
        filled = np.flatnonzero(counts[0])
        self._put(filled / DISTINCT, counts[:, filled])

    def _bin(self, numbers: Array, counts: Array) -> tuple[Array, Array]:
        """Confidences as multiples of 1 / DISTINCT."""
        at = np.rint(numbers * DISTINCT).astype(np.int64)
        parts = counts[0], counts[1] >> _HALF, counts[1] & ((1 << _HALF) - 1)
        rows, high, low = (np.bincount(at, each) for each in parts)  # exact as floats
        filled = np.flatnonzero(rows)
        rows, high, low = (each[filled].astype(np.int64) for each in (rows, high, low))
        return filled / DISTINCT, np.stack([rows, (high << _HALF) + low])
