"""The estimate of a value from the statistics of rows, weighted and by cluster."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from karat.stats.aggregate import Scale
from karat.stats.inference import Inference
from karat.stats.sums.units import Units
from karat.stats.value import Estimate, summarise

FEWEST = 5  # rows or clusters below which no mean is reported


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

    `weights`, shape (rows,): the inverse of the probability with which each row was drawn; the interval is that of
    Kish's effective number of rows or clusters, (Σw)²/Σw². `keys`, shape (rows,): equal
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
    each = None if weights is None else _weight_of_one(weights[present], None if keys is None else keys[present])
    value = summarise(units, scale, inference=inference, unit_weight=each)
    if value.value is None:
        return Estimate.missing(undefined, value.n)
    return Estimate(value.value, value.low, value.high, value.n)


def _weight_of_one(weights: NDArray[np.float64], keys: NDArray[np.uint64] | None) -> float:
    """The inverse of Kish's effective number of rows or clusters."""
    if keys is not None:
        weights = np.bincount(np.unique(keys, return_inverse=True)[1], weights).astype(np.float64)
    return float(weights @ weights) / float(weights.sum()) ** 2


def _weighted_mean(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = sums[..., 0] / sums[..., 1]
    return mean
