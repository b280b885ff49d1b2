"""``karat compare``: is the difference between two systems real?"""

from __future__ import annotations

import json
from typing import Any

import click

from karat.cli.options.completion import COLUMN, ROWS
from karat.cli.options.deciding import DecidingOptions, deciding_options
from karat.cli.options.gates import UNDER, WORSE, fail, margin_option, no_worse_option
from karat.cli.options.governor import ModelOptions
from karat.cli.options.models import model_options
from karat.cli.options.numbers import Whole
from karat.cli.options.people import LabelOptions, correction_options
from karat.cli.options.ranking import RankOptions, rank, rank_options
from karat.cli.options.scoring import cluster_option, confidence_option, scored_metric_option, seed_option
from karat.cli.options.sections import command
from karat.cli.options.tables import TableFiles, bundle_option, table_options


@command()
@click.argument("systems", type=ROWS, nargs=-1, metavar="A B [C]...")
@scored_metric_option
@click.option("--by", type=COLUMN, help="Also compare for each value of this column.")
@cluster_option
@click.option("--on", type=COLUMN, help="The id that matches the rows of the systems.")
@click.option(
    "--flipped", type=Whole(min=0), default=0, metavar="N",
    help="Show N rows on which a system does worst against A, and N on which it does best.",
)  # fmt: skip
@table_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@bundle_option
@click.option("--common", is_flag=True, help="Compare the rows that all systems have; say how many were left out.")
@click.option("--allow-different", is_flag=True, help="Compare even runs whose metrics, settings or gold differ.")
@margin_option
@click.option(
    "--fail-if-worse", is_flag=True,
    help=f"Exit with {WORSE} if a system is worse than A in any metric or slice, corrected for all tests (Holm). With "
    "--human the differences corrected by people decide.",
)  # fmt: skip
@no_worse_option
@deciding_options
@model_options
@rank_options
@correction_options
@confidence_option("Of the intervals; 1 minus it is the level of the tests.")
@seed_option("Of the random numbers.")
def compare(
    systems: tuple[str, ...],
    *,
    table: TableFiles,
    people: LabelOptions,
    ranking: RankOptions,
    rule: DecidingOptions,
    asking: ModelOptions,
    as_json: bool,
    fail_if_worse: bool,
    margin: dict[str, float] | None,
    no_worse: dict[str, float] | None,
    flipped: int,
    bundle: str | None,
    **options: Any,
) -> None:
    """Compare systems on the same rows, each with the first, A; or rank them.

    A system is a run, by its name or folder, or a file of scored rows (`karat score -o`). Every metric of every system
    gets a paired test; p is corrected for all of them (Holm). With --rank every pair of systems is tested: systems
    that share a letter do not differ significantly, and each has, beside its rank, the ranks that it may have.
    --verdicts ranks by verdicts on pairs of answers. With --until a judge is asked about both answers to each row, in a
    random order, until the rule ends it; the interval of the difference holds whenever one looks.

    \b
    karat compare before after
    karat compare before after -m f1 --by topic --flipped 5
    karat compare large small --margin 0.02
    karat compare a.jsonl b.jsonl -m judge:correctness --model NAME --until decided --margin 0.02 --run first
    karat compare before.parquet after.parquet --on question --fail-if-worse
    karat compare before after -o table.tex --percent
    karat compare runs/* --rank -m f1
    karat compare --verdicts battles.csv --map a=model_a --map b=model_b --cluster question_id
    karat compare before after --human before=labels_a.csv --human after=labels_b.csv --label-map good=1,bad=0
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    if len(systems) < 2 and ranking.verdicts is None:
        raise click.UsageError("expected at least two systems: karat compare A B")
    if ranking:
        others = {"--human": people.human, "--fail-if-worse": fail_if_worse, "--flipped": flipped,
                  "--margin": margin, "--fail-unless-no-worse": no_worse, "--until": rule,
                  "--bundle": bundle}  # fmt: skip
        if flags := [name for name, value in others.items() if value]:
            raise click.UsageError(f"{flags[0]} compares each system with A: leave --rank away")
        rank(systems, ranking, table, people.label_map, as_json=as_json, **options)
        return
    from karat.runs.compare.compare import compare as compare_systems  # noqa: PLC0415  (heavy)

    options["human"] = people.read(systems=systems)
    table.check(*systems)
    options |= {"flipped": flipped, "margin": _join_margins(margin, no_worse)}
    with rule.ask(systems, asking, options) as arguments:
        if arguments is None:  # a rehearsal
            return
        compared = compare_systems(*systems, **arguments)
    if bundle is not None:
        from dataclasses import replace  # noqa: PLC0415

        from karat.runs.export.bundle.cite import cite_bundle  # noqa: PLC0415
        from karat.runs.match.systems import open_systems  # noqa: PLC0415

        compared = replace(compared, bundle=cite_bundle(bundle, open_systems(systems)))
    table.write(compared)
    if as_json:
        click.echo(json.dumps(compared.as_dict(), ensure_ascii=False))
    else:
        from karat.cli.options.result_table import print_comparison  # noqa: PLC0415  (heavy)

        print_comparison(compared, by=options["by"])
    if fail_if_worse:
        fail((f"{each.heading}: {each.decisive_sentence}" for each in compared.worse), WORSE)
    if no_worse is not None:
        from karat.core.metric.spec import match_spec  # noqa: PLC0415  (heavy)

        specs = {each.metric for each in compared.findings}
        gated = specs if "" in no_worse else {match_spec(spec, specs) for spec in no_worse}
        lines = (f"{each.heading}: {each.decisive_sentence}" for each in compared.not_shown if each.metric in gated)
        fail(lines, UNDER)
    for finding in compared.findings:
        if finding.slice is None and (not finding.comparison.scored or (fail_if_worse and not finding.known)):
            raise click.ClickException(f"{finding.heading}, {finding.system}: {finding.sentence}")


def _join_margins(margin: dict[str, float] | None, no_worse: dict[str, float] | None) -> dict[str, float] | None:
    """The margins to test, of which a gate names some; raises `UsageError` where both name another one of a metric."""
    for spec, size in (no_worse or {}).items():
        if (margin or {}).get(spec, size) != size:
            raise click.UsageError(f"--margin and --fail-unless-no-worse: one margin of {spec or 'a metric'} expected")
    return {**(margin or {}), **(no_worse or {})} or None
