"""An estimate: a value with its interval, or the reason why there is none."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.stats.aggregate import Scale, Units
from karat.stats.inference import Inference
from karat.stats.value import format_value, summarise

FEWEST = 5  # rows or clusters below which no mean is reported


@dataclass(frozen=True)
class Estimate:
    """A value from `n` rows and the ends of its interval; all None where there is no estimate, for this `reason`.

    >>> print(Estimate(0.25, 0.1, 0.5, 20))
    0.2500 (0.1000 – 0.5000)
    >>> print(Estimate.missing("no row is labelled"))
    no estimate: no row is labelled
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None = None

    @classmethod
    def missing(cls, reason: str, n: int = 0) -> Estimate:
        """No estimate from `n` rows, and why."""
        return cls(None, None, None, n, reason)

    def as_dict(self) -> dict[str, Any]:
        """The fields in order, as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        if self.value is None:
            return f"no estimate: {self.reason}"
        return f"{format_value(self.value)} ({format_value(self.low)} – {format_value(self.high)})"


def estimate(
    statistics: NDArray[np.float64],
    scale: Scale = Scale(),  # noqa: B008  (frozen)
    *,
    weights: NDArray[np.float64] | None = None,
    keys: NDArray[np.uint64] | None = None,
    inference: Inference = Inference(),  # noqa: B008  (frozen)
    undefined: str = "it is undefined for these rows",
) -> Estimate:
    """The value of rows' statistics, shape (rows,) or (rows, statistics), on a scale. Rows with a NaN do not count.

    `weights`, shape (rows,): the inverse of the probability with which each row was drawn. `keys`, shape (rows,): equal
    for the rows of one cluster. `undefined`: the reason where the value is undefined.

    >>> print(estimate(np.array([0.0, 1.0, 1.0, np.nan, 0.0, 1.0])))
    0.6000 (0.2307 – 0.8824)
    >>> print(estimate(np.array([1.0, np.nan])))
    no estimate: fewer than 5 rows (1)
    """
    statistics = statistics[:, None] if statistics.ndim == 1 else statistics
    if weights is not None:
        if scale.finish is None:
            statistics = np.column_stack([statistics, np.ones(len(statistics))])
            scale = replace(scale, finish=_weighted_mean)
        statistics = statistics * weights[:, None]
    present = ~np.isnan(statistics).any(axis=1)
    units = Units(statistics.shape[1], clustered=keys is not None, seed=inference.seed)
    units.add(statistics[present], None if keys is None else keys[present])
    if len(units) < FEWEST:
        return Estimate.missing(
            f"fewer than {FEWEST} {'rows' if keys is None else 'clusters'} ({len(units)})", units.rows
        )
    value = summarise(units, scale, inference=inference)
    if value.value is None:
        return Estimate.missing(undefined, value.n)
    return Estimate(value.value, value.low, value.high, value.n)


def _weighted_mean(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = sums[..., 0] / sums[..., 1]
    return mean
