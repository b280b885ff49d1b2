"""`AnswerExactMatchEvaluator`: whether each predicted answer equals the expected one, character by character."""

# No `from __future__ import annotations`: older releases of Haystack cannot read sockets whose types are texts.

from typing import Any

import numpy as np
from haystack import component
from haystack.components import evaluators

from karat.adapters.haystack.component import INTEGRATION, Detailed, check_lengths, text_of
from karat.core.errors import RowError

try:
    from karat.adapters.haystack import kernel

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False


@component
class AnswerExactMatchEvaluator(Detailed, evaluators.AnswerExactMatchEvaluator):
    """The share of predicted answers that equal the expected one, or one of several expected ones.

    >>> AnswerExactMatchEvaluator().run(ground_truth_answers=["Berlin", "Paris"], predicted_answers=["Berlin", "Lyon"])
    {'individual_scores': [1, 0], 'score': 0.5}
    """

    __module__ = INTEGRATION

    def __init__(self, *, details: bool = False) -> None:
        """An evaluator; with `details`, its results have the 95 % confidence interval of the score."""
        self.configure(details=details)

    @component.output_types(individual_scores=list[int], score=float)
    def run(  # type: ignore[override]  # it takes several golden answers too
        self, ground_truth_answers: list[str | list[str]], predicted_answers: list[str]
    ) -> dict[str, Any]:
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
        return self.detail({"individual_scores": scores, "score": sum(scores) / len(scores)})


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
