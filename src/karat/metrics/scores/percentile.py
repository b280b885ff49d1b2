"""A percentile of a column of the data as a metric, such as seconds."""

# ruff: noqa: ARG001  (a metric declares settings that decide its definition, not its scores)
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from karat.core.columns.kinds import Number, Score
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.definition import Definition, Direction
from karat.core.metric.in_order import Percentile
from karat.core.metric.setting import FIRST, Range
from karat.metrics.scores.column import name_column


def _specialise(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    """The definition with the column, the range, the direction and the finish of the settings."""
    if not 0 < settings["p"] < 100:
        raise SpecError(f"percentile: p={settings['p']} does not lie between 0 and 100, such as 95")
    return replace(name_column(definition, settings), finish=Percentile(settings["p"] / 100))


@metric(
    source="R. Hyndman and Y. Fan, Sample quantiles in statistical packages, 1996: definition 7, as in NumPy",
    low=None,
    high=None,
    specialise=_specialise,
)
def percentile(
    score: Number,
    *,
    name: Annotated[str, FIRST] = "",
    p: Annotated[float, Range(0, 100)] = 50,
    direction: Direction = "maximize",
    low: float | None = None,
    high: float | None = None,
) -> Score:
    """The score of a column below which p per cent of the rows are: `percentile(seconds, p=95)`; p=50 is the median.

    Columns, `direction`, `low` and `high` are as in `column`. A row's own score is its number. A value of up to 16,384
    different numbers is exact, of more it is within 0.2 %.

    >>> percentile.using(name="seconds", p=95)([1.5, None]).to_pylist()
    [1.5, None]
    >>> percentile.using(name="seconds", p=95, direction="minimize")
    percentile(seconds, direction='minimize', p=95)
    """
    return score
