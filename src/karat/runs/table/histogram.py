"""How many rows have which score, or which difference of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from karat.core.columns.kinds import Array
from karat.runs.table.html import element
from karat.runs.table.svg import Axis, chart, grid, line, ticks
from karat.runs.table.table import Kind

_DISTINCT = 11  # values that have a bar each
_BINS = 20
_TOP, _HEIGHT = 16.0, 96.0  # pixels: room for the number of the highest bar, and its height


@dataclass(frozen=True)
class Bar:
    """How many rows lie from `low` to `high`; both are the same where a bar is of one value."""

    low: float
    high: float
    count: int
    kind: Kind = "value"


def count_bars(numbers: Array, axis: Axis) -> list[Bar]:
    """The bars of numbers on an axis, NaN left out: one for each value where these are few, else for 20 equal parts.

    >>> count_bars(np.array([0.0, 1.0, 1.0, np.nan]), Axis.over([0, 1]))
    [Bar(low=0.0, high=0.0, count=1, kind='value'), Bar(low=1.0, high=1.0, count=2, kind='value')]
    """
    finite = numbers[np.isfinite(numbers)]
    values, counts = np.unique(finite, return_counts=True)
    if len(values) <= _DISTINCT:
        return [Bar(value, value, count) for value, count in zip(values.tolist(), counts.tolist(), strict=True)]
    places = np.linspace(axis.low, axis.high, _BINS + 1)
    heights, edges = np.histogram(finite, places)
    ends = zip(edges[:-1].tolist(), edges[1:].tolist(), heights.tolist(), strict=True)
    return [Bar(round(low, 12), round(high, 12), count) for low, high, count in ends]


def histogram(bars: Sequence[Bar], axis: Axis, title: str) -> str:
    """The bars on an axis; `title` begins the description that is read to those who do not see it."""
    highest = max(bars, key=lambda bar: bar.count, default=None)
    listed = "; ".join(f"{_spell(bar)}: {bar.count}" for bar in bars if bar.count)
    floor = _TOP + _HEIGHT
    floor_line = element("g", {"class": "axis", "stroke": "currentColor"}, line(None, (0, 100), (floor, floor)))
    marks = [*grid(axis, floor, zero=False), *(_draw(bar, axis, highest) for bar in bars if bar.count)]
    return chart(floor + 20, [*marks, floor_line, *ticks(axis, floor)], f"{title}: {listed}")


def _spell(bar: Bar) -> str:
    return f"{bar.low:.4g}" if bar.low == bar.high else f"{bar.low:.4g} to {bar.high:.4g}"


def _draw(bar: Bar, axis: Axis, highest: Bar | None) -> str:
    """A bar, at least a pixel high; its number stands above the first of the highest ones."""
    low, high = axis.place(bar.low), axis.place(bar.high)
    left, width = (max(0.0, min(low - 1.5, 97)), 3.0) if low == high else (low + 0.15, high - low - 0.3)
    height = max(1.0, _HEIGHT * bar.count / (highest or bar).count)
    where = {"x": f"{left:.4g}%", "y": f"{_TOP + _HEIGHT - height:.4g}", "width": f"{width:.4g}%"}
    drawn = [element("rect", {"class": "bar", **where, "height": f"{height:.4g}", "fill": "currentColor"})]
    if bar is highest:
        place = left + width / 2
        anchor = "start" if place < 5 else "end" if place > 95 else "middle"
        at = {"x": f"{place:.4g}%", "y": _TOP - 4, "text-anchor": anchor, "fill": "currentColor", "font-size": 12}
        drawn.append(element("text", {"class": "tick", **at}, f"{bar.count}"))
    return element("g", {"class": bar.kind}, *drawn)
