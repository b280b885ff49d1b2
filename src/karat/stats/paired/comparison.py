"""What is said of two systems on the same rows: how far apart they are, and whether that could be chance."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from karat.core.metric.definition import Direction

Test: TypeAlias = Literal["mcnemar", "sign_flip", "swap"]
Verdict: TypeAlias = Literal["better", "worse", "unclear"]


@dataclass(frozen=True)
class Comparison:
    """System B against system A, on the rows that both were scored on.

    `a`, `b` and `difference` (b - a) are values; `low` and `high` the ends of the difference's interval, None where one
    is not known. `p` is of the two-sided `test`, with `draws` random swaps (0: exact). `effect` is for McNemar's test
    the odds ratio (rows that B alone has right by those that A alone has), for other means Cohen's d_z (the difference
    in standard deviations of the rows' differences), for values that are no means None. `wins`, `losses` and `ties`
    count the rows on which B is better, worse and neither.

    Of `n` rows `scored` are scored in both (`units` independent rows or clusters, or groups of very many), `missing_a`
    are not scored in A, `missing_b` not in B. `least` and `most` are the difference had these been scored as badly as
    can be for one system and as well for the other; `p_least` and `p_most` what the test then says. None is "not
    known".

    `deviation` is the standard deviation of the rows' differences (or what stands for it: the standard error times the
    root of `scored`) and `smallest_visible` the smallest difference that this many rows show with probability `power`.
    """

    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    test: Test
    draws: int
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

    def verdict(self, level: float | None = None) -> Verdict:
        """Whether B is better or worse than A at `level`, by default the comparison's own, of one test alone."""
        return self._judge(self.difference, self.p, level)

    def could_turn(self, level: float | None = None) -> bool:
        """Whether the rows missing in one or both, scored as badly or as well as can be, lead to another verdict."""
        if self.scored == self.n:
            return False
        if self.p_least is None or self.p_most is None:
            return True
        verdicts = {self._judge(self.least, self.p_least, level), self._judge(self.most, self.p_most, level)}
        return verdicts != {self.verdict(level)}

    def as_dict(self) -> dict[str, float | int | str | bool | None]:
        """List the fields in order, then verdict and could_turn at the comparison's level, as JSON holds them."""
        return asdict(self) | {"verdict": self.verdict(), "could_turn": self.could_turn()}

    def _judge(self, difference: float | None, p: float | None, level: float | None) -> Verdict:
        if difference is None or p is None or p > (self.level if level is None else level) or difference == 0:
            return "unclear"
        return "better" if (difference > 0) == (self.direction == "maximize") else "worse"
