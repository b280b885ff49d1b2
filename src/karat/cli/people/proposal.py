"""``karat label --next``: the rows that people should label next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from karat.cli.options.people import LabelOptions

if TYPE_CHECKING:
    from karat.runs.sampling.next_rows import By, Proposal

_GAIN = 1.05  # labels' worth of each label, from which a proposal is said to gain


def write_proposal(runs: Sequence[str], count: int, output: str, people: LabelOptions, by: By, **options: Any) -> None:
    """Write the rows of these runs that people should label next, and say how they were drawn."""
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
