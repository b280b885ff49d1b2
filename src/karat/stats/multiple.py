"""Several tests at once: how small each p must be for no true null to be rejected, whichever they are."""

from __future__ import annotations

from collections.abc import Sequence


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Each p as it stands among all of them: below a level, it is significant at it, with the whole family counted.

    None is a test that could not be made: it stays None and is not of the family.

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


def holm_levels(ps: Sequence[float | None], level: float = 0.05) -> list[float | None]:
    """The level that each p is held against: the smallest p against `level` over the number of tests, and so on.

    A p is significant among all exactly if it is at most its own level: from the first that is not, all larger ones are
    held against that one's. Of equal ps the first comes first.

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


def _step(ps: Sequence[float | None]) -> list[tuple[tuple[float, int], int]]:
    """The ps from the smallest on, each with its place, and how many there are from it on."""
    ranked = sorted((p, row) for row, p in enumerate(ps) if p is not None)
    return list(zip(ranked, range(len(ranked), 0, -1), strict=True))
