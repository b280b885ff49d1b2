"""``karat gold``: which gold is probably wrong, ambiguous or incomplete?"""

from __future__ import annotations

import json
from typing import Any

import click

from karat.cli.options.completion import COLUMN, FILE, ROWS, SCORED, SPEC
from karat.cli.options.numbers import Real, Whole
from karat.cli.options.scoring import confidence_option
from karat.cli.options.sections import command
from karat.cli.options.tables import TableFiles, table_options


@command()
@click.argument("systems", type=ROWS, nargs=-1, required=True, metavar="A [B]...")
@click.option("-m", "--metric", type=SCORED, help="Which answers are the gold; default: the first that was scored.")
@click.option("--judge", type=SCORED, help="A judge that was scored: what it accepts and the metric does not.")
@click.option("--alike", type=SPEC, help="Which answers mean the same; default: equal words, numbers and dates.")
@click.option(
    "--fdr", type=Real(0, 1, min_open=True, max_open=True), metavar="SHARE", default=0.1, show_default=True,
    help="Of the rows that are reported, this share may be right, on average.",
)  # fmt: skip
@click.option(
    "--first", type=Whole(min=0), metavar="N", default=20, show_default=True,
    help="List the N most doubtful rows in any case.",
)  # fmt: skip
@click.option("--gold-patch", type=FILE, help="Also compare two systems with this gold, of karat label --gold.")
@click.option("--on", type=COLUMN, help="The id that matches the rows of the systems.")
@click.option("--common", is_flag=True, help="Check the rows that all systems have; say how many were left out.")
@table_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@confidence_option("Of the intervals.")
def gold(systems: tuple[str, ...], *, table: TableFiles, as_json: bool, **options: Any) -> None:
    """Find rows whose gold is probably wrong, ambiguous or incomplete, from what systems answer.

    A system is a run, by its name or folder, or a file of scored rows, as for `karat compare`; all answer the same
    rows. Each row that is listed has the reasons against its gold, and a doubt: the share of rows like it whose gold is
    wrong. Rows are reported if their answers agree more than chance and common mistakes explain, as rows show whose
    gold is confirmed; --fdr is the share of these that may be right. With -o FILE.jsonl, `karat label --gold FILE`
    shows them to people.

    Of two systems it also says whether these rows change anything: what `karat compare` shows with them left out,
    patched (--gold-patch), or decided for the system that loses.

    \b
    karat gold a b c
    karat gold a b c d e -m em --fdr 0.2 -o doubts.jsonl
    karat gold a --judge judge:correctness
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    from karat.cli.options.screen import open_screen  # noqa: PLC0415  (heavy)
    from karat.runs.gold.check import gold as check_gold  # noqa: PLC0415

    table.check(*systems)
    doubtful = check_gold(*systems, **options)
    table.write(doubtful)
    if as_json:
        click.echo(json.dumps(doubtful.as_dict(), ensure_ascii=False))
        return
    screen = open_screen()
    matched = f"{doubtful.n} rows, matched by {doubtful.by}"
    screen.line(f"{matched}; {doubtful.metric} says which answers are the gold", "dim")
    for note in doubtful.notes:
        screen.line(note, "dim")
    if doubtful.rows:
        screen.table(doubtful.table)
    screen.line(doubtful.sentence)
    if doubtful.consequence is not None:
        screen.line(doubtful.consequence.sentence)
    if (expected := doubtful.expected).value is not None:
        wrong = f"{expected.value:.1f} ({expected.low:.1f} to {expected.high:.1f})"
        screen.line(f"of the {expected.n} rows with a doubt in this list, {wrong} are expected to have wrong gold")
