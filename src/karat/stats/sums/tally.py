"""Different numbers and how often each occurs, in bounded memory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from karat.core.columns.kinds import Array
from karat.stats.aggregate import Accumulator
from karat.stats.sums.table import read_array


class Tally(Accumulator):
    """The different numbers of rows, ascending, and the counts of each: exact up to `most` numbers, else of bins.

    The counts, whole numbers of shape (width, numbers), have the rows first. Rows of clusters have a value, and no
    interval.
    """

    most: ClassVar[int]

    def __init__(self, width: int, *, clustered: bool = False, seed: int = 0) -> None:
        super().__init__(width, clustered=clustered, seed=seed)
        self._numbers: NDArray[np.float64] = np.empty(0)
        self._counts: NDArray[np.int64] = np.empty((width, 0), np.int64)

    def __len__(self) -> int:
        return self.rows

    @property
    def rows(self) -> int:
        """The number of rows added."""
        return int(self._counts[0].sum())

    @abstractmethod
    def _bin(self, numbers: Array, counts: Array) -> tuple[Array, Array]:
        """The bins of these numbers, ascending, and their counts."""

    def _settle(self) -> None:
        """Count rows that wait for it."""

    def _put(self, numbers: Array, counts: Array) -> None:
        numbers = np.concatenate([self._numbers, numbers])
        counts = np.concatenate([self._counts, counts], axis=1)
        if not self.collapsed:
            numbers, counts = add_up(numbers, counts)
            self.collapsed = len(numbers) > self.most
        if self.collapsed:
            numbers, counts = self._bin(numbers, counts)
        self._numbers, self._counts = numbers, counts

    def _merge(self, other: Self) -> None:
        self._settle()
        other._settle()
        self.collapsed = self.collapsed or other.collapsed
        self._put(other._numbers, other._counts)

    def _state(self) -> tuple[dict[str, Any], list[bytes]]:
        self._settle()
        return {}, [self._numbers.astype("<f8").tobytes(), self._counts.astype("<i8").tobytes()]

    def _restore(self, about: Mapping[str, Any], stored: Iterator[bytes]) -> None:  # noqa: ARG002
        self._numbers = read_array(next(stored), "<f8")
        self._counts = read_array(next(stored), "<i8").reshape(self.width, -1)


def add_up(numbers: Array, counts: Array) -> tuple[Array, Array]:
    """The different numbers, ascending, and the sums of their counts, of shape (..., numbers).

    >>> [each.tolist() for each in add_up(np.array([0.5, -1.0, 0.5]), np.array([[1, 1, 2]]))]
    [[-1.0, 0.5], [[1, 3]]]
    """
    order = np.argsort(numbers)
    numbers = numbers[order]
    first = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)])
    return numbers[first], np.add.reduceat(counts[..., order], first, axis=-1)
