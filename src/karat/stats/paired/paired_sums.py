"""The rows on which two systems are both scored, added up: the same bits in whatever batches and order they come."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from karat.core.columns.kinds import Array
from karat.stats.aggregate import CHUNK, Bounds, Finish, Units
from karat.stats.paired.pairs import Pairs, Spread, count_higher, is_binary
from karat.stats.sums.table import SumTable

_MOMENTS = 5  # columns of sums that the spread of the differences needs


class PairedSums(Pairs):
    """Exact sums over the rows of systems A and B of `width` statistics a row, and their units by a key."""

    def __init__(self, width: int, finish: Finish | None, bounds: Bounds, seed: int, *, clustered: bool) -> None:
        self.finish, self.bounds, self.seed = finish, bounds, seed
        self._clustered, self._width = clustered, width
        self._higher = np.zeros(2, np.int64)
        self._binary = True
        self._table = SumTable(1, 2 * width + (0 if finish else _MOMENTS))
        # Rows, too, are units by a key: two with the same hash are one, and no error.
        self._differing = Units(2 * width, clustered=True, seed=seed)
        self._units = Units(2 * width if finish else 1, clustered=True, seed=seed)
        self._needs_units = clustered or finish is not None or None in bounds

    def add(self, a: Array, b: Array, keys: Array) -> None:
        """Add rows: their statistics, finite, shape (rows, width), and their keys, uint64, shape (rows,).

        The keys are those of the rows' clusters, else a number of each row's own that does not depend on their order.
        """
        for start in range(0, len(a), CHUNK):
            part = slice(start, start + CHUNK)
            self._add(a[part], b[part], keys[part])

    def _add(self, a: Array, b: Array, keys: Array) -> None:
        self._higher += count_higher(a, b, self.finish)
        self._binary = self._binary and is_binary(a, b)
        columns = [*a.T, *b.T]
        if self.finish is None:
            columns += _moments((b - a)[:, 0])
        self._table.add(np.zeros(len(a), np.int64), columns)
        if (rows := np.flatnonzero((a != b).any(axis=1))).size:
            self._differing.add(np.hstack([a[rows], b[rows]]), keys[rows])
        if self._needs_units:
            self._units.add(np.hstack([a, b]) if self.finish else b - a, keys)

    @property
    def clustered(self) -> bool:
        return self._clustered

    @property
    def rows(self) -> int:
        return int(self._table.sizes[0])

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        return self._table.rounded()[0, : 2 * self._width].reshape(2, self._width)

    @property
    def higher(self) -> tuple[int, int]:
        return int(self._higher[0]), int(self._higher[1])

    @property
    def binary(self) -> bool:
        return self._binary

    @property
    def differing(self) -> Units:
        return self._differing

    @property
    def units(self) -> Units:
        return self._units

    @cached_property
    def row_spread(self) -> Spread:
        total, *squares, fourth = self._table.fractions(0)[2 * self._width :]
        rows, square = self.rows, sum(squares)
        if rows < 2 or math.isinf(self._table.rounded()[0, 2 * self._width + 1]):
            return Spread(rows, math.nan if rows < 2 else math.inf, math.nan)
        variance = max(0.0, float((square - total**2 / rows) / (rows - 1)))  # squares below all numbers are lost
        return Spread(rows, variance, float(fourth / square) if square else 0.0)


def _moments(differences: Array) -> list[Array]:
    """What is summed of differences: themselves, their squares, which are the sum of three columns, their fourth power.

    The difference of two sums of squares that are almost equal would be rounding alone. So squares are not rounded:
    those of the leading 26 bits of a number, rounded, of what is left, and twice the product of both.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        bits = np.ascontiguousarray(differences).view(np.uint64) + np.uint64(2**26)
        leading = (bits & np.uint64(2**64 - 2**27)).view(np.float64)
        rest = differences - leading
        return [differences, leading**2, 2 * leading * rest, rest**2, (differences * differences) ** 2]
