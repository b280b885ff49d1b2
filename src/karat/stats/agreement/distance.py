"""How far two labels are apart: not at all or wholly, in proportion to their difference, or to its square."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.stats.intervals.wilson import Ends

Level: TypeAlias = Literal["nominal", "linear", "quadratic", "ordinal"]
"""How far two labels are apart: `ordinal` is the square of the difference of their mean ranks."""
MOST_CATEGORIES = 20
"""With more different labels, these are scores rather than categories."""
_POWERS = {"nominal": 0, "linear": 1, "quadratic": 2, "ordinal": 2}


def number_values(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The different values, ascending, and the number of each value among them; without sorting where few differ.

    >>> [each.tolist() for each in number_values(np.array([2.0, 1.0, 2.0]))]
    [[1.0, 2.0], [1, 0, 1]]
    """
    encoded = pa.array(values + 0.0).dictionary_encode()  # -0 becomes 0
    different, codes = (np.asarray(each) for each in (encoded.dictionary, encoded.indices))
    order = np.argsort(different)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return different[order], places[codes]


@dataclass(frozen=True, eq=False)
class CodedLabels:
    """The labels of some raters as numbers of categories.

    `values`, shape (categories,), are the different labels in ascending order; `codes`, shape (rows, raters), is the
    number of each rater's label among them, -1 where there is none.
    """

    values: NDArray[np.float64]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, ratings: NDArray[np.float64], categories: NDArray[np.float64] | None = None) -> CodedLabels:
        """Number the labels; `categories` are those that may not all occur, NaN is a missing label."""
        seen = ~np.isnan(ratings)
        values, codes = number_values(ratings[seen])
        if categories is not None:
            every = np.union1d(values, categories)
            values, codes = every, np.searchsorted(every, values)[codes]
        filled = np.full(ratings.shape, -1, np.int64)
        filled[seen] = codes
        return cls(values, filled)

    def __len__(self) -> int:
        """The number of categories."""
        return len(self.values)

    def count(self, shares: NDArray[np.float64]) -> Array:
        """The weight of each category, shape (categories,), where each label in a row counts with the row's share."""
        seen = self.codes >= 0
        spread = np.broadcast_to(shares[:, None], self.codes.shape)
        return np.bincount(self.codes[seen], spread[seen], minlength=len(self))


@dataclass(frozen=True, eq=False)
class Distance:
    """The distance between categories: a power of the difference of their positions, 1 between the outermost.

    `positions`, shape (categories,), ascend from 0 to 1.

    >>> steps = Distance(np.array([0.0, 0.5, 1.0]), power=1)
    >>> steps.to_all(np.array([1.0, 0.0, 2.0])).tolist()
    [2.0, 1.5, 1.0]
    """

    positions: NDArray[np.float64]
    power: int

    @classmethod
    def of(cls, labels: CodedLabels, level: Level, counts: NDArray[np.float64] | None = None) -> Distance:
        """The distance of a level; `ordinal` needs the count of each category, from which mean ranks follow.

        Raises `SpecError` for an unknown level.
        """
        if level not in _POWERS:
            raise SpecError(f"level={level!r}: expected one of {', '.join(_POWERS)}")
        positions = labels.values
        if level == "ordinal" and counts is not None:
            positions = np.cumsum(counts) - counts / 2
        span = positions[-1] - positions[0] if len(positions) else 0.0
        power = _POWERS[level] if len(labels) > 2 else 0  # two categories are only equal or different
        return cls((positions - positions[0]) / span if span else np.zeros(len(positions)), power)

    def bounds(self, expected: float) -> Ends:
        """The range of 1 - d / `expected` for distances d; for distances between categories at most kappa's range."""
        return (-1.0, 1.0) if self.power else (1 - 1 / expected, 1.0)

    def between(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> Array:
        """The distance of each pair of categories, shape of `a` and `b`."""
        if self.power == 0:
            return np.asarray(a != b, np.float64)
        return np.asarray(np.abs(self.positions[a] - self.positions[b]) ** self.power)

    def to_all(self, counts: NDArray[np.float64]) -> Array:
        """The sum of the distances from each category to all labels, shape (categories,) like their `counts`."""
        x, total, first = self.positions, counts.sum(), counts @ self.positions
        if self.power == 0:
            return np.asarray(total - counts)
        if self.power == 1:
            return np.asarray(x * (2 * np.cumsum(counts) - total) - 2 * np.cumsum(counts * x) + first)
        return np.asarray(np.maximum(x**2 * total - 2 * x * first + counts @ x**2, 0.0))

    def within(self, codes: NDArray[np.int64]) -> Array:
        """The sum of the distances over all ordered pairs of labels in a row, shape (rows,); -1 is a missing label."""
        seen = codes >= 0
        number = seen.sum(axis=1)
        if self.power == 0:
            same = sum((codes == each).sum(axis=1) ** 2 for each in range(len(self.positions)))
            return np.asarray(number**2 - same, np.float64)
        x = np.where(seen, self.positions[codes], 0.0)
        if self.power == 2:
            return np.asarray(np.maximum(2 * (number * (x**2).sum(axis=1) - x.sum(axis=1) ** 2), 0.0))
        ranked = np.sort(np.where(seen, x, np.inf), axis=1)
        places = 2 * np.arange(codes.shape[1]) - number[:, None] + 1
        return np.asarray(2 * (np.where(np.isfinite(ranked), ranked, 0.0) * places).sum(axis=1))
