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
    """A finish whose values are cut to a range; its interval is that of the values before, with its ends cut."""

    uncut: Finish
    low: float
    high: float

    def __call__(self, totals: Array) -> Array:
        values: Array = np.clip(self.uncut(totals), self.low, self.high)
        return values


def before_cut(finish: Any) -> Any:
    """The finish whose values a `Cut` cuts; any other finish itself."""
    return getattr(finish, "uncut", finish)


@dataclass(frozen=True, kw_only=True)
class Definition:
    """What a decorated function declares about a metric, without the values of its settings.

    `finish_settings`: the settings that the finish takes as keyword arguments. `encoded`: the function takes
    dictionary-encoded columns. `remote`: it waits for other processes, so it is called in the caller's thread.
    `judge`: a language model grades the answers. `asks_model`: whether calls leave the process, by the settings.
    `governor`: what all its requests go through (`karat.models.governor`); None: the one of the context.
    `reads_json`: its texts are expected to be JSON. `fields`: the details that are scores of their own. `marks`:
    further parts of the signature, such as a prompt's digest. `positional`: the setting whose value stands first in a
    spec, without its name. `specialise`: what of the definition follows from the settings. `named_columns`: the columns
    of the data that the settings name, by role. `inner`: another metric, whose scores the function takes as its first
    argument, and `own_columns` after it: its other columns are those of the inner metric. `ranges`: the least and the
    greatest number that a column may hold, by role. `keeps_null`: the columns in which the function takes nulls.
    `samples`: the column of the inner metric that holds a list of answers, or of their scores, in each row; empty where
    none does. `binary`: every score of a judge is 0 or 1, but for the ties of a panel. `key`: of a
    metric that is 1 where the keys of prediction and reference are the same text, else 0. `lowered_by`: answers of
    these lengths score low however right they are.
    """

    name: str
    function: Callable[..., Any]
    columns: Mapping[str, Kind]
    settings: Mapping[str, Setting]
    source: str
    version: int = 1
    finish: Callable[..., Array] | None = None
    finish_settings: tuple[str, ...] = ()
    low: float | None = 0.0
    high: float | None = 1.0
    direction: Direction = "maximize"
    aliases: tuple[str, ...] = ()
    encoded: bool = False
    remote: bool = False
    judge: bool = False
    asks_model: Callable[[Mapping[str, Any]], bool] | None = field(default=None, compare=False)
    governor: Any = field(default=None, compare=False)
    reads_json: bool = False
    fields: tuple[str, ...] = ()
    details: Details | None = field(default=None, compare=False)
    marks: Mapping[str, str] = field(default_factory=dict)
    positional: str | None = None
    specialise: Specialise | None = field(default=None, compare=False)
    named_columns: Mapping[str, str] = field(default_factory=dict)
    inner: Configured | None = field(default=None, compare=False)
    own_columns: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    keeps_null: tuple[str, ...] = ()
    samples: str = ""
    binary: bool = False
    key: RowKey | None = field(default=None, compare=False)
    lowered_by: tuple[Length, ...] = ()

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
        finish, names = self.definition.finish, self.definition.finish_settings
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
        asks = self.definition.asks_model
        return self.definition.judge if asks is None else asks(self.settings)

    @property
    def waits(self) -> bool:
        """Whether the metric waits for other processes: it is remote, and does not declare that it asks no endpoint."""
        asks = self.definition.asks_model
        return self.definition.remote and (asks is None or asks(self.settings))
