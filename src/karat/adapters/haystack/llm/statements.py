"""Evaluators that split a text into statements: `FaithfulnessEvaluator` and `ContextRelevanceEvaluator`."""

# No `from __future__ import annotations`: older releases of Haystack cannot read sockets whose types are texts.

from math import fsum, nan
from typing import Any, ClassVar

from haystack import component, default_to_dict
from haystack.utils import Secret

from karat.adapters.haystack.llm.checks import Examples, Inputs
from karat.adapters.haystack.llm.evaluator import CONCURRENCY, KEY, MODEL, OUTPUT_TYPES, LLMEvaluator, Result, outcome
from karat.adapters.haystack.llm.json_types import read_keys
from karat.adapters.haystack.llm.rows import Questions
from karat.adapters.haystack.output import mean_of
from karat.judges.reply_parser import ReplyError

_OUTPUT_TYPES = {"individual_scores": list[float], "score": float, "interval": list[float], **OUTPUT_TYPES}
_OUTPUTS = ["statements", "statement_scores"]
_RELEVANT = "relevant_statements"


class _StatementsEvaluator(LLMEvaluator):
    """The common part of both: statements with a score each, whose mean is the score of the row."""

    task: ClassVar[str]
    sockets: ClassVar[Inputs]
    shown: ClassVar[Examples]

    def __init__(
        self,
        examples: Examples | None = None,
        progress_bar: bool = True,
        api: str = "openai",
        api_key: Secret = KEY,
        raise_on_failure: bool = True,
        *,
        chat_generator: Any = None,
        model: str = MODEL,
        concurrency: int = CONCURRENCY,
    ) -> None:
        """Like `LLMEvaluator`, with its own instructions, and its own examples unless `examples` are passed."""
        examples = examples or self.shown
        task, outputs = self._form(examples)
        LLMEvaluator.__init__(  # no super(): `component` replaces the class
            self,
            task,
            self.sockets,
            outputs,
            examples,
            progress_bar,
            raise_on_failure,
            api,
            api_key,
            chat_generator=chat_generator,
            model=model,
            concurrency=concurrency,
        )

    def _form(self, _: Examples) -> tuple[str, list[str]]:
        return self.task, _OUTPUTS

    def _read(self, reply: str) -> Result:
        result = read_keys(_OUTPUTS, reply)
        scores, statements = result["statement_scores"], _texts(result["statements"], "statements")
        if not isinstance(scores, list) or not all(isinstance(each, int | float) and 0 <= each <= 1 for each in scores):
            raise ReplyError(f"statement_scores: a list of numbers from 0 to 1 is expected, found {scores!r:.80}")
        if len(scores) != len(statements):
            raise ReplyError(f"{len(statements)} statements have {len(scores)} statement_scores")
        return {**result, "score": fsum(scores) / len(scores) if scores else 0.0}

    def _summary(self, questions: Questions) -> dict[str, Any]:
        """The outputs of a run: the results, the scores of all rows, their mean and its interval."""
        failed = {**{name: [] for name in self.outputs}, "score": nan, "status": "error"}
        results = [dict(failed) if result is None else result for result in questions.results]
        known = [result["score"] for result in questions.results if result is not None]
        mean = mean_of(known, sum(known), sum(score * score for score in known)) if known else _NO_SCORE
        scores = [result["score"] for result in results]
        return {**mean, "individual_scores": scores, **outcome(questions), "results": results}

    def to_dict(self) -> dict[str, Any]:
        """The component as a dict, as Haystack stores it."""
        return default_to_dict(self, **self._settings())


@component
class FaithfulnessEvaluator(_StatementsEvaluator):
    """The share of an answer's statements that its contexts support, in the judgement of a language model.

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
    >>> result["score"], result["results"]
    (0.5, [{'statements': ['Python is a language.', 'Lucas made it.'], 'statement_scores': [1, 0], 'score': 0.5}])
    """

    task = """\
Decide whether what an answer to a question says is supported by the contexts. First take the predicted answer apart \
into statements: each makes one claim, is clear without the others (use the question, and put names for pronouns), and \
is listed once. An answer that claims nothing has none. Then give each statement a score: 1 if the contexts say it or \
it follows from them, 0 if they contradict it, say less, or do not speak of it. Your own knowledge does not count."""
    sockets: ClassVar = [("questions", list[str]), ("contexts", list[list[str]]), ("predicted_answers", list[str])]
    shown: ClassVar = [
        {
            "inputs": {
                "questions": "Who designed the tower, and how tall is it?",
                "contexts": ["The tower, a work of the architect Ada Lindqvist, rises 90 m above the harbour."],
                "predicted_answers": "It was designed by Ada Lindqvist in 1921 and is 90 metres tall.",
            },
            "outputs": {
                "statements": [
                    "The tower was designed by Ada Lindqvist.",
                    "The tower was designed in 1921.",
                    "The tower is 90 metres tall.",
                ],
                "statement_scores": [1, 0, 1],
            },
        },
        {
            "inputs": {
                "questions": "Which river flows through Norwich?",
                "contexts": ["Ipswich lies on the Orwell.", "Cambridge lies on the Cam."],
                "predicted_answers": "The Wensum",
            },
            "outputs": {"statements": ["The Wensum flows through Norwich."], "statement_scores": [0]},
        },
        {
            "inputs": {
                "questions": "When does the museum open?",
                "contexts": ["The museum is closed for repairs."],
                "predicted_answers": "I am sorry, I cannot tell.",
            },
            "outputs": {"statements": [], "statement_scores": []},
        },
    ]

    @component.output_types(**_OUTPUT_TYPES)
    def run(  # type: ignore[override]
        self, questions: list[str], contexts: list[list[str]], predicted_answers: list[str]
    ) -> dict[str, Any]:
        """Ask about each answer, given its question and its contexts.

        Returns the outputs of `LLMEvaluator`, `individual_scores` from 0 to 1, NaN for a row that failed, `score`, the
        mean of the other rows, and `interval`, its 95 % confidence interval. An answer without statements scores 0.
        """
        inputs = {"questions": questions, "contexts": contexts, "predicted_answers": predicted_answers}
        return self._summary(self._ask(inputs))

    @component.output_types(**_OUTPUT_TYPES)
    async def run_async(  # type: ignore[override]
        self, questions: list[str], contexts: list[list[str]], predicted_answers: list[str]
    ) -> dict[str, Any]:
        """Like `run`, in the running event loop."""
        inputs = {"questions": questions, "contexts": contexts, "predicted_answers": predicted_answers}
        return self._summary(await self._ask_async(inputs))


@component
class ContextRelevanceEvaluator(_StatementsEvaluator):
    """The share of the contexts' statements that help to answer the question, in the judgement of a language model.

    A reply with `relevant_statements`, a list of the statements that help, scores 1 if the list has any, else 0. Such a
    reply is always accepted; it is requested if all `examples` have this output.

    >>> from haystack.dataclasses import ChatMessage
    >>> class Scripted:
    ...     def run(self, messages):
    ...         reply = '{"statements": ["Guido made Python.", "It is fun."], "statement_scores": [1, 0]}'
    ...         return {"replies": [ChatMessage.from_assistant(reply)]}
    >>> evaluator = ContextRelevanceEvaluator(progress_bar=False, chat_generator=Scripted())
    >>> result = evaluator.run(questions=["Who made Python?"], contexts=[["Guido made Python. It is fun."]])
    >>> result["score"], result["results"]
    (0.5, [{'statements': ['Guido made Python.', 'It is fun.'], 'statement_scores': [1, 0], 'score': 0.5}])
    """

    task = """\
Decide whether the contexts that were retrieved for a question help to answer it. First take the contexts apart into \
statements: about one a sentence, in their own words and order, with names for pronouns. Contexts without text have \
none. Then give each statement a score: 1 if it is the answer, a part of it, or something one must know to get from \
the contexts to the answer; 0 if not. That it is true, or about the same subject, does not make a statement relevant."""
    sockets: ClassVar = [("questions", list[str]), ("contexts", list[list[str]])]
    shown: ClassVar = [
        {
            "inputs": {
                "questions": "When was the library founded?",
                "contexts": ["The library was founded in 1784 by a duke. It has a garden."],
            },
            "outputs": {
                "statements": ["The library was founded in 1784 by a duke.", "The library has a garden."],
                "statement_scores": [1, 0],
            },
        },
        {
            "inputs": {
                "questions": "Which river flows through Norwich?",
                "contexts": ["Norwich has a cathedral.", "Cambridge lies on the Cam."],
            },
            "outputs": {
                "statements": ["Norwich has a cathedral.", "Cambridge lies on the Cam."],
                "statement_scores": [0, 0],
            },
        },
        {
            "inputs": {"questions": "Who painted the ceiling?", "contexts": [""]},
            "outputs": {"statements": [], "statement_scores": []},
        },
    ]

    @component.output_types(**_OUTPUT_TYPES)
    def run(  # type: ignore[override]
        self, questions: list[str], contexts: list[list[str]]
    ) -> dict[str, Any]:
        """Ask about the contexts of each question.

        Returns the outputs of `LLMEvaluator`, `individual_scores` from 0 to 1, NaN for a row that failed, `score`, the
        mean of the other rows, and `interval`, its 95 % confidence interval. Contexts without statements score 0.
        """
        return self._summary(self._ask({"questions": questions, "contexts": contexts}))

    @component.output_types(**_OUTPUT_TYPES)
    async def run_async(  # type: ignore[override]
        self, questions: list[str], contexts: list[list[str]]
    ) -> dict[str, Any]:
        """Like `run`, in the running event loop."""
        return self._summary(await self._ask_async({"questions": questions, "contexts": contexts}))

    def _form(self, examples: Examples) -> tuple[str, list[str]]:
        if _is_list_of_relevant(examples):
            return f"{self.task} In {_RELEVANT} list the statements of score 1, and no others.", [_RELEVANT]
        return self.task, _OUTPUTS

    def _read(self, reply: str) -> Result:
        result = read_keys([], reply)
        if _RELEVANT not in result or "statement_scores" in result:
            return _StatementsEvaluator._read(self, reply)  # noqa: SLF001  (no super(): see `__init__`)
        return {**result, "score": float(bool(_texts(result[_RELEVANT], _RELEVANT)))}


_NO_SCORE = {"score": nan, "interval": [nan, nan]}


def _is_list_of_relevant(examples: Any) -> bool:
    """Whether all examples have the output `relevant_statements`; invalid examples are refused later."""
    records = examples if isinstance(examples, list) else [None]
    return all(isinstance(each, dict) and _RELEVANT in each.get("outputs", ()) for each in records)


def _texts(value: Any, name: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ReplyError(f"{name}: a list of texts is expected, found {value!r:.80}")
    return value
