"""The compact letter display: systems that share a letter are not separated."""

from __future__ import annotations

from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray


def name_letter(number: int) -> str:
    """The letter of a number from 0; after z come aa, ab and so on.

    >>> [name_letter(number) for number in (0, 25, 26, 27, 702)]
    ['a', 'z', 'aa', 'ab', 'aaa']
    """
    name = ""
    while number >= 0:
        number, letter = number // len(ascii_lowercase) - 1, number % len(ascii_lowercase)
        name = ascii_lowercase[letter] + name
    return name


def assign_letters(separated: NDArray[np.bool_]) -> list[tuple[str, ...]]:
    """The letters of each system: two systems share one exactly if they are not separated.

    `separated`, shape (systems, systems), is symmetric; systems stand in their order, the best first. Each letter is a
    set of systems none of which are separated, grown from a pair without a common letter by taking in the systems in
    their order. A letter that others make unnecessary is left out.

    Source: H.-P. Piepho, "An algorithm for a letter-based representation of all-pairwise comparisons", Journal of
    Computational and Graphical Statistics 13 (2004); J. Gramm et al., "Algorithms for compact letter displays",
    Computational Statistics & Data Analysis 52 (2007), for growing sets.

    >>> separated = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], bool)
    >>> assign_letters(separated)
    [('a',), ('a', 'b'), ('b',)]
    """
    together = ~separated | np.eye(len(separated), dtype=bool)
    left = np.triu(together)  # the pairs without a common letter; a system is a pair with itself
    groups = list[NDArray[np.bool_]]()
    for first in range(len(left)):
        for second in range(len(left) - 1, first - 1, -1):
            if left[first, second]:
                group = _grow(together, first, second)
                left &= ~np.outer(group, group)
                groups.append(group)
    times = sum((np.outer(group, group).astype(int) for group in groups), np.zeros(left.shape, int))
    kept = []
    for group in groups:
        if (times[np.ix_(group, group)] > 1).all():
            times -= np.outer(group, group)
        else:
            kept.append(group)
    kept.sort(key=lambda group: np.flatnonzero(group).tolist())
    return [tuple(name_letter(at) for at, group in enumerate(kept) if group[row]) for row in range(len(left))]


def _grow(together: NDArray[np.bool_], first: int, second: int) -> NDArray[np.bool_]:
    """A largest set that holds two systems: those not separated from any in it are taken in, in their order."""
    group = np.zeros(len(together), bool)
    group[[first, second]] = True
    free = together[first] & together[second] & ~group
    for row in range(len(together)):
        if free[row]:
            group[row] = True
            free &= together[row]
    return group
