"""`Judge`: a metric made of a rubric, one or more models, and the settings of the requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from karat.core import telemetry
from karat.core.context import change_context, current_context
from karat.core.errors import SpecError
from karat.core.metric.definition import Definition, Remote
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.core.progress import advance
from karat.judges.inputs import KINDS, to_materials
from karat.judges.outputs import detail_types, to_rows
from karat.judges.panel import Panel, PanelMember, trace_vote
from karat.judges.prompt import instructions, prompt_prefix
from karat.judges.replies.forms import Fields, Statements, Verdict
from karat.judges.replies.reader import ReplyMode
from karat.judges.rubric import Rubric, check_rubric, field_names, load, read_inputs
from karat.judges.settings import check_timeout, sent_with, settings_of
from karat.judges.votes import Agenda, NotJudged, Vote
from karat.models.context import current_models
from karat.models.governor.faults import ModelError
from karat.models.governor.governor import Governor
from karat.models.governor.task_group import TaskGroup
from karat.models.request import ChatMessage, Model

_SOURCE = "instructions given in Python"


def Judge(  # noqa: N802  (named like the value that it returns)
    name: str = "custom",
    /,
    *,
    instructions: str | None = None,
    inputs: Any = None,
    outputs: Sequence[str] | None = None,
    examples: Sequence[Mapping[str, Any]] = (),
    model: str | Model | Sequence[str | Model] | None = None,
    temperature: float | None = 0.0,
    seed: int | None = None,
    samples: int = 1,
    replies: ReplyMode = "mend",
    max_tokens: int | None = None,
    reasoning_effort: str | None = None,
    extra_body: Mapping[str, Any] | None = None,
    timeout: float | None = None,
    governor: Governor | None = None,
) -> Metric:
    """A metric that asks a language model.

    `name`: one of karat's own judges (`karat metrics` lists them) or the path of a TOML file. With `instructions`, the
    judge is defined by the arguments, as in Haystack: `inputs` names the columns that it reads, `outputs` the fields of
    0 or 1 in the model's reply, `examples` are dicts of `inputs` and `outputs`, and `name` is any name.

    `model`: the name of a model at an OpenAI-compatible endpoint, any async callable `(messages, schema, settings)`, or
    a list of these: a panel. `samples`: how often each model is asked. `temperature`, `seed`: sent with each request;
    None sends nothing. `replies`: "mend" reads what has exactly one reading, behind thoughts or among words, and counts
    it as `repaired`; "strict" reads the form asked for alone. `max_tokens` (of a reply), `reasoning_effort` and the
    members of `extra_body` are sent too; `timeout` is in seconds, for a request. Where these are None, the table
    `request` of the file counts. `governor`: limits, retries and caches the requests; by default all judges share one,
    which keeps replies in `$KARAT_CACHE`, else in the user's cache folder.

    Raises `SpecError` for arguments that contradict each other.

    >>> from karat.models.testing.fake import FakeModel
    >>> from karat.models.governor.governor import Governor
    >>> model = FakeModel({"explanation": "Both say Paris.", "label": "correct"})
    >>> judge = Judge("correctness", model=model, governor=Governor())
    >>> judge(["Capital of France?"], ["Paris"], [["Paris", "Paris, France"]]).to_pylist()
    [1.0]
    """
    if instructions is None:
        if inputs is not None or outputs is not None or examples:
            raise SpecError(f"judge {name!r}: inputs, outputs and examples go with instructions, which are missing")
        rubric = load(name)
    else:
        rubric = _rubric_from_instructions(name, instructions, inputs, outputs, examples)
    panel = [model] if model is None or isinstance(model, str) or callable(model) else list(model)
    models = {_model_name(each): each for each in panel if callable(each)}
    names = [each if isinstance(each, str) else _model_name(each) for each in panel if each is not None]
    if len(models) < sum(map(callable, panel)):
        raise SpecError(f"judge {name!r}: two models have the same name; give them different `name` attributes")
    settings: dict[str, Any] = {"temperature": temperature, "seed": seed, "samples": samples, "replies": replies}
    sent = {"max_tokens": max_tokens, "reasoning_effort": reasoning_effort, "extra_body": extra_body}
    settings |= {name: value for name, value in sent.items() if value is not None}
    if timeout is not None:
        rubric = replace(rubric, request={**rubric.request, "timeout": check_timeout(timeout)})
    if names:
        settings["model"] = names[0] if len(names) == 1 else names
    return _metric(JudgeFunction(f"judge:{name}", rubric, models, governor)).using(**settings)


@contextmanager
def collect_model_errors() -> Iterator[list[ModelError]]:
    """Within the block, a judge whose model cannot be reached returns the rows judged so far instead of raising.

    The other rows are unscored; their reason is a `NotJudged` with the error's text. The list holds the errors.
    """
    errors: list[ModelError] = []
    with change_context(model_errors=errors):
        yield errors


@dataclass(frozen=True)
class JudgeFunction:
    """The function of a judge's metric: from columns to scores."""

    name: str
    rubric: Rubric
    models: Mapping[str, Model]
    governor: Governor | None

    def __post_init__(self) -> None:
        for attribute in ("__name__", "__qualname__"):
            object.__setattr__(self, attribute, self.name)
        object.__setattr__(self, "__module__", "karat.judges")
        object.__setattr__(self, "__doc__", f"{self.rubric.summary}\n\n{self.rubric.task.strip()}")

    def __call__(self, *columns: pa.Array, **settings: Any) -> Rows:
        panel = self.panel(settings)
        cases = [(panel, material) for material in to_materials(self.rubric.inputs, columns)]
        votes = self.judge_all(cases, current_context().agenda)
        return to_rows(votes, self.details(settings), member_names(settings), self.rubric.form.using(settings))

    def panel(self, settings: Mapping[str, Any], repetition: int = 0) -> Panel:
        """The models that judge a row. In another `repetition` their replies are drawn anew: none is in the cache."""
        models = current_models()
        members = self._members(settings, models.connect, repetition)
        rubric = replace(self.rubric, form=self.rubric.form.using(settings))
        return Panel(rubric, self.prompt_prefix, members, self.governor or models.governor, settings["replies"])

    def judge_all(self, cases: Sequence[tuple[Panel, Mapping[str, Any]]], agenda: Agenda | None = None) -> list[Vote]:
        """The vote of each panel on the material beside it, many at a time; an agenda says in which order."""
        votes: list[Vote | None] = [None] * len(cases)

        async def judge(number: int) -> None:
            panel, material = cases[number]
            if agenda is not None:
                with TaskGroup.current().waiting():
                    await agenda.turn(number)
            votes[number] = vote = await trace_vote(self.name, material, panel.judge(material))
            advance(1)
            if agenda is not None:
                agenda.add(number, vote)
                if agenda.ended:
                    TaskGroup.current().end()

        reason = NotJudged()
        try:
            (self.governor or current_models().governor).map(judge, range(len(cases)) if agenda is None else agenda)
        except ModelError as error:
            if (errors := current_context().model_errors) is None:
                raise
            errors.append(error)
            reason = NotJudged(error)
        if agenda is not None and not reason:
            reasons = map(agenda.why_left_out, range(len(votes)))
            votes = [Vote(Verdict(None, reason=why)) if why else vote for why, vote in zip(reasons, votes, strict=True)]
        return [vote or Vote(error=reason) for vote in votes]

    def details(self, settings: Mapping[str, Any]) -> dict[str, pa.DataType]:
        """The Arrow type of each column beside the score."""
        return detail_types(self.rubric, member_names(settings), traced=self._traced)

    def specialise(self, definition: Definition, settings: Mapping[str, Any]) -> Definition:
        """The definition with the finish of the form's settings; an even number of votes may be a tie."""
        even = len(_model_names(settings) or [""]) * settings["samples"] % 2 == 0
        finish = self.rubric.form.using(settings).finish
        remote = definition.remote and replace(definition.remote, binary=self.rubric.binary and not even)
        return replace(definition, finish=finish, remote=remote)

    @cached_property
    def _traced(self) -> bool:
        """Whether rows have a `trace_id`: computed once, since all batches of a run need the same columns."""
        return telemetry.records_spans()

    @cached_property
    def prompt_prefix(self) -> list[ChatMessage]:
        """The messages with which every prompt of this judge begins."""
        rubric = self.rubric
        number = rubric.form.number if isinstance(rubric.form, Statements) else None
        shown = [(number(material)[0] if number else material, reply) for material, reply in rubric.examples]
        return prompt_prefix(instructions(rubric.system, rubric.task, rubric.form), shown)

    @property
    def digest(self) -> str:
        """A digest of the prompt, the form of the reply and the scores; a part of the signature.

        It is computed from texts, numbers, lists and dicts alone: the name of a class must not change a signature.
        """
        rubric = self.rubric
        swap = repr(rubric.swap and rubric.swap.as_toml())
        parts = [self.prompt_prefix, rubric.form.schema, rubric.form.worth, dict(rubric.inputs), rubric.each, swap]
        return sha256(repr(parts).encode()).hexdigest()[:16]

    def _members(
        self, settings: Mapping[str, Any], connect: Callable[[str], Model], repetition: int
    ) -> list[PanelMember]:
        """Each model, once for each sample, in the order of `member_names`."""
        if settings["model"] is None:
            raise SpecError(f"{self.name} needs a model: --model NAME (in Python, Judge(…, model='NAME'))")
        models = [self.models.get(name) or connect(name) for name in _model_names(settings)]
        first, samples = repetition * settings["samples"], settings["samples"]
        sampled = [(model, sample) for model in models for sample in range(first, first + samples)]
        named = zip(member_names(settings), sampled, strict=True)
        timeout = self.rubric.request.get("timeout")
        return [PanelMember(name, model, sent_with(settings, at), at, timeout) for name, (model, at) in named]


def _metric(function: JudgeFunction) -> Metric:
    rubric = function.rubric
    low, high = rubric.form.range
    return Metric(
        Definition(
            name=function.name,
            function=function,
            columns=MappingProxyType({name: KINDS[kind] for name, kind in rubric.inputs.items()}),
            settings=MappingProxyType({**settings_of(rubric.request), **rubric.form.settings}),
            source=rubric.source,
            version=rubric.version,
            low=low,
            high=high,
            direction=rubric.direction,
            remote=Remote(judge=True, binary=rubric.binary, governor=function.governor, fields=rubric.fields),
            details=function.details,
            specialise=function.specialise,
            marks={"prompt": function.digest},
        )
    )


def member_names(settings: Mapping[str, Any]) -> list[str]:
    """The names of a panel's members: the models' names, with a number if each is asked several times."""
    names, samples = _model_names(settings), settings["samples"]
    return [f"{name}#{n}" for name in names for n in range(1, samples + 1)] if samples > 1 else names


def _model_names(settings: Mapping[str, Any]) -> list[str]:
    model = settings["model"]
    return [] if model is None else [model] if isinstance(model, str) else list(model)


def _model_name(model: Any) -> str:
    return str(getattr(model, "name", None) or getattr(model, "__qualname__", None) or type(model).__qualname__)


def _rubric_from_instructions(
    name: str, instructions: str, inputs: Any, outputs: Any, examples: Sequence[Mapping[str, Any]]
) -> Rubric:
    where = f"judge {name!r}"
    pairs = []
    for number, example in enumerate(examples, 1):
        if not isinstance(example, Mapping) or example.keys() != {"inputs", "outputs"}:
            raise SpecError(f"{where}: examples[{number}]: a dict of 'inputs' and 'outputs' is expected")
        pairs.append((example["inputs"], example["outputs"]))
    form = Fields(names=field_names(outputs, f"{where}: outputs"), explanation=False)
    kinds = read_inputs(inputs, f"{where}: inputs")
    summary = f"What {', '.join(form.names)} {'is' if len(form.names) == 1 else 'are'}, by instructions."
    prompt: dict[str, Any] = {"task": instructions, "form": form, "examples": pairs}
    return check_rubric(Rubric(name=name, summary=summary, source=_SOURCE, inputs=kinds, **prompt), where)
