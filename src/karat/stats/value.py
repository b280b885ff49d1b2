"""Numbers with intervals: a metric's value on a column, with its counts of rows, and any other estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from karat.core.metric.definition import Finish
from karat.core.metric.in_order import Kept, kept_by
from karat.data.json.objects import JsonObject, Printed
from karat.stats.aggregate import Accumulator, Bounds, Scale
from karat.stats.inference import Inference
from karat.stats.intervals.imbens_manski import interval_of_bounds
from karat.stats.ordered.curve_rows import CurveRows
from karat.stats.ordered.percentile_values import ScoreCounts
from karat.stats.sums.units import Units

_KEEPERS: dict[Kept, type[Accumulator]] = {each.keeps: each for each in (Units, ScoreCounts, CurveRows)}


@dataclass(frozen=True)
class Value(JsonObject):
    """The value of a metric on a column.

    `low` and `high` are the ends of the interval. Of `n` rows, `scored` have a score and `unscored` have none; `worst`
    and `best` are the value if every unscored row had the worst or the best possible score. None: no row was scored,
    the finish is undefined, or there is no interval or no bound. `not_asked` further rows, which `n` does not count,
    were left out at random, since a rule ended the asking: the value is about them too. `all_low` and `all_high`, for a
    mean within bounds of independent rows of which some are unscored, are the ends of the interval of the value that
    all rows would have (`karat.stats.intervals.imbens_manski`), whatever their scores are.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    scored: int
    unscored: int
    worst: float | None
    best: float | None
    not_asked: int = 0
    all_low: float | None = None
    all_high: float | None = None

    printed: ClassVar = Printed(sparse=("not_asked", "all_low", "all_high"))

    @property
    def failed(self) -> int:
        """The earlier name of `unscored`."""
        return self.unscored


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
    units: Accumulator,
    scale: Scale,
    *,
    unscored: int = 0,
    not_asked: int = 0,
    inference: Inference = Inference(),  # noqa: B008  (it is frozen)
    unit_weight: float | None = None,
) -> Value:
    """The value of the units' rows, with its interval; `unscored` and `not_asked` are the numbers of further rows.

    `unit_weight` as in `interval`.

    >>> import numpy as np
    >>> units = Units(width=1)
    >>> units.add(np.array([[1.0], [0.0], [1.0]]))
    >>> value = summarise(units, Scale(), unscored=1)
    >>> value.value, value.n, value.scored, value.worst, value.best
    (0.6666666666666666, 4, 3, 0.5, 0.75)
    """
    scored = units.rows
    value, low, high = units.estimate(scale, inference, unit_weight) if scored else (None, None, None)
    filled = (units.fill(scale, each, unscored) if each is not None else None for each in scale.bounds)
    worst, best = filled if unscored else (value, value)
    around = _bound(units, scale, unscored, inference) if unscored and scored else (None, None)
    if scale.direction == "minimize":
        worst, best = best, worst
    return Value(value, low, high, scored + unscored, scored, unscored, worst, best, not_asked, *around)


def _bound(units: Accumulator, scale: Scale, unscored: int, inference: Inference) -> Bounds:
    """The interval of the mean that all rows would have; None where that is not known."""
    low, high = scale.bounds
    if low is None or high is None:
        return None, None
    lowest, highest = (units.filled(scale, end, unscored) for end in (low, high))
    if lowest is None or highest is None:
        return None, None
    bounds = units.fill(scale, low, unscored), units.fill(scale, high, unscored)

    def ends(rows: Accumulator) -> Callable[[float], Bounds]:
        return lambda confidence: rows.estimate(scale, Inference(confidence, inference.seed))[1:]

    return interval_of_bounds(bounds, (ends(lowest), ends(highest)), inference.confidence)


def make_units(finish: Finish | None, width: int, *, clustered: bool = False, seed: int = 0) -> Accumulator:
    """What keeps the statistics of a metric: sums by unit, values for a percentile, rows by confidence for a curve."""
    return _KEEPERS[kept_by(finish)](width, clustered=clustered, seed=seed)


def restore_units(about: Mapping[str, Any], stored: Iterator[bytes]) -> Accumulator:
    """What kept the statistics whose `state` this is."""
    return _KEEPERS[about["keeps"]].restore(about, stored)
