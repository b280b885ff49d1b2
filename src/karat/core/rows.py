"""What a metric gives: one row of statistics a row, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from karat.core.metric import Metric
from karat.core.types import Array

NOTHING: Array = np.array(None, dtype=object)


@dataclass(frozen=True)
class Rows:
    """What a metric gives: one row of statistics a row.

    `statistics` has shape (n, k), float64; a row of NaN is unscored. `reasons` has shape (n,): why, as text, None
    where a row is scored; or None where no row is unscored. `details` are further columns, such as a judge's label.
    """

    statistics: Array
    reasons: Array | None = None
    details: Mapping[str, pa.Array] = field(default_factory=dict)

    @property
    def scored(self) -> Array:
        """Which rows are scored: shape (n,), bool."""
        found: Array = ~np.isnan(self.statistics[:, 0])
        return found

    def scores(self, metric: Metric) -> Array:
        """One float a row, shape (n,): the finish of the row's own statistics."""
        finish = metric.finish
        if finish is None or not self.scored.any():  # without a scored row there is but one column, of NaN
            return self.statistics[:, 0]
        values: Array = finish(self.statistics)
        return np.where(self.scored, values, np.nan)


def explained(rows: Rows) -> Rows:
    """Give a reason to every row that has none and no score, and take the score of every row that has a reason."""
    finite = np.isfinite(rows.statistics)
    if rows.reasons is None and finite.all():
        return rows
    blank = np.asarray(~finite.all(axis=1))
    reasons: Array = np.full(len(blank), None, dtype=object) if rows.reasons is None else rows.reasons
    reasons = np.where(blank & np.equal(reasons, NOTHING), "the metric gave no finite number", reasons)
    statistics = np.where(np.equal(reasons, NOTHING)[:, None], rows.statistics, np.nan)
    return replace(rows, statistics=statistics, reasons=reasons)
