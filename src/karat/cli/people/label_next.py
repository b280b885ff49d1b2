"""``karat label-next``: the rows that people should label next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from karat.cli.options.completion import COLUMN, OUT, ROWS
from karat.cli.options.numbers import Whole
from karat.cli.options.people import LabelOptions, label_options
from karat.cli.options.scoring import scored_metric_option

if TYPE_CHECKING:
    from karat.runs.sampling.next_rows import By, Proposal

_GAIN = 1.05  # labels' worth of each label, from which a proposal is said to gain


@click.command("label-next")
@click.argument("runs", type=ROWS, nargs=-1, required=True, metavar="RUN [RUN]...")
@click.option("-n", "--count", type=Whole(min=1), required=True, help="How many rows to label.")
@click.option("-o", "--output", required=True, type=OUT, help="Write them to this file; its ending is the format.")
@scored_metric_option
@click.option(
    "--by", type=click.Choice(["uniform", "uncertainty", "disagreement", "slice", "active"]), default="uniform",
    show_default=True,
    help="All rows alike; or rather rows of uncertain scores, on which metrics disagree, of slices in which the judge "
    "errs, or at scores at which the labels so far found it to err.",
)  # fmt: skip
@click.option("--slice", "slices", type=COLUMN, help="The column of the slices, for --by slice.")
@label_options
@click.option("--on", type=COLUMN, help="The id of the rows; default: one that tells the rows apart.")
@click.option("--show", multiple=True, type=COLUMN, help="A column to write; default: question, answer and gold.")
@click.option("--seed", type=Whole(min=0), default=0, show_default=True, help="Of the draw.")
def label_next(
    runs: tuple[str, ...],
    count: int,
    by: By,
    output: str,
    people: LabelOptions,
    **options: Any,
) -> None:
    """Propose which rows of RUN, a run or a file, people should label next for the narrowest interval.

    OUT takes the place of the labels so far (--human). It has an empty column for labels, and the probability with
    which each row was drawn: `karat score --human OUT` and `karat compare --human OUT` undo with it that some rows were
    preferred. How many rows drawn uniformly the proposed ones should be worth is printed. A uniform draw needs no
    scores.

    Of several runs, each row is proposed with the answers of all: those rows that say most about how far the others
    differ from the first.

    \b
    karat label-next before -n 100 -o labels.csv
    karat label-next before -n 100 --by active -m judge:correctness --human labels.csv -o more.csv
    karat label-next before after -n 50 -o labels.csv
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    labels = people.read(systems=runs if len(runs) > 1 else ())
    from karat.runs.sampling.next_rows import label_next as propose  # noqa: PLC0415  (heavy)

    proposal = propose(runs, count, by=by, human=labels, output=output, **options)
    kept = f" after the {proposal.earlier} that are labelled" if proposal.earlier else ""
    each = f", each with the answers of {' and '.join(runs)}" if len(runs) > 1 else ""
    least, most = min(proposal.probabilities), max(proposal.probabilities)
    shown = f"{count} rows to label{kept}{each}, drawn with probabilities from {least:.2g} to {most:.2g}"
    click.echo(f"{output}: {shown}")
    if proposal.missing:
        click.echo(f"and {proposal.missing} answers without a label to rows that are labelled in another run")
    if by != "uniform":
        click.echo(_describe_worth(proposal, count))
    for note in proposal.notes:
        click.echo(note)


def _describe_worth(proposal: Proposal, count: int) -> str:
    """How many rows drawn uniformly the proposed ones should be worth, as the labels show."""
    if not proposal.known:
        return "whether that gains over --by uniform is not known: labels of 10 rows or more (--human) show it"
    if proposal.worth is None:
        return "no gain over --by uniform: the labels so far show no error"
    worth = f"worth about {proposal.worth:.0f} rows drawn uniformly, as the labels of {proposal.earlier} rows show"
    return worth if proposal.worth >= _GAIN * count else f"no gain over --by uniform: {worth}"
