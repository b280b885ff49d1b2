"""An evaluator that asks a language model to choose one of several labels."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import pyarrow as pa

from karat.adapters.phoenix.llm.evaluator import LLMEvaluator
from karat.adapters.phoenix.llm.model import classifies, own_method, to_model
from karat.adapters.phoenix.llm.prompts import to_plain
from karat.adapters.phoenix.mapping import is_missing
from karat.adapters.phoenix.score import Column, DirectionType, Read, Score
from karat.core.errors import DataError, SpecError
from karat.core.progress import advance
from karat.judges.inputs import to_materials
from karat.judges.panel import PanelMember, ask_member, trace_vote
from karat.judges.prompt import how_to_reply
from karat.judges.replies.forms import Label, Verdict
from karat.judges.votes import NotJudged, Vote
from karat.models.context import current_models
from karat.models.event_loop import await_coroutine, run_coroutine
from karat.models.governor.faults import ModelError
from karat.models.governor.governor import Governor
from karat.models.request import ChatMessage

Choices: TypeAlias = Sequence[str] | Mapping[str, Any]
"""Labels; or the score of each label, a number or None; or pairs of a score and a description."""

_USAGE = ("input_tokens", "output_tokens", "cost", "latency", "trace_id")


class ClassificationEvaluator(LLMEvaluator):
    r"""Asks `llm` which of the `choices` is right for a record.

    `llm`: an `LLM`, the name of a model at the endpoint that judges use, an async callable
    `(messages, schema, settings) -> reply`, or an object with `generate_classification` (or its async form), such as
    Phoenix's own `LLM`: it gets the `prompt`, the `labels`, `include_explanation` and `method`. `prompt_template`: a
    text, or messages, with the placeholders `{{field}}` or `{field}` (see `PromptTemplate`); for a model, the form of
    the reply is appended. `choices`: labels, or the score of each, or `(score, description)`. `input_schema`: the
    fields, by default those of the template. `governor`: limits, retries and caches the requests; by default that of
    `karat.judges.use_governor`, else one for the process. Further keywords (temperature, max_tokens) are sent with each
    request; by default none is.

    The score is that of the label, None for plain labels; the metadata hold the model, its tokens and cost. If the
    reply is not one of the choices, the model is asked once more; after that the row fails with a `DataError`,
    and so does a row in which a field is None. The rows of a frame are sent concurrently, within the governor's limits.

    Raises `SpecError` for an invalid template or invalid choices.

    >>> from karat.models.testing.fake import FakeModel
    >>> model = FakeModel({"explanation": "It commits to Paris.", "label": "direct"})
    >>> direct = ClassificationEvaluator(
    ...     name="directness",
    ...     llm=model,
    ...     prompt_template="Does the answer come to the point?\n\n{{answer}}",
    ...     choices={"direct": 1, "roundabout": 0},
    ...     governor=Governor(),
    ... )
    >>> (score,) = direct.evaluate({"answer": "Paris."})
    >>> score.score, score.label, score.explanation, score.metadata["model"]
    (1.0, 'direct', 'It commits to Paris.', 'fake')
    """

    def __init__(
        self,
        *,
        name: str,
        llm: Any,
        prompt_template: Any,
        choices: Choices,
        include_explanation: bool = True,
        input_schema: Any = None,
        direction: DirectionType = "maximize",
        governor: Governor | None = None,
        **invocation_parameters: Any,
    ) -> None:
        super().__init__(
            name=name,
            llm=llm,
            prompt_template=prompt_template,
            input_schema=input_schema,
            direction=direction,
            **invocation_parameters,
        )
        self._scores_by_label, descriptions = _read_choices(choices, name)
        self.include_explanation = include_explanation
        self.labels: list[str] | dict[str, str] = list(self._scores_by_label)
        if descriptions:
            self.labels = {label: descriptions.get(label, "") for label in self._scores_by_label}
        self.label_score_map = dict(self._scores_by_label) if isinstance(choices, Mapping) else None
        self._form = Label(choices=dict.fromkeys(self._scores_by_label, 0.0), explanation=include_explanation)
        meanings = "".join(f"\n{label}: {text}" for label, text in descriptions.items())
        self._instructions = (f"The labels mean:{meanings}\n\n" if meanings else "") + how_to_reply(self._form)
        self._governor = governor
        self._classifies = classifies(llm)
        self.traces_itself = not self._classifies
        if not isinstance(llm, str) and not self._classifies:
            to_model(llm)  # raises if it is none

    def score_columns(self, read: Read) -> list[Column] | None:
        """A label for each row; the requests are sent concurrently, through the governor."""
        schema = self._schema
        if schema is None or self._classifies:
            return None
        available = {*read.names, *(self._mapping or ())}
        names = [*schema.required, *(name for name in schema.optional if name in available)]
        columns = [read(name) for name in names]
        if not columns:
            return None
        rows = to_materials(dict.fromkeys(names, "json"), columns)
        votes: list[Vote | None] = [None] * len(rows)

        async def vote(row: int) -> None:
            votes[row] = await self._vote(rows[row], check=True)
            advance(1)

        error = NotJudged()
        try:
            self._current_governor().map(vote, range(len(rows)))
        except ModelError as model_error:  # rows that were answered before keep their labels
            error = NotJudged(model_error)
        return [self._to_column([vote or Vote(error=error) for vote in votes])]

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        if self._classifies:
            reply = own_method(self.llm, waits=True)(**self._question(eval_input))
            return self._read(run_coroutine(reply, drain=lambda: None) if inspect.iscoroutine(reply) else reply)
        return self._to_scores(self._current_governor().map(self._vote, [eval_input]))

    async def _async_evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        if self._classifies:
            method, question = own_method(self.llm, waits=False), self._question(eval_input)
            if inspect.iscoroutinefunction(method):
                return self._read(await method(**question))
            reply = await asyncio.to_thread(method, **question)
            return self._read(await reply if inspect.isawaitable(reply) else reply)
        return self._to_scores(await await_coroutine(self._current_governor().gather(self._vote, [eval_input])))

    def _question(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """What an object is asked that classifies by a method of its own."""
        return {
            "prompt": self._prompt(record),
            "labels": self.labels,
            "include_explanation": self.include_explanation,
            "method": "tool_calling" if isinstance(self.labels, dict) else "auto",
            **self.invocation_parameters,
        }

    def _read(self, reply: Any) -> list[Score]:
        """The score of what such an object replied; `DataError` for a label that is none of the choices."""
        label = reply.get("label") if isinstance(reply, Mapping) else reply
        if label not in self._scores_by_label:
            labels = list(self._scores_by_label)
            problem = f"ClassificationEvaluator '{self.name}' received invalid label {label!r}"
            raise DataError(f"{problem}. Valid labels are: {labels}")
        verdict = Verdict(self._scores_by_label[label], label, reply.get("explanation"))
        return [self._to_column([Vote(verdict)]).at(0)]

    def _to_scores(self, votes: list[Vote]) -> list[Score]:
        if votes[0].verdict is None:
            raise DataError(f"{self.name}: {votes[0].error}")
        return [self._to_column(votes).at(0)]

    def _current_governor(self) -> Governor:
        return self._governor or current_models().governor

    async def _vote(self, record: Mapping[str, Any], *, check: bool = False) -> Vote:
        return await trace_vote(self.name, record, self._ask(record, check=check), cls=type(self).__name__)

    async def _ask(self, record: Mapping[str, Any], *, check: bool) -> Vote:
        model = to_model(self.llm)
        member = PanelMember(_model_name(model), model, self.invocation_parameters)
        try:
            prompt = to_plain(self._prompt(self._schema.validate(record) if check and self._schema else record))
        except (ValueError, TypeError, LookupError) as error:
            return Vote(error=str(error))
        vote = await ask_member(self._current_governor(), member, self._with_instructions(prompt), self._form)
        if vote.verdict is None:
            return vote
        return replace(vote, verdict=replace(vote.verdict, score=self._scores_by_label[str(vote.verdict.label)]))

    def _prompt(self, record: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The template with the values of the record."""
        for field, is_text in self.prompt_template.fields.items():
            if is_text and is_missing(record.get(field, "")):
                raise DataError(f"{field} is null")
        return self.prompt_template.render(record)

    def _with_instructions(self, prompt: list[ChatMessage]) -> list[ChatMessage]:
        """The prompt followed by the form of the reply."""
        *before, last = prompt
        if last["role"] == "user":
            return [*before, {**last, "content": f"{last['content'].rstrip()}\n\n{self._instructions}"}]
        return [*prompt, {"role": "user", "content": self._instructions}]

    def _to_column(self, votes: Sequence[Vote]) -> Column:
        verdicts = [vote.verdict for vote in votes]
        return Column(
            name=self.name,
            score=pa.array([None if verdict is None else verdict.score for verdict in verdicts], pa.float64()),
            label=[None if verdict is None else verdict.label for verdict in verdicts],
            explanation=[None if verdict is None else verdict.explanation for verdict in verdicts],
            metadata={"model": _model_name(self.llm if self._classifies else to_model(self.llm))},
            kind=self.kind,
            direction=self.direction,
            reason=[None if vote.verdict else f"{self.name}: {vote.error}" for vote in votes],
            row_metadata={name: [getattr(vote, name) for vote in votes] for name in _USAGE},
        )


def create_classifier(
    name: str, prompt_template: Any, llm: Any, choices: Choices, direction: DirectionType = "maximize", **further: Any
) -> ClassificationEvaluator:
    """A `ClassificationEvaluator`, with the order of arguments that Phoenix has; `further`: its other keywords."""
    return ClassificationEvaluator(
        name=name, llm=llm, prompt_template=prompt_template, choices=choices, direction=direction, **further
    )


def _read_choices(choices: Choices, name: str) -> tuple[dict[str, float | None], dict[str, str]]:
    """The score of each label, and the description of those that have one."""
    if isinstance(choices, str) or not isinstance(choices, Mapping | Sequence) or not choices:
        raise SpecError(f"{name}: choices: a list of labels, or a dict with the score of each, is expected")
    labels = list(choices)
    if not all(isinstance(label, str) and label.strip() for label in labels) or len(set(labels)) < len(labels):
        raise SpecError(f"{name}: choices: different labels, each a text, are expected; got {choices!r:.80}")
    scores: dict[str, float | None] = {}
    descriptions: dict[str, str] = {}
    for label, value in (choices if isinstance(choices, Mapping) else dict.fromkeys(labels)).items():
        if isinstance(value, tuple | list) and len(value) == 2 and isinstance(value[1], str):
            value, descriptions[label] = value  # noqa: PLW2901
        if value is not None and not isinstance(value, int | float):
            got = f"{name}: choices[{label!r}] = {value!r:.60}"
            raise SpecError(f"{got}: a number, or (number, description), is expected")
        scores[label] = value
    return scores, descriptions


def _model_name(model: Any) -> str:
    name = getattr(model, "name", None) or getattr(model, "model", None)
    return str(name or getattr(model, "__name__", None) or type(model).__name__)
