"""A certificate that a share, such as of wrong answers that a judge accepts, is below a limit: an exact test.

Its level holds for every number of trials: it is given in error at most in a share `alpha` of cases. Trials are
independent, such as one answer to each of the questions drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from karat.core.errors import DataError, SpecError
from karat.data.json.objects import JsonObject, Printed
from karat.stats.intervals.clopper_pearson import binomial_tail, upper_end
from karat.stats.paired.multiple import holm_tests


@dataclass(frozen=True)
class Certificate(JsonObject):
    """Whether a share is below `limit`, from `accepted` of `asked` trials.

    `p`: the probability of at most so many, were the share at the limit. `passed`: it is at most `level`. `upper`:
    Clopper and Pearson's end of the share, of confidence 1 - `level`; at most the limit exactly where it is passed.
    """

    accepted: int
    asked: int
    limit: float
    level: float
    p: float
    passed: bool

    printed: ClassVar = Printed(also=("upper",))

    @property
    def upper(self) -> float:
        """The upper end of the share."""
        return upper_end(self.accepted, self.asked, self.level)


def certify(accepted: int, number: int, limit: float, alpha: float = 0.05) -> Certificate:
    """The one-sided exact binomial test of a share that is at least `limit`, against one below it.

    Raises `SpecError` for a limit or alpha that is not between 0 and 1, `DataError` for more accepted than asked.

    >>> found = certify(2, 150, limit=0.05)
    >>> round(found.p, 4), found.passed, round(found.upper, 4)
    (0.0182, True, 0.0414)
    """
    _check(limit, alpha)
    if not 0 <= accepted <= number:
        raise DataError(f"from 0 to {number} accepted expected, of {number} asked, found {accepted}")
    p = binomial_tail(accepted, number, limit) if number else 1.0
    return Certificate(accepted, number, limit, alpha, p, p <= alpha)


def certify_each(counts: Mapping[str, tuple[int, int]], limit: float, alpha: float = 0.05) -> dict[str, Certificate]:
    """A certificate for each class, from accepted and asked: with probability 1 - `alpha` all that pass are right.

    The level of each is Holm's. That *all* classes are below the limit needs no correction: it holds at `alpha` where
    each passes `certify` (an intersection-union test: R. Berger, Technometrics 24 (1982)).

    >>> found = certify_each({"number": (0, 80), "date": (1, 80)}, limit=0.05)
    >>> [(each.level, each.passed) for each in found.values()]
    [(0.025, True), (0.05, False)]
    """
    single = [certify(*each, limit, alpha) for each in counts.values()]
    tests = holm_tests([each.p for each in single], alpha)
    levels = [alpha if test.level is None else test.level for test in tests]
    return {name: certify(*count, limit, level) for (name, count), level in zip(counts.items(), levels, strict=True)}


def trials_needed(limit: float, share: float, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """The fewest trials with which a judge whose true share is `share` gets its certificate with probability `power`.

    Raises `SpecError` for a share that is not below the limit.

    >>> trials_needed(0.05, 0.0), trials_needed(0.05, 0.01)
    (59, 124)
    """
    _check(limit, alpha)
    if not (0 <= share < limit and alpha < power < 1):
        raise SpecError(f"a share below {limit} and a power above {alpha} expected, found {share} and {power}")
    trials = accepted = 0
    while True:  # for each number that may be accepted: the fewest trials in which so few are significant
        step = 1
        while binomial_tail(accepted, trials + step, limit) > alpha:
            step *= 2
        low, high = trials + step // 2, trials + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if binomial_tail(accepted, middle, limit) > alpha else (low, middle)
        trials = high
        if binomial_tail(accepted, trials, share) >= power:
            return trials
        accepted += 1


def _check(limit: float, alpha: float) -> None:
    if not (0 < limit < 1 and 0 < alpha < 1):
        raise SpecError(f"a limit and an alpha between 0 and 1 expected, found {limit} and {alpha}")
