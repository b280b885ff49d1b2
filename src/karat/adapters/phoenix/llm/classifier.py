"""An evaluator that asks a model for one of some labels, as Phoenix's, through karat's governor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import pyarrow as pa

from karat.adapters.phoenix.evaluators.evaluator import Evaluator
from karat.adapters.phoenix.llm.model import to_model
from karat.adapters.phoenix.llm.template import Template
from karat.adapters.phoenix.mapping import is_missing
from karat.adapters.phoenix.schema import Schema
from karat.adapters.phoenix.score import Column, Direction, Read, Score
from karat.core.errors import DataError, SpecError
from karat.core.progress import advance
from karat.judges.inputs import to_materials
from karat.judges.panel import PanelMember, ask_member, trace_vote
from karat.judges.prompt import how_to_reply
from karat.judges.reply_forms import Label
from karat.judges.votes import Vote
from karat.models import event_loop as loop
from karat.models.context import current
from karat.models.governor.faults import ModelError
from karat.models.governor.governor import Governor
from karat.models.request import Message

Choices: TypeAlias = Sequence[str] | Mapping[str, Any]
"""Labels; or what each is worth, a number or None; or that with a description, as a pair."""

_TAKEN = ("input_tokens", "output_tokens", "cost", "latency", "trace_id")


class ClassificationEvaluator(Evaluator):
    r"""Asks `llm` which of the `choices` is right for a record.

    `llm`: an `LLM`, the name of a model at the endpoint that judges ask, an async callable
    `(messages, schema, settings) -> reply`, or an `LLM` of Phoenix's own. `prompt_template`: a text or messages with
    places, `{{field}}` or `{field}` (see `Template`); how to reply is added to it. `choices`: labels, or what each is
    worth, or `(worth, description)`. `input_schema` tells the fields, where the template is not to. `governor`: through
    which calls go; by default that of `karat.judges.asking`, else one for the process. Further keywords (temperature,
    seed) are sent with each question; without them none is.

    The score is what the label is worth, None for plain labels; the metadata hold the model, its tokens and cost.
    A reply that is none of the choices is asked for once more; then it is the row's failure, a `karat.DataError`, as is
    a field that is None. The rows of a frame are asked at the same time, within the governor's limits.

    Raises `karat.SpecError` for templates and choices that are none.

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

    traces_itself = True

    def __init__(
        self,
        *,
        name: str,
        llm: Any,
        prompt_template: Any,
        choices: Choices,
        include_explanation: bool = True,
        input_schema: Any = None,
        direction: Direction = "maximize",
        governor: Governor | None = None,
        **settings: Any,
    ) -> None:
        self._template = Template(prompt_template)
        self._worth, described = _read(choices, name)
        self._form = Label(choices=dict.fromkeys(self._worth, 0.0), explanation=include_explanation)
        meant = "".join(f"\n{label}: {text}" for label, text in described.items())
        self._rule = (f"The labels mean:{meant}\n\n" if meant else "") + how_to_reply(self._form)
        self._llm = llm if isinstance(llm, str) else to_model(llm)
        self._governor, self._settings = governor, settings
        super().__init__(
            name=name, kind="llm", direction=direction, input_schema=input_schema or _schema(self._template)
        )

    def score_columns(self, read: Read) -> list[Column] | None:
        """A label of every row, all asked through the governor at once."""
        schema = self._schema
        if schema is None:
            return None
        there = {*read.names, *(self._mapping or ())}
        names = [*schema.required, *(name for name in schema.optional if name in there)]
        columns = [read(name) for name in names]
        if not columns:
            return None
        rows = to_materials(dict.fromkeys(names, "json"), columns)
        votes: list[Vote | None] = [None] * len(rows)

        async def vote(place: int) -> None:
            votes[place] = await self._vote(rows[place], check=True)
            advance(1)

        try:
            self._asked_by().map(vote, range(len(rows)))
        except ModelError as error:  # what was answered before stays
            return [self._column([vote or Vote(error=str(error)) for vote in votes])]
        return [self._column([vote for vote in votes if vote])]

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return self._scores(self._asked_by().map(self._vote, [eval_input]))

    async def _async_evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return self._scores(await loop.join(self._asked_by().gather(self._vote, [eval_input])))

    def _scores(self, votes: list[Vote]) -> list[Score]:
        if votes[0].verdict is None:
            raise DataError(f"{self.name}: {votes[0].error}")
        return [self._column(votes).at(0)]

    def _asked_by(self) -> Governor:
        return self._governor or current().governor

    async def _vote(self, record: Mapping[str, Any], *, check: bool = False) -> Vote:
        return await trace_vote(self.name, record, self._asked(record, check=check), cls=type(self).__name__)

    async def _asked(self, record: Mapping[str, Any], *, check: bool) -> Vote:
        model = to_model(self._llm)
        member = PanelMember(_called(model), model, self._settings)
        try:
            prompt = self._prompt(self._schema.validate(record) if check and self._schema else record)
        except (ValueError, TypeError, LookupError) as error:
            return Vote(error=str(error))
        vote = await ask_member(self._asked_by(), member, prompt, self._form)
        if vote.verdict is None:
            return vote
        return replace(vote, verdict=replace(vote.verdict, score=self._worth[str(vote.verdict.label)]))

    def _prompt(self, record: Mapping[str, Any]) -> list[Message]:
        """The template with the record in it, and how to reply."""
        for field, text in self._template.fields.items():
            if text and is_missing(record.get(field, "")):
                raise DataError(f"{field} is null")
        *before, last = self._template.render(record)
        if last["role"] == "user":
            return [*before, {**last, "content": f"{last['content'].rstrip()}\n\n{self._rule}"}]
        return [*before, last, {"role": "user", "content": self._rule}]

    def _column(self, votes: Sequence[Vote]) -> Column:
        verdicts = [vote.verdict for vote in votes]
        return Column(
            name=self.name,
            score=pa.array([None if verdict is None else verdict.score for verdict in verdicts], pa.float64()),
            label=[None if verdict is None else verdict.label for verdict in verdicts],
            explanation=[None if verdict is None else verdict.explanation for verdict in verdicts],
            metadata={"model": _called(to_model(self._llm))},
            kind=self.kind,
            direction=self.direction,
            reason=[
                None if verdict else f"{self.name}: {vote.error}" for verdict, vote in zip(verdicts, votes, strict=True)
            ],
            row_metadata={name: [getattr(vote, name) for vote in votes] for name in _TAKEN},
        )


def create_classifier(
    name: str,
    prompt_template: Any,
    llm: Any,
    choices: Choices,
    direction: Direction = "maximize",
    **further: Any,
) -> ClassificationEvaluator:
    """A `ClassificationEvaluator`; `further` are its other keywords."""
    return ClassificationEvaluator(
        name=name, llm=llm, prompt_template=prompt_template, choices=choices, direction=direction, **further
    )


def _read(choices: Choices, name: str) -> tuple[dict[str, float | None], dict[str, str]]:
    """What each label is worth, and what it means where that is said."""
    if isinstance(choices, str) or not isinstance(choices, Mapping | Sequence) or not choices:
        raise SpecError(f"{name}: choices: a list of labels, or a dict of what each is worth, is expected")
    labels = list(choices)
    if not all(isinstance(label, str) and label.strip() for label in labels) or len(set(labels)) < len(labels):
        raise SpecError(f"{name}: choices: labels are texts, each there once; got {choices!r:.80}")
    given = choices if isinstance(choices, Mapping) else dict.fromkeys(labels)
    worth: dict[str, float | None] = {}
    described: dict[str, str] = {}
    for label, value in given.items():
        if isinstance(value, tuple | list) and len(value) == 2 and isinstance(value[1], str):
            value, described[label] = value  # noqa: PLW2901
        if value is not None and not isinstance(value, int | float):
            raise SpecError(f"{name}: choices[{label!r}] = {value!r:.60}: a number, or (number, description)")
        worth[label] = value
    return worth, described


def _schema(template: Template) -> Schema:
    """The fields that a template asks for; what only its sections name may be missing."""
    spelt = {name: "text; anything else is spelt as JSON" for name, text in template.fields.items() if text}
    return Schema(
        dict.fromkeys([*template.fields, *template.inner], Any), dict.fromkeys(template.inner), descriptions=spelt
    )


def _called(model: Any) -> str:
    return str(getattr(model, "name", None) or getattr(model, "__name__", None) or type(model).__name__)
