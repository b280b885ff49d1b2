"""The rows on which two systems are both scored, in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from karat.core.columns.kinds import Array
from karat.stats.aggregate import Bounds, Finish, Units
from karat.stats.paired.pairs import Pairs, Spread, count_higher, is_binary

BATCH = 65_536  # rows added at a time


@dataclass(frozen=True, eq=False)
class PairedRows(Pairs):
    """Row statistics of systems A and B, all finite, shape (rows, statistics) each, and each row's cluster key."""

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    keys: NDArray[np.uint64] | None
    finish: Finish | None
    bounds: Bounds
    seed: int

    @property
    def clustered(self) -> bool:
        return self.keys is not None

    @property
    def rows(self) -> int:
        return len(self.a)

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        return np.stack([self.a.sum(axis=0), self.b.sum(axis=0)])

    @cached_property
    def higher(self) -> tuple[int, int]:
        return count_higher(self.a, self.b, self.finish)

    @cached_property
    def binary(self) -> bool:
        return is_binary(self.a, self.b)

    @cached_property
    def differing(self) -> Units:
        return self._both(np.flatnonzero((self.a != self.b).any(axis=1)))

    @cached_property
    def units(self) -> Units:
        rows = np.arange(len(self.a))
        return self._both(rows) if self.finish else self._add(1, rows, lambda part: self.b[part] - self.a[part])

    @cached_property
    def row_spread(self) -> Spread:
        return Spread.of((self.b - self.a)[:, 0])

    def _both(self, rows: Array) -> Units:
        return self._add(2 * self.a.shape[1], rows, lambda part: np.hstack([self.a[part], self.b[part]]))

    def _add(self, width: int, rows: Array, take: Callable[[Array], Array]) -> Units:
        """Add up what `take` returns for `rows`, a bounded number of rows at a time."""
        units = Units(width, clustered=self.clustered, seed=self.seed)
        for start in range(0, len(rows), BATCH):
            part = rows[start : start + BATCH]
            units.add(take(part), None if self.keys is None else self.keys[part])
        return units
