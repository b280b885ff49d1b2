"""Standard output as lines and tables: with colours on a terminal, plain in a pipe.

Only a terminal needs rich, whose import takes longer than scoring a small file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from karat.cli.options.terminal import Terminal

WIDTH = 1_000  # columns of a pipe: enough for every table


def open_screen() -> Pipe | Terminal:
    """Standard output, as a terminal where it is one or an environment variable asks for colours."""
    plain = not (sys.stdout.isatty() or os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE"))
    if plain and (sys.stdout.encoding or "").lower().startswith("utf"):
        return Pipe()
    from karat.cli.options.terminal import Terminal  # noqa: PLC0415  (slow to import)

    return Terminal(WIDTH)


class Pipe:
    """Plain text: nothing is coloured, wrapped or cut."""

    width = WIDTH

    def line(self, text: str, style: str = "") -> None:  # noqa: ARG002  (a pipe has no colours)
        """Print a text; `style` is a colour or `dim`."""
        click.echo(text)

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]], *, left: int) -> None:
        """Print a table whose first `left` columns are aligned left, the others right."""
        from rich.cells import cell_len  # noqa: PLC0415  (the width of a text on a screen; alone it is quick to import)

        cells = [[cell.split("\n") for cell in row] for row in (headings, *rows)]
        widths = [max(cell_len(line) for lines in column for line in lines) for column in zip(*cells, strict=True)]
        for number, row in enumerate(cells):
            for at in range(max(map(len, row))):
                texts = [lines[at] if at < len(lines) else "" for lines in row]
                padded = []
                for column, (text, width) in enumerate(zip(texts, widths, strict=True)):
                    space = " " * (width - cell_len(text))
                    padded.append(text + space if column < left else space + text)
                click.echo("   ".join(padded))
            if number == 0:
                click.echo("─" * (sum(widths) + 3 * (len(widths) - 1)))
