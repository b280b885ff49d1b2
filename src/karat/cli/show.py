"""``karat show``: the rows of a run to read, the worst first, with the words that differ from the gold marked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import click

if TYPE_CHECKING:
    from karat.runs.compare.scored_rows import Order

_MOST = 10
_COUNT = click.IntRange(min=1)


@click.command()
@click.argument("run")
@click.option(
    "--worst", type=_COUNT, metavar="N", help=f"The N rows with the worst scores; the default, with N = {_MOST}."
)
@click.option("--best", type=_COUNT, metavar="N", help="The N rows with the best scores.")
@click.option("--unscored", type=_COUNT, metavar="N", help="The first N rows without a score.")
@click.option("-m", "--metric", "spec", metavar="SPEC", help="The metric that ranks the rows; default: the first.")
@click.option("--where", metavar="SQL", help="Only rows for which this holds.")
@click.option("--show", "columns", multiple=True, metavar="COLUMN", help="Another column to show.")
@click.option("--whole", is_flag=True, help="Show long texts whole.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def show(
    run: str,
    spec: str | None,
    where: str | None,
    columns: tuple[str, ...],
    *,
    whole: bool,
    as_json: bool,
    **orders: Any,
) -> None:
    """Show rows of RUN, a run or a file of scored rows: question, gold, answer, scores, reason and a judge's verdict.

    Words of the answer that no gold answer has are marked {+so+}, words of the gold that the answer lacks [-so-]; in
    colour they are bold and underlined. Words are compared as the metric compares them.

    \b
    karat show first --worst 10
    karat show first --best 3 -m token_f1 --where "topic = 'geography'"
    karat show scored.parquet --unscored 20 --show contexts
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    counts = {order: count for order, count in orders.items() if count is not None} or {"worst": _MOST}
    if len(counts) > 1:
        raise click.UsageError(f"{' and '.join(f'--{order}' for order in counts)} exclude each other")
    from karat.cli.options.marked_rows import LONG, print_rows  # noqa: PLC0415  (heavy)
    from karat.cli.options.screen import open_screen  # noqa: PLC0415
    from karat.runs.compare.scored_rows import find_rows  # noqa: PLC0415
    from karat.runs.compare.systems import open_system  # noqa: PLC0415

    opened = open_system(run, metrics=spec or ())
    spec = opened.manifest.metric(spec or opened.specs[0]).spec
    ((order, count),) = counts.items()
    rows = find_rows(opened, spec, cast("Order", order), count, where, columns)
    if as_json:
        about = {"run": opened.name, "metric": spec, "order": order, "rows": [row.as_dict() for row in rows]}
        click.echo(json.dumps(about, ensure_ascii=False, default=str))
        return
    screen = open_screen()
    which = f"{order}" if order == "unscored" else f"with the {order} scores"
    screen.line(f"{opened.name}: {len(rows)} row{'s' * (len(rows) != 1)} {which} by {spec}", "dim")
    print_rows(screen, rows, spec, None if whole else LONG)
