"""Row statistics, added up by unit in bounded memory, and how totals become values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from karat.core.errors import RowError, SpecError
from karat.core.metric.definition import Direction

Finish: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]  # totals (..., width) to values (...)
Bounds: TypeAlias = tuple[float | None, float | None]  # the least and the greatest value; None where there is none

LIMIT = 16_384  # units kept apart
BLOCKS = 4_096  # groups of units beyond that


@dataclass(frozen=True)
class Scale:
    """How a metric's totals become values, which values are possible, and which of them are good."""

    finish: Finish | None = None  # None is the mean
    bounds: Bounds = (0.0, 1.0)
    direction: Direction = "maximize"


def points(bounds: Bounds) -> float:
    """The factor from a metric's unit to points: 100 for a metric from 0 to 1, else 1.

    >>> points((0, 1)), points((0, None))
    (100.0, 1.0)
    """
    return 100.0 if bounds == (0, 1) else 1.0


class Units:
    """Totals of row statistics by sampling unit: the unit that a resampling method draws.

    A unit is a row or, if `clustered`, all rows with the same key. More than `LIMIT` units are combined into `BLOCKS`
    groups by a hash of their keys and the `seed`: `collapsed`. Memory stays bounded, and any two can be merged.

    The state is `keys` (uint64, one for each unit) and `sums` (float64, units by 2·width + 1: the statistics, their
    squares and the number of rows).

    >>> units = Units(width=1)
    >>> units.add(np.array([[1.0], [0.0], [1.0]]))
    >>> units.rows, units.totals.sum(axis=0).tolist()
    (3, [2.0])
    """

    def __init__(self, width: int, *, clustered: bool = False, seed: int = 0) -> None:
        self.width = width
        self.clustered = clustered
        self.seed = seed
        self.collapsed = False
        self.keys: NDArray[np.uint64] = np.empty(0, np.uint64)
        self.sums: NDArray[np.float64] = np.empty((0, 2 * width + 1))

    def __len__(self) -> int:
        """The number of units that hold a row."""
        return int(np.count_nonzero(self.sums[:, -1]))

    @property
    def rows(self) -> int:
        """The number of rows added."""
        return int(self.sums[:, -1].sum())

    @property
    def sizes(self) -> NDArray[np.float64]:
        """The number of rows of each unit, shape (units,)."""
        return self.sums[:, -1]

    @property
    def totals(self) -> NDArray[np.float64]:
        """The summed statistics of each unit, shape (units, width)."""
        return self.sums[:, : self.width]

    @property
    def squares(self) -> NDArray[np.float64]:
        """The summed squares of the rows' statistics of each unit, shape (units, width)."""
        return self.sums[:, self.width : -1]

    def add(self, statistics: NDArray[np.float64], keys: NDArray[np.uint64] | None = None) -> None:
        """Add the statistics of scored rows, shape (rows, width), and the key of each row's cluster if clustered.

        The same rows in other batches give the same totals. `RowError` for a statistic that is not finite and for
        keys that do not fit the rows.
        """
        if statistics.ndim != 2 or statistics.shape[1] != self.width:
            raise RowError(f"statistics of shape (rows, {self.width}) expected, found {statistics.shape}")
        if self.clustered != (keys is not None) or (keys is not None and len(keys) != len(statistics)):
            expected = f"{len(statistics)} cluster keys" if self.clustered else "no cluster keys"
            raise RowError(f"{expected} expected, found {'none' if keys is None else len(keys)}")
        finite = np.isfinite(statistics).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            raise RowError(f"row {self.rows + row}: a finite statistic expected, found {statistics[row].tolist()}")
        if keys is None:
            keys = np.arange(self.rows, self.rows + len(statistics), dtype=np.uint64)
        self._fold(keys, np.column_stack([statistics, statistics**2, np.ones(len(statistics))]))

    def merge(self, other: Units) -> None:
        """Add another accumulator's units; where units are rows, its rows follow ours."""
        if (self.width, self.clustered, self.seed) != (other.width, other.clustered, other.seed):
            raise RowError("units of equal width, clustering and seed expected")
        if other.collapsed:
            self._collapse()
            self.sums += other.sums
        else:
            self._fold(other.keys if self.clustered else other.keys + np.uint64(self.rows), other.sums)

    def _fold(self, keys: NDArray[np.uint64], sums: NDArray[np.float64]) -> None:
        if self.collapsed:
            self.sums = _sum_by(_mix(keys, self.seed) % np.uint64(BLOCKS), sums, self.sums)
            return
        self.keys = np.concatenate([self.keys, keys])
        self.sums = np.concatenate([self.sums, sums])
        if self.clustered:
            self.keys, unit = np.unique(self.keys, return_inverse=True)
            self.sums = _sum_by(unit, self.sums, np.zeros((len(self.keys), self.sums.shape[1])))
        if len(self.keys) > LIMIT:
            self._collapse()

    def _collapse(self) -> None:
        if not self.collapsed:
            block = _mix(self.keys, self.seed) % np.uint64(BLOCKS)
            self.collapsed = True
            self.sums = _sum_by(block, self.sums, np.zeros((BLOCKS, self.sums.shape[1])))
            self.keys = np.arange(BLOCKS, dtype=np.uint64)


def observe(units: Units, finish: Finish | None) -> tuple[NDArray[np.float64], Finish]:
    """The quantities that are summed over units, shape (units, statistics), and the function from sums to values.

    Raises `SpecError` for several statistics without a finish.
    """
    if finish is not None:
        return units.totals, finish
    if units.width != 1:
        raise SpecError(f"a metric with {units.width} statistics a row needs a finish")
    return np.column_stack([units.totals, units.sizes]), _divide


def _divide(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = sums[..., 0] / sums[..., 1]
    return mean


def _sum_by(unit: NDArray[np.integer], cells: NDArray[np.float64], start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add to each unit's row of `start` its rows of `cells`, one by one in order, so that batches do not matter."""
    sums = np.array(start, order="F")
    for column in range(cells.shape[1]):
        np.add.at(sums[:, column], unit, cells[:, column])
    return sums


def _mix(keys: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """Hash 64-bit keys (the finaliser of splitmix64: Steele, Lea and Flood, OOPSLA 2014)."""
    mixed = keys + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
