"""The finish of metrics whose value is a percentile of the rows' scores."""

from __future__ import annotations

from dataclasses import dataclass

from karat.core.columns.kinds import Array


@dataclass(frozen=True)
class Percentile:
    """A finish that stands for the score below which a `share` of the rows is.

    Scores of which a percentile is wanted do not add up: they are kept by `karat.stats.percentiles.values`, and whoever
    adds up statistics refuses this finish. Called, it gives the scores of single rows, shape (...).
    """

    share: float

    def __call__(self, statistics: Array) -> Array:
        scores: Array = statistics[..., 0]
        return scores
