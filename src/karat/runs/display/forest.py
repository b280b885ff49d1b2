"""A forest plot: values or differences with their intervals, one below the other on one axis.

It is a table with a column for the plot, so that labels wrap, figures can be copied, and a reader without eyes for the
plot loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from karat.runs.display.html import element, show
from karat.runs.display.svg import Axis, chart, grid, line, ticks
from karat.stats.corrected.corrected import Corrected
from karat.stats.value import Value, format_value, spell

Kind: TypeAlias = Literal["value", "better", "worse", "unclear"]
_HEIGHT, _MIDDLE, _SIZE = 24.0, 12.0, 4.5  # pixels
_BREAK = re.compile(r"(?<=[(,_])(?=\w)")  # where the spec of a metric may be broken
_COLOURS = {"better": "#2277b8", "worse": "#bb5a14"}  # where no style sheet says else; legible on white and black


@dataclass(frozen=True)
class Line:
    """One line: a label, a value, the ends of its interval, and the texts beside the plot.

    `reach` are the worst and the best value that it could have had; `part`: it is a part of the line above. `half` is
    half the width of its interval, as it is written, `strong` the number of the cell that a test supports: it is bold.
    """

    label: str
    value: float | None
    low: float | None
    high: float | None
    cells: tuple[str, ...] = ()
    kind: Kind = "value"
    reach: tuple[float | None, float | None] = (None, None)
    part: bool = False
    half: str = ""
    strong: int | None = None


@dataclass(frozen=True)
class Forest:
    """Lines on one axis.

    `headings` are those of the label, of the plot, and of each cell. `difference`: zero means that nothing differs.
    `factor`: what values are multiplied with on the axis, 100 for points. `estimate`: the number of the cell that holds
    the value; its interval is in the next one.
    """

    headings: tuple[str, ...]
    lines: tuple[Line, ...]
    difference: bool = False
    factor: float = 1.0
    estimate: int = 0

    @property
    def drawn(self) -> tuple[Line, ...]:
        """The lines in the unit of the axis."""
        return tuple(self._scale(each) for each in self.lines)

    @property
    def judged(self) -> bool:
        """Whether a line has a verdict."""
        return any(each.kind != "value" for each in self.lines)

    @property
    def axis(self) -> Axis:
        ends = [number for each in self.drawn for number in (each.value, each.low, each.high, *each.reach)]
        return Axis.over([*ends, *([0.0] if self.difference else [])])

    def _scale(self, line: Line) -> Line:
        numbers = (None if n is None else self.factor * n for n in (line.value, line.low, line.high, *line.reach))
        value, low, high, *reach = numbers
        return replace(line, value=value, low=low, high=high, reach=(reach[0], reach[1]))


def corrected_line(found: Corrected, cells: tuple[str, ...], half: str) -> Line:
    """The line of a value corrected by people, below the line that it corrects."""
    label = f"↳ corrected by people ({found.labelled} labels)"
    return Line(label, found.value, found.low, found.high, cells, part=True, half=half)


def half_width(low: float | None, high: float | None) -> float | None:
    """Half the width of an interval; None where it has no end."""
    return None if low is None or high is None else (high - low) / 2


def value_lines(
    label: str, value: Value, corrected: Corrected | None, *, bounds: bool, part: bool, factor: float = 1.0
) -> Iterator[Line]:
    """The line of a metric's value and, where people labelled, that of the corrected one.

    With `bounds` it has the worst and the best value that it could have had. `factor`: 100 writes values in points.
    """

    def spell(low: float | None, high: float | None) -> str:
        return spell_range(low, high, factor)

    cells = [spell_value(value.value, factor), spell(value.low, value.high), f"{value.n}", f"{value.failed}"]
    more = [spell(value.worst, value.best)] if bounds else []
    reach = (value.worst, value.best) if bounds else (None, None)
    half = spell_value(half_width(value.low, value.high), factor)
    yield Line(label, value.value, value.low, value.high, (*cells, *more), reach=reach, part=part, half=half)
    if corrected is not None and corrected.value is not None:
        shown = (spell_value(corrected.value, factor), spell(corrected.low, corrected.high), f"{corrected.n}", "")
        half = spell_value(half_width(corrected.low, corrected.high), factor)
        yield corrected_line(corrected, (*shown, *([""] if bounds else [])), half)


def value_headings(confidence: float, *, bounds: bool, factor: float) -> tuple[str, ...]:
    """The headings of a plot of values; `factor`: 100 where they are in points."""
    value, last = "points" if factor > 1 else "value", ["worst to best"] if bounds else []
    return ("metric", "", value, f"{100 * confidence:g} % interval", "n", "unscored", *last)


def spell_value(value: float | None, factor: float) -> str:
    """A value with four decimals, or in points with one."""
    return format_value(value) if value is None or factor == 1 else spell(value * factor, ".1f")


def spell_range(low: float | None, high: float | None, factor: float = 1.0) -> str:
    """Two ends, each as a value.

    >>> spell_range(0.25, 0.5), spell_range(0.25, 0.5, 100), spell_range(None, None)
    ('0.2500 to 0.5000', '25.0 to 50.0', '–')
    """
    if low is None and high is None:
        return "–"
    return f"{spell_value(low, factor)} to {spell_value(high, factor)}"


def forest_table(forest: Forest, caption: str) -> str:
    """The plot as a table; the exact numbers of each line are in its `data-` attributes.

    >>> table = forest_table(Forest(("metric", "", "value"), (Line("f1", 0.5, 0.4, 0.6, ("0.5",)),)), "Values")
    >>> table[:94]
    '<table class="data forest"><caption class="hidden-label">Values</caption><thead><tr><th scope='
    """
    axis, judged = forest.axis, forest.judged
    names = [*forest.headings, *(["verdict"] if judged else [])]
    figures = range(2, len(forest.headings))
    heads = (
        element("th", {"scope": "col", "class": "num" if at in figures else None}, show(name))
        for at, name in enumerate(names)
    )
    lines = zip(forest.lines, forest.drawn, strict=True)
    rows = (
        _row(each, _strip(drawn, axis, difference=forest.difference), names, judged=judged) for each, drawn in lines
    )
    foot = element("td", {"class": "strip"}, chart(20, ticks(axis, 0)))
    rest = (element("td") for _ in names[2:])
    return element(
        "table",
        {"class": "data forest"},
        element("caption", {"class": "hidden-label"}, show(caption)),
        element("thead", None, element("tr", None, *heads)),
        element("tbody", None, *rows),
        element("tfoot", {"aria-hidden": "true"}, element("tr", None, element("td"), foot, *rest)),
    )


def _row(line: Line, strip: Iterable[str], names: Sequence[str], *, judged: bool) -> str:
    named = zip(names[2:], line.cells, strict=False)
    cells = [element("td", {"class": "num", "data-name": name}, show(cell)) for name, cell in named]
    if judged:
        word = "" if line.kind == "value" else element("span", {"class": f"verdict {line.kind}"}, line.kind)
        cells.append(element("td", None, word))
    kind = "part" if line.part else None if any(line.cells) else "group"
    return element(
        "tr",
        {"class": kind, **{f"data-{name}": number for name, number in _numbers(line)}},
        element("th", {"scope": "row"}, element("bdi", None, "<wbr>".join(map(show, _BREAK.split(line.label))))),
        element("td", {"class": "strip"}, chart(_HEIGHT, strip)),
        *cells,
    )


def _numbers(line: Line) -> Iterator[tuple[str, str]]:
    for name, number in (("value", line.value), ("low", line.low), ("high", line.high)):
        if number is not None:
            yield name, repr(number)


def _strip(line_: Line, axis: Axis, *, difference: bool) -> Iterator[str]:
    """The grid, the interval and the value of a line."""
    yield from grid(axis, _HEIGHT, zero=difference)
    if line_.value is None:
        return
    colour = _COLOURS.get(line_.kind, "currentColor")
    marks = [*_stretch("reach", line_.reach, axis, 1), *_stretch("interval", (line_.low, line_.high), axis, 2)]
    marks.append(_point(line_.kind, axis.place(line_.value)))
    yield element("g", {"class": line_.kind, "stroke": colour, "fill": colour}, *marks)


def _stretch(kind: str, ends: Sequence[float | None], axis: Axis, width: float) -> Iterator[str]:
    """A line over the ends that are known; one that is not known is the end of the axis."""
    low, high = ends
    if low is not None or high is not None:
        places = axis.place(axis.low if low is None else low), axis.place(axis.high if high is None else high)
        yield line(kind, (min(places), max(places)), (_MIDDLE, _MIDDLE), width)


def _point(kind: Kind, place: float) -> str:
    """The mark of a value: a triangle up or down for better and worse, a ring for unclear, else a disc."""
    if kind in _COLOURS:
        up = _SIZE if kind == "better" else -_SIZE
        path = element("path", {"class": "point", "d": f"M-{_SIZE:g} {up:g}L0 {-up:g}L{_SIZE:g} {up:g}Z"})
        return element("svg", {"x": f"{place:g}%", "y": f"{_MIDDLE:g}", "overflow": "visible"}, path)
    where = {"cx": f"{place:g}%", "cy": f"{_MIDDLE:g}", "r": f"{_SIZE:g}"}
    return element("circle", {"class": "point", "fill": "Canvas" if kind == "unclear" else None, **where})
