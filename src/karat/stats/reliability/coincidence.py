"""How often answers that are not the gold agree with one another: a beta-binomial law, fitted to rows.

Of some answers to a question that are not the gold, the largest group that means the same has a size. Wrong answers
agree by chance, and where a mistake suggests itself to all: how likely that is differs between questions. Given the
question, each further answer joins the first one with a probability that has a beta distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

LEAST = 20
"""Fewer rows than this say nothing about the law."""
_MEANS = np.linspace(0.005, 0.995, 67)
_SPREADS = np.concatenate([np.linspace(0.02, 0.95, 32), [0.98, 0.99]])  # 1 / (a + b + 1)


@dataclass(frozen=True, eq=False)
class Coincidence:
    """The law: the likelihood of each pair of a mean and a spread, shape (67, 34), which sums to 1.

    The mean is the probability that a further answer joins the first, the spread its variance as a part of the largest
    possible one. Probabilities are averages over all pairs: with few `rows`, which it was fitted to, they are nearer to
    one another than the most likely pair has them.

    >>> sizes = np.repeat([1, 2, 3], [60, 30, 10])
    >>> law = fit_coincidence(sizes, np.full(100, 3))
    >>> [round(each, 2) for each in law.tails(3)]
    [1.0, 1.0, 0.4, 0.11]
    """

    likelihood: NDArray[np.float64]
    rows: int

    @cache  # noqa: B019  (a law is small, and lives as long as a check)
    def tails(self, answers: int) -> tuple[float, ...]:
        """The probability that at least so many of `answers` answers agree, from 0 to all."""
        chances = (self.likelihood[..., None] * np.exp(_log_chances(answers - 1))).sum(axis=(0, 1))
        return (1.0, 1.0, *np.minimum(1.0, chances[::-1].cumsum()[::-1][1:]).tolist())

    def chance(self, size: int, answers: int) -> float:
        """The probability that exactly `size` of `answers` answers agree."""
        tails = (*self.tails(answers), 0.0)
        return tails[size] - tails[size + 1]


def fit_coincidence(sizes: NDArray[np.int64], answers: NDArray[np.int64]) -> Coincidence | None:
    """The law for rows in which the largest group of `answers` answers has `sizes`; both have shape (n,).

    Rows with one answer say nothing. None where fewer than 20 rows say something.

    Source: J. G. Skellam, "A probability distribution derived from the binomial distribution by regarding the
    probability of success as variable between the sets of trials", JRSS B 10 (1948).
    """
    several = answers >= 2
    sizes, answers = sizes[several], answers[several]
    if len(sizes) < LEAST:
        return None
    logs = np.zeros((len(_MEANS), len(_SPREADS)))
    for count in np.unique(answers).tolist():
        logs += _log_chances(count - 1) @ np.bincount(sizes[answers == count] - 1, minlength=count)
    likelihood = np.exp(logs - logs.max())
    return Coincidence(likelihood / likelihood.sum(), len(sizes))


@cache
def _log_chances(trials: int) -> NDArray[np.float64]:
    """The logarithm of the probability of 0 to `trials` successes by each pair, shape (means, spreads, trials + 1)."""
    total = np.broadcast_to(1 / _SPREADS - 1, (len(_MEANS), len(_SPREADS)))
    a, b = _MEANS[:, None] * total, (1 - _MEANS[:, None]) * total
    steps = np.arange(trials)

    def rising(start: NDArray[np.float64]) -> NDArray[np.float64]:
        logs = np.log(start[..., None] + steps).cumsum(axis=-1)
        return np.concatenate([np.zeros((*logs.shape[:-1], 1)), logs], axis=-1)

    ways = np.concatenate([[0.0], np.log((trials - steps) / (steps + 1)).cumsum()])
    chances: NDArray[np.float64] = ways + rising(a) + rising(b)[..., ::-1] - rising(total)[..., -1:]
    return chances
