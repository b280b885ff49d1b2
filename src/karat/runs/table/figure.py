"""A forest plot for papers, drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karat.core.errors import SpecError
from karat.core.lazy import import_extra
from karat.runs.table.table import RowKind, Style, Table

_MARKERS: dict[RowKind, str] = {
    "value": "o", "better": "^", "worse": "v", "equivalent": "D", "no worse": "^", "unclear": "o"
}  # fmt: skip
_COLOURS: dict[RowKind, str] = {
    "value": "0.1", "better": "#14588f", "worse": "#a34309",
    "equivalent": "0.1", "no worse": "0.1", "unclear": "0.45",
}  # fmt: skip


def draw(tables: Sequence[Table], label: str, ax: Any, need: str) -> Any:
    """Draw the only one of the tables with matplotlib, and return its `Axes`.

    `label` stands at the axis, `ax` the `Axes` to draw on, or None for new ones; `need` names the caller.

    Raises `SpecError` for more than one table, whose metrics have different ranges; `MissingExtra` without matplotlib.
    """
    if len(tables) != 1:
        ranges = "; ".join(", ".join(dict.fromkeys(_labels(table, parts=False))) for table in tables)
        raise SpecError(f"{need}: these metrics have different ranges, one axis does not fit all ({ranges}): name some")
    pyplot = import_extra("matplotlib.pyplot", extra="plot", need=need, package="matplotlib")
    (table,) = tables
    rows, labels = table.rows, _labels(table, parts=True)
    if ax is None:
        _, ax = pyplot.subplots(figsize=(6.4, 0.7 + 0.3 * len(rows)), layout="constrained")
    places = range(len(rows), 0, -1)
    if table.difference:
        ax.axvline(0, color="0.1", linewidth=0.8, zorder=1)
    for place, row in zip(places, rows, strict=True):
        if row.value is None:
            continue
        colour, open_mark = _COLOURS[row.kind], row.kind in ("no worse", "unclear")
        ends = [table.factor * (row.value if end is None else end) for end in (row.low, row.high)]
        ax.plot(ends, [place, place], color=colour, linewidth=1.5, solid_capstyle="butt", zorder=2)
        fill, value = "white" if open_mark else colour, table.factor * row.value
        ax.plot(value, place, _MARKERS[row.kind], color=colour, markerfacecolor=fill, markersize=5.5, zorder=3)
    ax.set_yticks(list(places), [f"   {name}" if row.part else name for name, row in zip(labels, rows, strict=True)])
    for text, row in zip(ax.get_yticklabels(), rows, strict=True):
        text.set_fontweight("normal" if row.part or len({each.part for each in rows}) == 1 else "bold")
        text.set_parse_math(False)
    ax.set_ylim(0.4, len(rows) + 0.6)
    ax.set_xlabel(label)
    ax.grid(axis="x", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax


def _labels(table: Table, *, parts: bool) -> list[str]:
    """The names of the rows, without or with those that are parts."""
    pairs = zip(table.rows, table.texts(Style()), strict=True)
    return [" · ".join(texts[: table.names]) for row, texts in pairs if parts or not row.part]
