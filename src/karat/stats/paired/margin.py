"""Whether one system is no worse than another by a margin, and whether the two are equivalent within it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias

from karat.core.errors import SpecError
from karat.core.metric.definition import Direction
from karat.data.json.objects import JsonObject, Printed
from karat.stats.aggregate import Bounds
from karat.stats.intervals.inversion import p_value
from karat.stats.paired.multiple import HolmTest, holm_tests

MarginVerdict: TypeAlias = Literal["equivalent", "no worse", "unclear"]
EndsAt: TypeAlias = Callable[[float], Bounds]  # the ends of an interval at a confidence


@dataclass(frozen=True)
class MarginTest(JsonObject):
    """System B beside system A within a `margin`, in the metric's unit: two one-sided tests, each at `level`.

    `low` and `high` are the ends of the interval of the difference with a confidence of 1 - 2·`level`. `p_no_worse` is
    the p of the test that B is worse than A by the margin or more, `p_equivalent` the larger p of the tests that either
    system is. `no_worse` and `equivalent` are the same in their families of tests. Both p are at most `level` exactly
    where the interval lies inside: above minus the margin (below the margin, where less is better), or within both.
    `turns`: whether rows without a score could change the verdict. None means "not known".
    """

    margin: float
    level: float
    low: float | None
    high: float | None
    p_no_worse: float | None
    p_equivalent: float | None
    no_worse: HolmTest
    equivalent: HolmTest
    turns: bool = False

    printed: ClassVar = Printed(also=("verdict",))

    @property
    def verdict(self) -> MarginVerdict:
        """Whether B is equivalent to A, or at least no worse, corrected for the number of tests."""
        if self.equivalent.adjusted is not None and self.equivalent.adjusted <= self.level:
            return "equivalent"
        return "no worse" if self.no_worse.adjusted is not None and self.no_worse.adjusted <= self.level else "unclear"


def check_margin(margin: float, level: float, bounds: Bounds = (None, None), what: str = "the metric") -> None:
    """Raise `SpecError` for a margin that is not above 0, or as wide as the range, and for a `level` of 0.5 or more.

    >>> check_margin(2, 0.05, (0.0, 1.0), "em")
    Traceback (most recent call last):
        ...
    karat.core.errors.SpecError: margin: 2 is no less than the range of em, 0 to 1; 2 points are 0.02
    """
    if isinstance(margin, bool) or not isinstance(margin, (int, float)) or not 0 < margin < math.inf:
        raise SpecError(f"margin: expected a number above 0, in the unit of {what}, found {margin!r}")
    if level >= 0.5:
        raise SpecError(f"margin: two one-sided tests need a confidence above 0.5, found {1 - level:g}")
    low, high = bounds
    if low is not None and high is not None and margin >= high - low:
        points = f"; {margin:g} points are {margin / 100:g}" if bounds == (0, 1) else ""
        raise SpecError(f"margin: {margin:g} is no less than the range of {what}, {low:g} to {high:g}{points}")


def margin_test(
    difference: float | None, ends: EndsAt, margin: float, level: float, direction: Direction
) -> MarginTest:
    """The test of a `difference`, B - A, whose interval at a confidence is `ends`; raises what `check_margin` raises.

    Source: D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for assessing
    the equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15 (1987).

    >>> from statistics import NormalDist
    >>> def ends(confidence: float) -> Bounds:
    ...     reach = 0.01 * NormalDist().inv_cdf((1 + confidence) / 2)
    ...     return -0.005 - reach, -0.005 + reach
    >>> found = margin_test(-0.005, ends, 0.02, 0.05, "maximize")
    >>> round(found.low, 4), round(found.high, 4), round(found.p_no_worse, 3), round(found.p_equivalent, 3)
    (-0.0214, 0.0114, 0.067, 0.067)
    >>> found.verdict
    'unclear'
    """
    check_margin(margin, level)
    low, high, lower, upper = None, None, None, None
    if difference is not None:
        low, high = ends(1 - 2 * level)
        lower, upper = _exceed(difference, ends, -margin), _exceed(-difference, _mirror(ends), -margin)
    no_worse = lower if direction == "maximize" else upper
    equivalent = None if lower is None or upper is None else max(lower, upper)
    one, both = (HolmTest(p, None if p is None else level, 1) for p in (no_worse, equivalent))
    return MarginTest(margin, level, low, high, no_worse, equivalent, one, both)


def hold_margins(tests: Sequence[MarginTest | None], level: float) -> Iterator[MarginTest | None]:
    """The tests as two families of Holm's method: "no worse", and "equivalent"."""
    no_worse, equivalent = (
        holm_tests([None if each is None else getattr(each, name) for each in tests], level)
        for name in ("p_no_worse", "p_equivalent")
    )
    for test, *held in zip(tests, no_worse, equivalent, strict=True):
        yield test and replace(test, no_worse=held[0], equivalent=held[1])


def _exceed(difference: float, ends: EndsAt, least: float) -> float | None:
    """The one-sided p of the hypothesis that a difference is at most `least`."""
    p = p_value(difference - least, lambda confidence: _shift(ends(confidence), -least))
    return None if p is None else p / 2 if difference > least else 1 - p / 2


def _mirror(ends: EndsAt) -> EndsAt:
    """The ends of the negative."""

    def mirrored(confidence: float) -> Bounds:
        low, high = ends(confidence)
        return None if high is None else -high, None if low is None else -low

    return mirrored


def _shift(ends: Bounds, by: float) -> Bounds:
    low, high = (None if end is None else end + by for end in ends)
    return low, high
