"""An expensive score of few rows beside a cheaper one of more: how the cheap rows are used, and how many of each."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import RowError

LOOKING = 1.4  # an interval that holds at all times is about so many times as wide as one that is looked at once


def redraw(known: int, units: int, seed: int) -> Array:
    """Draws with replacement from all units, made of units that were drawn without replacement, in their order.

    The draws are places in that order. Each takes one of the units that it has seen already as often as it would if
    units were put back, and else the next, until the `known` ones are used up. Raises `RowError` where all are known.

    >>> redraw(4, 5, seed=1).tolist()
    [0, 1, 2, 3, 0, 0]
    """
    if known >= units:
        raise RowError("a score that is known of all units is a free metric, and is not drawn")
    random, draws, seen = np.random.default_rng(seed), list[int](), 0
    while True:
        place = int(random.integers(units))  # below `seen`: a unit that is there already
        if place >= seen and seen == known:
            return np.array(draws, int)
        draws.append(min(place, seen))
        seen += place >= seen


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

    def rows_for(self, width: float, rows: int, asked: int = 0) -> int:
        """About how many further rows of the expensive score an interval of this width takes, at the best ratio."""
        variance = self.rest + (self.foretold / self.ratio if self.foretold > 0 else 0.0)
        needed = variance / (width / (2 * 1.96 * LOOKING)) ** 2
        return max(0, round(needed / (1 + needed / rows)) - asked)
