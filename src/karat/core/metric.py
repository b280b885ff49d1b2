"""A metric: a function from columns to one row of statistics per row, and all its settings.

>>> from karat.core.types import Score, Text
>>> import pyarrow.compute as pc
>>> @metric(source="https://example.org", register=False)
... def same_length(prediction: Text, reference: Text, *, tolerance: int = 0) -> Score:
...     '''1 where prediction and reference are equally long.'''
...     gap = pc.abs(pc.subtract(pc.utf8_length(prediction), pc.utf8_length(reference)))
...     return pc.less_equal(gap, tolerance)
>>> same_length(["ab", None, "abc"], [["cd"], ["x"], ["a", "abd"]]).to_pylist()
[1.0, None, 1.0]
>>> same_length.using(tolerance=1)
same_length(tolerance=1)
>>> same_length.using(tolerence=1)
Traceback (most recent call last):
    ...
karat.core.errors.SpecError: same_length has no setting 'tolerence'; did you mean 'tolerance'?
"""

from __future__ import annotations

import inspect
import typing
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from karat.core.errors import SpecError, did_you_mean
from karat.core.extract import check_extract
from karat.core.registry import register as add_to_registry
from karat.core.setting import OF_CORE, SEVERAL, Missing, Setting, check_across, is_json
from karat.core.types import TEXT, Array, Kind

Finish: TypeAlias = Callable[[Array], Array]
Direction: TypeAlias = Literal["maximize", "minimize"]
Details: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""From a metric's settings to the Arrow type of each column that it gives beside the score."""

_SHOWN = ("__module__", "__name__", "__qualname__", "__doc__")  # what help() and doctest see of a function


@dataclass(frozen=True, kw_only=True)
class Definition:
    """What a decorated function says about a metric, apart from its settings' values."""

    name: str
    function: Callable[..., Any]
    columns: Mapping[str, Kind]
    settings: Mapping[str, Setting]
    source: str
    version: int
    finish: Callable[..., Array] | None
    told: tuple[str, ...]
    low: float | None
    high: float | None
    direction: Direction
    aliases: tuple[str, ...]
    encoded: bool
    remote: bool = False  # it waits for others, and so is called in the caller's thread
    details: Details | None = field(default=None, compare=False)  # the columns it gives beside the score
    marks: Mapping[str, str] = field(default_factory=dict)  # what else the signature says: a prompt's digest

    @property
    def documentation(self) -> str:
        return inspect.getdoc(self.function) or ""

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return self.documentation.partition("\n")[0]

    @property
    def worst(self) -> float | None:
        """The worst score a row can have; None where there is no end to it, or where rows give counts."""
        return None if self.finish is not None else self.low if self.direction == "maximize" else self.high


@dataclass(frozen=True, eq=False, repr=False)
class Metric:
    """A definition with a value for each setting. Frozen: `using` gives another one.

    Calling it with columns gives an Arrow array of float64, one score a row, null where a row could not be
    scored. Columns are anything Arrow can read: lists, Arrow arrays, pandas and polars series.
    """

    definition: Definition
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        values = {name: setting.default for name, setting in self.definition.settings.items()} | dict(self.settings)
        object.__setattr__(self, "settings", MappingProxyType(values))
        for name in _SHOWN:
            object.__setattr__(self, name, getattr(self.definition.function, name))
        object.__setattr__(self, "__wrapped__", self.definition.function)

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def finish(self) -> Finish | None:
        """What makes totals into values, told the settings it asks for; None is the mean."""
        finish, told = self.definition.finish, self.definition.told
        return partial(finish, **{name: self.settings[name] for name in told}) if finish and told else finish

    @property
    def spec(self) -> str:
        """The text that makes this metric again: its name and the settings that are not the default ones."""
        defaults = self.definition.settings
        return self._text({k: v for k, v in self.settings.items() if v != defaults[k].default})

    @property
    def signature(self) -> str:
        """Every setting, the metric's version and, where it reads text, Unicode's: equal where scores compare."""
        reads_text = TEXT in self.definition.columns.values() and not self.definition.remote
        unicode = f"|unicode={unicodedata.unidata_version}" if reads_text else ""
        marks = "".join(f"|{name}={value}" for name, value in self.definition.marks.items())
        return f"{self._text(self.settings)}|version={self.definition.version}{marks}{unicode}"

    @property
    def details(self) -> Mapping[str, Any]:
        """The Arrow type of each column that the metric gives beside the score, by name."""
        return {} if self.definition.details is None else self.definition.details(self.settings)

    def _text(self, settings: Mapping[str, Any]) -> str:
        k = settings.get("k")
        cutoff = f"@{k}" if isinstance(k, int) and k >= 0 else ""
        rest = [f"{name}={_literal(settings[name])}" for name in sorted(settings) if not (name == "k" and cutoff)]
        return f"{self.name}({', '.join(rest)}){cutoff}" if rest else f"{self.name}{cutoff}"

    def using(self, **settings: Any) -> Metric:
        """The same metric with some settings changed; `SpecError` for one it has not or a value it cannot hold."""
        for name, value in settings.items():
            if name not in self.definition.settings:
                raise SpecError(f"{self.name} has no setting {name!r}{did_you_mean(name, self.definition.settings)}")
            self.definition.settings[name].accept(value, self.name)
        return Metric(self.definition, {**self.settings, **settings})

    def __call__(self, *columns: Any, **named: Any) -> Any:
        from karat.core.lift import score_columns  # noqa: PLC0415  (lift needs Metric)

        wanted = self.definition.columns
        given = dict(zip(wanted, columns, strict=False))
        if len(columns) > len(wanted):
            raise TypeError(f"{self.name} takes {len(wanted)} columns ({', '.join(wanted)}), {len(columns)} were given")
        for role in wanted:
            for name in (role, role + "s"):
                if name in named:
                    if role in given:
                        raise TypeError(f"{self.name}: column {role!r} was given twice")
                    given[role] = named.pop(name)
        if missing := [role for role in wanted if role not in given]:
            raise TypeError(f"{self.name} misses the column {missing[0]!r}; it takes {', '.join(wanted)}")
        return score_columns(self.using(**named) if named else self, given)

    def __repr__(self) -> str:
        return self.spec

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Metric):
            return NotImplemented
        return self.definition == other.definition and dict(self.settings) == dict(other.settings)

    def __hash__(self) -> int:
        return hash((self.definition.name, self.signature))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.definition.function.__module__, self.name, dict(self.settings))


def _restore(module: str, name: str, settings: Mapping[str, Any]) -> Metric:
    found: Metric = getattr(__import__(module, fromlist=[name]), name)
    return found.using(**settings)


def _literal(value: Any) -> str:
    return f"<{value.__module__}.{value.__qualname__}>" if callable(value) else repr(value)


def metric(
    function: None = None,
    /,
    *,
    source: str = "",
    version: int = 1,
    finish: Callable[..., Array] | None = None,
    low: float | None = 0.0,
    high: float | None = 1.0,
    direction: Direction = "maximize",
    aliases: tuple[str, ...] = (),
    encoded: bool = False,
    remote: bool = False,
    details: Details | None = None,
    register: bool = True,
) -> Callable[[Callable[..., Any]], Metric]:
    """Make a function from columns to scores (or additive counts) a metric.

    The function's name is the metric's. Positional parameters are columns, annotated with a kind of
    `karat.core.types`; keyword-only parameters are settings, with defaults that JSON can hold. It returns one
    float a row (array of length n, null or NaN where a row cannot be scored), or counts (shape (n, k)) together with
    `finish`, which turns totals of shape (..., k) into values of shape (...) and is told the settings that it names as
    keyword-only parameters; or a `karat.Rows` that gives a reason for each unscored row.

    `source`: the paper or commit-pinned link that defines the metric. `version`: raised when its scores change.
    `low`, `high`: its range, None where it has no bound. `aliases`: short names that also find it.
    `encoded`: the function takes dictionary-encoded columns, as they come where a row has several references,
    and so need not see a prediction once per reference. `remote`: it waits for others, such as a model, and is called
    by one thread. `details`: from its settings to the Arrow type of each further column that its `karat.Rows` hold.

    Raises `SpecError`, when the function is defined, if it does not describe itself fully.
    """
    if direction not in typing.get_args(Direction) or not isinstance(aliases, tuple):
        raise SpecError("direction is 'maximize' or 'minimize', and aliases are a tuple of names")
    if low is not None and high is not None and low >= high:
        raise SpecError(f"low={low} is not below high={high}: they are the lowest and the highest score there can be")
    if function is not None or not source:
        raise SpecError("a metric says where it comes from: @metric(source='a paper, a link, or whose idea it was')")

    def make(function: Callable[..., Any]) -> Metric:
        columns, settings = _parameters(function)
        best = "max" if direction == "maximize" else "min"
        for role, name in SEVERAL.items():
            if columns.get(role) is TEXT:
                settings[name] = Setting(name, best if role == "reference" else "one", Any, check_across, of_core=True)
        if columns.get("prediction") is TEXT:
            settings["extract"] = Setting("extract", "none", str, check_extract, of_core=True)
            settings["missing"] = Setting("missing", "unscored", Missing, of_core=True)
        made = Metric(
            Definition(
                name=function.__name__,
                function=function,
                columns=MappingProxyType(columns),
                settings=MappingProxyType(settings),
                source=source,
                version=version,
                finish=finish,
                told=_told(function.__name__, finish, settings),
                low=low,
                high=high,
                direction=direction,
                aliases=aliases,
                encoded=encoded,
                remote=remote,
                details=details,
            )
        )
        for setting in settings.values():
            setting.accept(setting.default, made.name)
        if not made.definition.summary:
            raise SpecError(f"{made.name} has no docstring: its first line is the metric's summary")
        if register:
            add_to_registry(made)
        return made

    return make


def _told(name: str, finish: Callable[..., Array] | None, settings: Mapping[str, Setting]) -> tuple[str, ...]:
    """The settings that a finish asks for: its keyword-only parameters."""
    parameters = inspect.signature(finish).parameters.values() if finish else ()
    told = tuple(each.name for each in parameters if each.kind is each.KEYWORD_ONLY)
    for unknown in set(told) - settings.keys():
        raise SpecError(
            f"{name}: its finish asks for {unknown!r}, which is no setting{did_you_mean(unknown, settings)}"
        )
    return told


def _parameters(function: Callable[..., Any]) -> tuple[dict[str, Kind], dict[str, Setting]]:
    """The columns and settings that a function's signature declares."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise SpecError(f"{function.__name__}: its annotations must be names of its module: {error}") from None
    columns: dict[str, Kind] = {}
    settings: dict[str, Setting] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kind, *notes = typing.get_args(hints[name]) if _is_annotated(hints.get(name)) else (hints.get(name, Any),)
        where = f"{function.__name__}: parameter {name!r}"
        if parameter.kind is parameter.KEYWORD_ONLY:
            if name in OF_CORE or parameter.default is parameter.empty or not is_json(parameter.default):
                raise SpecError(f"{where} is a setting: it needs a default that JSON can hold and a name of its own")
            check = next((note for note in notes if callable(note)), None)
            settings[name] = Setting(name, parameter.default, kind, check)
        elif parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.POSITIONAL_ONLY):
            column = next((note for note in notes if isinstance(note, Kind)), None)
            if column is None:
                hint = "" if parameter.default is parameter.empty else "; a setting goes behind a `*`"
                raise SpecError(f"{where} is a column: annotate it with Text, Texts, Number, Ids or Graded{hint}")
            columns[name] = column
        else:
            raise SpecError(f"{where}: *args and **kwargs say nothing about columns and settings")
    return columns, settings


def _is_annotated(hint: Any) -> bool:
    return typing.get_origin(hint) is typing.Annotated
