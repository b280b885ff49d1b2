"""``karat power``: how many rows are needed to find a difference, and which one the rows at hand can show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from karat.cli.options.scoring import scored_metric_option

if TYPE_CHECKING:
    from karat.stats.paired.sample_size import SampleSize

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command()
@click.option(
    "--run", "runs", multiple=True, required=True, metavar="A",
    help="A run or a scored file; from a second one follows how much two systems differ on a row.",
)  # fmt: skip
@click.option(
    "--difference", type=click.FloatRange(0, min_open=True), required=True, metavar="D",
    help="The difference to find, such as 0.02.",
)  # fmt: skip
@scored_metric_option
@click.option("--power", type=_SHARE, default=0.8, show_default=True, help="The probability of finding it.")
@click.option("--level", type=_SHARE, default=0.05, show_default=True, help="The level of the test.")
@click.option(
    "--correlation", type=click.FloatRange(-1, 1, max_open=True), default=0.5, show_default=True,
    help="Between the scores of the run and of the next system; two runs show it.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def power(runs: tuple[str, ...], difference: float, *, as_json: bool, **options: Any) -> None:
    """Say how many rows are needed to find a difference between two systems, and what the rows at hand can see.

    \b
    karat power --run before --difference 0.02
    karat power --run before --run after --difference 0.02 -m token_f1 --power 0.9
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    if len(runs) > 2:
        raise click.UsageError(f"--run: expected one run or two, found {len(runs)}")
    from karat.runs.compare.rows_needed import plan_rows  # noqa: PLC0415  (heavy)

    plans = plan_rows(runs[0] if len(runs) == 1 else (runs[0], runs[1]), difference, **options)
    if as_json:
        click.echo(json.dumps({spec: plan.as_dict() for spec, plan in plans.items()}, ensure_ascii=False))
        return
    for spec, plan in plans.items():
        click.echo(f"{spec}: {_describe(plan)}")


def _describe(plan: SampleSize) -> str:
    assumed = "" if plan.correlation is None else f", if two systems correlate by {plan.correlation:g}"
    seen = "no difference is sure to be seen" if plan.smallest is None else f"{plan.smallest:.4f} can be seen"
    shown = f"{plan.rows} rows show a difference of {plan.difference:g} with a chance of {100 * plan.power:g} %"
    return f"{shown} at level {plan.level:g}{assumed}; with {plan.n} rows {seen}"
