"""How many rows a comparison needs, estimated from an earlier comparison or from the scores of one system."""

from __future__ import annotations

import math
from dataclasses import dataclass

from karat.core.errors import DataError
from karat.data.json.objects import JsonObject
from karat.stats.aggregate import Scale
from karat.stats.intervals.wilson import ROUNDING, jackknife
from karat.stats.paired.comparison import Comparison
from karat.stats.paired.power import paired_deviation, pairs_needed, rows_needed, smallest_share, smallest_visible
from karat.stats.sums.units import Units


@dataclass(frozen=True)
class SampleSize(JsonObject):
    """With `rows` rows, a test at `level` detects a true `difference` with probability `power`.

    `smallest` is the smallest difference that the `n` rows at hand detect with that probability; None where there is
    none. `deviation` is the rows' differences': as observed or, if `correlation` is not None, assuming a second
    system whose scores have the same variance and this correlation with the first.
    """

    rows: int
    difference: float
    smallest: float | None
    n: int
    deviation: float
    correlation: float | None
    power: float
    level: float


@dataclass(frozen=True)
class NoSampleSize(JsonObject):
    """Why the scores at hand do not say how many rows a difference takes."""

    reason: str


def sample_size_from_comparison(
    comparison: Comparison, difference: float, *, power: float = 0.8, level: float = 0.05
) -> SampleSize:
    """The sample size for two systems whose differences vary as in an earlier comparison.

    Raises `SpecError` for a difference of 0 and a power or level outside its range, `DataError` where the systems do
    not differ on any row.
    """
    if not comparison.deviation:
        raise DataError("rows on which the two systems differ expected, found none: their spread is not known")
    discordant = (comparison.wins + comparison.losses) / comparison.scored if comparison.test == "mcnemar" else None
    if discordant is not None and discordant < abs(difference):
        apart = f"the systems differ on {comparison.wins + comparison.losses} of {comparison.scored} rows"
        raise DataError(f"{apart}, which is less than a difference of {difference:g} takes")
    n, freedom = comparison.scored, comparison.units - 1
    rows, smallest = _solve(difference, comparison.deviation, discordant, (n, freedom), power=power, level=level)
    return SampleSize(rows, difference, smallest, n, comparison.deviation, None, power, level)


def sample_size_from_scores(
    units: Units,
    scale: Scale,
    difference: float,
    *,
    correlation: float = 0.5,
    power: float = 0.8,
    level: float = 0.05,
) -> SampleSize:
    """The sample size for a comparison with a second system whose scores have the same variance.

    The correlation is an assumption: two unrelated systems often have 0.3 to 0.6, two versions of one 0.8 and more.

    >>> import numpy as np
    >>> units = Units(width=1)
    >>> units.add(np.array([[1.0], [0.0]] * 50))
    >>> plan = sample_size_from_scores(units, Scale(), 0.02)
    >>> plan.rows, round(plan.smallest, 3)
    (4961, 0.139)
    """
    deviation, binary = find_spread(units, scale)
    if not deviation:
        raise DataError("scores that vary expected, found one value: their spread is not known")
    apart = paired_deviation(deviation, correlation)
    discordant = min(1.0, apart**2 + difference**2) if binary else None
    if discordant is not None and discordant < abs(difference):
        raise DataError(f"two systems would differ on {discordant:.3g} of the rows, less than {difference:g} takes")
    n, freedom = units.rows, len(units) - 1
    rows, smallest = _solve(difference, apart, discordant, (n, freedom), power=power, level=level)
    return SampleSize(rows, difference, smallest, n, apart, correlation, power, level)


def _solve(
    difference: float, deviation: float, discordant: float | None, seen: tuple[int, int], **test: float
) -> tuple[int, float | None]:
    """The rows that are needed, and the smallest difference that the rows seen (their number, freedom) detect."""
    n, freedom = seen
    if discordant is not None:
        return pairs_needed(difference, discordant, **test), smallest_share(n, discordant, **test)
    return rows_needed(difference, deviation, **test), smallest_visible(deviation / math.sqrt(n), freedom, **test)


def find_spread(units: Units, scale: Scale) -> tuple[float | None, bool]:
    """The standard deviation of the rows' scores (or the standard error times √rows), and whether all are 0 or 1."""
    if len(units) < 2:
        return None, False
    rows = units.rows
    if scale.finish is not None or units.clustered:
        variance = jackknife(*units.observe(scale.finish)) * rows
        return (math.sqrt(variance) if math.isfinite(variance) else None), False
    total, squares = float(units.totals.sum()), float(units.squares.sum())
    binary = scale.bounds == (0.0, 1.0) and squares > (1 - ROUNDING) * total
    return math.sqrt(max(0.0, squares - total**2 / rows) / (rows - 1)), binary
