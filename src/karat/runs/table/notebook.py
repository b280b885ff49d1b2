"""A table in HTML, with a plot of its intervals, and what a notebook shows of it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from karat.runs.table.html import element, show
from karat.runs.table.table import WORDS, Row, Style, Table

_BREAK = re.compile(r"(?<=[(,_])(?=\w)")  # where the spec of a metric may be broken
_HEIGHT = 16  # pixels of a plot in a row
_STYLE = """
.karat-shown { max-width: 68rem; font-variant-numeric: tabular-nums; }
.karat-shown table { width: 100%; border-collapse: collapse; margin: 0.5em 0; }
.karat-shown :is(th, td) { padding: 0.25em 0.75em 0.25em 0; text-align: left; background: none; }
.karat-shown :is(thead th, tbody tr) { border-bottom: 1px solid color-mix(in srgb, currentColor 25%, transparent); }
.karat-shown caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.karat-shown .num { text-align: right; white-space: nowrap; }
.karat-shown tbody th { overflow-wrap: break-word; min-width: 9em; }
.karat-shown .part th { font-weight: normal; padding-left: 1em; }
.karat-shown .strip { width: 30%; min-width: 9em; }
.karat-shown .plot { display: block; overflow: visible; }
.karat-shown .better .plot { color: #2277b8; }
.karat-shown .worse .plot { color: #bb5a14; }
"""


def show_tables(heading: str, tables: Sequence[Table], notes: Sequence[str]) -> str:
    """A heading, the tables and the notes, as markup that needs no other style sheet."""
    shown = (html_table(table, heading) for table in tables)
    lines = (element("p", None, show(note)) for note in notes)
    title = element("p", None, element("strong", None, show(heading)))
    return element("div", {"class": "karat-shown"}, element("style", None, _STYLE), title, *shown, *lines)


def html_table(table: Table, caption: str) -> str:
    """The table, with a plot where it has values; the exact numbers of each row are in its `data-` attributes.

    >>> from karat.runs.table.table import Column
    >>> html_table(Table((Column("metric", name=True),), (Row(("f1",)),)), "Values")[:84]
    '<table class="data forest"><caption class="hidden-label">Values</caption><thead><tr>'
    """
    style = Style(show, lambda text: element("strong", None, text), lambda text: element("sup", None, text))
    axis = _find_axis(table)
    plot = [element("th", {"scope": "col"})] if axis else []
    heads = [
        element("th", {"scope": "col", "class": "num" if at >= table.names else None}, text)
        for at, text in enumerate(table.headings(style))
    ]
    heads[table.names : table.names] = plot
    heads += [element("th", {"scope": "col"}, "verdict")] if table.judged else []
    rows = []
    for row, texts in zip(table.rows, table.texts(style), strict=True):
        names = [element("bdi", None, "<wbr>".join(_BREAK.split(text))) for text in texts[: table.names]]
        cells = [element("th", {"scope": "row"}, names[0]), *(element("td", None, name) for name in names[1:])]
        cells += [element("td", {"class": "strip"}, _strip(row, *axis, table=table))] if axis else []
        cells += (element("td", {"class": "num"}, text) for text in texts[table.names :])
        cells += [element("td", {"class": "verdict"}, show(WORDS[row.kind]))] if table.judged else []
        kind = (
            " ".join([*([row.kind.replace(" ", "-")] if row.kind != "value" else []), *(["part"] if row.part else [])])
            or None
        )
        rows.append(element("tr", {"class": kind, **dict(_numbers(row))}, *cells))
    return element(
        "table",
        {"class": "data forest"},
        element("caption", {"class": "hidden-label"}, show(caption)),
        element("thead", None, element("tr", None, *heads)),
        element("tbody", None, *rows),
    )


def _numbers(row: Row) -> Iterator[tuple[str, str]]:
    for name, number in (("value", row.value), ("low", row.low), ("high", row.high)):
        if number is not None:
            yield f"data-{name}", repr(number)


def _find_axis(table: Table) -> tuple[float, float] | None:
    """The least and the greatest number of a table's plot; None where there is nothing to plot."""
    numbers = [number for row in table.rows for number in (row.value, row.low, row.high) if number is not None]
    ends = [each for each in [*numbers, *([0.0] if table.difference else [])] if math.isfinite(each)]
    return (min(ends), max(ends)) if numbers and min(ends) < max(ends) else None


def _strip(row: Row, low: float, high: float, *, table: Table) -> str:
    """The interval of a row as a line, its value as a dot; where there are differences, a mark at zero."""

    def place(number: float) -> float:
        return round(100 * (number - low) / (high - low), 2)

    def mark(kind: str, x: tuple[float, float], y: tuple[int, int], width: int) -> str:
        ends = {"x1": f"{x[0]}%", "x2": f"{x[1]}%", "y1": y[0], "y2": y[1]}
        return element("line", {"class": kind, **ends, "stroke": "currentColor", "stroke-width": width})

    marks = [mark("zero", (place(0), place(0)), (0, _HEIGHT), 1)] if table.difference else []
    if row.value is not None:
        ends = place(low if row.low is None else row.low), place(high if row.high is None else row.high)
        middle = _HEIGHT // 2
        marks.append(mark("interval", ends, (middle, middle), 2))
        where = {"cx": f"{place(row.value)}%", "cy": middle, "r": 4}
        marks.append(element("circle", {"class": "point", **where, "fill": "currentColor"}))
    return element("svg", {"class": "plot", "width": "100%", "height": _HEIGHT, "aria-hidden": "true"}, *marks)
