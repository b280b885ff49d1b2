"""``karat agreement``: how far judges, people and metrics agree."""

from __future__ import annotations

import json
from typing import Any

import click

from karat.cli.options.numbers import Whole
from karat.cli.options.people import label_options, read_label_options
from karat.cli.options.scoring import confidence_option, scored_metric_option


@click.command()
@click.argument("system", metavar="ROWS")
@label_options
@click.option(
    "--on",
    metavar="COLUMN",
    help="The id that joins a file of labels with ROWS; default: one that tells the rows apart.",
)
@scored_metric_option
@click.option(
    "--column", "columns", multiple=True, metavar="COLUMN",
    help="A column of ROWS with scores or labels of another judge; without -m, only these are compared.",
)  # fmt: skip
@click.option(
    "--scale", type=click.Choice(["nominal", "ordinal", "interval"]), default="interval", show_default=True,
    help="Labels are names, have an order, or are numbers.",
)  # fmt: skip
@click.option("--by", metavar="COLUMN", help="Also for each value of this column.")
@click.option("--cluster", metavar="COLUMN", help="Rows that share its value are not independent.")
@click.option(
    "--errors", type=Whole(min=0), default=0, metavar="N",
    help="Show N rows of false praise, and N of false blame, for each score.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@confidence_option("Of the intervals.")
@click.option("--seed", type=Whole(min=0), default=0, show_default=True, help="Of a threshold's bootstrap.")
def agreement(system: str, *, as_json: bool, **options: Any) -> None:
    """Say how far the scores of ROWS agree with people's labels, people with each other, and scores with other scores.

    ROWS is a run, a file of scored rows, or any file with columns of scores or labels.

    \b
    karat agreement scored.parquet --human labels.csv --on id --label-map "good=1,bad=0" --errors 5
    karat agreement first -m judge:correctness --human labels.csv --on id --by topic
    karat agreement verdicts.csv --column gpt --human ada --human bob --label-map "Yes=1,No=0"
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    from karat.runs.agreement.agreement import agreement as find_agreement  # noqa: PLC0415  (heavy)

    label_map = options["label_map"]  # of --column too
    found = find_agreement(system, human=read_label_options(options), label_map=label_map, **options)
    if as_json:
        click.echo(json.dumps(found.as_dict(), ensure_ascii=False))
        return
    from karat.cli.options.agreement_table import print_agreement  # noqa: PLC0415  (heavy)

    print_agreement(found)
