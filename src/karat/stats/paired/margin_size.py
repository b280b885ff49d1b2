"""How many rows show that a system is no worse by a margin, or equivalent within it, if the systems do not differ."""

from __future__ import annotations

import math
from dataclasses import dataclass

from karat.core.errors import DataError
from karat.data.json.objects import JsonObject
from karat.stats.aggregate import Scale
from karat.stats.paired.comparison import Comparison
from karat.stats.paired.margin import check_margin
from karat.stats.paired.mcnemar import variance_under
from karat.stats.paired.power import NORMAL, check_power, fewest, least_that, paired_deviation, power_within
from karat.stats.paired.sample_size import find_spread
from karat.stats.sums.units import Units


@dataclass(frozen=True)
class MarginSize(JsonObject):
    """The rows with which two systems that do not differ are shown not to, with probability `power`.

    `no_worse` rows show that one is no worse by the `margin` or more, `equivalent` rows that both are equivalent within
    it, by one-sided tests at `level`. `smallest` is the smallest margin by which the `n` rows at hand show no worse;
    None where there is none. `deviation` and `correlation` are as in `SampleSize`.
    """

    margin: float
    no_worse: int
    equivalent: int
    smallest: float | None
    n: int
    deviation: float
    correlation: float | None
    power: float
    level: float


@dataclass(frozen=True)
class RowDifferences:
    """How the differences of rows vary: their `deviation`; of right and wrong answers the share that is `discordant`.

    For right and wrong answers the power is that of Tango's score test.

    Source: J. Nam, "Establishing equivalence of two treatments and sample size requirements in matched-pairs design",
    Biometrics 53 (1997).

    >>> RowDifferences(0.4).rows_within(0.02), RowDifferences(0.4).rows_within(0.02, both=True)
    (2475, 3427)
    >>> RowDifferences(0.1**0.5, 0.1).rows_within(0.02)
    1578
    """

    deviation: float
    discordant: float | None = None

    def rows_within(self, margin: float, *, both: bool = False, power: float = 0.8, level: float = 0.05) -> int:
        """The fewest rows that show no worse by the margin; with `both` that show equivalence."""
        check_power(power, level)
        return fewest(lambda rows: self.power_within(margin, rows, rows - 1, both=both, level=level) >= power)

    def power_within(self, margin: float, rows: int, freedom: float, *, both: bool, level: float) -> float:
        """The probability that so many rows show it."""
        if self.discordant is None:
            below = margin * math.sqrt(rows) / self.deviation
        else:
            half, freedom = self.discordant / 2, math.inf
            z = NORMAL.inv_cdf(1 - level)
            spread = math.sqrt(variance_under(half, half, 1.0, -margin))
            above = margin * math.sqrt(rows) - z * spread
            own = math.sqrt(self.discordant)
            below = z + (above / own if own else math.copysign(math.inf, above))
        return power_within(below, below if both else math.inf, freedom, level=level)


def margin_size_from_comparison(
    comparison: Comparison, margin: float, *, power: float = 0.8, level: float = 0.05
) -> MarginSize:
    """The sizes for two systems whose differences vary as in an earlier comparison.

    Raises `SpecError` for a margin, a power or a level out of range, `DataError` where no difference is known.
    """
    differences = differences_of(comparison)
    if differences is None:
        raise DataError("rows on which the two systems differ expected, found none: their spread is not known")
    return _solve(differences, margin, (comparison.scored, comparison.units - 1), None, power=power, level=level)


def differences_of(comparison: Comparison) -> RowDifferences | None:
    """How differences varied in a comparison; None where that is not known."""
    if comparison.test == "mcnemar" and comparison.scored:
        discordant = (comparison.wins + comparison.losses) / comparison.scored
        return RowDifferences(math.sqrt(discordant), discordant)
    return RowDifferences(comparison.deviation) if comparison.deviation else None


def margin_size_from_scores(
    units: Units, scale: Scale, margin: float, *, correlation: float = 0.5, power: float = 0.8, level: float = 0.05
) -> MarginSize:
    """The sizes for a comparison with a second system whose scores have the same variance, and this correlation.

    >>> import numpy as np
    >>> units = Units(width=1)
    >>> units.add(np.array([[1.0], [0.0]] * 50))
    >>> size = margin_size_from_scores(units, Scale(), 0.02)
    >>> size.no_worse, size.equivalent, round(size.smallest, 3)
    (3912, 5416, 0.129)
    """
    check_margin(margin, level, scale.bounds)
    deviation, binary = find_spread(units, scale)
    if not deviation:
        raise DataError("scores that vary expected, found one value: their spread is not known")
    apart = paired_deviation(deviation, correlation)
    differences = RowDifferences(apart, min(1.0, apart**2) if binary else None)
    return _solve(differences, margin, (units.rows, len(units) - 1), correlation, power=power, level=level)


def _solve(
    differences: RowDifferences, margin: float, seen: tuple[int, int], correlation: float | None, **test: float
) -> MarginSize:
    """The sizes; of the rows seen there are a number, and the degrees of freedom of their difference."""
    check_margin(margin, test["level"])
    no_worse, equivalent = (differences.rows_within(margin, both=both, **test) for both in (False, True))
    rows, freedom = seen

    def shown(size: float) -> bool:
        reached = differences.power_within(size, rows, max(freedom, 1), both=False, level=test["level"])
        return reached >= test["power"]

    binary = differences.discordant is not None
    smallest = None if freedom < 1 or (binary and not shown(1.0)) else least_that(shown, 1.0 if binary else margin)
    return MarginSize(
        margin, no_worse, equivalent, smallest, rows, differences.deviation, correlation, test["power"], test["level"]
    )
