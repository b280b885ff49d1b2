"""A forest plot for papers, drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karat.core.errors import SpecError
from karat.core.lazy import import_extra
from karat.runs.display.forest import Forest, Kind

_MARKERS: dict[Kind, str] = {"value": "o", "better": "^", "worse": "v", "unclear": "o"}
_COLOURS: dict[Kind, str] = {"value": "0.1", "better": "#14588f", "worse": "#a34309", "unclear": "0.45"}


def draw(forests: Sequence[Forest], label: str, ax: Any, need: str) -> Any:
    """Draw the only one of the forests with matplotlib, and return its `Axes`.

    `label` is that of the axis, `ax` the `Axes` to draw on, or None for new ones; `need` names the caller.

    Raises `SpecError` for more than one forest, whose metrics have different ranges; `MissingExtra` without matplotlib.
    """
    if len(forests) != 1:
        ranges = "; ".join(", ".join(dict.fromkeys(e.label for e in f.lines if not e.part)) for f in forests)
        raise SpecError(f"{need}: these metrics have different ranges, one axis does not fit all ({ranges}): name some")
    pyplot = import_extra("matplotlib.pyplot", extra="plot", need=need, package="matplotlib")
    lines = forests[0].drawn
    if ax is None:
        _, ax = pyplot.subplots(figsize=(6.4, 0.7 + 0.3 * len(lines)), layout="constrained")
    places = range(len(lines), 0, -1)
    if forests[0].difference:
        ax.axvline(0, color="0.1", linewidth=0.8, zorder=1)
    for place, line in zip(places, lines, strict=True):
        if line.value is None:
            continue
        colour, open_mark = _COLOURS[line.kind], line.kind == "unclear"
        ends = [line.value if end is None else end for end in (line.low, line.high)]
        ax.plot(ends, [place, place], color=colour, linewidth=1.5, solid_capstyle="butt", zorder=2)
        fill = "white" if open_mark else colour
        ax.plot(line.value, place, _MARKERS[line.kind], color=colour, markerfacecolor=fill, markersize=5.5, zorder=3)
    ax.set_yticks(list(places), [f"   {line.label}" if line.part else line.label for line in lines])
    for text, line in zip(ax.get_yticklabels(), lines, strict=True):
        text.set_fontweight("normal" if line.part or len({each.part for each in lines}) == 1 else "bold")
        text.set_parse_math(False)
    ax.set_ylim(0.4, len(lines) + 0.6)
    ax.set_xlabel(label)
    ax.grid(axis="x", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax
