"""The decorator `metric`, which turns a function from columns to scores into a metric.

>>> from karat.core.columns.kinds import Score, Text
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
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from karat.core.columns.kinds import TEXT, Array, Kind
from karat.core.errors import SpecError, did_you_mean
from karat.core.metric.definition import Definition, Details, Direction
from karat.core.metric.extract import check_extract
from karat.core.metric.metric import Metric
from karat.core.metric.registry import register as add_to_registry
from karat.core.metric.setting import OF_CORE, SEVERAL, Missing, Setting, check_across, is_json


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
    asks_model: Callable[[Mapping[str, Any]], bool] | None = None,
    details: Details | None = None,
    register: bool = True,
) -> Callable[[Callable[..., Any]], Metric]:
    """Make a function from columns to scores (or additive counts) a metric.

    The function's name is the metric's. Positional parameters are columns, annotated with a kind of
    `karat.core.columns.kinds`; keyword-only parameters are settings, with defaults that JSON can hold. It returns one
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
                finish_settings=_finish_settings(function.__name__, finish, settings),
                low=low,
                high=high,
                direction=direction,
                aliases=aliases,
                encoded=encoded,
                remote=remote,
                asks_model=asks_model,
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


def _finish_settings(
    name: str, finish: Callable[..., Array] | None, settings: Mapping[str, Setting]
) -> tuple[str, ...]:
    """The settings that a finish takes: its keyword-only parameters."""
    parameters = inspect.signature(finish).parameters.values() if finish else ()
    names = tuple(each.name for each in parameters if each.kind is each.KEYWORD_ONLY)
    for unknown in set(names) - settings.keys():
        raise SpecError(
            f"{name}: its finish asks for {unknown!r}, which is no setting{did_you_mean(unknown, settings)}"
        )
    return names


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
