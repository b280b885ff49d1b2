"""Tests of every pair of systems on the same rows, hundreds of systems at once."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.core.metric.in_order import InOrder
from karat.stats.aggregate import Finish, Scale, Units, observe
from karat.stats.inference import Inference
from karat.stats.intervals.student import student_p, student_quantile
from karat.stats.paired.mcnemar import mcnemar_test, tango_interval
from karat.stats.paired.pairs import NOISE, identical_interval, is_binary
from karat.stats.ranking.standing import PairTests
from karat.stats.value import Value, summarise


class Systems:
    """The row statistics of systems on the same rows, added up in batches that come in any order.

    Rows count on which every system is scored. Up to 16,384 rows (or clusters) are kept; of more, groups are: memory
    stays bounded, and the same rows give the same bits.

    >>> systems = Systems(2, 1, Scale())
    >>> systems.add(np.array([[[1.0], [1.0]], [[0.0], [1.0]], [[np.nan], [1.0]]]), np.arange(3, dtype=np.uint64))
    >>> systems.n, systems.scored, systems.missing.tolist()
    (3, 2, [1, 0])
    """

    def __init__(
        self,
        systems: int,
        width: int,
        scale: Scale,
        *,
        clustered: bool = False,
        inference: Inference = Inference(),  # noqa: B008  (it is frozen)
    ) -> None:
        if isinstance(scale.finish, InOrder):
            raise SpecError(
                "percentiles are not ranked, nor are curves; two systems are compared by them: karat compare"
            )
        self.n = self.scored = 0
        self.missing = np.zeros(systems, np.int64)
        self._scale, self._inference = scale, inference
        self._units = [Units(width, clustered=clustered, seed=inference.seed) for _ in range(systems)]
        self._right = np.zeros((systems, systems))  # rows that both systems of a pair have right
        self._binary = not clustered and scale.finish is None and scale.bounds == (0.0, 1.0)

    def add(self, statistics: Array, numbers: Array, clusters: Array | None = None) -> None:
        """Add rows: their statistics, shape (rows, systems, width), NaN where a row is not scored.

        `numbers`, uint64, shape (rows,), tell rows apart, whatever their order; `clusters` are equal for rows of one
        cluster. Raises `RowError` for statistics that are infinite.
        """
        unscored: Array = np.logical_or.reduce(np.isnan(statistics), axis=2)
        self.missing += unscored.sum(axis=0)
        self.n += len(statistics)
        keys = numbers if clusters is None else clusters
        if unscored.any():
            scored = ~unscored.any(axis=1)
            statistics, keys = statistics[scored], keys[scored]
        self.scored += len(statistics)
        for at, units in enumerate(self._units):
            units.add(np.ascontiguousarray(statistics[:, at]), keys)
        self._binary = self._binary and is_binary(statistics)
        if self._binary:
            right = statistics[:, :, 0]
            self._right += right.T @ right

    def values(self) -> list[Value]:
        """The value of each system, on the rows on which all are scored."""
        return [summarise(units, self._scale, inference=self._inference) for units in self._units]

    def test(self) -> PairTests:
        """The test of each pair: McNemar's where every score is 0 or 1 and rows are independent, else Student's.

        Student's paired test takes the place of the permutation test, whose p cannot be below 1 by the number of swaps:
        too large for the many pairs that it is corrected for. Its p is never below the least that swapping the units on
        which two systems differ could give. Its interval is that of the difference by the same test, McNemar's Tango's.
        """
        return self._test_answers() if self._binary and self.scored else self._test_means()

    def _test_answers(self) -> PairTests:
        systems = len(self._units)
        own = np.diag(self._right)
        wins = np.rint(own[:, None] - self._right).astype(int)  # rows that the system of the row alone has right
        difference, low, high, p = np.zeros((4, systems, systems))
        z = student_quantile((1 + self._inference.confidence) / 2, math.inf)
        counts = np.stack([wins, wins.T], axis=-1)[np.triu_indices(systems, 1)]
        different, at = np.unique(counts.reshape(-1, 2), axis=0, return_inverse=True)
        found = [
            ((won - lost) / self.scored, *tango_interval(won, lost, self.scored, z), mcnemar_test(won, lost))
            for won, lost in different.tolist()
        ]
        upper = np.triu_indices(systems, 1)
        for each, values in zip((difference, low, high, p), np.array(found).reshape(-1, 4).T, strict=True):
            each[upper] = values[at.reshape(-1)]
        return PairTests.mirror((difference, low, high, p), "mcnemar")

    def _test_means(self) -> PairTests:
        systems, shares = len(self._units), self._contributions()
        units = len(shares)
        values = self._find_values()
        difference = values[:, None] - values
        low, high, p = np.full((3, systems, systems), np.nan)
        lowest, highest = self._scale.bounds
        span = math.inf if lowest is None or highest is None else highest - lowest
        for row in range(systems - 1 if units > 1 else 0):
            rest, own = slice(row + 1, None), difference[row, row + 1 :]
            apart = shares[:, row : row + 1] - shares[:, rest]
            with np.errstate(all="ignore"):
                error = apart.std(axis=0, ddof=1) / math.sqrt(units)
                found = student_p(own / error, units - 1)
            differing = np.count_nonzero(apart, axis=0)
            p[row, rest] = np.where(differing == 0, 1.0, np.maximum(found, 2.0 ** (1 - differing)))
            reach = student_quantile((1 + self._inference.confidence) / 2, units - 1) * error
            low[row, rest], high[row, rest] = np.maximum(own - reach, -span), np.minimum(own + reach, span)
            if math.isinf(span):
                continue
            for at in np.flatnonzero(error <= NOISE * np.abs(values).max()).tolist():
                found_ends = identical_interval(float(own[at]), units, span, self._inference.confidence)
                low[row, row + 1 + at], high[row, row + 1 + at] = found_ends
        return PairTests.mirror((difference, low, high, p), "student")

    def _find_values(self) -> Array:
        """The value of each system, shape (systems,), NaN where it is undefined."""
        with np.errstate(all="ignore"):
            found = np.array([value_of(each.sum(axis=0)) for each, value_of in self._observe()], float)
        return np.where(np.isfinite(found), found, np.nan)

    def _contributions(self) -> Array:
        """What each unit adds to each value, shape (units, systems): scores, else the jackknife's pseudo-values."""
        columns = []
        for units, (observed, value_of) in zip(self._units, self._observe(), strict=True):
            if self._scale.finish is None and not (units.clustered or units.collapsed):
                columns.append(units.totals[:, 0])
                continue
            total, count = observed.sum(axis=0), len(observed)
            with np.errstate(all="ignore"):
                columns.append(count * value_of(total) - (count - 1) * value_of(total - observed))
        return np.column_stack(columns)

    def _observe(self) -> Iterator[tuple[Array, Finish]]:
        return (observe(units, self._scale.finish) for units in self._units)
