"""A table of exact sums: the columns of row statistics, added up by unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.stats.sums.exact import Cells, ExactSums, Floats


class SumTable:
    """The number of rows of each unit, `sizes`, int64 of shape (units,), and the exact sums of their columns.

    >>> table = SumTable(units=2, columns=1)
    >>> table.add(np.array([0, 1, 1]), [np.array([1.0, 2.0, 0.5])])
    >>> table.rounded().tolist()
    [[1.0, 1.0], [2.5, 2.0]]
    """

    def __init__(self, units: int, columns: int) -> None:
        self.sizes: NDArray[np.int64] = np.zeros(units, np.int64)
        self._columns = [ExactSums(units) for _ in range(columns)]

    def add(self, at: Cells, columns: Iterable[Floats]) -> None:
        """Add rows, which are given by column, to their units; `at` has the place of each row's unit."""
        np.add.at(self.sizes, at, 1)
        for sums, values in zip(self._columns, columns, strict=True):
            sums.add(at, values)

    def absorb(self, at: Cells, other: SumTable) -> None:
        """Add another table's sums to ours; `at` has our place of each of its units."""
        np.add.at(self.sizes, at, other.sizes)
        for sums, others in zip(self._columns, other._columns, strict=True):
            sums.absorb(at, others)

    def rounded(self) -> Floats:
        """The sums as the nearest floats, and the sizes after them, shape (units, columns + 1)."""
        return np.column_stack([*(sums.rounded() for sums in self._columns), self.sizes])

    def total(self) -> Floats:
        """The sum of each column over all units, rounded once, shape (columns,)."""
        return np.array([sums.total() for sums in self._columns])

    def state(self) -> tuple[list[tuple[int, int]], list[bytes]]:
        """What `restore` needs: the first limb and the number of limbs of each column, and the numbers as bytes."""
        arrays = [sums.to_array() for sums in self._columns]
        sizes = self.sizes.astype("<i8").tobytes()
        return [(low, limbs.shape[1]) for low, limbs in arrays], [sizes, *(limbs.tobytes() for _, limbs in arrays)]

    @classmethod
    def restore(cls, limbs: Iterable[tuple[int, int]], stored: Iterator[bytes]) -> SumTable:
        """The table whose `state` this is."""
        sizes = read_array(next(stored), "<i8")
        table = cls(len(sizes), 0)
        table.sizes += sizes
        for low, width in limbs:
            table._columns.append(ExactSums.from_array(low, read_array(next(stored), "<u4").reshape(len(sizes), width)))
        return table


def read_array(stored: bytes, kind: str) -> NDArray[Any]:
    """The numbers of an array, from its bytes; unlike `numpy.frombuffer`, it takes no bytes for no numbers."""
    return np.frombuffer(stored, kind) if stored else np.empty(0, kind)
