"""The finishes of metrics whose value depends on the order of the rows, so that nothing adds up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from karat.core.columns.kinds import Array

Kept: TypeAlias = Literal["sums", "values", "curve"]


def kept_by(finish: Any) -> Kept:
    """What of the rows a finish needs: their sums, their values in order, or their scores by confidence.

    >>> kept_by(None), kept_by(lambda totals: totals[..., 0]), kept_by(Percentile(0.5))
    ('sums', 'sums', 'values')
    """
    kept: Kept = getattr(finish, "keeps", "sums")
    return kept


class InOrder(ABC):
    """A finish that needs the rows in their order.

    `keeps` names what keeps them. Called, it gives the scores of single rows, shape (...), from their statistics.
    """

    keeps: ClassVar[Kept]

    @abstractmethod
    def __call__(self, statistics: Array) -> Array:
        """The scores of single rows."""


@dataclass(frozen=True)
class Percentile(InOrder):
    """A finish that stands for the score below which a `share` of the rows is.

    The scores are kept by `karat.stats.ordered.percentile_values`.
    """

    share: float
    keeps: ClassVar[Kept] = "values"

    def __call__(self, statistics: Array) -> Array:
        scores: Array = statistics[..., 0]
        return scores


class Curve(InOrder):
    """A finish for rows in the order of their confidence: their statistics are a confidence and a score, 0 to 1 each.

    They are kept by `karat.stats.ordered.curve_rows`: the rows of each confidence, and the sum of their scores. The
    score of a single row is the second statistic.
    """

    keeps: ClassVar[Kept] = "curve"

    @abstractmethod
    def value(self, confidences: Array, rows: Array, scores: Array) -> Array:
        """The value, NaN where it is undefined, of one or many tables of rows.

        `confidences`, shape (m,), ascend; `rows` and `scores`, shape (..., m), are the rows of each confidence, of
        which there may be none, and the sums of their scores.
        """

    def trials(self, rows: float, scores: float) -> float:  # noqa: ARG002  (some curves depend on the scores)
        """How many rows the value rests on, of which there are `rows` with these summed scores."""
        return rows

    def __call__(self, statistics: Array) -> Array:
        scores: Array = statistics[..., 1]
        return scores
