"""`AnswerExactMatchEvaluator`: whether each predicted answer equals the expected one, character by character."""

# No `from __future__ import annotations`: older releases of Haystack cannot read sockets whose types are texts.

from typing import Any, Self, Union

import numpy as np
from haystack import component, default_to_dict

from karat.adapters.haystack.output import (
    INTEGRATION,
    check_lengths,
    declare_details,
    interval_of,
    mean_of,
    restore,
    text_of,
)
from karat.core.errors import RowError

try:
    from karat.adapters.haystack import kernel

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False


@component
class AnswerExactMatchEvaluator:
    """The share of predicted answers that equal the expected one, or one of several expected ones.

    >>> AnswerExactMatchEvaluator().run(ground_truth_answers=["Berlin", "Paris"], predicted_answers=["Berlin", "Lyon"])
    {'individual_scores': [1, 0], 'score': 0.5}
    """

    __module__ = INTEGRATION

    def __init__(self, *, details: bool = False) -> None:
        """An evaluator; with `details`, its results have the 95 % confidence interval of the score."""
        self.details = details
        declare_details(self)

    @component.output_types(individual_scores=list[int], score=float)
    def run(self, ground_truth_answers: list[Union[str, list[str]]], predicted_answers: list[str]) -> dict[str, Any]:  # noqa: UP007  (older releases of Haystack connect nothing to `str | list[str]`)
        """Score each predicted answer 1 or 0.

        `ground_truth_answers`: the expected answer to each question, or a list of acceptable ones.
        `predicted_answers`: one answer for each question. Of a `GeneratedAnswer`, an `ExtractedAnswer` or a
        `ChatMessage` the text is compared.

        Returns `individual_scores` and their mean as `score`. Raises `RowError`, a `ValueError`, for lists of
        unequal length, empty lists, and inputs that are not lists.
        """
        check_lengths(ground_truth_answers=ground_truth_answers, predicted_answers=predicted_answers)
        pairs = ground_truth_answers, predicted_answers
        scores = kernel.match(*pairs, is_match) if COMPILED else list(map(is_match, *pairs))
        outputs = mean_of(scores, scores.count(1))
        return outputs | {"details": {"interval": interval_of(scores)}} if self.details else outputs

    def to_dict(self) -> dict[str, Any]:
        """The component as a dict, as Haystack stores it."""
        return default_to_dict(self, **({"details": True} if self.details else {}))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The component from a dict of `to_dict`, its own or that of Haystack's component of the same name."""
        return restore(cls, data)


def is_match(gold: Any, answer: Any) -> int:
    """1 if the answer equals the expected one, or one of several expected ones; else 0.

    >>> is_match("Paris", "P"), is_match(["Paris", "City of Paris"], "Paris")
    (0, 1)
    """
    gold, answer = (each.tolist() if isinstance(each, np.ndarray) else text_of(each) for each in (gold, answer))
    if isinstance(answer, list | tuple):
        raise RowError(f"predicted_answers: one answer for each question is expected, found {answer!r:.80}")
    if isinstance(gold, list | tuple | set | frozenset):
        return int(answer in map(text_of, gold))
    return int(answer == gold)
