"""A comparison as lines and a table."""

from __future__ import annotations

from karat.cli.options.marked_rows import print_flips
from karat.cli.options.screen import open_screen
from karat.runs.compare.comparison import Compared

_STYLES = {"better": "green", "worse": "red", "unclear": ""}


def print_comparison(compared: Compared, by: str | None) -> None:
    """Print the table, a sentence for each of its lines, and the rows of `--flipped`."""
    screen = open_screen()
    screen.line(f"{compared.n} rows, compared row by row, by {compared.by}", "dim")
    for note in compared.notes:
        screen.line(note, "dim")
    screen.table(compared.table(), by)
    for finding in compared.findings:
        screen.line(f"{finding.heading}: {finding.sentence}", _STYLES[finding.verdict])
        if finding.corrected_sentence is not None:
            style = _STYLES[finding.verdict_by_people or "unclear"]
            screen.line(f"{finding.heading}: {finding.corrected_sentence}", style)
    print_flips(screen, compared.flipped, compared.systems[0])
