"""A table of figures: columns, rows of cells, a caption and notes. It is written as text, Markdown, LaTeX and HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from karat.stats.value import format_value, spell

RowKind: TypeAlias = Literal["value", "better", "worse", "equivalent", "no worse", "unclear"]
WORDS: dict[RowKind, str] = {
    "value": "", "better": "▲ better", "worse": "▼ worse",
    "equivalent": "◆ equivalent", "no worse": "△ no worse", "unclear": "○ unclear",
}  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A column: its heading, and the intervals' heading where these stand in a column of their own.

    `name`: its cells are names, at the left, and not numbers. `detail`: it is left out where there is little room.
    """

    heading: str
    interval: str = ""
    name: bool = False
    detail: bool = False


@dataclass(frozen=True)
class Cell:
    """A text, such as a number as it is written; `interval` are its ends, and `half` is half the width of these.

    `strong`: the best, as far as a test supports it. `mark`: raised letters or signs of significance.
    """

    text: str
    interval: str = ""
    half: str = ""
    strong: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Row:
    """A row; `part`: it is a part of the row above. `kind` is its verdict.

    `value`, `low` and `high` are the exact numbers of a plot.
    """

    cells: tuple[Cell | str, ...]
    kind: RowKind = "value"
    part: bool = False
    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Style:
    """How a format writes texts, strong ones, and raised ones; `plus_minus`: ± half the width for the interval."""

    escape: Callable[[str], str] = str
    strong: Callable[[str], str] = str
    raised: Callable[[str], str] = str
    plus_minus: bool = False


@dataclass(frozen=True)
class Table:
    """Rows under columns.

    `difference`: values are differences, and 0 means that nothing differs. `factor`: what values are multiplied with to
    be drawn, 100 for points. `label`: by which a text in LaTeX refers to it.

    >>> columns = Column("metric", name=True), Column("value", "95 % interval")
    >>> table = Table(columns, (Row(("f1", Cell("0.5", "0 to 1"))),))
    >>> table.headings(Style()), [*table.texts(Style())]
    (['metric', 'value', '95 % interval'], [['f1', '0.5', '0 to 1']])
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    caption: str = ""
    notes: tuple[str, ...] = ()
    difference: bool = False
    factor: float = 1.0
    label: str = ""

    @classmethod
    def of_texts(cls, headings: Iterable[str], rows: Iterable[Iterable[str]], *, names: int = 1) -> Table:
        """A table of texts, of which the first `names` columns are names."""
        columns = (Column(heading, name=at < names) for at, heading in enumerate(headings))
        return cls(tuple(columns), tuple(Row(tuple(cells)) for cells in rows))

    @property
    def names(self) -> int:
        """How many columns hold names; they are the first ones."""
        return sum(each.name for each in self.columns)

    @property
    def judged(self) -> bool:
        """Whether a row has a verdict."""
        return any(each.kind != "value" for each in self.rows)

    def headings(self, style: Style, *, detail: bool = False) -> list[str]:
        """The headings of the columns, as a format writes them."""
        headings = list[str]()
        for each in self._columns(detail=detail):
            ends = [each.interval] if each.interval else []
            if ends and style.plus_minus:
                headings.append(style.escape(f"{each.heading} ± half the {each.interval}"))
            else:
                headings += map(style.escape, [each.heading, *ends])
        return headings

    def texts(self, style: Style, *, detail: bool = False) -> Iterator[list[str]]:
        """The cells of each row, as a format writes them."""
        for row in self.rows:
            pairs = zip(self.columns, row.cells, strict=True)
            cells = ((column, cell) for column, cell in pairs if detail or not column.detail)
            yield [text for column, cell in cells for text in _write(column, cell, style)]

    def _columns(self, *, detail: bool) -> Iterable[Column]:
        return (each for each in self.columns if detail or not each.detail)


def _write(column: Column, cell: Cell | str, style: Style) -> Iterator[str]:
    """A cell, and its interval in a column of its own or beside it."""
    cell = Cell(cell) if isinstance(cell, str) else cell
    text = style.escape(cell.text)
    text = style.strong(text) if cell.strong else text
    text += style.raised(style.escape(cell.mark)) if cell.mark else ""
    if style.plus_minus and (column.interval or cell.interval):
        yield f"{text}{style.escape(f' ± {cell.half}')}" if cell.half else text
    elif column.interval:
        yield from (text, style.escape(cell.interval))
    else:
        ends = cell.interval.replace(" to ", ", ")
        yield f"{text} {style.escape(f'[{ends}]')}" if ends else text


def half_width(low: float | None, high: float | None) -> float | None:
    """Half the width of an interval; None where it has no end."""
    return None if low is None or high is None else (high - low) / 2


def spell_value(value: float | None, factor: float = 1.0) -> str:
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


def spell_estimate(value: float | None, low: float | None, high: float | None, factor: float = 1.0) -> Cell:
    """The cell of a value with its interval."""
    half = half_width(low, high)
    shown = "" if half is None else spell_value(half, factor)
    return Cell(spell_value(value, factor), spell_range(low, high, factor), shown)


def spell_p(p: float | None) -> str:
    """A p with four decimals.

    >>> spell_p(0.03), spell_p(1e-6), spell_p(None)
    ('0.0300', '< 0.0001', '?')
    """
    return "< 0.0001" if p is not None and p < 0.0001 else spell(p, ".4f")


def p_in_words(p: float | None, family: int) -> str:
    """A p that is corrected for a family of tests, in words.

    >>> p_in_words(0.0031, 4), p_in_words(None, 1)
    ('p = 0.0031 after Holm over 4', 'p is not known')
    """
    if p is None:
        return "p is not known"
    shown = "p < 0.0001" if p < 0.0001 else f"p = {spell(p, '.2g')}" if p < 0.995 else "p = 1"
    return f"{shown} after Holm over {family}" if family > 1 else shown
