"""What each row adds to a value of rows in the order of their confidence."""

from __future__ import annotations

import math

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.metric.in_order import Curve
from karat.stats.ordered.curve_rows import CurveRows
from karat.stats.ordered.deviation import influence, steps


def move_curve(statistics: Array, finish: Curve) -> tuple[float, Array]:
    """The value of rows, and by how much each row moves it, shape (rows,); NaN where it is undefined.

    Source: E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, Biometrics 44 (1988), whose variance it is for areas
    under ROC curves.
    """
    kept = CurveRows()
    kept.add(statistics)
    confidences, rows, scores = kept.table()
    with np.errstate(all="ignore"):
        value = float(finish.value(confidences, rows, scores))
    if not math.isfinite(value):
        return math.nan, np.full(len(statistics), np.nan)
    at = steps(rows)
    middle, count, sums = (np.bincount(at, each) for each in (rows * confidences, rows, scores))
    wrong, right = np.nan_to_num(influence(finish, middle / count, count, sums), nan=0.0)
    of_row = at[np.minimum(np.searchsorted(confidences, statistics[:, 0]), len(at) - 1)]
    score = statistics[:, 1]
    moved: Array = score * right[of_row] + (1 - score) * wrong[of_row]
    return value, moved - moved.mean()
