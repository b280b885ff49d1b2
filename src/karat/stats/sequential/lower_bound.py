"""The bound below which a mean does not lie, by betting against every lower value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from karat.core.columns.kinds import Array

HYPOTHESES = 32  # values that are bet against at the same time
CHUNK = 64  # units at a time, so that what is computed of them stays in the processor's cache
BOLDEST = 0.9  # the share of the wealth that one bet can lose
_LEAST = 1e-12  # a loss that is nothing
_WEALTHY = 1e200  # more is of no use


@dataclass(frozen=True)
class Observations:
    """Observations of units, each a straight line over the hypotheses: at the true mean 0 is to be expected of each.

    At a mean of m an observation is `level - m * slope`, and nothing below `-(loss + m * loss_slope)` was possible.
    Each has shape (units,).
    """

    level: Array
    slope: Array
    loss: Array
    loss_slope: Array

    def part(self, first: int, last: int) -> Observations:
        """The observations of some units."""
        return Observations(*(each[first:last] for each in vars(self).values()))


class LowerBound:
    """The lowest mean that is not refuted, of scores of at least 0.

    For each hypothesis there is a gambler, who bets that the mean is higher and whose game is fair if the hypothesis
    is true: with a probability of `alpha` at most the wealth ever reaches 1 / `alpha` times what it was. The gambler
    shares the wealth, by `shares`, among several stakes. The higher the hypothesis, the lower the wealth at every
    time, so that what refutes one refutes all lower ones (Waudby-Smith & Ramdas 2024, arXiv:2010.09686, for the bets
    and for rows drawn without replacement).
    """

    def __init__(self, highest: float, shares: Array, alpha: float) -> None:
        self.bound = 0.0
        self._shares, self._refuted = shares, 1 / alpha
        self._seen: list[tuple[Observations, Array]] = []
        self._place(np.linspace(0.0, highest, HYPOTHESES, endpoint=False))

    def add(self, seen: Observations, stakes: Array) -> None:
        """Bet on further units; the `stakes`, shape (shares,), were known before the first of them was asked."""
        self._seen.append((seen, stakes))
        self._bet(seen, stakes)

    def refine(self, estimate: float) -> None:
        """Put the hypotheses closer to each other between the bound and an `estimate`, where few of them are left."""
        for _ in range(HYPOTHESES):
            between = np.count_nonzero((self._means > self.bound) & (self._means < estimate))
            if between >= HYPOTHESES / 4 or not estimate - self.bound > _LEAST:
                return
            last = self.bound
            self._place(np.linspace(last, (last + estimate) / 2, HYPOTHESES + 1)[1:])
            for seen, stakes in self._seen:
                self._bet(seen, stakes)
            if self.bound == last:
                return

    def _place(self, means: Array) -> None:
        self._means = means
        self._wealth = np.ones((len(self._shares), len(means)))

    def _bet(self, seen: Observations, stakes: Array) -> None:
        for first in range(0, len(seen.level), CHUNK):
            part = seen.part(first, first + CHUNK)
            outcome = part.level[:, None] - part.slope[:, None] * self._means
            loss = part.loss[:, None] + part.loss_slope[:, None] * self._means
            bets = np.minimum(stakes[:, None], (BOLDEST / np.maximum(loss, _LEAST))[:, None, :])
            wealth = np.concatenate([self._wealth[None], 1 + bets * outcome[:, None, :]])
            with np.errstate(over="ignore", under="ignore"):
                np.multiply.accumulate(wealth, axis=0, out=wealth)
                most = (self._shares @ wealth).max(axis=0)
            self._wealth = np.minimum(wealth[-1], _WEALTHY)
            refuted = self._means[most >= self._refuted]
            self.bound = max(self.bound, refuted.max(initial=self.bound))
