"""How many rows a comparison needs, estimated from an earlier comparison or from the scores of one system."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from karat.core.errors import DataError
from karat.stats.aggregate import Scale, Units, observe
from karat.stats.paired.comparison import Comparison
from karat.stats.power import paired_deviation, pairs_needed, rows_needed, smallest_share, smallest_visible
from karat.stats.wilson import ROUNDING, jackknife


@dataclass(frozen=True)
class SampleSize:
    """With `rows` rows, a test at `level` detects a true `difference` with probability `power`.

    `smallest` is the smallest difference that the `n` rows at hand detect with that probability; None where there is
    none. `deviation` is the standard deviation of the rows' differences between the two systems: as observed or, if
    `correlation` is not None, under the assumption that a second system's scores have the same variance and this
    correlation with the first.
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
        """The fields in order, as JSON values."""
        return asdict(self)


def sample_size_from_comparison(
    found: Comparison, difference: float, *, power: float = 0.8, level: float = 0.05
) -> SampleSize:
    """The sample size for two systems whose differences vary as in an earlier comparison.

    Raises `SpecError` for a difference of 0 and a power or level outside its range, `DataError` where the systems do
    not differ on any row.
    """
    if not found.deviation:
        raise DataError("rows on which the two systems differ expected, found none: their spread is not known")
    discordant = (found.wins + found.losses) / found.scored if found.test == "mcnemar" else None
    spread = _Spread(found.deviation, discordant, found.scored, found.units - 1)
    return _solve(spread, difference, None, power, level)


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
    (5061, 0.149)
    """
    deviation, binary = _spread(units, scale)
    if not deviation:
        raise DataError("scores that vary expected, found one value: their spread is not known")
    apart = paired_deviation(deviation, correlation)
    discordant = min(1.0, apart**2 + difference**2) if binary else None
    spread = _Spread(apart, discordant, units.rows, len(units) - 1)
    return _solve(spread, difference, correlation, power, level)


@dataclass(frozen=True)
class _Spread:
    """How the differences of `n` rows vary; `discordant` is the share of rows that one system alone has right."""

    deviation: float
    discordant: float | None
    n: int
    freedom: int


def _solve(spread: _Spread, difference: float, correlation: float | None, power: float, level: float) -> SampleSize:
    if spread.discordant is not None:
        rows = pairs_needed(difference, spread.discordant, power=power, level=level)
        smallest = smallest_share(spread.n, spread.discordant, power=power, level=level)
    else:
        rows = rows_needed(difference, spread.deviation, power=power, level=level)
        error = spread.deviation / math.sqrt(spread.n)
        smallest = smallest_visible(error, spread.freedom, power=power, level=level)
    return SampleSize(rows, difference, smallest, spread.n, spread.deviation, correlation, power, level)


def _spread(units: Units, scale: Scale) -> tuple[float | None, bool]:
    """The standard deviation of the rows' scores (or the standard error times √rows), and whether all are 0 or 1."""
    if len(units) < 2:
        return None, False
    rows = units.rows
    if scale.finish is not None or units.clustered:
        variance = jackknife(*observe(units, scale.finish)) * rows
        return (math.sqrt(variance) if math.isfinite(variance) else None), False
    total, squares = float(units.totals.sum()), float(units.squares.sum())
    binary = scale.bounds == (0.0, 1.0) and squares > (1 - ROUNDING) * total
    return math.sqrt(max(0.0, squares - total**2 / rows) / (rows - 1)), binary
