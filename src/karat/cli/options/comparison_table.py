"""A comparison as lines and a table."""

from __future__ import annotations

from collections.abc import Iterator

from karat.cli.options.marked_rows import print_flips
from karat.cli.options.screen import open_screen
from karat.runs.compare.comparison import Compared
from karat.runs.compare.finding import Finding
from karat.stats.value import format_value, spell

_TESTS = {"mcnemar": "McNemar", "sign_flip": "sign flips", "swap": "swaps", "exceedance": "exceedance"}
_STYLES = {"better": "green", "worse": "red", "unclear": ""}
_WIDE = 120  # columns of a terminal that hold the whole table


def print_comparison(compared: Compared, by: str | None) -> None:
    """Print the table, a sentence for each of its lines, and the rows of `--flipped`."""
    screen = open_screen()
    screen.line(f"{compared.n} rows, compared row by row, by {compared.by}", "dim")
    for note in compared.notes:
        screen.line(note, "dim")
    several, wide = len(compared.systems) > 2, screen.width >= _WIDE
    names = ["metric", *(["system"] if several else []), *([] if by is None else [by])]
    first, other = compared.systems[0], "system" if several else compared.systems[1]
    p, test = (["p"], ["test", "effect"]) if wide else ([], [])
    interval = f"{100 * compared.confidence:g} % interval"
    rows = []
    for finding in compared.findings:
        labels = [*([finding.system] if several else []), *([] if by is None else [finding.slice or ""])]
        rows.append([finding.metric, *labels, *_cells(finding, wide=wide)])
    headings = [*names, first, other, "difference", interval, *p, "p, Holm", "won/lost/tied", *test]
    screen.table(headings, rows, left=len(names))
    for finding in compared.findings:
        screen.line(f"{finding.heading}: {finding.sentence}", _STYLES[finding.verdict])
        if finding.corrected_sentence is not None:
            style = _STYLES[finding.verdict_by_people or "unclear"]
            screen.line(f"{finding.heading}: {finding.corrected_sentence}", style)
    print_flips(screen, compared.flipped, first)


def _cells(finding: Finding, *, wide: bool) -> Iterator[str]:
    """The numbers of a finding; not the p before its correction and the test, where there is little room."""
    comparison = finding.comparison
    yield from (format_value(comparison.a), format_value(comparison.b), _signed(comparison.difference))
    yield f"{_signed(comparison.low)} – {_signed(comparison.high)}"
    if wide:
        yield _short(comparison.p)
    yield from (_short(finding.adjusted), f"{comparison.wins}/{comparison.losses}/{comparison.ties}")
    if wide:
        yield _TESTS[comparison.test]
        measure = "odds" if comparison.test == "mcnemar" else "d"
        yield "" if comparison.effect is None else f"{measure} {spell(comparison.effect, '.2f')}"


def _signed(value: float | None) -> str:
    return spell(value, "+.4f")


def _short(p: float | None) -> str:
    return "<0.0001" if p is not None and p < 0.0001 else spell(p, ".4f")
