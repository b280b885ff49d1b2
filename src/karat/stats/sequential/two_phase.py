"""An expensive score of few rows beside a cheaper one of more: how many rows of each."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

LOOKING = 1.4  # an interval that holds at all times is about so many times as wide as one that is looked at once


@dataclass(frozen=True)
class TwoPhase:
    """What rows of two scores cost and what they say: prices in USD, variances by row.

    `cheap`, `expensive`: the price of a row; a row of the expensive score has its cheap one too. `foretold`: the
    variance of the part of the expensive score that the cheap one foretells, `rest`: the variance of what is left.
    """

    cheap: float
    expensive: float
    foretold: float
    rest: float

    @property
    def ratio(self) -> float:
        """How many rows of the cheap score, for each of the expensive one, narrow the interval most for their price.

        With fewer than 1 the cheap score is not worth asking. The variance is `rest + foretold / ratio` for each row of
        the expensive score (Neyman 1938).

        >>> TwoPhase(cheap=0.002, expensive=0.298, foretold=0.16, rest=0.04).ratio
        24.4...
        """
        if self.rest <= 0 or self.cheap <= 0:
            return 1.0 if self.foretold <= 0 else float("inf")
        return sqrt(self.foretold / self.rest * (self.expensive + self.cheap) / self.cheap)

    def rows_for(self, width: float, rows: int, so_far: int = 0) -> int:
        """About how many further rows of the expensive score an interval of this width takes, at the best ratio."""
        variance = self.rest + (self.foretold / self.ratio if self.foretold > 0 else 0.0)
        needed = variance / (width / (2 * 1.96 * LOOKING)) ** 2
        return max(0, round(needed / (1 + needed / rows)) - so_far)
