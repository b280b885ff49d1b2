"""``karat report``: runs, and how they differ, as one HTML file."""

from __future__ import annotations

from typing import Any

import click

from karat.cli.options.completion import COLUMN, FILE, ROWS
from karat.cli.options.gates import margin_option
from karat.cli.options.numbers import Whole
from karat.cli.options.people import LabelOptions, correction_options
from karat.cli.options.scoring import cluster_option, confidence_option, scored_metric_option, seed_option
from karat.cli.options.sections import command
from karat.cli.options.tables import bundle_option


@command()
@click.argument("runs", type=ROWS, nargs=-1, required=True, metavar="RUN...")
@click.option("-o", "--output", default="report.html", show_default=True, type=FILE, help="The page to write.")
@click.option("--overwrite", is_flag=True, help="Replace any file; else only a report on the same runs is replaced.")
@click.option("--title", metavar="TEXT", help="The title; default: the names of the runs.")
@click.option(
    "--rows", type=Whole(min=0), default=500, show_default=True, metavar="N",
    help="At most N rows are in the file: half of them those that differ most.",
)  # fmt: skip
@click.option(
    "--no-texts", is_flag=True,
    help="Leave out questions, gold, answers and what judges say; ids and names of files stay.",
)  # fmt: skip
@click.option("--redact", multiple=True, type=COLUMN, help="Leave out a column, its name too.")
@scored_metric_option
@click.option("--by", type=COLUMN, help="Also report for each value of this column.")
@cluster_option
@click.option("--on", type=COLUMN, help="The id that matches the rows of the runs.")
@click.option("--allow-different", is_flag=True, help="Compare even runs whose metrics, settings or gold differ.")
@margin_option
@bundle_option
@correction_options
@confidence_option(
    "Of all intervals; 1 minus it is the level of the tests. Default: 0.95; for a single run as in its scoring.", None
)
@seed_option("Of the random numbers. Default: 0; for a single run its own.", None)
def report(runs: tuple[str, ...], *, output: str, no_texts: bool, people: LabelOptions, **options: Any) -> None:
    """Write one HTML file about RUN, or about how several differ from the first.

    It needs nothing else, fetches nothing, and can be sent by mail: the verdict in a sentence, values with intervals,
    differences by slice, how scores are spread, rows to search and sort, and how everything was measured. A run is
    named as in `karat compare`.

    \b
    karat report before after -o report.html
    karat report before after --by topic --title "Does the new prompt help?"
    karat report before after --no-texts --redact customer
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    from karat.viewer.report.report import report as write_report  # noqa: PLC0415  (heavy)

    options["human"] = people.read(systems=runs)
    click.echo(f"wrote {write_report(*runs, output=output, texts=not no_texts, **options)}", err=True)
