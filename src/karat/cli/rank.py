"""``karat rank``: the order of many systems, and what of it the data supports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from karat.cli.options.completion import COLUMN, FILE, ROWS
from karat.cli.options.scoring import cluster_option, confidence_option, map_option, scored_metric_option, seed_option
from karat.cli.options.sections import command
from karat.cli.options.tables import TableFiles, table_options

if TYPE_CHECKING:
    from karat.runs.compare.ranked import Ranked

_TESTS = {
    "mcnemar": "McNemar's test",
    "student": "Student's paired test",
    "exceedance": "test of exceedance",
    "wald": "Wald's test",
}


@command()
@click.argument("systems", type=ROWS, nargs=-1, metavar="[SYSTEM]...")
@scored_metric_option
@click.option("--by", type=COLUMN, help="Also rank for each value of this column.")
@cluster_option
@click.option("--on", type=COLUMN, help="The id that matches the rows of the systems.")
@click.option("--common", is_flag=True, help="Rank on the rows that all systems have; say how many were left out.")
@click.option("--allow-different", is_flag=True, help="Rank even runs whose metrics, settings or gold differ.")
@click.option("--verdicts", type=FILE, help="Rank by verdicts on pairs: a row with systems a, b and the winner.")
@map_option("Which column of --verdicts is a, b, winner.")
@click.option("--label-map", metavar="MAP", help="What labels of --verdicts are: win=1,loss=0,draw=0.5 of the first.")
@click.option("--no-order-effect", is_flag=True, help="Do not estimate what standing first does to the verdicts.")
@click.option(
    "--correction", type=click.Choice(["holm", "bh"]), default="holm", show_default=True,
    help="Of p for the number of pairs: Holm, or Benjamini and Hochberg, which separates more and errs more.",
)  # fmt: skip
@click.option("--pairs", is_flag=True, help="Show every pair of systems with its test.")
@table_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@confidence_option("Of the intervals and the sets of ranks; 1 minus it is the level of the tests.")
@seed_option("Of the random numbers.")
def rank(
    systems: tuple[str, ...],
    *,
    pairs: bool,
    table: TableFiles,
    as_json: bool,
    **options: Any,
) -> None:
    """Rank systems that were scored on the same rows, or by verdicts on pairs of their answers.

    A system is a run, by its name or folder, or a file of scored rows (`karat score -o`). Systems that share a letter
    are not separated by the data; beside its rank, each system has the ranks that it may really have.

    \b
    karat rank first second third
    karat rank runs/* -m token_f1 --by topic --json
    karat rank first second third -o table.tex --percent
    karat rank a.csv b.csv c.csv --on id -m "column(score)"
    karat rank --verdicts battles.csv --map a=model_a --map b=model_b --cluster question_id
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    table.check(*systems, options["verdicts"])
    ranked = _rank_verdicts(systems, options) if options["verdicts"] is not None else _rank(systems, options)
    table.write(ranked)
    if as_json:
        click.echo(json.dumps(ranked.as_dict(), ensure_ascii=False))
    else:
        _print(ranked, pairs=pairs)
    for each in ranked.rankings:
        if each.slice is None and not each.scored:
            raise click.ClickException(f"nothing was ranked by {each.metric}: no row is scored in all systems")


def _print(ranked: Ranked, *, pairs: bool) -> None:
    """Print each ranking: the systems, the best first, with their groups, and with `pairs` every pair."""
    from karat.cli.options.screen import open_screen  # noqa: PLC0415  (heavy)
    from karat.runs.compare.ranked import METHODS  # noqa: PLC0415

    screen = open_screen()
    if ranked.by is not None:
        screen.line(f"{ranked.rankings[0].n} rows, matched by {ranked.by}", "dim")
    for note in ranked.notes:
        screen.line(note, "dim")
    for ranking, table in zip(ranked.rankings, ranked.tables(), strict=True):
        screen.line(f"{ranking.heading}: {ranking.scored} {'rows' if ranked.by else 'verdicts'}")
        screen.table(table)
        every = ranking.pairs
        separated = sum(each.separated for each in every)
        level, corrected = f"{1 - ranked.confidence:g}", f"p corrected for {ranked.family} tests"
        tests = " or ".join(_TESTS[test] for test in sorted({each.test for each in every}))
        screen.line(
            f"{separated} of {len(every)} pairs are separated: {tests}, {corrected} "
            f"({METHODS[ranked.correction]}) at most {level}; systems that share a letter do not differ "
            "significantly"
        )
        if pairs:
            screen.table(ranked.pair_table(ranking))


def _rank(systems: tuple[str, ...], options: dict[str, Any]) -> Any:
    from karat.runs.compare.rank import rank as rank_systems  # noqa: PLC0415  (heavy)

    _refuse(options, ["map", "label_map", "no_order_effect"], "says how verdicts are read: --verdicts FILE")
    if len(systems) < 2:
        raise click.UsageError("expected at least two systems, karat rank A B, or --verdicts FILE")
    names = ("metrics", "by", "cluster", "on", "common", "allow_different", "correction", "confidence", "seed")
    return rank_systems(*systems, **{name: options[name] for name in names})


def _rank_verdicts(systems: tuple[str, ...], options: dict[str, Any]) -> Any:
    from karat.runs.compare.verdicts import rank_verdicts  # noqa: PLC0415  (heavy)

    if systems:
        raise click.UsageError(f"--verdicts FILE names the systems itself, found {', '.join(systems)} beside it")
    _refuse(options, ["metrics", "by", "on", "common", "allow_different"], "is of scored rows, and not of --verdicts")
    return rank_verdicts(
        options["verdicts"],
        order_effect=not options["no_order_effect"],
        **{name: options[name] for name in ("map", "label_map", "cluster", "correction", "confidence")},
    )


def _refuse(options: dict[str, Any], names: list[str], why: str) -> None:
    """Raise `UsageError` for an option that has no meaning here."""
    for name in names:
        if options[name]:
            raise click.UsageError(f"--{name.replace('_', '-').replace('metrics', 'metric')} {why}")
