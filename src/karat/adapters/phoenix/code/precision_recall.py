"""Precision, recall and F of the labels in one record, averaged as in Phoenix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import fsum, inf
from typing import Any, Literal, TypeAlias, get_args

from karat.adapters.phoenix.code.evaluator import Evaluator
from karat.adapters.phoenix.schema.schema import Schema
from karat.adapters.phoenix.score import Score
from karat.core.errors import DataError, SpecError, did_you_mean

Average: TypeAlias = Literal["macro", "micro", "weighted"]
Label: TypeAlias = str | int


class PrecisionRecallFScore(Evaluator):
    """Precision, recall and F of two lists of labels, `expected` and `output`: three scores.

    `beta`: recall weighs this many times as much as precision. `average`: the mean over the labels (macro), over all
    items together (micro), or over the labels weighted by how often each is expected. `positive_label`: only this label
    counts; if the labels are exactly 0 and 1 and `average` is macro, it is 1. `zero_division`: the value of a ratio
    whose denominator is 0.

    Raises `SpecError`, a `ValueError`, for invalid settings; `DataError` for lists that are empty, of
    unequal length, or without the positive label.

    >>> scores = PrecisionRecallFScore(beta=0.5).evaluate({"expected": ["a", "a", "b"], "output": ["a", "b", "b"]})
    >>> [(score.name, score.score) for score in scores]
    [('precision', 0.75), ('recall', 0.75), ('f0_5', 0.6944444444444444)]
    """

    def __init__(
        self,
        *,
        beta: float = 1.0,
        average: Average = "macro",
        zero_division: float = 0.0,
        positive_label: Label | None = None,
    ) -> None:
        if not 0 < beta < inf:
            raise SpecError(f"beta={beta!r}: a finite number above 0 is expected")
        if average not in get_args(Average):
            raise SpecError(f"average={average!r} is not known{did_you_mean(str(average), get_args(Average))}")
        if not 0 <= zero_division <= 1:
            raise SpecError(f"zero_division={zero_division!r}: a number from 0 to 1 is expected")
        schema = Schema(
            {"expected": list[str | int], "output": list[str | int]},
            descriptions={"expected": "The right labels.", "output": "The predicted labels, in the same order."},
        )
        super().__init__(name="precision_recall_fscore", kind="code", input_schema=schema)
        self.beta, self.average, self.zero_division = float(beta), average, zero_division
        self.positive_label = positive_label

    def _original_score_names(self) -> Sequence[str]:
        tail = "" if self.average == "macro" or self.positive_label is not None else f"_{self.average}"
        return [f"{name}{tail}" for name in ("precision", "recall", f"f{self.beta:g}".replace(".", "_"))]

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        expected, output = eval_input["expected"], eval_input["output"]
        if not expected or len(expected) != len(output):
            lengths = f"{len(expected)} and {len(output)}"
            raise DataError(
                f"{self.name}: expected and output must have the same length, 1 or more; they have {lengths}"
            )
        labels = list(dict.fromkeys([*expected, *output]))
        positive = self._positive(labels)
        metadata = {"beta": self.beta, "average": self.average, "labels": labels, "positive_label": positive}
        values = self._values(expected, output, labels if positive is None else [positive], one=positive is not None)
        return [
            Score(name=name, score=value, metadata=dict(metadata), kind="code")
            for name, value in zip(self._original_score_names(), values, strict=True)
        ]

    async def _async_evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return self._evaluate(eval_input)

    def _positive(self, labels: list[Label]) -> Label | None:
        if self.positive_label is None:
            return 1 if self.average == "macro" and set(labels) == {0, 1} else None
        if self.positive_label not in labels:
            raise DataError(f"positive_label {self.positive_label!r} is not among the labels {labels}")
        return self.positive_label

    def _values(
        self, expected: list[Label], output: list[Label], labels: list[Label], *, one: bool
    ) -> tuple[float, float, float]:
        right = Counter(gold for gold, predicted in zip(expected, output, strict=True) if gold == predicted)
        golds, predictions = Counter(expected), Counter(output)
        if self.average == "micro" and not one:
            precision = recall = right.total() / len(expected)
            return precision, recall, self._f(precision, recall)
        by_label = []
        for label in labels:
            precision = self._ratio(right[label], predictions[label])
            recall = self._ratio(right[label], golds[label])
            by_label.append((precision, recall, self._f(precision, recall)))
        weights = [golds[label] if self.average == "weighted" and not one else 1 for label in labels]
        first, second, third = (
            fsum(weight * value for weight, value in zip(weights, values, strict=True)) / sum(weights)
            for values in zip(*by_label, strict=True)
        )
        return first, second, third

    def _ratio(self, part: int, whole: int) -> float:
        return part / whole if whole else float(self.zero_division)

    def _f(self, precision: float, recall: float) -> float:
        if not precision and not recall:
            return 0.0
        square = self.beta * self.beta
        return (1 + square) * precision * recall / (square * precision + recall)
