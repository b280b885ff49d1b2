"""How often answers that are not the gold agree with one another: a beta-binomial law, fitted to rows.

Of `answers` answers to a question that are not the gold, the largest group that means the same has `size`. Wrong
answers agree by chance, and where a mistake suggests itself to all: the chance differs between questions. Given the
question, each further answer joins the first one with a probability that has a beta distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from karat.stats.intervals.student import student_quantile
from karat.stats.intervals.wilson import wilson_interval
from karat.stats.value import Estimate

LEAST = 20
"""Fewer rows than this say nothing about the law."""
_ORDINARY = 0.5
"""Rows whose p is above this are taken for chance."""
_MEANS = np.linspace(0.005, 0.995, 100)
_SPREADS = np.concatenate([np.linspace(0.02, 0.96, 48), [0.98, 0.99]])  # 1 / (a + b + 1)


@dataclass(frozen=True)
class Coincidence:
    """The law: `mean` is the probability that a further answer joins, `spread` its share of the largest variance.

    `rows` is the number of rows that it was fitted to.

    >>> law = Coincidence(0.2, 0.5, 100)
    >>> round(law.tail(3, 3), 4), law.tail(1, 3)
    (0.12, 1.0)
    """

    mean: float
    spread: float
    rows: int

    def tail(self, size: int, answers: int) -> float:
        """The probability that at least `size` of `answers` answers agree."""
        if size <= 1:
            return 1.0
        chances = np.exp(_log_chances(np.array([self.mean]), np.array([self.spread]), answers - 1))[0, 0]
        return float(min(1.0, chances[size - 1 :].sum()))

    def tail_above(self, answers: int, p: float) -> float:
        """The probability of a row with so many answers whose p is above this."""
        tails = [self.tail(size, answers) for size in range(1, answers + 1)]
        return 1.0 - max((each for each in tails if each <= p), default=0.0)


def fit_coincidence(sizes: NDArray[np.int64], answers: NDArray[np.int64]) -> Coincidence | None:
    """The most likely law for rows in which the largest group of `answers` answers has `sizes`; both have shape (n,).

    Rows with one answer say nothing. None where fewer than 20 rows say something.

    Source: J. G. Skellam, "A probability distribution derived from the binomial distribution by regarding the
    probability of success as variable between the sets of trials", JRSS B 10 (1948).
    """
    several = answers >= 2
    sizes, answers = sizes[several], answers[several]
    if len(sizes) < LEAST:
        return None
    likelihood = np.zeros((len(_MEANS), len(_SPREADS)))
    for count in np.unique(answers):
        seen = np.bincount(sizes[answers == count] - 1, minlength=count)
        likelihood += _log_chances(_MEANS, _SPREADS, int(count) - 1) @ seen
    mean, spread = np.unravel_index(likelihood.argmax(), likelihood.shape)
    return Coincidence(float(_MEANS[mean]), float(_SPREADS[spread]), len(sizes))


def _log_chances(means: NDArray[np.float64], spreads: NDArray[np.float64], trials: int) -> NDArray[np.float64]:
    """The logarithm of the probability of 0 to `trials` successes, shape (means, spreads, trials + 1)."""
    total = 1 / spreads - 1
    a, b = means[:, None] * total, (1 - means[:, None]) * total
    steps = np.arange(trials)

    def rising(start: NDArray[np.float64]) -> NDArray[np.float64]:
        logs = np.log(start[..., None] + steps).cumsum(axis=-1)
        return np.concatenate([np.zeros((*logs.shape[:-1], 1)), logs], axis=-1)

    ways = np.concatenate([[0.0], np.log((trials - steps) / (steps + 1)).cumsum()])
    every = rising(np.broadcast_to(total, a.shape))[..., -1:]
    chances: NDArray[np.float64] = ways + rising(a) + rising(b)[..., ::-1] - every
    return chances


def share_wrong(
    law: Coincidence, sizes: NDArray[np.int64], answers: NDArray[np.int64], confidence: float = 0.95
) -> list[Estimate]:
    """For each row of shape (n,) the share of rows, among those as suspicious as it, that agree by more than chance.

    As suspicious are the rows whose p by the law is at most its own. How many of them chance leads one to expect
    follows from the rows that agree less (Storey): all of these are taken for chance, so that the share is rather too
    small. The interval is Wilson's of the share of the rows that chance explains.

    Source: J. D. Storey, "A direct approach to false discovery rates", JRSS B 64 (2002).
    """
    ps = np.array([law.tail(int(size), int(count)) for size, count in zip(sizes, answers, strict=True)])
    ordered = np.sort(ps)
    high = ordered > _ORDINARY
    chance = np.array([law.tail_above(int(count), _ORDINARY) for count in answers])
    null = min(len(ps), high.sum() / max(chance.mean(), 1e-9)) if len(ps) else 0.0
    found = []
    for p in ps:
        rows = int(np.searchsorted(ordered, p, side="right"))
        expected = min(1.0, null * float(p) / rows)
        low, top = wilson_interval(expected, rows, student_quantile((1 + confidence) / 2, math.inf))
        found.append(Estimate(1 - expected, 1 - top, 1 - low, rows))
    return found
