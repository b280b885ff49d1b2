"""Strengths of systems from verdicts on pairs of their answers: the Bradley-Terry model with ties and order effect.

What else answers differ by, such as their lengths, may be a covariate.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.stats.intervals.student import student_p, student_quantile
from karat.stats.paired.pair_tests import PairTests
from karat.stats.value import Estimate

STEPS = 100  # of Newton's method, which takes about ten
CLOSE = 1e-10  # log-odds that move by less have arrived
LONGEST = 2.0  # log-odds that one step may move
FAR = 30.0  # a log-odds this large has no finite estimate
_SLOPES = np.array([[1, 0, 0, 1, 0], [0, 1, 0, 0, 0], [0.5, 0.5, 1, 0, 0]])
"""Of the log-odds of first, second and tie, by both strengths, the log of the ties, the order effect and a covariate
of 0."""
_OF_COVARIATE = np.array([0.5, -0.5, 0])
"""What a covariate of 1 adds to the last of these."""


@dataclass(frozen=True, eq=False)
class Effects:
    """What verdicts depend on beside the strengths of the systems, and is estimated with them.

    `order`: that of the two answers. `covariate`, shape (verdicts,): by what the first answer differs from the second,
    such as in length.
    """

    order: bool = True
    covariate: Array | None = None


@dataclass(frozen=True, eq=False)
class Strengths:
    """Estimates from verdicts on pairs of systems.

    `values`: the log-odds strengths, whose mean is 0, shape (systems,); `covariance` is theirs. `ties`: the log of
    Davidson's ν, the odds of a tie between equal systems to a win of one of them; None where no verdict is a tie.
    `order`: the log-odds that the first of two equal systems wins; None where it was not estimated.
    `n`: the number of verdicts. `effect`: by how much a covariate of 1 raises the log-odds that the first wins; None
    where there is none, or it cannot be told from the strengths. The strengths are then those at a covariate of 0.
    """

    values: Array
    covariance: Array
    ties: Estimate | None
    order: Estimate | None
    n: int
    confidence: float
    effect: Estimate | None = None

    def intervals(self) -> list[Estimate]:
        """The strength of each system with Wald's interval."""
        errors = np.sqrt(np.diag(self.covariance))
        return [_estimate(*each, self.confidence, self.n) for each in zip(self.values, errors, strict=True)]

    def test(self) -> PairTests:
        """Wald's test of each pair of strengths."""
        own = np.diag(self.covariance)
        difference = self.values[:, None] - self.values
        error = np.sqrt(np.maximum(0.0, own[:, None] + own - 2 * self.covariance))
        reach = student_quantile((1 + self.confidence) / 2, math.inf) * error
        ratio = np.divide(difference, error, out=np.zeros_like(error), where=error > 0)
        return PairTests.mirror(
            (difference, difference - reach, difference + reach, student_p(ratio, math.inf), error), "wald"
        )


def estimate_strengths(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    shares: Array,
    effects: Effects = Effects(),
    *,
    clusters: NDArray[np.int64] | None = None,
    confidence: float = 0.95,
) -> Strengths:
    """The maximum-likelihood strengths from verdicts on pairs, each array of shape (verdicts,).

    `first` and `second`: the numbers of the systems, from 0, in the order in which their answers stood. `shares`: 1
    where the first won, 0 where the second did, 0.5 for a tie. With strengths π and the order effect γ, first, second
    and tie are as γπ₁ : π₂ : ν√(π₁π₂); a covariate x multiplies π₁ by exp(βx/2) and divides π₂ by it. `clusters`:
    numbers, from 0, that are equal for verdicts that are not independent; the covariance is then the sandwich estimate.

    Raises `DataError` where no finite strengths are the most likely ones; see `find_unbeaten`.

    Source: R. Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments",
    JASA 65 (1970); R. Davidson and R. Beaver, "On extending the Bradley-Terry model to incorporate within-pair order
    effects", Biometrics 33 (1977). A covariate of style: T. Li, A. Angelopoulos and W.-L. Chiang, "Does style matter?",
    LMSYS (2024).

    >>> first, second = np.repeat([0, 1], 4), np.repeat([1, 0], 4)
    >>> found = estimate_strengths(first, second, np.array([1, 1, 1, 0, 1, 1, 0, 0.0]))
    >>> found.values.round(4).tolist(), round(found.order.value, 4)
    ([0.2747, -0.2747], 0.5493)
    """
    model = _Model(first, second, shares, effects)
    estimates, inverse = model.fit()
    covariance = inverse
    if clusters is not None:
        gradients = np.zeros((clusters.max() + 1, len(estimates)))
        np.add.at(gradients, (clusters[:, None], model.places), model.gradients(estimates))
        groups = len(gradients)
        covariance = inverse @ (gradients.T @ gradients) @ inverse * groups / max(groups - 1, 1)
    n, systems, errors = len(first), model.systems, np.sqrt(np.maximum(0.0, np.diag(covariance)))
    ties, order, effect = (
        _estimate(estimates[at], errors[at], confidence, n) if at in model.free else None
        for at in range(systems, systems + 3)
    )
    return Strengths(estimates[:systems], covariance[:systems, :systems], ties, order, n, confidence, effect)


def find_unbeaten(first: NDArray[np.int64], second: NDArray[np.int64], shares: Array) -> list[int]:
    """The smallest set of systems that never lost to one outside it nor tied with it; [] where there is none.

    Where there is one, the strengths of its systems have no finite estimate. Arguments as in `estimate_strengths`.

    Source: L. Ford, "Solution of a ranking problem from binary comparisons", American Mathematical Monthly 64 (1957).

    >>> find_unbeaten(np.array([0, 1, 0]), np.array([1, 2, 2]), np.array([0.5, 1, 1]))
    [0, 1]
    """
    systems = 1 + int(max(first.max(), second.max()))
    beats = np.eye(systems, dtype=bool)
    beats[first[shares > 0], second[shares > 0]] = True
    beats[second[shares < 1], first[shares < 1]] = True
    for _ in range(systems.bit_length()):
        beats = beats.astype(np.float32) @ beats.astype(np.float32) > 0
    above = beats.sum(axis=0)
    return [] if beats.all() else np.flatnonzero(beats[:, above.argmin()]).tolist()


class _Model:
    """The likelihood of verdicts; parameters are the strengths, the log of the ties, the order effect, the covariate's.

    Verdicts on the same systems in the same order, with the same covariate, are taken together as a pair.
    """

    def __init__(self, first: Array, second: Array, shares: Array, effects: Effects) -> None:
        self.systems = systems = 1 + int(max(first.max(), second.max()))
        self.outcomes = np.stack([shares == 1, shares == 0, shares == 0.5], axis=1).astype(float)
        self.places = np.column_stack([first, second, np.full((len(first), 3), systems + np.arange(3))])
        values = np.zeros(len(first)) if effects.covariate is None else effects.covariate
        _, index, cells = np.unique(
            np.column_stack([first, second, values]), axis=0, return_index=True, return_inverse=True
        )
        self._pairs, self._cells = self.places[index], cells.reshape(-1)
        self._slopes = np.repeat(_SLOPES[None], len(index), axis=0)
        self._slopes[:, :, 4] += values[index, None] * _OF_COVARIATE
        self._counts = np.zeros((len(self._pairs), 3))
        np.add.at(self._counts, self._cells, self.outcomes)
        self._tied = bool(self._counts[:, 2].any())
        self._alike = np.r_[np.ones(systems), 0, 0, 0] / math.sqrt(systems)  # moves all strengths: nothing changes
        self.free = [*range(systems), *([systems] if self._tied else [])]
        for at, wanted in ((systems + 1, effects.order), (systems + 2, effects.covariate is not None)):
            self.free += [at] if wanted else []
            if wanted and np.linalg.matrix_rank(self._information(np.zeros(systems + 3))) < len(self.free):
                self.free.pop()

    def fit(self) -> tuple[Array, Array]:
        """The most likely parameters, and the inverse of their information, with 0 for those that are not free."""
        estimates = np.zeros(self.systems + 3)
        inverse = np.zeros((len(estimates), len(estimates)))
        for _ in range(STEPS):
            gradient = np.zeros(len(estimates))
            missing = self._counts - self._counts.sum(axis=1, keepdims=True) * self._chances(estimates)
            np.add.at(gradient, self._pairs, _multiply(missing, self._slopes))
            with suppress(np.linalg.LinAlgError):  # as where all verdicts have become certain
                inverse[np.ix_(self.free, self.free)] = np.linalg.inv(self._information(estimates))
            step = inverse @ gradient
            if np.abs(step).max() <= CLOSE:
                return estimates, inverse - np.outer(self._alike, self._alike)
            estimates += step * min(1.0, LONGEST / np.abs(step).max())
            if np.abs(estimates).max() > FAR:
                break
        raise DataError(
            "no finite strengths are the most likely ones for these verdicts, as where the answer that stands first "
            "always wins: collect more verdicts, or leave the order effect out (--no-order-effect)"
        )

    def gradients(self, estimates: Array) -> Array:
        """What each verdict adds to the gradient at the places of its parameters, shape (verdicts, 5)."""
        return _multiply(self.outcomes - self._chances(estimates)[self._cells], self._slopes[self._cells])

    def _chances(self, estimates: Array) -> Array:
        """The probability of first, second and tie for each pair that there are verdicts on, shape (pairs, 3)."""
        odds = np.exp(np.einsum("pk,pok->po", estimates[self._pairs], self._slopes))
        odds[:, 2] *= self._tied
        chances: Array = odds / odds.sum(axis=1, keepdims=True)
        return chances

    def _information(self, estimates: Array) -> Array:
        """Of the free parameters; 1 is added in the direction in which nothing changes, for an inverse."""
        chances = self._chances(estimates)
        spread = chances[:, :, None] * (np.eye(3) - chances[:, None, :])
        spread *= self._counts.sum(axis=1)[:, None, None]
        local = self._slopes.transpose(0, 2, 1) @ spread @ self._slopes
        whole = np.outer(self._alike, self._alike)
        np.add.at(whole, (self._pairs[:, :, None], self._pairs[:, None, :]), local)
        information: Array = whole[np.ix_(self.free, self.free)]
        return information


def _multiply(outcomes: Array, slopes: Array) -> Array:
    """What outcomes add by the slopes of each pair, shape (pairs, 5)."""
    added: Array = np.einsum("po,pok->pk", outcomes, slopes)
    return added


def _estimate(value: float, error: float, confidence: float, verdicts: int) -> Estimate:
    reach = student_quantile((1 + confidence) / 2, math.inf) * error
    return Estimate(float(value), float(value - reach), float(value + reach), verdicts)
