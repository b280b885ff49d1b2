"""A column of the data as a metric: scores that exist."""

# ruff: noqa: ARG001  (a metric declares settings that decide its definition, not its scores)
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any

from karat.core.columns.kinds import Number, Score
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.definition import Definition, Direction
from karat.core.metric.setting import FIRST


def name_column(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    """The definition with the column, the range and the direction of the settings."""
    name, low, high = (settings[each] for each in ("name", "low", "high"))
    metric = definition.name
    if not name:
        raise SpecError(f"{metric} needs the name of a column of numbers: {metric}(NAME), such as {metric}(gpt4)")
    if low is not None and high is not None and not low < high:
        raise SpecError(f"{metric}({name}): low={low} is not below high={high}, the least and the greatest score")
    role = f"{metric}({name})"  # no other metric has this role: a column may be called `reference`
    return replace(
        definition,
        columns=MappingProxyType({role: definition.columns[next(iter(definition.columns))]}),
        inputs=replace(definition.inputs, named=MappingProxyType({role: name})),
        low=low,
        high=high,
        direction=settings["direction"],
        marks=MappingProxyType({"scores": "given"}),
    )


@metric(
    source="the data: the numbers were scored elsewhere, and are taken as they are",
    low=None,
    high=None,
    specialise=name_column,
)
def column(
    score: Number,
    *,
    name: Annotated[str, FIRST] = "",
    direction: Direction = "maximize",
    low: float | None = None,
    high: float | None = None,
) -> Score:
    """The numbers of a column of the data, which were scored elsewhere: `column(gpt4)`.

    Yes and no, or true and false, are 1 and 0. A row whose cell is empty or null is unscored. Text that is not a number
    is an error; nothing is guessed, such as a decimal comma. `name`: the column, or a path into objects
    (`scores.gpt4`). In a spec it stands first, in quotes if it is more than a word: `column('GPT-4 says')`.
    `direction`: "minimize" where less is better, such as seconds or errors. `low`, `high`: the least and the greatest
    possible score; give them for scores that have them (`column(gpt4, low=0, high=1)`). Yes and no are from 0 to 1;
    other ranges are open without them: nothing is then known of what unscored rows could change.

    >>> column.using(name="gpt4", low=0, high=1)([1.0, None, 0.5]).to_pylist()
    [1.0, None, 0.5]
    >>> column.using(name="seconds", direction="minimize")
    column(seconds, direction='minimize')
    """
    return score
