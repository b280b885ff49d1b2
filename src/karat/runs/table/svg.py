"""Axes of charts, and the marks on them.

Charts have no fixed width: places across are per cent of it, places down and sizes are pixels. So one chart fits every
screen and its text keeps its size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from karat.runs.table.html import element, plain

_TICKS = 5  # about so many on an axis


@dataclass(frozen=True)
class Axis:
    """Numbers from `low` to `high`, with a tick at every `step` from `low`."""

    low: float
    high: float
    step: float

    @classmethod
    def over(cls, numbers: Iterable[float | None]) -> Axis:
        """The axis that holds all these numbers, with round ticks.

        >>> Axis.over([0.612, 0.794, None]).ticks
        [0.6, 0.65, 0.7, 0.75, 0.8]
        """
        finite = [number for number in numbers if number is not None and math.isfinite(number)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        if high - low < 1e-9 * max(abs(low), abs(high), 1.0):
            low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
        size = 10.0 ** math.floor(math.log10((high - low) / _TICKS))
        step = next(size * times for times in (1, 2, 5, 10) if (high - low) / (size * times) <= _TICKS)
        return cls(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, step)

    @property
    def ticks(self) -> list[float]:
        count = round((self.high - self.low) / self.step)
        return [round(self.low + at * self.step, 12) for at in range(count + 1)]

    def place(self, number: float) -> float:
        """The place of a number across the chart, in per cent of its width."""
        return round(100 * (number - self.low) / (self.high - self.low), 2)

    def spell(self, tick: float) -> str:
        """A tick as it is written below the axis."""
        decimals = max(0, -math.floor(math.log10(self.step) + 1e-9))
        return f"{tick:.{decimals}f}"


def line(kind: str | None, x: tuple[float, float], y: tuple[float, float], width: float = 1) -> str:
    """A line between places across (per cent) and down (pixels); `kind` is its class."""
    ends = {"x1": f"{x[0]:g}%", "x2": f"{x[1]:g}%", "y1": f"{y[0]:g}" if y[0] else None, "y2": f"{y[1]:g}"}
    return element("line", {"class": kind, **ends, "stroke-width": None if width == 1 else width})


def grid(axis: Axis, height: float, *, zero: bool) -> Iterator[str]:
    """A line down at every tick; that of zero is strong if `zero`."""
    faint = [axis.place(tick) for tick in axis.ticks if tick or not zero]
    lines = (line(None, (place, place), (0, height)) for place in faint)
    yield element("g", {"class": "grid", "stroke": "currentColor", "stroke-opacity": 0.25}, *lines)
    if zero and 0 in axis.ticks:
        place = axis.place(0)
        yield element("g", {"class": "zero", "stroke": "currentColor"}, line(None, (place, place), (0, height)))


def ticks(axis: Axis, top: float) -> Iterator[str]:
    """The numbers of the ticks, below `top` pixels; the first and the last one stay inside the chart."""
    for tick in axis.ticks:
        place = axis.place(tick)
        anchor = "start" if place <= 0 else "end" if place >= 100 else "middle"
        where = {"x": f"{place:g}%", "y": f"{top + 14:g}", "text-anchor": anchor, "fill": "currentColor"}
        yield element("text", {"class": "tick", **where, "font-size": 12}, axis.spell(tick).replace("-", "−"))


def chart(height: float, content: Iterable[str], title: str | None = None) -> str:
    """A chart as wide as its place; `title` is read to those who do not see it, without one it is left out for them."""
    named = {"aria-hidden": "true"} if title is None else {"role": "img"}
    shown = () if title is None else (element("title", None, plain(title)),)
    return element("svg", {"class": "plot", "width": "100%", "height": f"{height:g}", **named}, *shown, *content)
