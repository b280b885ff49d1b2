"""The difference of two systems' means, on rows that are asked in pairs, and what it decides at any time."""

from __future__ import annotations

import math
from collections.abc import Collection

from karat.core.columns.kinds import Array
from karat.core.metric.definition import Direction
from karat.stats.inference import Inference
from karat.stats.paired.comparison import ComparisonVerdict
from karat.stats.paired.margin import MarginTest, check_margin
from karat.stats.paired.multiple import HolmTest
from karat.stats.sequential.population import Population
from karat.stats.sequential.sequence import ConfidenceSequence
from karat.stats.sequential.until import DECIDED


class DifferenceSequence(ConfidenceSequence):
    """The mean difference of all rows, system B's score minus system A's, of which some are asked.

    The score of a row is the difference, so that the bounds of the `population` are the least and the greatest one; a
    row counts only where both systems have a score. `margin`: also show whether B is no worse than A by this much, and
    whether both are equivalent within it, by the interval with a confidence of 1 - 2·level, which holds at all times
    too. Raises what `check_margin` raises.

    >>> import numpy as np
    >>> differences = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], 600, p=[0.1, 0.5, 0.4])
    >>> sequence = DifferenceSequence(Population(np.ones(600), (-1.0, 1.0)))
    >>> sequence.add(differences[:120], np.ones(120))
    >>> sequence.decision, round(sequence.low, 2), round(sequence.high, 2), sequence.p < 0.05
    ('better', 0.19, 0.5, True)
    """

    def __init__(
        self,
        population: Population,
        inference: Inference = Inference(),  # noqa: B008  (it is frozen)
        width: float | None = None,
        *,
        margin: float | None = None,
        direction: Direction = "maximize",
    ) -> None:
        self._level = round(1 - inference.confidence, 12)
        self.margin, self._direction = margin, direction
        self._within: ConfidenceSequence | None = None
        if margin is not None:
            check_margin(margin, self._level)
            width = 2 * margin if width is None else width
            self._within = ConfidenceSequence(population, Inference(1 - 2 * self._level, inference.seed), width)
        super().__init__(population, inference, width)

    def add(self, totals: Array, counts: Array, cheap: Array | None = None) -> None:
        """Add the next units: the sum of the differences of each, and how many of its rows have one; as in a mean."""
        super().add(totals, counts, cheap)
        if self._within is not None:
            self._within.add(totals, counts, cheap)

    @property
    def decision(self) -> ComparisonVerdict:
        """What is shown by now: "better" or "worse" without 0 in the interval, else what the margin shows."""
        low, high = self.low, self.high
        if low > 0 or high < 0:
            return "better" if (low > 0) == (self._direction == "maximize") else "worse"
        above, below = self._inside_margin()
        if above and below:
            return "equivalent"
        return "no worse" if (above if self._direction == "maximize" else below) else "unclear"

    @property
    def p(self) -> float | None:
        """The p of no difference, which holds at all times; None before any difference is known."""
        if math.isnan(self.value):
            return None
        both = min(1.0, 2 * min(self.p_values(0.0)))
        return _hold(both, self._level, shown=self.low > 0 or self.high < 0)

    @property
    def margin_test(self) -> MarginTest | None:
        """What the margin shows, by a p that holds at all times; None without a margin."""
        if self.margin is None or self._within is None:
            return None
        if math.isnan(self.value):
            none = HolmTest(None, None, 1)
            return MarginTest(self.margin, self._level, None, None, None, None, none, none)
        above, below = self._inside_margin()
        lower = _hold(self._within.p_values(-self.margin)[0], self._level, shown=above)
        upper = _hold(self._within.p_values(self.margin)[1], self._level, shown=below)
        ps = lower if self._direction == "maximize" else upper, max(lower, upper)
        no_worse, equivalent = (HolmTest(p, self._level, 1) for p in ps)
        ends = self._within.low, self._within.high
        return MarginTest(self.margin, self._level, *ends, *ps, no_worse, equivalent)

    def rows_to_decide(self, decisions: Collection[str] = DECIDED) -> int:
        """About how many further rows one of these verdicts takes, if the difference stays as it is."""
        if self.decision in decisions:
            return 0
        if math.isnan(self.value):
            return self.rows
        gain = self.value if self._direction == "maximize" else -self.value
        ways = {"better": gain, "worse": -gain}
        if self.margin is not None:
            ways |= {"equivalent": self.margin - abs(gain), "no worse": self.margin + gain}
        half = max((ways.get(each, 0.0) for each in decisions), default=0.0)
        return self.rows_to(2 * half) if half > 0 else self.rows - self.asked

    def _inside_margin(self) -> tuple[bool, bool]:
        """Whether the interval is above minus the margin, and whether it is below the margin."""
        if self._within is None or self.margin is None:
            return False, False
        return self._within.low > -self.margin, self._within.high < self.margin


def _hold(p: float, level: float, *, shown: bool) -> float:
    """A p that is at most the level exactly where the interval, which is found on a grid, shows the same."""
    return min(p, level) if shown else max(p, math.nextafter(level, 1.0))
