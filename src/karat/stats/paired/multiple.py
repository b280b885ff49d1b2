"""Corrections for several tests: Holm's, and the one of Benjamini and Hochberg.

Holm's bounds the probability that any true null hypothesis is rejected, the other the share of true ones among those
that are rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Each p adjusted for the whole family of tests: at most a level where it is significant at that level.

    None stands for a test that was not possible: it stays None and does not count.

    Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6
    (1979).

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    adjusted: list[float | None] = [None] * len(ps)
    largest = 0.0
    for (p, row), times in _step(ps):
        largest = max(largest, min(1.0, times * p))
        adjusted[row] = largest
    return adjusted


def benjamini_hochberg(ps: Sequence[float | None]) -> list[float | None]:
    """Each p adjusted so that those at most a level are false discoveries in at most that share, on average.

    None stands for a test that was not possible, which does not count. For tests that are independent or positively
    dependent, as differences between many systems nearly are.

    Source: Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical
    Society B 57 (1995).

    >>> benjamini_hochberg([0.01, None, 0.04, 0.03])
    [0.03, None, 0.04, 0.04]
    """
    adjusted: list[float | None] = [None] * len(ps)
    ranked, least = _step(ps), 1.0
    for (p, row), larger in reversed(ranked):
        least = min(least, p * len(ranked) / (len(ranked) - larger + 1))
        adjusted[row] = least
    return adjusted


def holm_levels(ps: Sequence[float | None], level: float = 0.05) -> list[float | None]:
    """The level with which each p is compared: the smallest with `level` divided by the number of tests, and so on.

    A p is significant in the family exactly if it is at most its own level. After the first that is not significant,
    all larger ones are compared with the level of that one. Equal ps keep their order.

    >>> [each and round(each, 4) for each in holm_levels([0.01, None, 0.04, 0.03], level=0.06)]
    [0.02, None, 0.06, 0.03]
    >>> [each and round(each, 4) for each in holm_levels([0.01, None, 0.04, 0.03], level=0.05)]
    [0.0167, None, 0.025, 0.025]
    """
    levels: list[float | None] = [None] * len(ps)
    passed, current = True, 0.0
    for (p, row), times in _step(ps):
        current = level / times if passed else current
        passed = passed and p <= current
        levels[row] = current
    return levels


def bonferroni(confidence: float, tests: int) -> float:
    """The confidence of each of several intervals, all of which hold together with this `confidence`.

    Source: O. J. Dunn, "Multiple comparisons among means", Journal of the American Statistical Association 56 (1961).

    >>> bonferroni(0.95, 5)
    0.99
    """
    return round(1 - (1 - confidence) / tests, 15)


@dataclass(frozen=True)
class HolmTest:
    """One test of a family of `family` tests: its adjusted p, and the level with which the p itself is compared."""

    adjusted: float | None
    level: float | None
    family: int


def holm_tests(ps: Sequence[float | None], level: float) -> list[HolmTest]:
    """Each p in its family. None stands for a test that was not possible, which does not count.

    >>> holm_tests([0.01, None, 0.04], level=0.05)[0]
    HolmTest(adjusted=0.02, level=0.025, family=2)
    """
    family = sum(p is not None for p in ps)
    return [HolmTest(*each, family) for each in zip(holm(ps), holm_levels(ps, level), strict=True)]


def _step(ps: Sequence[float | None]) -> list[tuple[tuple[float, int], int]]:
    """The ps in ascending order, each with its position, and the number of ps from it on."""
    ranked = sorted((p, row) for row, p in enumerate(ps) if p is not None)
    return list(zip(ranked, range(len(ranked), 0, -1), strict=True))
