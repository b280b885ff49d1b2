"""``karat gold``: which gold is probably wrong, ambiguous or incomplete?"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import click

from karat.cli.options.completion import COLUMN, FILE, ROWS, SCORED, SPEC
from karat.cli.options.numbers import Real, Whole
from karat.cli.options.scoring import confidence_option
from karat.cli.options.sections import command
from karat.cli.options.tables import TableFiles, file_option

_SHOWN = 100
_WAY = (
    "people can tell, from some of these rows: -o doubts.jsonl, karat label --gold doubts.jsonl -o patch.jsonl, then \
--gold-patch patch.jsonl here"
)


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
@click.option("--gold-patch", type=FILE, help="What people said of listed rows, of karat label --gold: it decides.")
@click.option("--on", type=COLUMN, help="The id that matches the rows of the systems.")
@click.option("--common", is_flag=True, help="Check the rows that all systems have; say how many were left out.")
@file_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@confidence_option("Of the intervals.")
def gold(systems: tuple[str, ...], *, table: TableFiles, as_json: bool, **options: Any) -> None:
    """Find rows whose gold is probably wrong, ambiguous or incomplete, from what systems answer.

    A system is a run, by its name or folder, or a file of scored rows, as for `karat compare`; all answer the same
    rows. Each row that is listed has the reasons against its gold. Answers alone seldom show that gold is wrong, as
    systems share mistakes: a row is reported if its answers agree more than those where the gold is confirmed, or its
    passages lack the gold as they never do elsewhere; --fdr is the share of such rows that may be right.

    People can tell. With -o FILE.jsonl, `karat label --gold FILE.jsonl -o PATCH` shows the listed rows in random order.
    After some of them, --gold-patch PATCH reports those that people found wrong, and others of which so many are.

    Of two systems it also says whether these rows change anything: what `karat compare` shows with them left out,
    patched (--gold-patch), or decided for the system that loses.

    \b
    karat gold a b c
    karat gold a b c d e -m em --first 100 -o doubts.jsonl
    karat gold a b c d e -m em --first 100 --gold-patch patch.jsonl
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
        shown = max(_SHOWN, options["first"])
        screen.table(replace(doubtful.table, rows=doubtful.table.rows[:shown]))
        if (more := len(doubtful.rows) - shown) > 0:
            screen.line(f"and {more} more that are reported: -o FILE has them", "dim")
    screen.line(doubtful.sentence)
    if doubtful.consequence is not None:
        screen.line(doubtful.consequence.sentence)
    if doubtful.rows and doubtful.share is None and not doubtful.reported:
        screen.line(_WAY, "dim")
