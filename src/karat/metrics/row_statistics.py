"""How metrics build the statistics of rows: one row after another, and ratios whose denominator may be 0."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.metric.rows import Rows


def collect_rows(values: Iterable[float | Iterable[float] | str], width: int = 1) -> Rows:
    """The statistics of rows from one value each: a score, `width` counts, or a text: why the row is unscored.

    >>> collect_rows([1.0, "reference is empty"]).statistics.tolist()
    [[1.0], [nan]]
    """
    rows = list(values)
    statistics = np.full((len(rows), width), np.nan)
    reasons = np.full(len(rows), None, dtype=object)
    for row, value in enumerate(rows):
        if isinstance(value, str):
            reasons[row] = value
        else:
            statistics[row] = value
    return Rows(statistics, reasons)


def divide(part: Array, whole: Array, otherwise: float = 0.0) -> Array:
    """`part / whole`, and `otherwise` where `whole` is 0; arrays of one shape."""
    ratio: Array = np.divide(part, whole, out=np.full(np.shape(part), float(otherwise)), where=whole != 0)
    return ratio
