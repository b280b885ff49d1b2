"""A metric's value on a column: the number, its interval, and what stands behind it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from karat.stats.aggregate import Finish, Units
from karat.stats.interval import Bounds, interval, observe


@dataclass(frozen=True)
class Value:
    """What a metric says of a column.

    `low` and `high` are the ends of the interval. Of `n` rows `scored` have a score and `failed` have none; `worst`
    and `best` are the value had every unscored row been as bad or as good as can be. None is "not known": no row was
    scored, the finish is undefined, there is no interval or no bound.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    scored: int
    failed: int
    worst: float | None
    best: float | None

    def as_dict(self) -> dict[str, float | int | None]:
        """List the fields in order, as JSON holds them."""
        return asdict(self)


def format_value(value: float | None) -> str:
    """A value with four decimals; `?` where it is not known."""
    return "?" if value is None else f"{value:.4f}"


def summarise(
    units: Units,
    finish: Finish | None = None,
    *,
    bounds: Bounds,
    direction: Literal["maximize", "minimize"] = "maximize",
    failed: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
) -> Value:
    """Sum up the units' rows, and `failed` more that could not be scored, as a value.

    `finish` and `bounds` as in `interval`; `direction` says which bound is the worst.

    >>> units = Units(width=1)
    >>> units.add(np.array([[1.0], [0.0], [1.0]]))
    >>> value = summarise(units, bounds=(0.0, 1.0), failed=1)
    >>> value.value, value.n, value.scored, value.worst, value.best
    (0.6666666666666666, 4, 3, 0.5, 0.75)
    """
    scored = units.rows
    value: float | None = None
    low: float | None = None
    high: float | None = None
    if scored:
        observed, value_of = observe(units, finish)
        with np.errstate(all="ignore"):
            value = float(value_of(observed.sum(axis=0)))
        if math.isfinite(value):
            low, high = interval(units, finish, bounds=bounds, confidence=confidence, seed=seed)
        else:
            value = None
    worst, best = (_fill(units, finish, bound, value, failed) for bound in bounds)
    if direction == "minimize":
        worst, best = best, worst
    return Value(value, low, high, scored + failed, scored, failed, worst, best)


def _fill(units: Units, finish: Finish | None, bound: float | None, value: float | None, failed: int) -> float | None:
    """Find the value had every failed row scored `bound`; with a finish a row has no score, so the bound itself."""
    if failed == 0:
        return value
    if bound is None or finish is not None:
        return bound
    return (float(units.totals.sum()) + failed * bound) / (units.rows + failed)
