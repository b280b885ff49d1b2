"""The result of comparing two systems on the same rows: their difference, its interval, and its p."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from karat.core.metric.definition import Direction
from karat.data.json.objects import JsonObject, Printed
from karat.stats.paired.margin import MarginTest, MarginVerdict

Test: TypeAlias = Literal["mcnemar", "student", "exceedance", "wald", "sequence"]
ComparisonVerdict: TypeAlias = Literal["better", "worse", MarginVerdict]


@dataclass(frozen=True)
class Comparison(JsonObject):
    """System B compared with system A, on the rows on which both are scored.

    `low` and `high` are the ends of the interval of `difference` (b - a). `p` is the result of the two-sided `test`.
    `effect` is the odds ratio for McNemar's test (rows that only B has right by rows
    that only A has right), Cohen's d_z for other means, None for other values. `wins`, `losses` and `ties` count the
    rows on which B is better, worse and equal.

    Of `n` rows, `scored` are scored in both systems (`units` independent rows or clusters, or groups of very many).
    `least` and `most` are the difference, and `p_least` and `p_most` its p, if the missing rows had the worst scores in
    B and the best in A, and the reverse. `deviation` is the standard deviation of the rows' differences (for other
    values, the standard error times the root of `scored`); `smallest_visible` is the smallest difference that this many
    rows detect with probability `power`. `margin` is the test within a margin, where one was set. None means "not
    known". `all_low` and `all_high` are, where rows are missing, the ends of the interval of the difference that all
    rows would have, whatever their scores are (`karat.stats.intervals.imbens_manski`).
    """

    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    test: Test
    effect: float | None
    wins: int
    losses: int
    ties: int
    n: int
    scored: int
    units: int
    missing_a: int
    missing_b: int
    least: float | None
    most: float | None
    p_least: float | None
    p_most: float | None
    deviation: float | None
    smallest_visible: float | None
    power: float
    level: float
    direction: Direction
    margin: MarginTest | None = None
    all_low: float | None = None
    all_high: float | None = None

    printed: ClassVar = Printed(sparse=("margin", "all_low", "all_high"))

    def verdict(self, level: float | None = None, *, adjusted: float | None = None) -> ComparisonVerdict:
        """Whether B is better or worse than A at `level`, by default the comparison's own; else what the margin shows.

        For better and worse both have to say so: p, `adjusted` for several tests where it is, is at most the level, and
        the interval, where there is one, leaves out 0.
        """
        p = self.p if adjusted is None else adjusted
        plain = "unclear" if self.holds_zero else self._judge(self.difference, p, level)
        return self.margin.verdict if plain == "unclear" and self.margin is not None else plain

    @property
    def holds_zero(self) -> bool | None:
        """Whether the interval holds 0; None where there is no interval. An open end reaches as far as there is."""
        if self.low is None and self.high is None:
            return None
        return not ((self.low is not None and self.low > 0) or (self.high is not None and self.high < 0))

    def could_turn(self, level: float | None = None) -> bool:
        """Whether the rows missing in A or B could lead to another verdict, had they the worst or the best scores."""
        if self.scored == self.n:
            return False
        if self.margin is not None and self.margin.turns:
            return True
        if self.p_least is None or self.p_most is None:
            return True
        cases = (self.difference, self.p), (self.least, self.p_least), (self.most, self.p_most)
        return len({self._judge(*each, level) for each in cases}) > 1

    def as_dict(self) -> dict[str, Any]:
        """The fields in order, then verdict and could_turn at the comparison's level, as JSON values."""
        return super().as_dict() | {"verdict": self.verdict(), "could_turn": self.could_turn()}

    def _judge(self, difference: float | None, p: float | None, level: float | None) -> ComparisonVerdict:
        if difference is None or p is None or p > (self.level if level is None else level) or difference == 0:
            return "unclear"
        return "better" if (difference > 0) == (self.direction == "maximize") else "worse"
