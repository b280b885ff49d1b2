"""Every pair of systems on the same rows: differences, their intervals, and the p of their tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairTests:
    """Every pair of systems: arrays of shape (systems, systems), the system of the row minus that of the column.

    `low` and `high` are the ends of the interval of the `difference`, `p` that of the two-sided test, `error` the
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
