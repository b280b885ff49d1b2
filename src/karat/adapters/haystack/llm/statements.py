"""Evaluators that split a text into statements: `FaithfulnessEvaluator` and `ContextRelevanceEvaluator`."""

# No `from __future__ import annotations`: older releases of Haystack cannot read sockets whose types are texts.

from math import fsum, isnan, nan
from typing import Any

from haystack import component, logging
from haystack.components import evaluators
from haystack.utils import Secret

from karat.adapters.haystack.component import INTEGRATION, interval_of
from karat.adapters.haystack.llm.evaluator import KEY, OUTPUT_TYPES, Concurrent, Result, choose_generator, read_keys
from karat.judges.replies.parser import ReplyError

logger = logging.getLogger(__name__)

_OUTPUT_TYPES = {"individual_scores": list[float], "score": float, **OUTPUT_TYPES}
_SCORED = ["statements", "statement_scores"]
_RELEVANT = "relevant_statements"


class _StatementEvaluator(Concurrent):
    """The common part of both: the score of a row follows from its statements, the score of the run is the mean."""

    def __init__(
        self,
        examples: list[dict[str, Any]] | None = None,
        progress_bar: bool = True,
        raise_on_failure: bool = True,
        chat_generator: Any = None,
        *,
        api: str = "openai",
        api_key: Secret = KEY,
        concurrency: int | None = None,
        details: bool = False,
    ) -> None:
        """Like `LLMEvaluator`, with Haystack's instructions, and its examples unless `examples` are passed.

        `details` has the 95 % confidence interval of the score too.
        """
        generator = choose_generator(chat_generator, api, api_key)
        super().__init__(examples, progress_bar, raise_on_failure, generator)  # type: ignore[call-arg]
        self.configure(concurrency=concurrency, details=details)

    @component.output_types(**_OUTPUT_TYPES)
    def run(self, **inputs: Any) -> dict[str, Any]:
        """Ask about each row; the inputs are lists of the same length.

        Returns the outputs of `LLMEvaluator`, where each result has a `score` and a `status`, which is "evaluated" or,
        for an unscored row, "error"; `individual_scores` from 0 to 1, NaN for an unscored row; and `score`, the
        mean of the other rows, NaN without any. A row without statements scores 0.
        """
        return self._summary(super().run(**inputs))

    @component.output_types(**_OUTPUT_TYPES)
    async def run_async(self, **inputs: Any) -> dict[str, Any]:
        """Like `run`, in the running event loop."""
        return self._summary(await super().run_async(**inputs))

    def _summary(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """The outputs of a run, with a result for each unscored row and with the scores."""
        unscored = {**{name: [] for name in self.outputs}, "score": nan, "status": "error"}
        results: list[Result] = [
            result | {"status": "evaluated"} if result else dict(unscored) for result in outputs["results"]
        ]
        scores: list[float] = [result["score"] for result in results]
        known = [score for score in scores if not isnan(score)]
        if skipped := len(scores) - len(known):
            logger.warning("{skipped} query(s) failed and were excluded from the score.", skipped=skipped)
        if self.details:
            outputs["details"]["interval"] = interval_of(known) if known else [nan, nan]
        mean = fsum(known) / len(known) if known else nan
        return {**outputs, "results": results, "individual_scores": scores, "score": mean}


@component
class FaithfulnessEvaluator(_StatementEvaluator, evaluators.FaithfulnessEvaluator):
    """The share of an answer's statements that its contexts support, in the judgement of a language model.

    The inputs are `questions`, `contexts` (a list of texts for each question) and `predicted_answers`.

    >>> from haystack.dataclasses import ChatMessage
    >>> class Scripted:
    ...     def run(self, messages):
    ...         reply = '{"statements": ["Python is a language.", "Lucas made it."], "statement_scores": [1, 0]}'
    ...         return {"replies": [ChatMessage.from_assistant(reply)]}
    >>> evaluator = FaithfulnessEvaluator(progress_bar=False, chat_generator=Scripted())
    >>> result = evaluator.run(
    ...     questions=["Who made Python?"],
    ...     contexts=[["Guido van Rossum made the language Python."]],
    ...     predicted_answers=["Python is a language made by Lucas."],
    ... )
    >>> result["score"], result["results"][0]["status"]
    (0.5, 'evaluated')
    """

    __module__ = INTEGRATION

    def _read(self, reply: str) -> Result:
        return _mean_of_statements(read_keys(_SCORED, reply))


@component
class ContextRelevanceEvaluator(_StatementEvaluator, evaluators.ContextRelevanceEvaluator):
    """Whether contexts help to answer the question, in the judgement of a language model.

    The inputs are `questions` and `contexts`, a list of texts for each question. The model lists the
    `relevant_statements` of the contexts; a question scores 1 if there are any, else 0. A reply in the form of the
    first releases of Haystack 2, with `statements` and `statement_scores` alone, scores the mean of these.

    >>> from haystack.dataclasses import ChatMessage
    >>> class Scripted:
    ...     def run(self, messages):
    ...         return {"replies": [ChatMessage.from_assistant('{"relevant_statements": ["Guido made Python."]}')]}
    >>> evaluator = ContextRelevanceEvaluator(progress_bar=False, chat_generator=Scripted())
    >>> result = evaluator.run(questions=["Who made Python?"], contexts=[["Guido made Python. It is fun."]])
    >>> result["score"], result["results"]
    (1.0, [{'relevant_statements': ['Guido made Python.'], 'score': 1.0, 'status': 'evaluated'}])
    """

    __module__ = INTEGRATION

    def _read(self, reply: str) -> Result:
        result = read_keys([], reply)
        if _RELEVANT not in result and all(key in result for key in _SCORED):
            return _mean_of_statements(result)
        result = read_keys([_RELEVANT], reply)
        return {**result, "score": float(bool(_texts(result[_RELEVANT], _RELEVANT)))}


def _mean_of_statements(result: Result) -> Result:
    """A result with its score; `ReplyError` unless each statement has a score from 0 to 1."""
    scores, statements = result["statement_scores"], _texts(result["statements"], "statements")
    if not isinstance(scores, list) or not all(isinstance(each, int | float) and 0 <= each <= 1 for each in scores):
        raise ReplyError(f"statement_scores: a list of numbers from 0 to 1 is expected, found {scores!r:.80}")
    if len(scores) != len(statements):
        raise ReplyError(f"{len(statements)} statements have {len(scores)} statement_scores")
    return {**result, "score": fsum(scores) / len(scores) if scores else 0.0}


def _texts(value: Any, name: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ReplyError(f"{name}: a list of texts is expected, found {value!r:.80}")
    return value
