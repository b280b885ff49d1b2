"""``karat show``: the rows of runs to read, the worst first, with the words that differ from the gold marked."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import click

from karat.cli.options.completion import COLUMN, ROWS, SCORED
from karat.cli.options.numbers import Whole
from karat.cli.options.sections import command

if TYPE_CHECKING:
    from karat.cli.options.printed import ShownOrder
    from karat.runs.compare.scored_rows import Order

_MOST = 10
_COUNT = Whole(min=1)


@command()
@click.argument("runs", type=ROWS, nargs=-1, required=True, metavar="RUN [RUN]...")
@click.option(
    "--worst", type=_COUNT, metavar="N", help=f"The N rows with the worst scores; the default, with N = {_MOST}."
)
@click.option("--best", type=_COUNT, metavar="N", help="The N rows with the best scores.")
@click.option("--unscored", type=_COUNT, metavar="N", help="The first N rows without a score.")
@click.option("--first", type=_COUNT, metavar="N", help="The first N rows by --order; of several runs the default.")
@click.option("--counts", "counted", is_flag=True, help="Count rows by what they share, and by score and difference.")
@click.option("-m", "--metric", "spec", type=SCORED, help="The metric that ranks the rows; default: the first.")
@click.option("--where", metavar="SQL", help="Only rows for which this holds; RUN.COLUMN names one of several runs.")
@click.option("--order", metavar="SQL", help="Of --first: SQL such as `length DESC, id`; default: as in the first RUN.")
@click.option("--on", type=COLUMN, help="The id that matches the rows of several runs.")
@click.option("--show", "columns", multiple=True, type=COLUMN, help="Another column to show.")
@click.option("--whole", is_flag=True, help="Show long texts whole.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def show(
    runs: tuple[str, ...],
    spec: str | None,
    where: str | None,
    order: str | None,
    on: str | None,
    columns: tuple[str, ...],
    *,
    counted: bool,
    whole: bool,
    as_json: bool,
    **counts: Any,
) -> None:
    """Show rows of RUN, a run or a file of scored rows: question, gold, answer, scores, reason and a judge's verdict.

    Rows of several runs are matched as `karat compare` matches them, and stand below each other.

    Words of the answer that no gold answer has are marked {+so+}, words of the gold that the answer lacks [-so-]; in
    colour they are bold and underlined. Words are compared as the metric compares them.

    \b
    karat show first --worst 10
    karat show first --best 3 -m f1 --where "topic = 'geography'"
    karat show scored.parquet --unscored 20 --show contexts
    karat show before after --where "after.em < before.em" --order "length(after.prediction) DESC"
    karat show before after --counts --where "topic = 'geography'"
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    if counted:
        if flags := [f"--{name}" for name, value in {**counts, "order": order, "show": columns}.items() if value]:
            raise click.UsageError(f"--counts shows no rows: leave out {' and '.join(flags)}")
        _count(runs, spec, where, on, as_json=as_json)
        return
    several, default = len(runs) > 1, "first" if order or len(runs) > 1 else "worst"
    chosen = {name: count for name, count in counts.items() if count is not None} or {default: _MOST}
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(f'--{name}' for name in chosen)} exclude each other")
    ((which, count),) = chosen.items()
    if default == "first" != which:
        reason = "is for one run" if several else "and --order exclude each other"
        raise click.UsageError(f"--{which} {reason}: --first {count} shows the first rows by --order")
    from karat.cli.options.marked_rows import LONG, print_rows  # noqa: PLC0415  (heavy)
    from karat.cli.options.screen import open_screen  # noqa: PLC0415
    from karat.runs.compare.scored_rows import find_matched_rows, find_rows  # noqa: PLC0415
    from karat.runs.match.match import match  # noqa: PLC0415
    from karat.runs.match.systems import open_systems  # noqa: PLC0415

    notes: tuple[str, ...] = ()
    opened = open_systems(runs, metrics=spec or ())
    specs = [run.manifest.metric(spec or run.specs[0]).spec for run in opened]
    if which == "first":
        matched = match(opened, on=on, cluster="none", allow_different=True, scored=False)
        rows, notes = find_matched_rows(matched, count, where, order, columns), tuple(matched.notes)
    else:
        rows = [(row,) for row in find_rows(opened[0], specs[0], cast("Order", which), count, where, columns)]
    names = [run.name for run in opened]
    if as_json:
        from karat.cli.options.printed import MatchedRows, ShownRows  # noqa: PLC0415  (heavy)

        order = cast("ShownOrder", which)
        shown = (
            MatchedRows(tuple(names), tuple(specs), order, tuple(rows), notes)
            if several
            else ShownRows(names[0], specs[0], order, tuple(row for (row,) in rows))
        )
        click.echo(json.dumps(shown.as_dict(), ensure_ascii=False, default=str))
        return
    screen = open_screen()
    ranked = f"with the {which} scores" if which in {"worst", "best"} else which
    how = f"{ranked} by {specs[0]}" if which != "first" else f"by {order}" if order else "from the first on"
    screen.line(f"{', '.join(names)}: {len(rows)} row{'s' * (len(rows) != 1)} {how}", "dim")
    for note in notes:
        screen.line(note, "dim")
    for each in rows:
        for name, row, spec_ in zip(names, each, specs, strict=True):
            named = replace(row, id=f"{row.id}   {name}") if several else row
            print_rows(screen, [named], spec_, None if whole else LONG)


def _count(runs: tuple[str, ...], spec: str | None, where: str | None, on: str | None, *, as_json: bool) -> None:
    from karat.cli.options.count_table import count_matched_rows, print_counts  # noqa: PLC0415  (heavy)
    from karat.cli.options.screen import open_screen  # noqa: PLC0415
    from karat.runs.match.systems import open_systems  # noqa: PLC0415

    opened = open_systems(runs, metrics=spec or ())
    names, chosen = [run.name for run in opened], opened[0].manifest.metric(spec or opened[0].specs[0]).spec
    counts = count_matched_rows(opened, chosen, where, on)
    if as_json:
        click.echo(json.dumps(counts.as_dict(), ensure_ascii=False))
        return
    screen = open_screen()
    screen.line(f"{', '.join(names)}: {counts.total:,} of {counts.n:,} rows", "dim")
    print_counts(screen, counts)
