"""What a metric is before it is called: its definition, and a definition with a value for each setting."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from karat.core.columns.kinds import Array, Kind
from karat.core.metric.setting import Setting

Finish: TypeAlias = Callable[[Array], Array]
"""From totals of statistics, shape (..., k), to values, shape (...)."""
Direction: TypeAlias = Literal["maximize", "minimize"]
Length: TypeAlias = Literal["longer", "shorter"]
"""How long an answer is beside its gold."""
EITHER: tuple[Length, ...] = ("longer", "shorter")
Details: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""From a metric's settings to the Arrow type of each column that it returns beside the score."""
Specialise: TypeAlias = "Callable[[Definition, Mapping[str, Any]], Definition]"
"""From a definition and the values of its settings to the definition with what follows from them."""

RowKey: TypeAlias = Callable[[Any, Mapping[str, Any]], Any]
"""From texts, an Arrow array, and a metric's settings to the texts that the metric compares."""


@dataclass(frozen=True)
class Cut:
    """A finish whose values are cut to a range; the interval is computed before the cut, and its ends are cut."""

    uncut: Finish
    low: float
    high: float

    def __call__(self, totals: Array) -> Array:
        values: Array = np.clip(self.uncut(totals), self.low, self.high)
        return values


def keywords_of(finish: Callable[..., Any]) -> tuple[str, ...]:
    """The settings that a finish takes: its keyword-only parameters."""
    parameters = inspect.signature(finish).parameters.values()
    return tuple(each.name for each in parameters if each.kind is each.KEYWORD_ONLY)


def before_cut(finish: Any) -> Any:
    """The finish whose values a `Cut` cuts; any other finish itself."""
    return getattr(finish, "uncut", finish)


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """How a metric takes its columns.

    `encoded`: as dictionaries too, which avoid repeating a prediction for each of its references. `json`: its texts are
    expected to be JSON. `nulls`: the columns in which the function takes nulls. `ranges`: the least and the greatest
    number that a column may hold, by role. `named`: the columns of the data that the settings name, by role. `files`:
    it reads files that columns or settings name.
    """

    encoded: bool = False
    json: bool = False
    nulls: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)
    files: bool = False


@dataclass(frozen=True, kw_only=True)
class Remote:
    """What a metric that waits for other processes asks: it is called in the caller's thread.

    `judge`: a language model that grades the answers. `asks_model`: whether requests are sent to a model's endpoint, by
    the settings; without it, a judge sends them. `governor`: what all requests go through (`karat.models.governor`);
    None: the one of the context. `fields`: the details that are scores of their own. `binary`: scores are 0 or 1,
    except for ties between the judges of a panel.
    """

    judge: bool = False
    asks_model: Callable[[Mapping[str, Any]], bool] | None = field(default=None, compare=False)
    governor: Any = field(default=None, compare=False)
    fields: tuple[str, ...] = ()
    binary: bool = False


@dataclass(frozen=True)
class Composite:
    """What a metric of the scores of another one takes.

    `inner`: the other metric, whose scores the function takes as its first argument. `own`: the columns that it takes
    after it; the inner metric has the others. `samples`: the column of the inner metric that holds a list of
    answers, or of their scores, in each row; empty where none does.
    """

    inner: Configured = field(compare=False)
    own: tuple[str, ...]
    samples: str = ""


@dataclass(frozen=True, kw_only=True)
class Definition:
    """What a decorated function declares about a metric, without the values of its settings.

    `remote`: what it waits for, if it does. `details`: the columns that it returns beside the score. `marks`: further
    parts of the signature, such as a prompt's digest. `short`: the settings that some aliases stand for.
    `specialise`: what of the definition follows from the settings. `composite`: the metric whose scores it takes, if it
    does. `key`: of a metric that is 1 where the keys of prediction and reference are the same text, else 0.
    `lowered_by`: answers of these lengths score low however right they are.
    """

    name: str
    function: Callable[..., Any]
    columns: Mapping[str, Kind]
    settings: Mapping[str, Setting]
    source: str
    version: int = 1
    finish: Callable[..., Array] | None = None
    low: float | None = 0.0
    high: float | None = 1.0
    direction: Direction = "maximize"
    aliases: tuple[str, ...] = ()
    short: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, compare=False)
    inputs: Inputs = field(default_factory=Inputs)
    remote: Remote | None = None
    composite: Composite | None = None
    details: Details | None = field(default=None, compare=False)
    marks: Mapping[str, str] = field(default_factory=dict)
    specialise: Specialise | None = field(default=None, compare=False)
    key: RowKey | None = field(default=None, compare=False)
    lowered_by: tuple[Length, ...] = ()

    @property
    def judge(self) -> bool:
        """Whether a language model grades the answers."""
        return self.remote is not None and self.remote.judge

    @property
    def inner(self) -> Configured | None:
        """The metric whose scores this one takes, if it does."""
        return None if self.composite is None else self.composite.inner

    @property
    def samples(self) -> str:
        """The column that holds a list of answers, or of their scores, in each row; empty where none does."""
        return "" if self.composite is None else self.composite.samples

    @property
    def documentation(self) -> str:
        return inspect.getdoc(self.function) or ""

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return self.documentation.partition("\n")[0]

    @property
    def worst(self) -> float | None:
        """The worst score a row can have; None where the range is open there, or where rows return counts."""
        return None if self.finish is not None else self.low if self.direction == "maximize" else self.high

    @property
    def reads_rankings(self) -> bool:
        """Whether a column holds ids or graded ids."""
        return any(kind.ranked for kind in self.columns.values())


@dataclass(frozen=True, eq=False, repr=False)
class Configured:
    """A definition with a value for each setting: all that scoring needs. `karat.Metric` adds its spec and calling."""

    definition: Definition
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        values = {name: setting.default for name, setting in self.definition.settings.items()} | dict(self.settings)
        object.__setattr__(self, "settings", MappingProxyType(values))

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def finish(self) -> Finish | None:
        """The function from totals to values, with the settings that it takes; None stands for the mean."""
        finish = self.definition.finish
        names = () if finish is None else keywords_of(finish)
        return partial(finish, **{name: self.settings[name] for name in names}) if finish and names else finish

    @property
    def details(self) -> Mapping[str, Any]:
        """The Arrow type of each column that the metric returns beside the score, by name."""
        return {} if self.definition.details is None else self.definition.details(self.settings)

    @property
    def judge(self) -> Self | None:
        """The judge that grades the answers: this metric, or the one whose scores it takes; None where none does."""
        inner: Any = self.definition.inner
        return self if self.definition.judge else None if inner is None else inner.judge

    @property
    def asks_model(self) -> bool:
        """Whether the metric, with these settings, sends requests to a model's endpoint."""
        remote = self.definition.remote
        if remote is None or remote.asks_model is None:
            return self.definition.judge
        return remote.asks_model(self.settings)

    @property
    def governor(self) -> Any:
        """What all its requests go through; None: the one of the context."""
        remote = self.definition.remote
        return None if remote is None else remote.governor

    @property
    def waits(self) -> bool:
        """Whether the metric waits for other processes: it is remote, and does not declare that it asks no endpoint."""
        remote = self.definition.remote
        return remote is not None and (remote.asks_model is None or remote.asks_model(self.settings))
