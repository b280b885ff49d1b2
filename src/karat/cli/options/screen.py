"""Standard output as lines and tables: as wide as a terminal, and in colour there.

A pipe gets lines of any length without colours. `COLUMNS` sets the width of both; `NO_COLOR` forbids colours, and
`FORCE_COLOR` or `TTY_COMPATIBLE` asks for them in a pipe.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click
from rich.cells import cell_len

from karat.cli.options.controls import show_controls
from karat.cli.options.layout import break_lines, lay_out

if TYPE_CHECKING:
    from karat.runs.table.table import Table

Tint: TypeAlias = Literal["", "dim", "yellow", "green", "red", "added", "removed"]
_STYLES: dict[Tint, dict[str, Any]] = {
    "dim": {"dim": True},
    "yellow": {"fg": "yellow"},
    "green": {"fg": "green"},
    "red": {"fg": "red"},
    "added": {"fg": "green", "bold": True, "underline": True},
    "removed": {"fg": "red", "bold": True, "underline": True},
}
_WIDE = 120  # columns that hold the details of a table
LEAST = 20  # columns for a text beside its label; where there are fewer, it stands below


def open_screen() -> Screen:
    """Standard output, with the width and the colours that it can show."""
    terminal = sys.stdout.isatty()
    columns = os.environ.get("COLUMNS", "")
    sized = terminal or (columns.isdecimal() and int(columns) > 0)
    forced = any(os.environ.get(name) for name in ("FORCE_COLOR", "TTY_COMPATIBLE"))
    shown = terminal and os.environ.get("TERM") != "dumb"
    colour = (forced or shown) and not os.environ.get("NO_COLOR")
    return Screen(shutil.get_terminal_size().columns if sized else sys.maxsize, colour)


@dataclass(frozen=True)
class Screen:
    """Lines and tables that are at most `width` columns wide, in colour or not."""

    width: int
    colour: bool

    def line(
        self, text: str, style: Tint = "", *, label: str = "", marked: Sequence[tuple[int, int]] | None = None
    ) -> None:
        """Print a text, wrapped between words; a path stays whole.

        With `label`, that stands before the text, further lines are indented by its
        width, and paths are cut. `marked`: only these ranges of the text have the style.
        """
        text, paths = show_controls(text), not label
        if paths:
            label = " " * (len(text) - len(text.lstrip(" ")))
            text = text[len(label) :]
        elif self.width - cell_len(label) < LEAST:
            self.line(label)
            label = "    "
        indent = " " * cell_len(label)
        for start, stop in break_lines(text, max(self.width - len(indent), LEAST), whole_paths=paths):
            self._print(label + self._style(text, start, stop, style, marked))
            label = indent

    def table(self, table: Table, by: str | None = None) -> None:
        """Print a table; its details only where there is room for them. `by`: the column of its slices."""
        from karat.runs.table.table import Style  # noqa: PLC0415  (heavy)

        wide, style = self.width >= _WIDE, Style()
        texts = zip(table.rows, table.texts(style, detail=wide), strict=True)
        rows = ([f"  {first}" if row.part else first, *others] for row, (first, *others) in texts)
        name, *headings = table.headings(style, detail=wide)
        headings = [f"{name}, {by}" if by else name, *headings]
        for line in lay_out(headings, rows, left=table.names, width=self.width):
            self._print(line)

    def _style(self, text: str, start: int, stop: int, style: Tint, marked: Sequence[tuple[int, int]] | None) -> str:
        if not (self.colour and style):
            return text[start:stop]
        shown, at = "", start
        for low, high in [(start, stop)] if marked is None else marked:
            first, last = max(low, at), min(high, stop)
            if first < last:
                shown += text[at:first] + click.style(text[first:last], **_STYLES[style])
                at = last
        return shown + text[at:stop]

    def _print(self, line: str) -> None:
        try:
            line.encode(sys.stdout.encoding or "utf-8")
        except UnicodeEncodeError:
            line = line.replace("─", "-")
        click.echo(line, color=self.colour)
