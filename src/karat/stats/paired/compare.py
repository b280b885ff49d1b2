"""Compares two systems on the same rows: the difference, its interval, and the paired test that suits the metric."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from karat.core.columns.kinds import Array
from karat.core.errors import DataError, RowError, SpecError
from karat.core.metric.definition import Finish
from karat.stats.aggregate import Bounds, Scale
from karat.stats.inference import Inference
from karat.stats.intervals.imbens_manski import interval_of_bounds
from karat.stats.intervals.wilson import ROUNDING
from karat.stats.paired.comparison import Comparison, Test
from karat.stats.paired.margin import MarginTest, check_margin, margin_test
from karat.stats.paired.power import smallest_share, smallest_visible
from karat.stats.paired.systems import Systems

BATCH = 65_536  # rows added at a time


def compare(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    scale: Scale,
    *,
    keys: NDArray[np.uint64] | None = None,
    inference: Inference = Inference(),  # noqa: B008  (it is frozen)
    power: float = 0.8,
    margin: float | None = None,
) -> Comparison:
    """Compare two systems by their row statistics, each of shape (rows, statistics), NaN where a row is not scored.

    Row i of `a` and of `b` answer the same question. `keys`, shape (rows,), are equal for rows of one cluster. The test
    is McNemar's where every score is 0 or 1 and rows are independent, else Student's paired test by row or cluster.
    `margin`: also test whether B is no worse than A by this much, and whether the two are equivalent within it.

    Raises `RowError` for shapes that differ and statistics that are infinite, `DataError` for scores beyond the bounds,
    `SpecError` for a power that is not between 1 - confidence and 1, and what `check_margin` raises.

    >>> a = np.array([[1.0], [0.0], [0.0], [0.0], [0.0], [np.nan], [1.0], [0.0]])
    >>> b = np.array([[1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0]])
    >>> found = compare(a, b, Scale())
    >>> round(found.difference, 3), found.test, found.p, found.wins, found.losses, found.missing_a
    (0.714, 'mcnemar', 0.03125, 5, 0, 1)
    >>> found.verdict(), found.could_turn()
    ('better', False)
    """
    if a.ndim != 2 or a.shape != b.shape:
        raise RowError(f"two systems' statistics of one shape (rows, width) expected, found {a.shape} and {b.shape}")
    if keys is not None and len(keys) != len(a):
        raise RowError(f"{len(a)} cluster keys expected, found {len(keys)}")
    pairing = Pairing(scale, a.shape[1], clustered=keys is not None, inference=inference, power=power)
    for start in range(0, len(a), BATCH):
        part = slice(start, start + BATCH)
        numbers = np.arange(start, start + len(a[part]), dtype=np.uint64)
        pairing.add(a[part], b[part], numbers, None if keys is None else keys[part])
    return pairing.compare(margin)


class Pairing:
    """Two systems' row statistics, `width` a row, which come in batches in any order, and how they compare.

    The numbers come from `Systems`, of which there are two here. This adds who wins rows, and what the rows that one
    of the systems lacks could do.

    >>> pairing = Pairing(Scale(), 1)
    >>> pairing.add(np.zeros((6, 1)), np.ones((6, 1)), np.arange(6, dtype=np.uint64))
    >>> round(pairing.compare().p, 5)
    0.01563
    """

    def __init__(
        self,
        scale: Scale,
        width: int,
        *,
        clustered: bool = False,
        inference: Inference = Inference(),  # noqa: B008  (it is frozen)
        power: float = 0.8,
    ) -> None:
        self._level = round(1 - inference.confidence, 12)
        if not 0 < self._level < power < 1:
            expected = f"0 < 1 - confidence < power < 1 expected, found confidence {inference.confidence}"
            raise SpecError(f"{expected} and power {power}")
        if scale.finish is None and width != 1:
            raise SpecError(f"a metric with {width} statistics a row needs a finish")
        self._scale, self._power = scale, power
        self._systems = Systems(2, width, scale, clustered=clustered, inference=inference)
        self._filled: list[Systems] = []
        self._higher = np.zeros(2, np.int64)  # rows on which B scores higher, and lower

    def add(self, a: Array, b: Array, numbers: Array, clusters: Array | None = None) -> None:
        """Add rows: their statistics, shape (rows, width), NaN where a row is not scored.

        `numbers`, uint64, shape (rows,), tell rows apart; they decide which rows form a group where there are very
        many, so they should not depend on the rows' order. `clusters` are equal for rows of one cluster.

        Raises `RowError` for statistics that are infinite, `DataError` for scores beyond the bounds.
        """
        self._check(a, b)
        missing = np.stack([np.isnan(side).any(axis=1) for side in (a, b)])
        if missing.any() and not self._filled:  # so far no row was filled
            self._filled = [deepcopy(self._systems) for _ in self._fill(a, b)]
        for systems, (one, other) in zip(self._filled, self._fill(a, b), strict=False):
            systems.add(np.stack([one, other], axis=1), numbers, clusters)
        self._systems.add(np.stack([a, b], axis=1), numbers, clusters)
        both = ~missing.any(axis=0)
        self._higher += _count_higher(a[both], b[both], self._scale.finish)

    def interval(self, confidence: float) -> Bounds:
        """The interval of the difference at a confidence, where there is one."""
        return self._systems.interval(confidence) if self._systems.scored else (None, None)

    def compare(self, margin: float | None = None) -> Comparison:
        """Compare the systems on the rows added so far; `margin` as in `compare`."""
        systems, scale = self._systems, self._scale
        difference, low, high, p, error, test = systems.test().pair(1, 0)
        a, b = (
            (None if math.isnan(each) else float(each) for each in systems.values) if systems.scored else (None, None)
        )
        wins, losses = map(int, self._higher if scale.direction == "maximize" else self._higher[::-1])
        if systems.scored == systems.n:
            least, p_least, most, p_most = (difference, p) * 2
        elif self._filled:
            (least, _, _, p_least, *_), (most, _, _, p_most, *_) = (each.test().pair(1, 0) for each in self._filled)
        else:
            p_least = p_most = None
            least, most = _widest(scale)
        deviation = None if error is None else error * math.sqrt(systems.scored)
        around: Bounds = (None, None)
        if self._filled and least is not None and most is not None:
            around = interval_of_bounds((least, most), [each.interval for each in self._filled], 1 - self._level)
        return Comparison(
            a=a,
            b=b,
            difference=difference,
            low=low,
            high=high,
            p=p,
            test=test,
            effect=self._effect(test, difference, deviation),
            wins=wins,
            losses=losses,
            ties=systems.scored - wins - losses,
            n=systems.n,
            scored=systems.scored,
            units=systems.units,
            missing_a=int(systems.missing[0]),
            missing_b=int(systems.missing[1]),
            least=least,
            most=most,
            p_least=p_least,
            p_most=p_most,
            deviation=deviation,
            smallest_visible=self._visible(test, error),
            power=self._power,
            level=self._level,
            direction=scale.direction,
            margin=None if margin is None else self._within(margin),
            all_low=around[0],
            all_high=around[1],
        )

    def _within(self, margin: float) -> MarginTest:
        """The test within a margin, and whether the rows that a system lacks could change what it shows."""
        check_margin(margin, self._level, self._scale.bounds)
        test, *filled = (
            margin_test(each.test().pair(1, 0).difference, each.interval, margin, self._level, self._scale.direction)
            for each in (self._systems, *self._filled)
        )
        unknown = self._systems.scored < self._systems.n and not filled
        return replace(test, turns=unknown or len({each.verdict for each in (test, *filled)}) > 1)

    def _effect(self, test: Test, difference: float | None, deviation: float | None) -> float | None:
        """The odds ratio of McNemar's test, or Cohen's d_z of a mean; None where neither is defined."""
        higher, lower = map(int, self._higher)
        if test == "mcnemar":
            return higher / lower if lower else None
        return None if self._scale.finish or difference is None or not deviation else difference / deviation

    def _visible(self, test: Test, error: float | None) -> float | None:
        """The smallest difference that these rows detect; None where none within the range is."""
        rows, units = self._systems.scored, self._systems.units
        if not error or units < 2:
            return None
        if test == "mcnemar":
            return smallest_share(rows, int(self._higher.sum()) / rows, power=self._power, level=self._level)
        visible = smallest_visible(error, units - 1, power=self._power, level=self._level)
        _, most = _widest(self._scale)
        return visible if most is None or visible <= most else None

    def _fill(self, a: Array, b: Array) -> Iterator[tuple[Array, Array]]:
        """Rows with the worst scores for B and the best for A where they are missing, and the reverse.

        Nothing without two bounds, and with a finish, where rows have no scores.
        """
        low, high = self._scale.bounds
        if self._scale.finish is None and low is not None and high is not None:
            for best, worst in ((high, low), (low, high)):
                yield np.where(np.isnan(a), best, a), np.where(np.isnan(b), worst, b)

    def _check(self, a: Array, b: Array) -> None:
        scale = self._scale
        low, high = (math.inf * sign if end is None else end for end, sign in zip(scale.bounds, (-1, 1), strict=True))
        slack = 0.0 if math.isinf(high - low) else ROUNDING * (high - low)
        for name, side in (("A", a), ("B", b)):
            if (wrong := np.isinf(side).any(axis=1)).any():
                row = int(np.argmax(wrong))
                problem = f"a finite statistic expected, found {side[row].tolist()}"
                raise RowError(f"row {self._systems.n + row} of {name}: {problem}")
            if scale.finish is None and ((side < low - slack) | (side > high + slack)).any():
                raise DataError(
                    f"{name}: scores from {scale.bounds[0]} to {scale.bounds[1]} expected, found some beyond"
                )


def _count_higher(a: Array, b: Array, finish: Finish | None) -> tuple[int, int]:
    """The number of rows on which B scores higher than A, and the number on which it scores lower."""
    if not len(a):
        return 0, 0
    with np.errstate(all="ignore"):
        a, b = (side[:, 0] if finish is None else finish(side) for side in (a, b))
        return int(np.count_nonzero(b > a)), int(np.count_nonzero(b < a))


def _widest(scale: Scale) -> tuple[float | None, float | None]:
    """The least and the greatest difference there can be."""
    low, high = scale.bounds
    return (None, None) if low is None or high is None else (low - high, high - low)
