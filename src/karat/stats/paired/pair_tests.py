"""Every pair of systems on the same rows: differences, their intervals, and the p of their tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


class TestedPair(NamedTuple):
    """One system minus another: the difference, the ends of its interval, p, the standard error, and the test."""

    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    error: float | None
    test: Any


@dataclass(frozen=True, eq=False)
class PairTests:
    """Every pair of systems: arrays of shape (systems, systems), the system of the row minus the system of the column.

    `low` and `high` are the ends of the interval of the `difference`, `p` the two-sided test's, `error` the
    standard error, and `test` the name of the test. NaN is what is not known.
    """

    difference: Matrix
    low: Matrix
    high: Matrix
    p: Matrix
    error: Matrix
    test: NDArray[Any]

    @classmethod
    def mirror(cls, upper: tuple[Matrix, ...], test: NDArray[Any] | str) -> PairTests:
        """The whole arrays from difference, low, high, p and error above the diagonal."""
        difference, low, high, p, error = (np.triu(each, 1) for each in upper)
        names = np.full(p.shape, test, object) if isinstance(test, str) else test
        return cls(difference - difference.T, low - high.T, high - low.T, p + p.T + np.eye(len(p)), error + error.T,
                   names)  # fmt: skip

    def pair(self, one: int, other: int) -> TestedPair:
        """System `one` minus the `other`; None for what is not known, and for all of a difference that is not."""
        figures = (float(each[one, other]) for each in (self.difference, self.low, self.high, self.p, self.error))
        difference, low, high, p, error = (None if math.isnan(each) else each for each in figures)
        if difference is None:
            low = high = p = error = None
        return TestedPair(difference, low, high, p, error, self.test[one, other])
