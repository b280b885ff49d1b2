"""The confidence of each row beside the score of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np

from karat.core.columns.kinds import Array, Number
from karat.core.errors import SpecError
from karat.core.metric.definition import Definition
from karat.core.metric.rows import NOTHING, Rows
from karat.core.metric.score import Inner

ConfidenceScale: TypeAlias = Literal["probability", "percent", "log"]
"""What the numbers of a confidence are: from 0 to 1, from 0 to 100, or logarithms, of 0 or less."""

RANGES: Mapping[str, tuple[float, float]] = {"probability": (0, 1), "percent": (0, 100), "log": (-np.inf, 0)}


def check_confidence(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    """The definition with the range of its confidences; `SpecError` for an inner metric that is not from 0 to 1."""
    check_share(definition)
    ranges = MappingProxyType({"confidence": RANGES[settings["scale"]]})
    return replace(definition, inputs=replace(definition.inputs, ranges=ranges))


def check_share(definition: Definition) -> None:
    """Raise `SpecError` for an inner metric whose scores are known not to be shares; a column's may be."""
    if definition.inner is None or definition.inner.definition.inputs.named:
        return
    inner = definition.inner.definition
    if (inner.low, inner.high) != (0, 1):
        expected = "a metric with scores from 0 to 1 is expected, such as exact_match"
        raise SpecError(f"{definition.name}: {inner.name} has scores from {inner.low} to {inner.high}; {expected}")


@dataclass(frozen=True)
class ConfidencePairs:
    """The confidences and the scores of rows, shape (n,), and why rows have none, shape (n,); None where all have."""

    confidence: Array
    score: Array
    reasons: Array | None

    @classmethod
    def of(cls, scored: Inner, confidence: Number, scale: ConfidenceScale) -> ConfidencePairs:
        """The pairs of a slice; a row is unscored where its answer is, and for a number out of its range."""
        inner = scored.score()
        score, stated = inner.scores(scored.metric), confidence.to_numpy()
        read = {
            "probability": lambda: stated,
            "percent": lambda: stated / 100,
            "log": lambda: np.exp(np.minimum(stated, 1)),
        }
        low, high = RANGES[scale]
        pairs = cls(read[scale](), score, inner.reasons)
        pairs = pairs.drop((stated < low) | (stated > high), f"confidence is not from {low:g} to {high:g}")
        return pairs.drop((score < 0) | (score > 1), f"the score of {scored.metric.name} is not from 0 to 1")

    def binary(self, threshold: float | None) -> ConfidencePairs:
        """The pairs with scores of 0 and 1: without a threshold, rows with other scores have none."""
        if threshold is not None:
            return replace(self, score=np.where(np.isnan(self.score), np.nan, self.score >= threshold))
        problem = "the score is neither 0 nor 1: set threshold=, the least that is right"
        return self.drop((self.score > 0) & (self.score < 1), problem)

    def drop(self, rows: Array, reason: str) -> ConfidencePairs:
        """The pairs, with the rows unscored that have no reason yet."""
        if not rows.any():
            return self
        reasons = np.full(len(rows), None, dtype=object) if self.reasons is None else self.reasons
        return replace(self, reasons=np.where(rows & np.equal(reasons, NOTHING), reason, reasons))

    def rows(self, *statistics: Array) -> Rows:
        """Rows with these statistics, shape (n,) or (n, k) each, side by side."""
        alone = len(statistics) == 1 and statistics[0].ndim == 2
        table = statistics[0] if alone else np.column_stack(statistics)
        if self.reasons is not None:
            table[~np.equal(self.reasons, NOTHING)] = np.nan
        return Rows(table, self.reasons)
