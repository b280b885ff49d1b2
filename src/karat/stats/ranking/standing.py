"""Where systems stand: their order, the groups that are not separated, and the ranks that each of them may have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from karat.core.errors import SpecError
from karat.core.metric.definition import Direction
from karat.stats.paired.multiple import benjamini_hochberg, holm
from karat.stats.paired.pair_tests import Matrix, PairTests
from karat.stats.ranking.letters import assign_letters

Adjustment: TypeAlias = Literal["holm", "bh"]


@dataclass(frozen=True, eq=False)
class Standing:
    """Where systems stand; but for `order`, all lists and arrays are in the order in which the systems came.

    `order`: the numbers of the systems, the best first, those without a value last. `ranks`: 1 for the best; equal
    values have equal ranks. `least` and `most`: the ends of the set of ranks that a system may have: with the
    confidence of the tests, all these sets together hold the true ranks. `groups`: the letters of each system.
    `adjusted`: p of each pair, corrected for all tests, and `separated`, whether it is at most the level, both of shape
    (systems, systems).
    """

    order: list[int]
    ranks: list[int]
    least: list[int]
    most: list[int]
    groups: list[tuple[str, ...]]
    adjusted: Matrix
    separated: NDArray[np.bool_]


def stand(
    values: Sequence[Sequence[float | None]],
    tests: Sequence[PairTests],
    directions: Sequence[Direction],
    *,
    level: float = 0.05,
    correction: Adjustment = "holm",
) -> list[Standing]:
    """Where systems stand in one or more rankings, whose tests are one family.

    `correction`: "holm" bounds the probability that any pair is wrongly separated, "bh" (Benjamini and Hochberg) the
    share of such pairs among those that are separated. The sets of ranks follow from Holm's tests in either case: the
    best rank that a system may have is one more than the number of systems that are better, with certainty, and so on.

    Raises `SpecError` for another correction.

    Source: M. Mogstad, J. Romano, A. Shaikh and D. Wilhelm, "Inference for ranks with applications to mobility across
    neighbourhoods and academic achievement across countries", Review of Economic Studies 91 (2024), section 3: tests of
    all differences that bound the probability of any error give sets that hold all ranks.

    >>> apart = np.array([[0.0, 1, 2], [-1, 0, 1], [-2, -1, 0]])
    >>> p = np.array([[1, 0.2, 0.001], [0.2, 1, 0.3], [0.001, 0.3, 1]])
    >>> (standing,) = stand([[5.0, 4.0, 3.0]], [PairTests(apart, apart, apart, p, p, p)], ["maximize"])
    >>> standing.order, standing.groups
    ([0, 1, 2], [('a',), ('a', 'b'), ('b',)])
    >>> list(zip(standing.least, standing.most))
    [(1, 2), (1, 3), (2, 3)]
    """
    if correction not in get_args(Adjustment):
        raise SpecError(f"correction 'holm' or 'bh' expected, found {correction!r}")
    upper = [np.triu_indices(len(each.p), 1) for each in tests]
    ps = [float(p) for each, pairs in zip(tests, upper, strict=True) for p in each.p[pairs]]
    known = [None if np.isnan(p) else p for p in ps]
    sure = holm(known)
    chosen = sure if correction == "holm" else benjamini_hochberg(known)
    standings, start = [], 0
    for own, each, pairs, direction in zip(values, tests, upper, directions, strict=True):
        part = slice(start, start := start + len(pairs[0]))
        adjusted, certain = (_fill(ps[part], pairs, len(each.p)) for ps in (chosen, sure))
        standings.append(_stand(own, each, adjusted, certain, direction, level))
    return standings


def _fill(ps: Sequence[float | None], pairs: tuple[NDArray[np.int64], ...], systems: int) -> Matrix:
    """The ps of pairs above the diagonal, as a symmetric array."""
    filled = np.zeros((systems, systems))
    filled[pairs] = [np.nan if p is None else p for p in ps]
    return filled + filled.T + np.eye(systems)


def _stand(
    values: Sequence[float | None],
    tests: PairTests,
    adjusted: Matrix,
    certain: Matrix,
    direction: Direction,
    level: float,
) -> Standing:
    sign = 1 if direction == "maximize" else -1
    goodness = np.array([-np.inf if value is None else sign * value for value in values])
    order = np.argsort(-goodness, kind="stable")
    apart = ~((tests.low <= 0) & (tests.high >= 0))  # also where there is no interval
    separated = (adjusted <= level) & (tests.difference != 0) & apart
    better = (certain <= level) & (sign * tests.difference > 0) & apart  # the row's system than the column's
    places = np.argsort(order)
    letters = assign_letters(separated[np.ix_(order, order)])
    return Standing(
        order=order.tolist(),
        ranks=[1 + int((goodness > own).sum()) for own in goodness],
        least=(1 + better.sum(axis=0)).tolist(),
        most=(len(values) - better.sum(axis=1)).tolist(),
        groups=[letters[place] for place in places],
        adjusted=adjusted,
        separated=separated,
    )
