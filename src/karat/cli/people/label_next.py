"""``karat label-next``: the rows that people should label next."""

from __future__ import annotations

from typing import Any

import click

from karat.cli.options.scoring import scored_metric_option

_WAYS = ["uniform", "uncertainty", "disagreement", "slice", "active"]


@click.command("label-next")
@click.argument("run")
@click.option("-n", "--count", type=click.IntRange(min=1), required=True, help="How many rows to label.")
@click.option("-o", "--output", required=True, metavar="OUT", help="Write them to this file; its ending is the format.")
@scored_metric_option
@click.option(
    "--by", type=click.Choice(_WAYS), default="uniform", show_default=True,
    help="All rows alike; or rather those of uncertain scores, on which metrics disagree, of slices in which the judge "
    "errs, or at scores at which the labels so far found it to err.",
)  # fmt: skip
@click.option("--slice", "slices", metavar="COLUMN", help="The column of the slices, for --by slice.")
@click.option("--human", multiple=True, metavar="FILE", help="The labels so far: OUT takes their place.")
@click.option("--on", metavar="COLUMN", help="The id of the rows; default: a column with the name of an id.")
@click.option("--label-map", metavar="MAP", help="The score of each label: good=1,bad=0 or bad<fair<good.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the draw.")
def label_next(run: str, count: int, human: tuple[str, ...], output: str, **options: Any) -> None:
    """Propose which rows of RUN, a run or a scored file, people should label next for the narrowest interval.

    OUT has an empty column for the labels, and the probability with which each row was drawn: `karat score --human OUT`
    and `karat compare --human OUT` undo with it that some rows were preferred.

    \b
    karat label-next before -n 100 -o labels.csv
    karat label-next before -n 100 --by active -m judge:correctness --human labels.csv -o more.csv
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    from karat.runs.sampling.next_rows import label_next as propose  # noqa: PLC0415  (heavy)

    table = propose(run, count, human=list(human) or None, output=output, **options)
    earlier = table.column(0).slice(0, table.num_rows - count)  # the ids
    chances = table["probability"].slice(table.num_rows - count).to_pylist()
    kept = f" after the {len(set(earlier.to_pylist()))} that are labelled" if len(earlier) else ""
    click.echo(
        f"{output}: {count} rows to label{kept}, drawn with probabilities from {min(chances):.2g} to {max(chances):.2g}"
    )
