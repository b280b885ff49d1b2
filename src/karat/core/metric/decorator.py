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
from karat.core.metric.definition import (
    Definition,
    Details,
    Direction,
    Inputs,
    Length,
    Remote,
    RowKey,
    Specialise,
    keywords_of,
)
from karat.core.metric.extract import check_extract
from karat.core.metric.inner import check_metric, specialise_by_inner
from karat.core.metric.metric import Metric
from karat.core.metric.registry import register as add_to_registry
from karat.core.metric.setting import FIRST, OF_CORE, SEVERAL, MissingRows, Setting, check_across, is_json


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
    short: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    encoded: bool = False,
    remote: bool | Callable[[Mapping[str, Any]], bool] = False,
    details: Details | None = None,
    reads_json: bool = False,
    reads_files: bool = False,
    inner: str = "",
    keeps_null: tuple[str, ...] = (),
    specialise: Specialise | None = None,
    key: RowKey | None = None,
    lowered_by: tuple[Length, ...] = (),
    register: bool = True,
) -> Callable[[Callable[..., Any]], Metric]:
    """Turn a function from columns to scores, or to additive counts, into a metric.

    The function's name is the metric's name; the first line of its docstring is the summary. Positional parameters are
    columns, annotated with a kind: `Text`, `Texts`, `Number`, `Ids`, `Graded`, `Subtopics`, `Messages` or `Json`.
    Keyword-only parameters are settings, with defaults that JSON can hold. The function is called with Arrow arrays
    without nulls and returns one of:

    - one float for each row, shape (n,); null or NaN leaves a row unscored;
    - counts, shape (n, k), together with `finish`;
    - `Rows`, which also give a reason for each unscored row, and details.

    `source`: the paper or commit-pinned link that defines the metric (required). `version`: increased when scores
    change. `finish`: turns totals of counts, shape (..., k), into values, shape (...); it is passed the settings that
    it names as keyword-only parameters. `low`, `high`: the range of scores, None for an open end. `direction`: which
    scores are better. `aliases`: further names. `short`: the settings that some of these stand for; such a name is the
    spec then. `encoded`: the function accepts dictionary-encoded columns, which avoid repeating a prediction for each
    of its references. `remote`: the function waits for another process, such as a model; it is called in the caller's
    thread. A callable tells from the settings whether requests are sent to a model's endpoint. `details`: from the
    settings to the Arrow type of each further column in the `Rows`. `reads_json`: the texts are expected to be JSON.
    `reads_files`: scores rest on files that columns or settings name, such as databases.
    `inner`: the default of the setting `metric`, another metric whose scores the function takes first, as a `Inner` or
    as `Samples`. `keeps_null`: the columns in which the function takes nulls. `specialise`: from the definition and the
    values of the settings to the definition with what follows from them. `key`: for a metric that is 1 where two texts
    are equal in a sense, else 0: from a column of texts and the settings to the texts that it compares. `lowered_by`:
    "longer" if answers that are longer than the reference score low however right they are, "shorter" likewise: where
    most answers are, karat says so beside the value.
    `register`: whether the metric can be found by name.

    Raises `SpecError` when the function is decorated, if a part of the description is missing or contradictory.
    """
    if direction not in typing.get_args(Direction) or not isinstance(aliases, tuple):
        raise SpecError("direction is 'maximize' or 'minimize', and aliases are a tuple of names")
    if low is not None and high is not None and low >= high:
        raise SpecError(f"low={low} is not below high={high}: they are the lowest and the highest possible score")
    if function is not None or not source:
        raise SpecError("a metric needs a source: @metric(source='a paper, a link, or who defined it')")

    def make(function: Callable[..., Any]) -> Metric:
        columns, settings = _parameters(function, nested=bool(inner))
        for unknown in set(keywords_of(finish) if finish else ()) - settings.keys():
            nearest = did_you_mean(unknown, settings)
            raise SpecError(
                f"{function.__name__}: its finish asks for the setting {unknown!r}, which it lacks{nearest}"
            )
        if inner:
            settings["metric"] = Setting("metric", inner, Any, check_metric, of_core=True, first=True)
        best = "max" if direction == "maximize" else "min"
        for role, name in SEVERAL.items():
            if columns.get(role) is TEXT:
                settings[name] = Setting(name, best if role == "reference" else "one", Any, check_across, of_core=True)
        if columns.get("prediction") is TEXT:
            settings["extract"] = Setting("extract", "none", str, check_extract, of_core=True)
            settings["missing"] = Setting("missing", "unscored", MissingRows, of_core=True)
        new = Metric(
            Definition(
                name=function.__name__,
                function=function,
                columns=MappingProxyType(columns),
                settings=MappingProxyType(settings),
                source=source,
                version=version,
                finish=finish,
                low=low,
                high=high,
                direction=direction,
                aliases=aliases,
                short=short,
                inputs=Inputs(encoded=encoded, json=reads_json, nulls=keeps_null, files=reads_files),
                remote=Remote(asks_model=remote if callable(remote) else None) if remote else None,
                details=details,
                specialise=specialise_by_inner(function, columns, details, specialise) if inner else specialise,
                key=key,
                lowered_by=lowered_by,
            )
        )
        vars(function)["definition"] = new.definition
        function.__qualname__ += ".__wrapped__"  # where pickle finds it: its own name is the metric's
        for setting in settings.values():
            setting.accept(setting.default, new.name)
        new = new.using(metric=inner) if inner else new
        if not new.definition.summary:
            raise SpecError(f"{new.name} has no docstring: its first line is the metric's summary")
        if register:
            add_to_registry(new)
        return new

    return make


def _parameters(function: Callable[..., Any], *, nested: bool) -> tuple[dict[str, Kind], dict[str, Setting]]:
    """The columns and the settings that a function declares; of a nested metric without its first parameter."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise SpecError(f"{function.__name__}: its annotations must be names of its module: {error}") from None
    columns: dict[str, Kind] = {}
    settings: dict[str, Setting] = {}
    for name, parameter in list(inspect.signature(function).parameters.items())[nested:]:
        hint = hints.get(name, Any)
        kind, *notes = typing.get_args(hint) if typing.get_origin(hint) is typing.Annotated else (hint,)
        where = f"{function.__name__}: parameter {name!r}"
        if parameter.kind is parameter.KEYWORD_ONLY:
            if name in OF_CORE or parameter.default is parameter.empty or not is_json(parameter.default):
                raise SpecError(f"{where} is a setting: it needs a default that JSON can hold and a name of its own")
            check = next((note for note in notes if callable(note)), None)
            settings[name] = Setting(name, parameter.default, kind, check, first=FIRST in notes)
        elif parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.POSITIONAL_ONLY):
            column = next((note for note in notes if isinstance(note, Kind)), None)
            if column is None:
                tip = "" if parameter.default is parameter.empty else "; a setting goes after a `*`"
                raise SpecError(
                    f"{where} is a column: annotate it with Text, Texts, Number, Ids, Graded, Subtopics or "
                    f"Messages{tip}"
                )
            columns[name] = column
        else:
            raise SpecError(f"{where}: *args and **kwargs do not declare columns or settings")
    return columns, settings
