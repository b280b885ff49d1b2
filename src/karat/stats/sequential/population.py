"""What is known of the units of a table before any is asked: their order, their sizes, and free metrics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import RowError


@dataclass(frozen=True)
class Population:
    """The units of a table in the order in which they are asked; a unit is a row, or the rows that belong together.

    `sizes`: the rows of each unit, shape (units,). `bounds`: the lowest and the highest score of a row. `free`: the
    sum over each unit's rows of metrics that are known of all rows, shape (units, metrics). `cheap`: a cheaper score
    from 0 to 1, such as a judge's, is known of the rows that are asked and of others drawn at random, but not of all.
    The order is a random one, in which each unit is drawn from those that are left: alike, or in proportion to
    `probabilities`, shape (units,).

    Raises `RowError` for shapes that do not fit, bounds that are not finite, and probabilities that are not positive.

    >>> Population(np.ones(3), probabilities=np.array([0.5, 0.25, 0.25])).weights.round(4).tolist()
    [0.6667, 1.0, 1.0]
    """

    sizes: Array
    bounds: tuple[float, float] = (0.0, 1.0)
    free: Array | None = None
    probabilities: Array | None = None
    cheap: bool = False

    def __post_init__(self) -> None:
        low, high = self.bounds
        if not (np.isfinite([low, high]).all() and low < high):
            raise RowError(f"scores between two finite bounds expected, found bounds {self.bounds}")
        for name, values in {"free": self.free, "probabilities": self.probabilities}.items():
            if values is not None and (len(values) != len(self.sizes) or not np.isfinite(values).all()):
                raise RowError(f"{name}: {len(self.sizes)} finite values expected, one a unit")
        if self.probabilities is not None and not (self.probabilities > 0).all():
            raise RowError("probabilities above 0 expected")

    def __len__(self) -> int:
        """The number of units."""
        return len(self.sizes)

    @property
    def range(self) -> float:
        """The difference between the highest and the lowest score."""
        return self.bounds[1] - self.bounds[0]

    @cached_property
    def units_left(self) -> Array:
        """How many units are left before each is asked, shape (units,)."""
        return np.arange(len(self), 0, -1, dtype=float)

    @cached_property
    def rows_left(self) -> Array:
        """The rows that are left after each number of units, shape (units + 1,)."""
        return _sums_from(np.append(self.sizes, 0.0))

    @cached_property
    def weights(self) -> Array:
        """What makes the unit that is drawn stand for the mean of those that are left, shape (units,)."""
        if self.probabilities is None:
            return np.ones(len(self))
        return self._odds / self.probabilities

    @cached_property
    def largest(self) -> Array:
        """The most that the weighted size of the next unit can be, before each is asked, shape (units,)."""
        if self.probabilities is None:
            return _most_from(self.sizes)
        return self._odds * _most_from(self.sizes / self.probabilities)

    @cached_property
    def _odds(self) -> Array:
        """The mean probability of the units that are left, as a share of all that is left: shape (units,)."""
        return _sums_from(np.asarray(self.probabilities)) / self.units_left

    @cached_property
    def drawn(self) -> Array:
        """The weighted free metrics of each unit less their mean over those that are left, shape (units, metrics).

        Before a unit is drawn 0 is to be expected of it.
        """
        if self.free is None:
            return np.empty((len(self), 0))
        return self.weights[:, None] * self.free - _sums_from(self.free) / self.units_left[:, None]

    def extremes(self, slopes: Array, first: int, size: int) -> Array:
        """The least and the greatest value that `drawn @ slopes` can have for units from `first`, shape (2, size)."""
        if self.free is None or not slopes.any():
            return np.zeros((2, size))
        of_unit = self.free[first:] @ slopes
        means = _sums_from(of_unit) / self.units_left[first:]
        if self.probabilities is None:
            least, most = -_most_from(-of_unit), _most_from(of_unit)
        else:
            ratio, odds = of_unit / self.probabilities[first:], self._odds[first:]
            least, most = -_most_from(-ratio) * odds, _most_from(ratio) * odds
        return np.stack([least - means, most - means])[:, :size]


def _most_from(values: Array) -> Array:
    """The greatest of the values from each place on."""
    most: Array = np.maximum.accumulate(np.asarray(values, float)[::-1])[::-1]
    return most


def _sums_from(values: Array) -> Array:
    """The sum of the values from each place on."""
    sums: Array = np.cumsum(np.asarray(values, float)[::-1], axis=0)[::-1]
    return sums
