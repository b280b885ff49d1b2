"""The power of paired comparisons: the rows that a difference needs, and the difference that some rows detect."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from karat.core.errors import SpecError
from karat.stats.intervals.student import NODES, WEIGHTS, normal_share, student_quantile

NORMAL = NormalDist()
SMALLEST = 0.000001  # difference, level and chance to miss one that can be planned for
CLOSE = 1e-9  # relative precision of bisection


def power_of(shift: float, freedom: float, *, level: float = 0.05) -> float:
    """The power of a two-sided paired t test at `level`, where the true difference is `shift` standard errors.

    This is the probability of rejection for a given ratio of the estimated to the true standard error, averaged over
    that ratio by quadrature.

    >>> round(power_of(2.5, 29), 6)
    0.676026
    """
    t = student_quantile(1 - level / 2, freedom)
    return _average(lambda ratio: normal_share(shift - t * ratio) + normal_share(-shift - t * ratio), freedom)


def power_within(below: float, above: float, freedom: float, *, level: float = 0.05) -> float:
    """The power of two one-sided paired t tests, each at `level`, to show that a difference is between two limits.

    The true difference is `below` standard errors above the lower limit, and `above` of them below the upper one:
    infinitely many where that limit is not tested.

    Source: D. B. Owen, "A special case of a bivariate non-central t-distribution", Biometrika 52 (1965).

    >>> round(power_within(3.0, 3.0, 29), 6), round(power_within(3.0, math.inf, 29), 6)
    (0.800861, 0.90043)
    """
    t = student_quantile(1 - level, freedom)
    return _average(lambda ratio: max(0.0, normal_share(below - t * ratio) - normal_share(t * ratio - above)), freedom)


def _average(rejected: Callable[[float], float], freedom: float) -> float:
    """The mean of a probability of rejection over the ratios of the estimated to the true standard error."""
    if math.isinf(freedom):
        return rejected(1.0)
    reach = 8 / math.sqrt(2 * freedom)
    start = max(0.0, 1 - reach)
    ratios = start + (1 + reach - start) * (NODES + 1) / 2
    logs = (freedom - 1) * np.log(ratios) - freedom * ratios**2 / 2
    weights = WEIGHTS * np.exp(logs - logs.max())
    return float(weights @ [rejected(ratio) for ratio in ratios.tolist()] / weights.sum())


def smallest_visible(error: float, freedom: float, *, power: float = 0.8, level: float = 0.05) -> float:
    """The smallest true difference that is detected with probability `power`, given the standard error.

    >>> round(smallest_visible(0.01, 199), 5)
    0.02815
    """
    check_power(power, level)
    return error * _least_shift(freedom, power, level)


@lru_cache(1 << 10)  # findings on the same rows share it
def _least_shift(freedom: float, power: float, level: float) -> float:
    """The smallest difference that is detected with this probability, in standard errors."""
    return least_that(lambda shift: power_of(shift, freedom, level=level) >= power, 1.0)


def rows_needed(difference: float, deviation: float, *, power: float = 0.8, level: float = 0.05) -> int:
    """The number of rows that detect a difference of means with probability `power`.

    `deviation` is the standard deviation of the rows' differences; for clusters and for values that are not means, the
    standard error of the difference times the root of the number of rows.

    >>> rows_needed(0.02, 0.4)
    3142
    """
    check_power(power, level)
    if not abs(difference) >= SMALLEST or not deviation > 0:
        problem = f"found {difference} and {deviation}"
        raise SpecError(f"a difference of {SMALLEST} or more and a spread above 0 expected, {problem}")
    shift = abs(difference) / deviation

    return fewest(lambda rows: power_of(shift * math.sqrt(rows), rows - 1, level=level) >= power)


def fewest(enough: Callable[[int], bool]) -> int:
    """The least number of rows, two or more, that are `enough`, as all larger ones are.

    >>> fewest(lambda rows: rows > 41)
    42
    """
    low, high = 1, 2
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def pairs_needed(difference: float, discordant: float, *, power: float = 0.8, level: float = 0.05) -> int:
    """The number of rows with which McNemar's test detects a difference of shares with probability `power`.

    `discordant` is the share of rows that exactly one system has right; it is at least the difference.

    Source: R. Connor, "Sample size for testing differences in proportions for the paired-sample design", Biometrics 43
    (1987), whose power the mid-p reaches.

    >>> pairs_needed(0.02, 0.1)
    1960
    """
    check_power(power, level)
    if not SMALLEST <= abs(difference) <= discordant <= 1:
        expected = f"a difference from {SMALLEST} and a share of discordant rows from |{difference}| to 1"
        raise SpecError(f"{expected} expected, found {discordant}")
    return math.ceil(_root(abs(difference), discordant, power, level) ** 2)


def smallest_share(rows: int, discordant: float, *, power: float = 0.8, level: float = 0.05) -> float | None:
    """The smallest difference of shares that McNemar's test detects with probability `power`.

    None if there are so few `discordant` rows that the test misses even a system that wins all of them.

    >>> round(smallest_share(1960, 0.1), 4), smallest_share(50, 0.1)
    (0.02, None)
    """
    check_power(power, level)

    def found(share: float) -> bool:
        return _root(share, discordant, power, level) <= math.sqrt(rows)

    return least_that(found, discordant) if discordant > 0 and found(discordant) else None


def paired_deviation(deviation: float, correlation: float) -> float:
    """The standard deviation of differences between two systems whose scores each vary by `deviation`.

    For right and wrong answers its square is the share of discordant rows, less the square of the difference.

    >>> paired_deviation(0.4, 0.5)
    0.4
    """
    if not -1 <= correlation < 1:
        raise SpecError(f"a correlation from -1 to below 1 expected, found {correlation}")
    return deviation * math.sqrt(2 * (1 - correlation))


def _root(difference: float, discordant: float, power: float, level: float) -> float:
    """The square root of the number of rows."""
    reach = NORMAL.inv_cdf(1 - level / 2) * math.sqrt(discordant)
    reach += NORMAL.inv_cdf(power) * math.sqrt(discordant - difference**2)
    return reach / difference


def least_that(holds: Callable[[float], bool], high: float) -> float:
    """The least positive number for which `holds` is true, given that it is true for all greater ones."""
    while not holds(high):
        high *= 2
    low = 0.0
    while high - low > CLOSE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def check_power(power: float, level: float) -> None:
    """Raise `SpecError` for a power or a level that cannot be planned for."""
    if not SMALLEST <= level < power <= 1 - SMALLEST:
        expected = f"{SMALLEST} <= level < power <= {1 - SMALLEST} expected"
        raise SpecError(f"{expected}, found a level of {level} and a power of {power}")
