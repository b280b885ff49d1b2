"""The row statistics of systems on the same rows, and the test of every pair: of two systems, or of hundreds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import RowError
from karat.core.metric.definition import Finish
from karat.core.metric.in_order import kept_by
from karat.stats.aggregate import LIMIT, Bounds, Scale
from karat.stats.inference import Inference
from karat.stats.intervals.student import student_quantile
from karat.stats.intervals.wilson import unit_weight
from karat.stats.ordered.curve_pairs import move_curve
from karat.stats.ordered.percentile_pairs import exceed, move_percentile
from karat.stats.paired.contributions import Contributions, reach_zero
from karat.stats.paired.mcnemar import mcnemar_test, tango_interval
from karat.stats.paired.pair_tests import PairTests
from karat.stats.sums.blocks import blocks
from karat.stats.sums.units import Units

Moved: TypeAlias = Callable[[Array, Any], tuple[float, Array]]
_MOVED: dict[str, Moved] = {"values": move_percentile, "curve": move_curve}


class Systems:
    """The row statistics of systems on the same rows, which come in batches in any order.

    Rows count on which every system is scored. Of values that sums give, up to 16,384 rows (or clusters) are kept, of
    more, groups are: memory stays bounded, and the same rows give the same bits. Percentiles and curves keep all rows.

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
        self.n = self.scored = 0
        self.missing = np.zeros(systems, np.int64)
        self.scale, self.clustered, self._inference = scale, clustered, inference
        self._kept: _Sums | _OrderedRows = (_Sums if kept_by(scale.finish) == "sums" else _OrderedRows)(
            systems, width, scale.finish, clustered=clustered, seed=inference.seed
        )
        self._right = np.zeros((systems, systems))  # rows that both systems of a pair have right
        self._graded = np.full(systems, clustered or scale.finish is not None or scale.bounds != (0.0, 1.0))

    def add(self, statistics: Array, numbers: Array, clusters: Array | None = None) -> None:
        """Add rows: their statistics, shape (rows, systems, width), NaN where a row is not scored.

        `numbers`, uint64, shape (rows,), tell rows apart, whatever their order; `clusters` are equal for rows of one
        cluster. Raises `RowError` for statistics that are infinite.
        """
        unscored: Array = np.logical_or.reduce(np.isnan(statistics), axis=2)
        self.missing += unscored.sum(axis=0)
        self.n += len(statistics)
        if unscored.any():
            scored = ~unscored.any(axis=1)
            statistics, numbers = statistics[scored], numbers[scored]
            clusters = None if clusters is None else clusters[scored]
        self.scored += len(statistics)
        self._kept.add(statistics, numbers, clusters)
        if not self._graded.all():
            right = statistics[:, :, 0]
            self._graded |= ((right != 0) & (right != 1)).any(axis=0)
            right = (right == 1).astype(float)
            self._right += right.T @ right

    @property
    def values(self) -> Array:
        """The value of each system, shape (systems,), NaN where it is undefined."""
        return self._kept.values

    @property
    def units(self) -> int:
        """The number of independent rows or clusters; of groups of them, for values that are not means."""
        return self.scored if self.scale.finish is None and not self.clustered else self._kept.units

    def interval(self, confidence: float) -> Bounds:
        """The interval of the second system's value minus the first's; None for an end that is not known."""
        pair = self.test(confidence).pair(1, 0)
        return pair.low, pair.high

    def test(self, confidence: float | None = None) -> PairTests:
        """The test of each pair: McNemar's where every score is 0 or 1 and rows are independent, else Student's.

        Which rows exceed a percentile decides its test, as in `exceed`. What a pair gets does not depend on the others.
        """
        systems, confidence = len(self.missing), confidence or self._inference.confidence
        if not self.scored:
            unknown = np.full((5, systems, systems), np.nan)
            return PairTests.mirror(tuple(unknown), "student" if self._graded.any() else "mcnemar")
        graded = self._graded[:, None] | self._graded
        tests = self._test_answers(confidence) if not graded.all() else None
        if tests is not None and not graded.any():
            return tests
        other = self._kept.test(self.scale.bounds, confidence)
        if tests is None:
            return other
        names = ("difference", "low", "high", "p", "error", "test")
        mixed = {name: np.where(graded, getattr(other, name), getattr(tests, name)) for name in names}
        return PairTests(**mixed)

    def _test_answers(self, confidence: float) -> PairTests:
        own, upper = np.diag(self._right), np.triu_indices(len(self.missing), 1)
        wins = np.rint(own[:, None] - self._right).astype(int)  # rows that the system of the row alone has right
        counts = np.stack([wins, wins.T], axis=-1)[upper]
        different, at = np.unique(counts.reshape(-1, 2), axis=0, return_inverse=True)
        tests = (
            np.array([self._test_counts(won, lost, confidence) for won, lost in different.tolist()]).reshape(-1, 5).T
        )
        matrices = np.zeros((5, *wins.shape))
        for each, values in zip(matrices, tests, strict=True):
            each[upper] = values[at.reshape(-1)]
        values = self.values
        matrices[0] = values[:, None] - values
        return PairTests.mirror(tuple(matrices), "mcnemar")

    def _test_counts(self, won: int, lost: int, confidence: float) -> tuple[float, ...]:
        rows, p = self.scored, mcnemar_test(won, lost)
        more, fewer = max(won, lost), min(won, lost)  # so that swapped systems have the same bits
        ends = tango_interval(more, fewer, rows, student_quantile((1 + confidence) / 2, math.inf))
        low, high = map(float, reach_zero(np.array(ends[0]), np.array(ends[1]), np.array(p), confidence))
        if won == lost:
            low = -high
        elif won < lost:
            low, high = -high, -low
        variance = (won + lost - (won - lost) ** 2 / rows) / max(rows - 1, 1) / rows
        return (won - lost) / rows, low, high, p, math.sqrt(variance)


class _Sums:
    """Statistics that add up, by unit."""

    def __init__(self, systems: int, width: int, finish: Finish | None, *, clustered: bool, seed: int) -> None:
        self._finish = finish
        self._units = [Units(width, clustered=clustered, seed=seed) for _ in range(systems)]

    def add(self, statistics: Array, numbers: Array, clusters: Array | None) -> None:
        self.__dict__.pop("_moved", None)
        for at, units in enumerate(self._units):
            units.add(np.ascontiguousarray(statistics[:, at]), numbers if clusters is None else clusters)

    @property
    def units(self) -> int:
        return len(self._units[0])

    @property
    def values(self) -> Array:
        if not self._units[0].rows:
            return np.full(len(self._units), np.nan)
        values = np.array([units.value(self._finish) for units in self._units])
        return np.where(np.isfinite(values), values, np.nan)

    def test(self, bounds: Bounds, confidence: float) -> PairTests:
        sums = np.stack([each.totals for each in self._units])
        return Contributions(self.values, self._moved, sums, unit_weight(self._units[0]), bounds).test(confidence)

    @cached_property
    def _moved(self) -> Array:
        return np.stack([self._move(each) for each in self._units])

    def _move(self, units: Units) -> Array:
        """The scores, else the jackknife's pseudo-values.

        Source: J. W. Tukey, "Bias and confidence in not quite large samples", Annals of Mathematical Statistics 29
        (1958).
        """
        if self._finish is None and not (units.clustered or units.collapsed):
            return units.totals[:, 0]
        observed, value_of = units.observe(self._finish)
        total, count = observed.sum(axis=0), len(observed)
        with np.errstate(all="ignore"):
            values: Array = count * value_of(total) - (count - 1) * value_of(total - observed)
        return values


class _OrderedRows:
    """Statistics of values that rest on the order of the rows, all of which are kept."""

    def __init__(self, systems: int, width: int, finish: Any, *, clustered: bool, seed: int) -> None:
        self._finish, self._clustered, self._seed = finish, clustered, seed
        self._parts: list[tuple[Array, Array, Array]] = [
            (np.empty((0, systems, width)), np.empty(0, np.uint64), np.empty(0, np.uint64))
        ]

    def add(self, statistics: Array, numbers: Array, clusters: Array | None) -> None:
        if np.isinf(statistics).any():
            raise RowError("finite statistics expected")
        self._parts.append((statistics, numbers, numbers if clusters is None else clusters))
        for name in ("_joined", "_moved"):
            self.__dict__.pop(name, None)

    @cached_property
    def _joined(self) -> tuple[Array, Array]:
        """The statistics, shape (systems, rows, width), in the order of the rows' numbers, and each row's unit."""
        statistics, numbers, keys = map(np.concatenate, zip(*self._parts, strict=True))
        order = np.argsort(numbers, kind="stable")
        if not self._clustered:
            at = np.arange(len(order))
        else:
            keys = keys[order]
            different, at = np.unique(keys, return_inverse=True)
            if len(different) > LIMIT:
                at = np.unique(blocks(keys, self._seed), return_inverse=True)[1]
        return np.ascontiguousarray(statistics[order].swapaxes(0, 1)), at.reshape(-1)

    @property
    def units(self) -> int:
        at = self._joined[1]
        return int(at.max()) + 1 if len(at) else 0

    @property
    def values(self) -> Array:
        return self._moved[0]

    @cached_property
    def _moved(self) -> tuple[Array, Array]:
        """The values, and by how much each row moves them, shape (systems, rows)."""
        move = _MOVED[kept_by(self._finish)]
        values, moved = zip(*(move(each, self._finish) for each in self._joined[0]), strict=True)
        return np.array(values), np.stack(moved)

    def test(self, bounds: Bounds, confidence: float) -> PairTests:
        values, moved = self._moved
        tests = self._by_unit(values, moved, self._joined[0], bounds).test(confidence)
        if kept_by(self._finish) != "values":
            return tests
        p = np.ones(tests.p.shape)
        for one, other in zip(*(each.tolist() for each in np.triu_indices(len(p), 1)), strict=True):
            p[one, other] = p[other, one] = self._test_exceeding(one, other, confidence)
        low, high = reach_zero(tests.low, tests.high, p, confidence)
        return replace(tests, p=p, low=low, high=high, test=np.full(p.shape, "exceedance", object))

    def _test_exceeding(self, one: int, other: int, confidence: float) -> float:
        """The p of two percentiles: of the rows on which one system alone exceeds the percentile of both."""
        over = exceed(self._joined[0][one], self._joined[0][other], self._finish)
        if not self._clustered:
            return mcnemar_test(int((over[0] > over[1]).sum()), int((over[1] > over[0]).sum()))
        by_unit = self._by_unit(over.mean(axis=1), over / over.shape[1], over[:, :, None], (0.0, 1.0))
        return float(by_unit.test(confidence).p[0, 1])

    def _by_unit(self, values: Array, moved: Array, statistics: Array, bounds: Bounds) -> Contributions:
        """What each unit adds to values, of which rows add `moved`."""
        at, units = self._joined[1], self.units
        if not self._clustered:
            return Contributions(values, moved * units, statistics, 1 / units, bounds)
        sizes = np.bincount(at).astype(float)
        sums = np.stack([np.stack([np.bincount(at, each) for each in own.T], axis=1) for own in statistics])
        by_unit = np.stack([np.bincount(at, each) for each in moved]) * units
        return Contributions(values, by_unit, sums, float(sizes @ sizes) / len(at) ** 2, bounds)
