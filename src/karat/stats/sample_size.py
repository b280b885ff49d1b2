"""How many rows the next comparison needs, from a comparison that was made or from one system's scores."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from karat.core.errors import DataError
from karat.stats.aggregate import Finish, Units
from karat.stats.interval import Bounds, observe
from karat.stats.paired.comparison import Comparison
from karat.stats.power import paired_deviation, pairs_needed, rows_needed, smallest_share, smallest_visible
from karat.stats.wilson import ROUNDING, jackknife


@dataclass(frozen=True)
class Plan:
    """With `rows` rows a true `difference` is found with probability `power` in a test at `level`.

    `smallest` is the smallest difference that the `n` rows at hand would show; None where no difference is sure to be
    seen. `deviation` is the standard deviation of the differences between two systems on a row: as observed, or, if
    `correlation` is not None, on the assumption that a second system's scores vary as these do and correlate so much.
    """

    rows: int
    difference: float
    smallest: float | None
    n: int
    deviation: float
    correlation: float | None
    power: float
    level: float

    def as_dict(self) -> dict[str, float | int | None]:
        """List the fields in order, as JSON holds them."""
        return asdict(self)


def plan_from_pair(found: Comparison, difference: float, *, power: float = 0.8, level: float = 0.05) -> Plan:
    """Plan for two systems that vary row by row as the two that were compared.

    `SpecError` for a difference, power or level that is none; `DataError` where the comparison shows no spread.
    """
    if not found.deviation:
        raise DataError("rows on which the two systems differ expected, found none: their spread is not known")
    discordant = (found.wins + found.losses) / found.scored if found.test == "mcnemar" else None
    return _plan(difference, found.deviation, discordant, found.scored, found.units - 1, None, power, level)


def plan_from_run(
    units: Units,
    finish: Finish | None,
    difference: float,
    *,
    bounds: Bounds,
    correlation: float = 0.5,
    power: float = 0.8,
    level: float = 0.05,
) -> Plan:
    """Plan for a comparison with a second system whose scores vary as these do and correlate with them.

    The correlation is an assumption: two unrelated systems often have 0.3 to 0.6, two versions of one 0.8 and more.

    >>> import numpy as np
    >>> units = Units(width=1)
    >>> units.add(np.array([[1.0], [0.0]] * 50))
    >>> plan = plan_from_run(units, None, 0.02, bounds=(0.0, 1.0))
    >>> plan.rows, round(plan.smallest, 3)
    (5061, 0.149)
    """
    deviation, binary = _spread(units, finish, bounds)
    if not deviation:
        raise DataError("scores that vary expected, found one value: their spread is not known")
    apart = paired_deviation(deviation, correlation)
    discordant = min(1.0, apart**2 + difference**2) if binary else None
    return _plan(difference, apart, discordant, units.rows, len(units) - 1, correlation, power, level)


def _plan(
    difference: float,
    deviation: float,
    discordant: float | None,
    n: int,
    freedom: int,
    correlation: float | None,
    power: float,
    level: float,
) -> Plan:
    if discordant is not None:
        rows = pairs_needed(difference, discordant, power=power, level=level)
        smallest = smallest_share(n, discordant, power=power, level=level)
    else:
        rows = rows_needed(difference, deviation, power=power, level=level)
        smallest = smallest_visible(deviation / math.sqrt(n), freedom, power=power, level=level)
    return Plan(rows, difference, smallest, n, deviation, correlation, power, level)


def _spread(units: Units, finish: Finish | None, bounds: Bounds) -> tuple[float | None, bool]:
    """The standard deviation of one row's scores, or what stands for it, and whether they are all 0 or 1."""
    if len(units) < 2:
        return None, False
    rows = units.rows
    if finish is not None or units.clustered:
        variance = jackknife(*observe(units, finish)) * rows
        return (math.sqrt(variance) if math.isfinite(variance) else None), False
    total, squares = float(units.totals.sum()), float(units.squares.sum())
    binary = bounds == (0.0, 1.0) and squares > (1 - ROUNDING) * total
    return math.sqrt(max(0.0, squares - total**2 / rows) / (rows - 1)), binary
