"""The bound below which a mean does not lie, by betting against every lower value."""

from __future__ import annotations

import numpy as np

from karat.core.columns.kinds import Array

HYPOTHESES = 32  # values that are bet against at the same time
CHUNK = 64  # units at a time, so that what is computed of them stays in the processor's cache
BOLDEST = 0.9  # the share of the wealth that one bet can lose
_LEAST = 1e-12  # a loss that is nothing
_WEALTHY = 1e200  # more is of no use


class LowerBound:
    """The lowest mean that is not refuted, of scores of at least 0.

    For each hypothesis there is a gambler, who bets that the mean is higher and whose game is fair if the hypothesis is
    true: with a probability of `alpha` at most the wealth ever reaches 1 / `alpha` times what it was. The gambler
    shares the wealth, by `shares`, among several stakes. The higher the hypothesis, the lower the wealth at every time,
    so that what refutes one refutes all lower ones (Waudby-Smith & Ramdas 2024, arXiv:2010.09686, for the bets and for
    rows drawn without replacement). `units`: how many there are; `highest`: the highest score. `course`: the bound
    after each unit.
    """

    def __init__(self, units: int, highest: float, shares: Array, alpha: float) -> None:
        self.bound = 0.0
        self.course = np.zeros(units)
        self._shares, self._refuted, self._units = shares, 1 / alpha, 0
        self._lines, self._stakes = np.empty((units, 4)), np.empty((units, len(shares)))
        self._place(np.linspace(0.0, highest, HYPOTHESES, endpoint=False))

    def add(self, lines: Array, stakes: Array) -> None:
        """Bet on further units; the `stakes`, shape (shares,), were known before the first of them was asked.

        `lines`, shape (units, 4): the level and the slope of what is observed, `level - slope * mean`, of which 0 is to
        be expected if the mean is true; and the level and the slope of the loss, `level + slope * mean`: nothing below
        it with a minus was possible.
        """
        first, self._units = self._units, self._units + len(lines)
        self._lines[first : self._units], self._stakes[first : self._units] = lines, stakes
        self.course[first : self._units] = self._bet(first)

    def refine(self, estimate: float) -> None:
        """Put the hypotheses closer to each other between the bound and an `estimate`, where few of them are left."""
        for _ in range(HYPOTHESES):
            between = np.count_nonzero((self._means > self.bound) & (self._means < estimate))
            if between >= HYPOTHESES / 4 or not estimate - self.bound > _LEAST:
                return
            last = self.bound
            self._place(np.linspace(last, (last + estimate) / 2, HYPOTHESES + 1)[1:])
            self._bet(0)
            if self.bound == last:
                return

    def p_value(self, mean: float) -> float:
        """The p of the hypothesis that the mean is at most this, which holds at all times: 1 / the most wealth ever."""
        if not self._units:
            return 1.0
        factors = self._factors(slice(0, self._units), np.array([mean]))[:, :, 0]
        growth = np.log(factors).cumsum(axis=0)
        most = growth.max(axis=1, initial=0.0)
        wealth = most + np.log(np.exp(growth - most[:, None]) @ self._shares)
        return float(np.exp(-wealth.max(initial=0.0)))

    def _place(self, means: Array) -> None:
        self._means = means
        self._wealth = np.ones((len(self._shares), len(means)))

    def _bet(self, first: int) -> Array:
        """The bound after each of the units from the `first` on, on which it bets."""
        bounds = np.empty(self._units - first)
        for start in range(first, self._units, CHUNK):
            part = slice(start, min(start + CHUNK, self._units))
            with np.errstate(over="ignore", under="ignore"):
                wealth = np.concatenate([self._wealth[None], self._factors(part, self._means)])
                np.multiply.accumulate(wealth, axis=0, out=wealth)
                refuted = self._shares @ wealth[1:] >= self._refuted
            self._wealth = np.minimum(wealth[-1], _WEALTHY)
            lowest = np.maximum.accumulate(np.where(refuted, self._means, self.bound).max(axis=1))
            bounds[start - first : part.stop - first] = lowest = np.maximum(lowest, self.bound)
            self.bound = float(lowest[-1])
        return bounds

    def _factors(self, part: slice, means: Array) -> Array:
        """By what units multiply the wealth of each stake on each mean, shape (units, shares, means)."""
        level, slope, loss, loss_slope = self._lines[part].T[:, :, None]
        outcome = level - slope * means
        most = BOLDEST / np.maximum(loss + loss_slope * means, _LEAST)
        factors: Array = 1 + np.minimum(self._stakes[part, :, None], most[:, None]) * outcome[:, None]
        return factors
