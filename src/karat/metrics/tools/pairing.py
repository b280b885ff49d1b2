"""Which predicted call is matched with which expected one: one to one, with the highest total worth.

Calls of different tools match nothing, so each tool is matched by itself. Calls that are compared as they are, which is
the default, are matched by what is equal, in linear time; others by the worth of each pair.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from karat.core.columns.conversations import ToolCall
from karat.core.columns.kinds import Array
from karat.metrics.answers.assignment import assign
from karat.metrics.tools.calls import CallComparison

Calls = Sequence[ToolCall]


def pair_calls(
    mine: Calls, theirs: Calls, comparison: CallComparison, least: float = 0.0
) -> list[tuple[int, int, float]]:
    """The places of the calls of each pair and what it is worth, in the order of the first calls.

    A pair that is worth nothing is left out. With `least`, a pair counts as 1 from this worth on, and else as nothing.
    Raises `UnscoredArgument`.
    """
    pairs: list[tuple[int, int, float]] = []
    for tool, at, other in _by_tool(mine, theirs):
        if comparison.compares_equal(tool):
            free: dict[object, list[int]] = defaultdict(list)
            for place in reversed(other):
                free[comparison.key(theirs[place])].append(place)
            pairs += [(place, same.pop(), 1.0) for place in at if (same := free.get(comparison.key(mine[place])))]
        else:
            worth = _compare(mine, at, theirs, other, comparison)
            worth = np.where(worth >= least, 1.0, 0.0) if least else worth
            pairs += [(at[i], other[j], float(worth[i, j])) for i, j in assign(worth) if worth[i, j] > 0]
    return sorted(pairs)


def pair_in_order(mine: Calls, theirs: Calls, comparison: CallComparison) -> list[tuple[int, int, float]]:
    """As `pair_calls`, of calls that come in the same order on both sides."""
    worth = _compare_all(mine, theirs, comparison)
    return [(at, other, float(worth[at, other])) for at, other in align(worth) if worth[at, other] > 0]


def align(worth: Array) -> list[tuple[int, int]]:
    """The pairs of row and column of the highest total worth, whose rows and whose columns both ascend.

    >>> align(np.array([[0.0, 1.0], [1.0, 0.0]]))
    [(0, 1)]
    """
    rows, columns = worth.shape
    best: Array = np.zeros((rows + 1, columns + 1))  # of the first rows and columns
    for row, each in enumerate(worth):
        np.maximum.accumulate(np.maximum(best[row, :-1] + each, best[row, 1:]), out=best[row + 1, 1:])
    steps, at, column = [], rows, columns
    while at and column:
        if best[at, column] == best[at - 1, column]:
            at -= 1
        elif best[at, column] == best[at, column - 1]:
            column -= 1
        else:
            at, column = at - 1, column - 1
            steps.append((at, column))
    return steps[::-1]


def _compare_all(mine: Calls, theirs: Calls, comparison: CallComparison) -> Array:
    """What each pair of calls is worth, shape (first calls, second calls)."""
    worth: Array = np.zeros((len(mine), len(theirs)))
    for tool, at, other in _by_tool(mine, theirs):
        if comparison.compares_equal(tool):
            keys = [comparison.key(mine[place]) for place in at], [comparison.key(theirs[place]) for place in other]
            numbers = {key: number for number, key in enumerate(chain(*keys))}
            equal: Array = np.equal.outer(*([numbers[key] for key in side] for side in keys))
        else:
            equal = _compare(mine, at, theirs, other, comparison)
        worth[np.ix_(at, other)] = equal
    return worth


def _by_tool(mine: Calls, theirs: Calls) -> Iterator[tuple[str, list[int], list[int]]]:
    """Of each tool that both sides call: its name, and the places of its calls."""
    places: tuple[dict[str, list[int]], ...] = defaultdict(list), defaultdict(list)
    for side, calls in zip(places, (mine, theirs), strict=True):
        for at, call in enumerate(calls):
            side[call.name].append(at)
    return ((tool, at, places[1][tool]) for tool, at in places[0].items() if tool in places[1])


def _compare(mine: Calls, at: list[int], theirs: Calls, other: list[int], comparison: CallComparison) -> Array:
    """What each pair of some calls is worth; calls that are spelled alike are compared once."""
    firsts, rows = _distinct([mine[place] for place in at])
    seconds, columns = _distinct([theirs[place] for place in other])
    worth: Array = np.array([[comparison.worth(call, each) for each in seconds] for call in firsts])
    return worth[np.ix_(rows, columns)]


def _distinct(calls: Calls) -> tuple[list[ToolCall], list[int]]:
    """The calls without repetitions, and the place of each call among them."""
    places: dict[str, int] = {}
    numbers = [places.setdefault(repr(call.arguments), len(places)) for call in calls]
    first = dict(zip(reversed(numbers), reversed(calls), strict=True))
    return [first[number] for number in range(len(places))], numbers
