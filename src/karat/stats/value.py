"""Numbers with intervals: a metric's value on a column, with its counts of rows, and any other estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from karat.core.metric.in_order import Curve, Percentile
from karat.data.json.objects import JsonObject
from karat.stats.aggregate import Finish, Scale, Units
from karat.stats.confidence.curve_rows import CurveRows
from karat.stats.inference import Inference
from karat.stats.intervals.interval import interval
from karat.stats.percentiles.values import Values, make_units


@dataclass(frozen=True)
class Value(JsonObject):
    """The value of a metric on a column.

    `low` and `high` are the ends of the interval; `worst` and `best` are the value if every unscored row had the worst
    or the best possible score. None: no row was scored, the finish is undefined, or there is no interval or no bound.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    scored: int
    failed: int
    worst: float | None
    best: float | None


@dataclass(frozen=True)
class Estimate(JsonObject):
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

    def __str__(self) -> str:
        if self.value is None:
            return f"no estimate: {self.reason}"
        return f"{format_value(self.value)} ({format_value(self.low)} – {format_value(self.high)})"


def spell(value: float | None, form: str) -> str:
    """A number in a format such as `.4f`, in which its last bits never show; `?` for None.

    Libraries add up in an order that depends on the processor, so that 79.75 may come out as 79.74999999999999. Numbers
    are rounded to 12 digits first, and both become 79.8.

    >>> f"{79.74999999999999:.1f}", spell(79.74999999999999, ".1f"), spell(79.75, ".1f")
    ('79.7', '79.8', '79.8')
    """
    return "?" if value is None else format(float(format(value, ".12g")), form)


def format_value(value: float | None) -> str:
    """A value with four decimals; `?` where it is not known."""
    return spell(value, ".4f")


def summarise(
    units: Units | Values | CurveRows,
    scale: Scale,
    *,
    failed: int = 0,
    inference: Inference = Inference(),  # noqa: B008  (it is frozen)
    unit_weight: float | None = None,
) -> Value:
    """The value of the units' rows, with its interval; `failed` is the number of further rows without a score.

    `unit_weight` as in `interval`.

    >>> units = Units(width=1)
    >>> units.add(np.array([[1.0], [0.0], [1.0]]))
    >>> value = summarise(units, Scale(), failed=1)
    >>> value.value, value.n, value.scored, value.worst, value.best
    (0.6666666666666666, 4, 3, 0.5, 0.75)
    """
    finish, bounds, scored = scale.finish, scale.bounds, units.rows
    value, low, high = None, None, None
    if isinstance(units, Values) and isinstance(finish, Percentile):
        if scored:
            value = units.percentile(finish.share)
            low, high = units.interval(finish.share, inference.confidence)
    elif isinstance(units, CurveRows) and isinstance(finish, Curve):
        if scored:
            value, low, high = units.estimate(finish, bounds, inference.confidence)
    elif scored and isinstance(units, Units):
        computed = units.value(finish)
        if math.isfinite(computed):
            value = computed
            low, high = interval(
                units,
                finish,
                bounds=bounds,
                confidence=inference.confidence,
                seed=inference.seed,
                unit_weight=unit_weight,
            )
    worst, best = (_fill(units, finish, bound, value, failed) for bound in bounds)
    if scale.direction == "minimize":
        worst, best = best, worst
    return Value(value, low, high, scored + failed, scored, failed, worst, best)


def value_of_rows(
    statistics: NDArray[np.float64],
    scale: Scale,
    *,
    clusters: NDArray[np.uint64] | None = None,
    rows: NDArray[np.int64] | None = None,
    inference: Inference = Inference(),  # noqa: B008
) -> Value:
    """The value of rows whose statistics are kept, shape (n, k), NaN where a row is unscored.

    `clusters` are the keys of the rows' clusters, shape (n,); `rows` the numbers of those to take, by default all.

    >>> value_of_rows(np.array([[1.0], [0.0], [np.nan]]), Scale(), rows=np.array([0, 2])).as_dict()["value"]
    1.0
    """
    rows = np.arange(len(statistics)) if rows is None else rows
    scored = rows[~np.isnan(statistics[rows]).any(axis=1)]
    units = make_units(scale.finish, statistics.shape[1], clustered=clusters is not None, seed=inference.seed)
    units.add(statistics[scored], scored.astype(np.uint64) if clusters is None else clusters[scored])
    return summarise(units, scale, failed=len(rows) - len(scored), inference=inference)


def _fill(
    units: Units | Values | CurveRows, finish: Finish | None, bound: float | None, value: float | None, failed: int
) -> float | None:
    """The value if every failed row had scored `bound`; with a finish, rows have no scores, so the bound itself."""
    if failed == 0:
        return value
    if bound is None or finish is not None or not isinstance(units, Units):
        return bound
    return (float(units.total[0]) + failed * bound) / (units.rows + failed)
