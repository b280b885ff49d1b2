"""A confidence sequence: the interval of a mean that holds at all times at once, whenever one looks and stops."""

from __future__ import annotations

from collections.abc import Collection
from math import ceil

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import RowError, SpecError
from karat.stats.inference import Inference
from karat.stats.sequential.lower_bound import LowerBound
from karat.stats.sequential.population import Population

FINER = 0.3  # the ratio of the distances, in shares of the range, on which the wealth is laid
DISTANCES = 5
WISHED = 0.7  # the share of the wealth on half of the width that is wished
GROWTH = 1.05  # of the units that are asked, until what the stakes follow from is computed anew


class ConfidenceSequence:
    """The mean score of all rows of a table, of which some are asked, with an interval that holds at all times.

    The mean is over the rows that have a score; how many will have one is not known before all are asked. With a
    probability of at least `inference.confidence` the mean of all rows lies in the interval after every unit: one may
    look as often as one likes, stop at any time, and go on. Free metrics of the population narrow it as far as they
    foretell the scores. `width` is the width that is wished, from end to end, at which the interval is at its best.

    The result follows from the units and their order alone, not from the parts in which they are added.

    Raises `SpecError` for a width that is not positive.

    >>> scores = np.random.default_rng(0).permutation(np.repeat([0.0, 1.0], [300, 700]))
    >>> sequence = ConfidenceSequence(Population(np.ones(1_000)))
    >>> sequence.add(scores[:400], np.ones(400))
    >>> round(sequence.low, 2), round(sequence.high, 2)
    (0.64, 0.75)
    >>> sequence.add(scores[400:], np.ones(600))
    >>> sequence.low, sequence.value, sequence.high
    (0.7, 0.7, 0.7)
    """

    def __init__(
        self,
        population: Population,
        inference: Inference = Inference(),  # noqa: B008  (it is frozen)
        width: float | None = None,
    ) -> None:
        if width is not None and not width > 0:
            raise SpecError(f"width={width!r}: expected a number above 0")
        self.population = population
        self.units = 0
        self._totals, self._counts = np.zeros(len(population)), np.zeros(len(population))  # of scores above the lowest
        self._sums = np.zeros(3)  # of totals, counts and cheap scores
        cheap = np.zeros((len(population), int(population.cheap)))
        self._drawn = np.hstack([population.drawn, cheap])
        self._excess = 0.0  # of the cheap scores of units that were asked over those of others
        self._distances = population.range * FINER ** np.arange(1, DISTANCES + 1)
        shares = np.full(DISTANCES, 1 / DISTANCES)
        if width is not None:
            self._distances = np.append(self._distances, width / 2)
            shares = np.append(shares * (1 - WISHED), WISHED)
        alpha = (1 - inference.confidence) / 2
        self._low, self._high = (LowerBound(len(population), population.range, shares, alpha) for _ in range(2))
        self._next = 0
        self._prepare()

    @property
    def decision(self) -> str:
        """What it decides: nothing, where it is about one mean."""
        return ""

    def rows_to_decide(self, decisions: Collection[str]) -> int:  # noqa: ARG002  (of two systems)
        """About how many further rows a decision takes: all that are left, where there is none to come to."""
        return self.rows - self.asked

    @property
    def asked(self) -> int:
        """The rows of the units that were added."""
        return int(self.population.rows_left[0] - self._rows_left)

    @property
    def rows(self) -> int:
        """The rows of all units."""
        return int(self.population.rows_left[0])

    @property
    def value(self) -> float:
        """The estimate of the mean; NaN before any score is known."""
        low, high = self._inside()
        return self.population.bounds[0] + float(np.clip(self._estimate(), low, high))

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.population.bounds[0] + self._inside()[0]

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.population.bounds[0] + self._inside()[1]

    def p_values(self, value: float) -> tuple[float, float]:
        """The p, which hold at all times, of the hypotheses that the mean is at most `value`, and that it is at least.

        Each is 0 or 1 where the rows that are left cannot change that.
        """
        mean, most = value - self.population.bounds[0], self.population.range
        low, high = self._certain()
        at_most = 0.0 if low > mean else 1.0 if high <= mean else self._low.p_value(mean)
        at_least = 0.0 if high < mean else 1.0 if low >= mean else self._high.p_value(most - mean)
        return at_most, at_least

    @property
    def width(self) -> float:
        """The width of the interval, from end to end."""
        low, high = self._inside()
        return high - low

    def course(self) -> tuple[Array, Array, Array]:
        """The rows that were asked, the lower and the upper end, after each unit so far; each of shape (units,)."""
        known, units = self.population, self.units
        numbers = known.rows_left[0] - known.rows_left[1 : units + 1]
        totals, scored = self._totals[:units].cumsum(), self._counts[:units].cumsum()
        left = known.rows_left[1 : units + 1]
        possible = np.maximum(scored + left, 1)
        low = np.maximum(self._low.course[:units], totals / possible)
        high = np.minimum(known.range - self._high.course[:units], (totals + known.range * left) / possible)
        high[scored + left == 0] = known.range
        low, high = np.maximum.accumulate(low), np.minimum.accumulate(high)
        return numbers, known.bounds[0] + low, known.bounds[0] + np.maximum(low, high)

    def add(self, totals: Array, counts: Array, cheap: Array | None = None) -> None:
        """Add the next units: the sum of the scores of each, and how many of its rows have one, each of shape (units,).

        `cheap`, shape (units, 2), where the population has a cheap score: its sum over the rows of each unit, and the
        mean of such sums over units that were drawn for this one, by chance, each time from all units.

        Raises `RowError` for more units than are left, more scores than rows, and scores beyond the bounds.
        """
        totals, counts = np.asarray(totals, float), np.asarray(counts, float)
        low, high = self.population.bounds
        sizes = self.population.sizes[self.units : self.units + len(totals)]
        cheap = np.zeros((len(totals), 2)) if cheap is None else np.asarray(cheap, float)
        if totals.shape != counts.shape or sizes.shape != totals.shape or cheap.shape != (*sizes.shape, 2):
            raise RowError(f"totals and counts of {len(self.population) - self.units} units or fewer expected")
        slack = 1e-9 * self.population.range * counts
        if (counts > sizes).any() or (totals < low * counts - slack).any() or (totals > high * counts + slack).any():
            raise RowError(f"scores from {low:g} to {high:g} expected, at most one a row")
        if (
            (cheap < 0).any()
            or (cheap[:, 0] > sizes).any()
            or (cheap[:, 1] > self.population.sizes.max(initial=0)).any()
        ):
            raise RowError("cheap scores from 0 to 1 expected, one a row")
        totals = np.clip(totals - low * counts, 0.0, self.population.range * counts)
        while len(totals):
            size = self._next - self.units
            self._add(totals[:size], counts[:size], cheap[:size])
            totals, counts, cheap = totals[size:], counts[size:], cheap[size:]
            if self.units == self._next:
                self._prepare()

    def rows_to(self, width: float) -> int:
        """About how many further rows the interval takes to be of this width; at most all that are left.

        The width shrinks with the root of the rows, and faster as few are left.
        """
        if self.width <= width:
            return 0
        done, rows = self.asked, self.rows
        if done == 0:
            return rows
        needed = (self.width / width) ** 2 / (1 / done - 1 / rows + 1e-300)
        return max(1, min(rows - done, ceil(1 / (1 / needed + 1 / rows)) - done))

    @property
    def _rows_left(self) -> float:
        return float(self.population.rows_left[self.units])

    def _inside(self) -> tuple[float, float]:
        """The ends of the interval above the lowest score: what was not refuted, and what the rows left can reach."""
        certain, most = self._certain(), self.population.range
        low = max(self._low.bound, certain[0])
        return float(low), float(max(low, min(most - self._high.bound, certain[1])))

    def _certain(self) -> tuple[float, float]:
        """The least and the greatest mean above the lowest score that the rows left can make of the scores so far."""
        (total, count, _), left, most = self._sums, self._rows_left, self.population.range
        rows = max(count + left, 1e-300)
        return (total / rows, (total + most * left) / rows) if count + left else (0.0, most)

    def _estimate(self) -> float:
        """The mean above the lowest score, as far as it is known; NaN without scores."""
        total, count, _ = self._sums
        if count == 0:
            return float("nan")
        if self.units == len(self.population):
            return float(total / count)
        if self.population.probabilities is not None:
            return self._weighted_estimate()
        excess = self._excess * self._slopes[-1] if self.population.cheap else 0.0
        if self.population.free is not None:
            means = self.population.free.mean(axis=0)
            of_free = self.population.free[: self.units].sum(axis=0) - self.units * means
            excess += float(of_free @ self._slopes[: len(of_free)])
        return float((total - excess) / count)

    def _weighted_estimate(self) -> float:
        before = np.cumsum([self._totals[: self.units], self._counts[: self.units]], axis=1)
        part = self.population.weights[: self.units], self.population.units_left[: self.units]
        totals = part[0] * part[1] * self._totals[: self.units] + before[0] - self._totals[: self.units]
        counts = part[0] * part[1] * self._counts[: self.units] + before[1] - self._counts[: self.units]
        excess = (part[1][:, None] * self._drawn[: self.units]).sum(axis=0) @ self._slopes
        return float((totals.sum() - excess) / counts.sum()) if counts.sum() else float("nan")

    def _add(self, totals: Array, counts: Array, cheap: Array) -> None:
        """Add units that are asked while the stakes stay as they are."""
        known, first, last = self.population, self.units, self.units + len(totals)
        weights, left, most = (each[first:last] for each in (known.weights, known.units_left, known.largest))
        self._totals[first:last], self._counts[first:last] = totals, counts
        new = np.stack([totals, counts, cheap[:, 0]])
        before = np.cumsum(np.hstack([self._sums[:, None], new]), axis=1)
        self._sums, before = before[:, -1], before[:, :-1] / left
        least, greatest = (each[: len(totals)] for each in self._extremes[:, first - self._first :])
        if known.cheap:
            of_others = len(known) / left
            self._drawn[first:last, -1] = weights * cheap[:, 0] + before[2] - cheap[:, 1] * of_others
            self._excess += float((cheap[:, 0] - cheap[:, 1]).sum())
            ends = self._slopes[-1] * np.stack([before[2] - known.sizes.max() * of_others, most + before[2]])
            least, greatest = least + ends.min(axis=0), greatest + ends.max(axis=0)
        foretold = self._drawn[first:last] @ self._slopes
        slope, loss_slope = weights * counts + before[1], most + before[1]
        for bound, sums, part, worst in (
            (self._low, totals, before[0], greatest),
            (self._high, known.range * counts - totals, known.range * before[1] - before[0], -least),
        ):
            sign = 1.0 if bound is self._low else -1.0
            level = weights * sums + part - sign * foretold
            bound.add(np.column_stack([level, slope, worst - part, loss_slope]), self._stakes)
        self.units = last

    def _prepare(self) -> None:
        """Compute what the next bets follow from: slopes, stakes, and where the hypotheses are."""
        known, units = self.population, self.units
        self._first = units
        self._next = min(max(units + 1, int(units * GROWTH)), len(known))
        self._slopes, self.variance = self._fit()
        size = self._next - units
        self._extremes = known.extremes(self._slopes[: known.drawn.shape[1]], units, size)
        if size == 0:
            return
        scored = (self._sums[1] + known.rows_left[0] / len(known)) / (units + 1)  # rows with a score in a unit
        distances = self._distances * scored * len(known) / known.units_left[units]
        self._stakes = distances / (self.variance + distances**2)
        if units and (estimate := self._estimate()) == estimate:
            self._low.refine(estimate)
            self._high.refine(known.range - estimate)

    def _fit(self) -> tuple[Array, float]:
        """How scores follow from the free metrics, and the variance of what is left, from the units so far."""
        known, units = self.population, self.units
        prior = (known.range * known.largest[0] / 2) ** 2 if len(known) else 1.0
        slopes = np.zeros(self._drawn.shape[1])
        if not self._sums[1]:
            return slopes, prior
        mean = self._sums[0] / self._sums[1]
        rest = known.weights[:units] * (self._totals[:units] - mean * self._counts[:units])
        drawn = self._drawn[:units]
        if slopes.size and units > slopes.size + 2:
            fitted, *_ = np.linalg.lstsq(drawn, rest, rcond=None)
            left = rest - drawn @ fitted
            explained, unexplained = float(rest @ rest - left @ left), float(left @ left)
            noise = slopes.size * unexplained / (units - slopes.size)
            slopes = fitted * max(0.0, 1 - noise / explained) if explained > 0 else slopes
            rest = rest - drawn @ slopes
        return slopes, (prior + float(rest @ rest)) / (units + 1)
