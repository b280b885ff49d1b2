"""Text and tables in lines of a width, which is counted in columns of a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len

from karat.cli.options.controls import show_controls

NARROWEST = 12
"""A name gets at least this many columns in a table; where the numbers leave less, there is a paragraph a row."""

_UNIT = re.compile(r"\s+|\S+?(?:[,;:/=(|_]+|(?<=\w)-|(?=\s|$))")
_WORD = re.compile(r"\s+|\S+")


def break_lines(text: str, width: int, *, whole_paths: bool = False) -> list[tuple[int, int]]:
    """Where each line of a text starts and ends, if none is wider than `width`; spaces between lines are in none.

    Lines end at spaces or after punctuation; what is wider than a line is cut between characters as a reader sees them.
    With `whole_paths` lines end only at spaces, and a path that is too wide stays whole, to be copied.

    >>> text = "token_f1(normalize=none) of 東京タワー"
    >>> [text[start:stop] for start, stop in break_lines(text, 10)]
    ['token_f1(', 'normalize=', 'none) of', '東京タワー']
    """
    lines, start = list[tuple[int, int]](), 0
    for line in text.split("\n"):
        stop = start + len(line)
        if cell_len(line) <= width:
            lines.append((start, stop))
        else:
            lines += _break_line(text, start, stop, width, whole_paths=whole_paths)
        start = stop + 1
    return lines


def wrap(text: str, width: int) -> list[str]:
    """The lines of a text, none wider than `width`."""
    return [text[start:stop] for start, stop in break_lines(text, width)]


def lay_out(headings: Sequence[str], rows: Iterable[Sequence[str]], *, left: int, width: int) -> Iterator[str]:
    """The lines of a table, none wider than `width`.

    The first `left` columns are names, aligned left; the others are numbers, aligned right, which are never cut. Where
    there is little room, headings and names are wrapped; where there is less, each row is a paragraph.

    >>> for line in lay_out(["metric", "value"], [["token_f1(normalize=none)", "0.8"]], left=1, width=20):
    ...     print(line)
    metric         value
    ────────────────────
    token_f1(        0.8
    normalize=
    none)
    """
    names, *cells = ([show_controls(cell) for cell in row] for row in (headings, *rows))
    for gap, fold in ((3, False), (3, True), (2, True)):
        room = width - gap * (len(names) - 1)
        if widths := _choose_widths(names, cells, left, room, fold=fold):
            yield from _draw(names, widths, left, gap)
            yield "─" * (sum(widths) + gap * (len(widths) - 1))
            for row in cells:
                yield from _draw(row, widths, left, gap)
            return
    for row in cells:
        labels = [f"{name}: {cell}" for name, cell in zip(names[1:left], row[1:left], strict=True) if cell]
        yield from wrap(", ".join([*filter(None, row[:1]), *labels]), width)
        yield from _flow(list(zip(names[left:], row[left:], strict=True)), width)


def _choose_widths(
    names: Sequence[str], cells: Sequence[Sequence[str]], left: int, room: int, *, fold: bool
) -> list[int] | None:
    """The width of each column, together at most `room`; None if they do not fit. With `fold` headings are wrapped."""
    headings = [_width(name) for name in names]
    if fold:
        units = (max(map(cell_len, _UNIT.findall(name)), default=0) for name in names)
        headings = [min(heading, unit, NARROWEST) for heading, unit in zip(headings, units, strict=True)]
    bodies = [max(map(_width, column)) for column in zip(*cells, strict=True)] or [0] * len(names)
    widths = [max(pair) for pair in zip(headings, bodies, strict=True)]
    while sum(widths) > room:
        widest = max(range(left), key=widths.__getitem__, default=None)
        if widest is None or widths[widest] <= NARROWEST:
            return None
        widths[widest] = max(NARROWEST, widths[widest] - max(1, (sum(widths) - room) // left))
    return widths


def _draw(row: Sequence[str], widths: Sequence[int], left: int, gap: int) -> Iterator[str]:
    for texts in zip_longest(*map(wrap, row, widths), fillvalue=""):
        padded = []
        for column, (text, width) in enumerate(zip(texts, widths, strict=True)):
            space = " " * (width - cell_len(text))
            padded.append(text + space if column < left else space + text)
        yield (" " * gap).join(padded).rstrip()


def _flow(pairs: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Headings with their cells, as many in a line as fit; a cell stands alone where its heading leaves no room."""
    line = ""
    for heading, cell in pairs:
        pair = f"{heading} {cell}"
        if not cell:
            continue
        if line and cell_len(f"{line}   {pair}") <= width and "\n" not in pair:
            line += f"   {pair}"
            continue
        if line:
            yield line
        line = f"  {pair}"
        if cell_len(line) > width or "\n" in cell:
            yield from (f"  {each}" for each in [*wrap(heading, width - 2), *wrap(cell, width - 2)])
            line = ""
    if line:
        yield line


def _width(cell: str) -> int:
    return max(map(cell_len, cell.split("\n")))


def _break_line(text: str, start: int, stop: int, width: int, *, whole_paths: bool) -> Iterator[tuple[int, int]]:
    first = end = start  # of the line in work
    used = 0
    for unit in (_WORD if whole_paths else _UNIT).finditer(text, start, stop):
        size = cell_len(unit[0])
        if used + size <= width:
            end, used = unit.end(), used + size
            continue
        if unit[0].isspace():
            yield first, end
            first = end = unit.end()
            used = 0
            continue
        if end > first:
            yield first, start + len(text[start:end].rstrip())
        first, end, used = unit.start(), unit.end(), size
        if size > width and not (whole_paths and "/" in unit[0]):
            *full, (first, end) = _cut(text, unit.start(), unit.end(), width)
            yield from full
            used = cell_len(text[first:end])
    if end > first:
        yield first, end


def _cut(text: str, start: int, stop: int, width: int) -> list[tuple[int, int]]:
    """The lines of a text without spaces, cut between graphemes."""
    import regex  # noqa: PLC0415  (a fortieth of the start of a command, which may not need it)

    lines, first, used = list[tuple[int, int]](), start, 0
    for each in regex.finditer(r"\X", text, pos=start, endpos=stop):
        size = cell_len(each[0])
        if used + size > width and used:
            lines.append((first, each.start()))
            first, used = each.start(), 0
        used += size
    return [*lines, (first, stop)]
