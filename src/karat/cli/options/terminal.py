"""Lines and tables on a terminal, by rich."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text


class Terminal:
    """Standard output, with colours and wrapped lines; where it is a pipe, it is `pipe_width` columns wide."""

    def __init__(self, pipe_width: int) -> None:
        console = Console(highlight=False, emoji=False)
        self._console = console if console.is_terminal else Console(highlight=False, emoji=False, width=pipe_width)
        self.width = self._console.width

    def line(self, text: str, style: str = "") -> None:
        self._console.print(text, markup=False, style=style)

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]], *, left: int) -> None:
        table = Table(box=SIMPLE, pad_edge=False, show_edge=False)
        for number, heading in enumerate(headings):
            table.add_column(Text(heading), justify="left" if number < left else "right")
        for row in rows:
            table.add_row(*map(Text, row))
        self._console.print(table)
