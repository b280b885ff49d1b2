"""The checks of inputs and the outputs that the evaluators share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from karat.core.errors import RowError
from karat.stats.aggregate import Units
from karat.stats.interval import interval


def check_lengths(**columns: Any) -> None:
    """Raise `RowError` unless all columns are lists of the same length, and not empty."""
    names = " and ".join(columns)
    for name, column in columns.items():
        if isinstance(column, str | bytes | Mapping | set | frozenset) or not hasattr(column, "__len__"):
            raise RowError(f"{name}: a list with one entry for each question is expected, found {column!r:.80}")
    lengths = {len(column) for column in columns.values()}
    if 0 in lengths:
        raise RowError(f"{names} must be provided: an empty list has no score.")
    if len(lengths) > 1:
        raise RowError(f"The length of {names} must be the same.")


def mean_of(scores: Sequence[float], total: float, squares: float) -> dict[str, Any]:
    """The outputs of an evaluator: scores from 0 to 1, their mean, and its 95 % confidence interval.

    `total` and `squares` are the sums of the scores and of their squares. The interval of a mean depends only on these
    and on the number of rows, so two units replace all rows.
    """
    units, rows = Units(width=1), len(scores)
    units.sums = np.array([[total, squares, rows - 1.0], [0.0, 0.0, 1.0]])
    low, high = interval(units, bounds=(0.0, 1.0))
    return {"individual_scores": scores, "score": total / rows, "interval": [low, high]}
