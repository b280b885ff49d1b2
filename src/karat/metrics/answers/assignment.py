"""The one-to-one assignment of rows to columns with the largest sum of weights, exact."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array

try:
    from karat.metrics._kernels import assignment as kernel

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False


def assign(weights: Any) -> list[tuple[int, int]]:
    """Pairs of a row and a column, in the order of the rows, whose weights have the largest sum.

    `weights`, shape (rows, columns), are finite numbers. No row and no column is in two pairs, and as many are paired
    as can be. The algorithm is the Hungarian one with potentials (Kuhn 1955, Jonker and Volgenant 1987).

    >>> assign([[4.0, 3.0], [4.0, 0.0], [1.0, 1.0]])
    [(0, 1), (1, 0)]
    """
    matrix: Array = np.ascontiguousarray(weights, dtype=np.float64)
    if not matrix.size:
        return []
    turned = len(matrix) > matrix.shape[1]
    wide = np.ascontiguousarray(matrix.T) if turned else matrix
    row_of: Array = np.empty(wide.shape[1], dtype=np.int64)
    (kernel.assign if COMPILED else define)(wide, row_of)
    pairs = ((row, column) for column, row in enumerate(row_of.tolist()) if row >= 0)
    return sorted((column, row) for row, column in pairs) if turned else sorted(pairs)


def define(weights: Array, row_of: Array) -> None:
    """The definition of the kernel: the row of each column, -1 without one; no more rows than columns.

    Rows are added one by one. Each time the cheapest alternating path from the new row to a free column is found by
    Dijkstra's algorithm, on costs that the potentials `of_row` and `of_column` keep from being negative.
    """
    rows, columns = weights.shape
    costs = (-weights).tolist()
    of_row, of_column = [0.0] * (rows + 1), [0.0] * (columns + 1)
    row_at, before = [0] * (columns + 1), [0] * (columns + 1)  # numbered from 1; 0 is none
    for first in range(1, rows + 1):
        row_at[0], at = first, 0
        least, seen = [inf] * (columns + 1), [False] * (columns + 1)
        while True:
            seen[at], row, gap, following = True, row_at[at], inf, 0
            for column in range(1, columns + 1):
                if not seen[column]:
                    cost = costs[row - 1][column - 1] - of_row[row] - of_column[column]
                    if cost < least[column]:
                        least[column], before[column] = cost, at
                    if least[column] < gap:
                        gap, following = least[column], column
            for column in range(columns + 1):
                if seen[column]:
                    of_row[row_at[column]] += gap
                    of_column[column] -= gap
                else:
                    least[column] -= gap
            at = following
            if not row_at[at]:
                break
        while at:
            row_at[at] = row_at[before[at]]
            at = before[at]
    row_of[:] = np.array(row_at[1:]) - 1
