"""`AnswerExactMatchEvaluator`: whether each predicted answer equals the expected one, character by character."""

# No `from __future__ import annotations`: older releases of Haystack cannot read sockets whose types are texts.

from typing import Any, Union

import numpy as np
from haystack import component, default_from_dict, default_to_dict

from karat.adapters.haystack.output import check_lengths, mean_of
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
    {'individual_scores': [1, 0], 'score': 0.5, 'interval': [0.0..., 0.9...]}
    """

    @component.output_types(individual_scores=list[int], score=float, interval=list[float])
    def run(self, ground_truth_answers: list[Union[str, list[str]]], predicted_answers: list[str]) -> dict[str, Any]:  # noqa: UP007  (older releases of Haystack connect nothing to `str | list[str]`)
        """Score each predicted answer 1 or 0.

        `ground_truth_answers`: the expected answer to each question, or a list of acceptable ones.
        `predicted_answers`: one answer for each question.

        Returns `individual_scores`, their mean as `score`, and `interval`. Raises `karat.RowError`, a `ValueError`, for
        lists of unequal length, empty lists, and inputs that are not lists.
        """
        check_lengths(ground_truth_answers=ground_truth_answers, predicted_answers=predicted_answers)
        pairs = ground_truth_answers, predicted_answers
        scores = kernel.match(*pairs, is_match) if COMPILED else list(map(is_match, *pairs))
        matches = scores.count(1)
        return mean_of(scores, matches, matches)

    def to_dict(self) -> dict[str, Any]:
        """The component as a dict, as Haystack stores it."""
        return default_to_dict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "AnswerExactMatchEvaluator":
        """The component from a dict of `to_dict`."""
        return default_from_dict(cls, data)


def is_match(gold: Any, answer: Any) -> int:
    """1 if the answer equals the expected one, or one of several expected ones; else 0.

    >>> is_match("Paris", "P"), is_match(["Paris", "City of Paris"], "Paris")
    (0, 1)
    """
    gold, answer = (each.tolist() if isinstance(each, np.ndarray) else each for each in (gold, answer))
    if isinstance(answer, list | tuple):
        raise RowError(f"predicted_answers: one answer for each question is expected, found {answer!r:.80}")
    return int(answer in gold if isinstance(gold, list | tuple | set | frozenset) else answer == gold)
