"""A comparison on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from karat.cli.options.table import console
from karat.runs.compare.comparison import Compared, Finding
from karat.runs.compare.flips import Flip
from karat.stats.value import format_value

_TESTS = {"mcnemar": "McNemar", "sign_flip": "sign flips", "swap": "swaps"}
_STYLES = {"better": "green", "worse": "red", "unclear": ""}
_WIDE = 120  # columns of a terminal that hold the whole table
_LONG = 200  # characters of a text that are shown


def show(compared: Compared, by: str | None) -> None:
    """Print the table, what it comes to in words, and the rows that were asked for."""
    out = console()
    out.print(f"{compared.n} rows, compared row by row, by {compared.by}", markup=False, style="dim")
    for note in compared.notes:
        out.print(note, markup=False, style="dim")
    out.print(_table(compared, by, wide=out.width >= _WIDE))
    for finding in compared.findings:
        out.print(f"{finding.heading}: {finding.sentence}", markup=False, style=_STYLES[finding.verdict])
    for flip in compared.flipped:
        for line in _tell(flip, compared.systems[0]):
            out.print(line, markup=False)


def _table(compared: Compared, by: str | None, *, wide: bool) -> Table:
    """A line for each finding; where there is little room, without what the sentences say too."""
    several = len(compared.systems) > 2
    first, other = compared.systems[0], "system" if several else compared.systems[1]
    table = Table(box=SIMPLE, pad_edge=False, show_edge=False)
    for name in ("metric", *(("system",) if several else ()), *((by,) if by is not None else ())):
        table.add_column(Text(name))
    more, test = ((f"{100 * compared.confidence:g} % interval", "p"), ("test", "effect")) if wide else ((), ())
    for name in (first, other, "difference", *more, "p, Holm", "won/lost/tied", *test):
        table.add_column(Text(name), justify="right")
    for finding in compared.findings:
        names = [finding.metric, *([finding.system] if several else []), *([finding.slice or ""] if by else [])]
        table.add_row(*map(Text, [*names, *_cells(finding, wide=wide)]))
    return table


def _cells(finding: Finding, *, wide: bool) -> Iterator[str]:
    found = finding.comparison
    yield from (format_value(found.a), format_value(found.b), _signed(found.difference))
    if wide:
        yield from (f"{_signed(found.low)} – {_signed(found.high)}", _short(found.p))
    yield from (_short(finding.adjusted), f"{found.wins}/{found.losses}/{found.ties}")
    if wide:
        yield _TESTS[found.test]
        yield "" if found.effect is None else f"{'odds' if found.test == 'mcnemar' else 'd'} {found.effect:.2f}"


def _signed(value: float | None) -> str:
    return "?" if value is None else f"{value:+.4f}"


def _short(p: float | None) -> str:
    return "?" if p is None else "<0.0001" if p < 0.0001 else f"{p:.4f}"


def _tell(flip: Flip, first: str) -> Iterator[str]:
    asked = "" if flip.question in (None, flip.id) else f": {_cut(flip.question or '')}"
    yield f"\n{flip.metric}, {_cut(flip.id)}{asked}"
    for name, score, said in zip((first, flip.system), flip.scores, flip.predictions, strict=True):
        yield f"  {score:.4f}  {name}: {'(null)' if said is None else _cut(said)}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONG else f"{line[:_LONG]}…"
