"""A judge as a metric: a rubric, a model, and the settings they are asked with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from karat.core import telemetry as tracing
from karat.core.context import change_context, current_context
from karat.core.errors import SpecError
from karat.core.metric.definition import Definition
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.core.metric.setting import Setting
from karat.core.progress import advance
from karat.judges.ask_row import Bench, Member
from karat.judges.inputs import KINDS, to_materials
from karat.judges.outputs import detail_types, to_rows
from karat.judges.prompt import fixed_messages, instructions
from karat.judges.reply_forms import Fields
from karat.judges.rubric import Rubric, checked, field_names, load, read_inputs
from karat.judges.vote_span import traced
from karat.judges.votes import Vote
from karat.models.context import current
from karat.models.governor.faults import ModelError
from karat.models.governor.governor import Governor
from karat.models.request import Message, Model

PREFIX = "judge:"
_SOURCE = "instructions given in Python"


def Judge(  # noqa: N802  (it reads as the value that it makes)
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
    governor: Governor | None = None,
) -> Metric:
    """A metric that asks a language model.

    `name`: one of karat's own judges (`karat metrics` lists them) or the path of a TOML file. With `instructions`, the
    judge is made here, in Haystack's manner: `inputs` names the columns it reads, `outputs` the fields of 0 or 1 that
    the model replies with, `examples` are dicts of `inputs` and `outputs`, and `name` is what it is called.

    `model`: the name of a model at an OpenAI-compatible endpoint, any async callable `(messages, schema, settings)`, or
    a list of these: a panel. `samples`: how often each is asked. `temperature`, `seed`: sent with each question, None
    for not at all. `governor`: through which the calls go, with their limits, caps and cache; by default one for all,
    which keeps replies in `$KARAT_CACHE`, else in the user's cache folder.

    Raises `karat.SpecError` for what does not fit together.

    >>> from karat.models.testing.fake import FakeModel
    >>> from karat.models.governor.governor import Governor
    >>> model = FakeModel({"explanation": "Both say Paris.", "label": "correct"})
    >>> judge = Judge("correctness", model=model, governor=Governor())
    >>> judge(["Capital of France?"], ["Paris"], [["Paris", "Paris, France"]]).to_pylist()
    [1.0]
    """
    if instructions is None:
        if inputs is not None or outputs is not None or examples:
            raise SpecError(f"judge {name!r}: inputs, outputs and examples go with instructions")
        rubric = load(name)
    else:
        rubric = _made(name, instructions, inputs, outputs, examples)
    given = [model] if model is None or isinstance(model, str) or callable(model) else list(model)
    models = {_name(each): each for each in given if callable(each)}
    names = [each if isinstance(each, str) else _name(each) for each in given if each is not None]
    if len(models) < sum(map(callable, given)):
        raise SpecError(f"judge {name!r}: two models are called the same; give them different `name` attributes")
    settings: dict[str, Any] = {"temperature": temperature, "seed": seed, "samples": samples}
    if names:
        settings["model"] = names[0] if len(names) == 1 else names
    return _metric(name, Asker(f"{PREFIX}{name}", rubric, models, governor)).using(**settings)


@contextmanager
def keeping_answers() -> Iterator[list[ModelError]]:
    """Within it, where a model cannot be asked any more, a judge gives what was answered before instead of raising.

    The other rows are unscored, by the error's words; the errors are in the list.
    """
    kept: list[ModelError] = []
    with change_context(model_errors=kept):
        yield kept


@dataclass(frozen=True)
class Asker:
    """The function of a judge's metric: from columns to scores, by asking."""

    called: str
    rubric: Rubric
    models: Mapping[str, Model]
    governor: Governor | None

    def __post_init__(self) -> None:
        for name in ("__name__", "__qualname__"):
            object.__setattr__(self, name, self.called)
        object.__setattr__(self, "__module__", "karat.judges")
        object.__setattr__(self, "__doc__", f"{self.rubric.summary}\n\n{self.rubric.task.strip()}")

    def __call__(self, *columns: pa.Array, **settings: Any) -> Rows:
        names = member_names(settings)
        asking = current()
        governor = self.governor or asking.governor
        bench = Bench(self.rubric, self.fixed, self._members(settings, asking.connect), governor)

        materials = to_materials(self.rubric.inputs, columns)
        votes: list[Vote | None] = [None] * len(materials)

        async def judge(row: int) -> None:
            votes[row] = await traced(self.called, materials[row], bench.judge(materials[row]))
            advance(1)

        stopped = ""
        try:
            governor.map(judge, range(len(materials)))
        except ModelError as error:
            if (kept := current_context().model_errors) is None:
                raise
            kept.append(error)
            stopped = str(error)
        return to_rows([vote or Vote(error=stopped) for vote in votes], self.details(settings), names)

    def details(self, settings: Mapping[str, Any]) -> dict[str, pa.DataType]:
        """The columns beside the score, and their types."""
        return detail_types(self.rubric, member_names(settings), traced=self._traced)

    @cached_property
    def _traced(self) -> bool:
        """Whether rows say which trace they are in: found once, for all rows of a run are to be alike."""
        return tracing.on()

    @cached_property
    def fixed(self) -> list[Message]:
        """What every prompt of this judge begins with."""
        rubric = self.rubric
        return fixed_messages(instructions(rubric.system, rubric.task, rubric.form), rubric.examples)

    @property
    def digest(self) -> str:
        """What tells this judge from any other: of its prompt, its reply's form and what replies are worth."""
        rubric = self.rubric
        whole = [self.fixed, rubric.form.schema, rubric.form.worth, dict(rubric.inputs), rubric.each, repr(rubric.swap)]
        return sha256(repr(whole).encode()).hexdigest()[:16]

    def _members(self, settings: Mapping[str, Any], connect: Callable[[str], Model]) -> list[Member]:
        """Each model, as often as it is asked, in the order of their names."""
        if settings["model"] is None:
            raise SpecError(f"{self.called} needs a model: --model NAME (in Python, Judge(…, model='NAME'))")
        models = [self.models.get(name) or connect(name) for name in _models(settings)]
        asked = [(model, sample) for model in models for sample in range(settings["samples"])]
        return [
            Member(name, model, _sent(settings, sample), sample)
            for name, (model, sample) in zip(member_names(settings), asked, strict=True)
        ]


def _metric(name: str, asker: Asker) -> Metric:
    rubric = asker.rubric
    low, high = rubric.form.range
    return Metric(
        Definition(
            name=f"{PREFIX}{name}",
            function=asker,
            columns=MappingProxyType({name: KINDS[kind] for name, kind in rubric.inputs.items()}),
            settings=_SETTINGS,
            source=rubric.source,
            version=rubric.version,
            low=low,
            high=high,
            direction=rubric.direction,
            remote=True,
            judge=True,
            fields=tuple(rubric.form.names) if isinstance(rubric.form, Fields) else (),
            details=asker.details,
            marks={"prompt": asker.digest},
        )
    )


def member_names(settings: Mapping[str, Any]) -> list[str]:
    """The names of the judges on a panel: of the models, with a number where each is asked several times."""
    names, samples = _models(settings), settings["samples"]
    return [f"{name}#{n}" for name in names for n in range(1, samples + 1)] if samples > 1 else names


def _sent(settings: Mapping[str, Any], sample: int) -> dict[str, Any]:
    """What is sent with a question beside its messages."""
    seed = None if settings["seed"] is None else settings["seed"] + sample
    sent = {"temperature": settings["temperature"], "seed": seed}
    return {name: value for name, value in sent.items() if value is not None}


def _models(settings: Mapping[str, Any]) -> list[str]:
    given = settings["model"]
    return [] if given is None else [given] if isinstance(given, str) else list(given)


def _name(model: Any) -> str:
    return str(getattr(model, "name", None) or getattr(model, "__qualname__", None) or type(model).__qualname__)


def _made(name: str, instructions: str, inputs: Any, outputs: Any, examples: Sequence[Mapping[str, Any]]) -> Rubric:
    """The rubric that instructions make."""
    where = f"judge {name!r}"
    pairs = []
    for number, example in enumerate(examples, 1):
        if not isinstance(example, Mapping) or example.keys() != {"inputs", "outputs"}:
            raise SpecError(f"{where}: examples[{number}]: a dict of 'inputs' and 'outputs' is expected")
        pairs.append((example["inputs"], example["outputs"]))
    form = Fields(names=field_names(outputs, f"{where}: outputs"), explanation=False)
    named = read_inputs(inputs, f"{where}: inputs")
    summary = f"What {', '.join(form.names)} {'is' if len(form.names) == 1 else 'are'}, by instructions."
    rubric = Rubric(
        name=name, summary=summary, source=_SOURCE, inputs=named, task=instructions, form=form, examples=pairs
    )
    return checked(rubric, where)


def _is_model(value: Any) -> None:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names or not all(isinstance(n, str) and n.strip() for n in names):
        raise SpecError("the name of a model, or a list of names, is expected (a callable goes to Judge(model=…))")
    if len(set(names)) < len(names):
        raise SpecError("a model is named twice; samples=2 asks it twice")


def _is_temperature(value: Any) -> None:
    if value is not None and not 0 <= value < float("inf"):
        raise SpecError("a number from 0, or None to send none, is expected")


def _is_count(value: int) -> None:
    if value < 1:
        raise SpecError("a whole number from 1 is expected")


_SETTINGS = MappingProxyType(
    {
        "model": Setting("model", None, Any, lambda value: None if value is None else _is_model(value)),
        "temperature": Setting("temperature", 0.0, float | None, _is_temperature),
        "seed": Setting("seed", None, int | None),
        "samples": Setting("samples", 1, int, _is_count),
    }
)
