"""Compares two results of queries: as bags or sets of rows or in their order, with columns in any order or in one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any, Literal, TypeAlias

import numpy as np

from karat.core.columns.kinds import Array
from karat.metrics.answers.assignment import assign

QueryRow: TypeAlias = tuple[Any, ...]
QueryResult: TypeAlias = Sequence[QueryRow]
RowsAs: TypeAlias = Literal["bag", "set"]
ColumnOrder: TypeAlias = Literal["any", "same"]

MOST_PAIRED = (
    1_000  # rows of one result that are paired with those of the other although their order does not pair them
)
MOST_CELLS = 20_000_000  # cells compared while an order of the columns is searched
SHOWN = 80  # characters of a row in a message


class UndecidedResult(Exception):
    """Why it is not known whether two results are equal."""


@dataclass(frozen=True)
class ResultComparison:
    """When two results are equal. `ordered`: their rows are compared in their order, and each counts.

    >>> ResultComparison().difference([(1, "a"), (2, "b")], [("b", 2.0), ("a", 1.0)], ordered=False)
    >>> ResultComparison().difference([(2,), (1,)], [(1,), (2,)], ordered=True)
    'the rows are in another order'
    """

    rows: RowsAs = "bag"
    columns: ColumnOrder = "any"
    relative: float = 0.0
    absolute: float = 0.0

    def difference(self, predicted: QueryResult, expected: QueryResult, *, ordered: bool) -> str | None:
        """What differs first; None where the results are equal. Raises `UndecidedResult`."""
        if not predicted and not expected:
            return None
        as_sets = self.rows == "set" and not ordered
        if len(predicted) != len(expected) and not (as_sets and predicted and expected):
            return f"{_count(len(predicted), 'row')}, {len(expected)} expected"
        width, wanted = len(predicted[0]), len(expected[0])
        if width != wanted:
            return f"{_count(width, 'column')}, {wanted} expected"
        same = self._same_list if ordered else self._same_set if as_sets else self._same_bag
        if same(predicted, expected) or (
            self.columns == "any" and width > 1 and self._permuted(predicted, expected, same)
        ):
            return None
        if ordered and self.difference(predicted, expected, ordered=False) is None:
            return "the rows are in another order"
        known = set(expected)
        other = next((row for row in predicted if row not in known), None)
        return "the rows differ" if other is None else f"the row {_show(other)} is not expected"

    def _permuted(
        self, predicted: QueryResult, expected: QueryResult, same: Callable[[QueryResult, QueryResult], bool]
    ) -> bool:
        """Whether an order of the columns of `predicted` makes the results the same."""
        mine, wanted = (
            [[(cell,) for cell in column] for column in zip(*each, strict=True)] for each in (predicted, expected)
        )
        fitting = [[at for at, column in enumerate(mine) if same(column, gold)] for gold in wanted]
        if not all(fitting):
            return False
        if same == self._same_list:  # rows are the same in their order where all columns are
            fits = np.zeros((len(wanted), len(mine)))
            for at, places in enumerate(fitting):
                fits[at, places] = 1
            return _is_perfect(fits)
        order = sorted(range(len(wanted)), key=lambda at: len(fitting[at]))
        spent = 0

        def extend(chosen: tuple[int, ...]) -> bool:
            nonlocal spent
            if len(chosen) > 1:
                spent += len(chosen) * (len(predicted) + len(expected))
                if spent > MOST_CELLS:
                    raise UndecidedResult(
                        f"more than {MOST_CELLS:,} cells would be compared to find the order of the columns"
                    )
                first = order[: len(chosen)]
                if not same(
                    [tuple(row[at] for at in chosen) for row in predicted],
                    [tuple(row[at] for at in first) for row in expected],
                ):
                    return False
            if len(chosen) == len(order):
                return True
            tried: list[int] = []
            for at in fitting[order[len(chosen)]]:
                if at not in chosen and all(mine[at] != mine[other] for other in tried):
                    tried.append(at)
                    if extend((*chosen, at)):
                        return True
            return False

        return extend(())

    def _same_list(self, a: QueryResult, b: QueryResult) -> bool:
        return len(a) == len(b) and all(
            x == y or (len(x) == len(y) and all(map(self._close, x, y))) for x, y in zip(a, b, strict=True)
        )

    def _same_bag(self, a: QueryResult, b: QueryResult) -> bool:
        if len(a) != len(b):
            return False
        if Counter(a) == Counter(b):
            return True
        groups = self._groups(a, b)
        return groups is not None and all(len(x) == len(y) and self._pair(x, y) for x, y in groups)

    def _same_set(self, a: QueryResult, b: QueryResult) -> bool:
        if set(a) == set(b):
            return True
        groups = self._groups(list(set(a)), list(set(b)))
        return groups is not None and all(self._cover(x, y) for x, y in groups)

    def _groups(self, a: QueryResult, b: QueryResult) -> list[tuple[list[QueryRow], list[QueryRow]]] | None:
        """The numbers of rows with the same other cells; None where no tolerance can make the results the same."""
        if not (self.relative or self.absolute) or not any(isinstance(cell, float) for row in (*a, *b) for cell in row):
            return None
        sides: list[dict[QueryRow, list[QueryRow]]] = []
        for rows in (a, b):
            by_rest: dict[QueryRow, list[QueryRow]] = defaultdict(list)
            for row in rows:
                rest = tuple(_NUMBER if isinstance(cell, int | float) else cell for cell in row)
                by_rest[rest].append(tuple(cell for cell in row if isinstance(cell, int | float)))
            sides.append(by_rest)
        left, right = sides
        return [(left[rest], right[rest]) for rest in left] if left.keys() == right.keys() else None

    def _pair(self, a: list[QueryRow], b: list[QueryRow]) -> bool:
        """Whether rows of numbers can be paired so that each is close to the other of its pair."""
        if all(map(self._close_rows, sorted(a), sorted(b))):
            return True
        columns = zip(zip(*a, strict=True), zip(*b, strict=True), strict=True)
        if len(a[0]) == 1 or not all(all(map(self._close, sorted(x), sorted(y))) for x, y in columns):
            return False
        return _is_perfect(self._matrix(a, b))

    def _cover(self, a: list[QueryRow], b: list[QueryRow]) -> bool:
        """Whether each row of numbers is close to one of the other side."""
        matrix = self._matrix(a, b)
        return bool(matrix.any(axis=0).all() and matrix.any(axis=1).all())

    def _matrix(self, a: list[QueryRow], b: list[QueryRow]) -> Array:
        """Which rows of two lists are close: shape (len(a), len(b))."""
        if max(len(a), len(b)) > MOST_PAIRED:
            raise UndecidedResult(
                f"more than {MOST_PAIRED:,} rows differ in numbers alone: relative=0, absolute=0 compares them exactly"
            )
        return np.array([[self._close_rows(x, y) for y in b] for x in a], dtype=np.float64)

    def _close_rows(self, a: QueryRow, b: QueryRow) -> bool:
        return all(map(self._close, a, b))

    def _close(self, a: Any, b: Any) -> bool:
        """Whether two cells are equal, or numbers within the tolerance of which one is not whole."""
        if a == b:
            return True
        numbers = isinstance(a, int | float) and isinstance(b, int | float)
        whole = isinstance(a, int) and isinstance(b, int)
        return numbers and not whole and isclose(a, b, rel_tol=self.relative, abs_tol=self.absolute)


def _is_perfect(fits: Array) -> bool:
    """Whether each row of a square matrix of 0 and 1 can have a column of its own where it has a 1."""
    return bool(sum(fits[pair] for pair in assign(fits)) == len(fits))


class _Number:
    """Stands in a row for a number."""


_NUMBER = _Number()


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _show(row: QueryRow) -> str:
    text = ", ".join(map(repr, row))
    return f"({text})" if len(text) <= SHOWN else f"({text[: SHOWN - 1]}…)"
