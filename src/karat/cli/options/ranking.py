"""``karat compare --rank``: the order of many systems, and what of it the data supports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from karat.cli.options.completion import FILE
from karat.cli.options.scoring import map_option, option_group
from karat.cli.options.sections import options_under
from karat.cli.options.tables import TableFiles

if TYPE_CHECKING:
    from karat.runs.compare.ranking.ranked import Ranked

_TESTS = {
    "mcnemar": "McNemar's test",
    "student": "Student's paired test",
    "exceedance": "test of exceedance",
    "wald": "Wald's test",
}
option = options_under("Ranking")
_OPTIONS = [
    option("--rank", "wanted", is_flag=True, help="Rank the systems: test every pair, instead of each against A."),
    option("--pairs", is_flag=True, help="Rank, and show every pair of systems with its test."),
    option(
        "--correction", type=click.Choice(["holm", "bh"]),
        help="Of p for the number of pairs: Holm, the default, or Benjamini and Hochberg, which separates more and "
        "errs more.",
    ),
    option("--verdicts", type=FILE, help="Rank by verdicts on pairs: a row with systems a, b and the winner."),
    map_option("Which column of --verdicts is a, b, winner.", option),
    option("--length-effect", is_flag=True, help="Estimate what longer answers do to verdicts; rank at equal length."),
    option("--no-order-effect", is_flag=True, help="Do not estimate what standing first does to the verdicts."),
]  # fmt: skip


@dataclass(frozen=True)
class RankOptions:
    """Whether systems are ranked, and how."""

    wanted: bool
    pairs: bool
    correction: Literal["holm", "bh"] | None
    verdicts: str | None
    map: Mapping[str, str]
    length_effect: bool
    no_order_effect: bool

    def __bool__(self) -> bool:
        return any(vars(self).values())


rank_options = option_group("ranking", RankOptions, _OPTIONS)
"""Give a command the flags of rankings; it gets them as `ranking`."""


def rank(
    systems: Sequence[str],
    ranking: RankOptions,
    table: TableFiles,
    label_map: str | None,
    *,
    as_json: bool,
    **options: Any,
) -> None:
    """Rank systems, or by verdicts on pairs of their answers, and print the rankings."""
    table.check(*systems, ranking.verdicts)
    ask = _rank if ranking.verdicts is None else _rank_verdicts
    ranked = ask(systems, ranking, label_map, {**options, "correction": ranking.correction or "holm"})
    table.write(ranked)
    if as_json:
        click.echo(json.dumps(ranked.as_dict(), ensure_ascii=False))
    else:
        _print(ranked, pairs=ranking.pairs)
    for each in ranked.rankings:
        if each.slice is None and not each.scored:
            raise click.ClickException(f"nothing was ranked by {each.metric}: no row is scored in all systems")


def _print(ranked: Ranked, *, pairs: bool) -> None:
    """Print each ranking: the systems, the best first, with their groups, and with `pairs` every pair."""
    from karat.cli.options.screen import open_screen  # noqa: PLC0415  (heavy)
    from karat.runs.compare.ranking.ranked import METHODS  # noqa: PLC0415

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


def _rank(systems: Sequence[str], ranking: RankOptions, label_map: str | None, options: Mapping[str, Any]) -> Any:
    from karat.runs.compare.ranking.rank import rank as rank_systems  # noqa: PLC0415  (heavy)

    read = {"map": ranking.map, "label-map": label_map, "no-order-effect": ranking.no_order_effect}
    read["length-effect"] = ranking.length_effect
    _refuse(read, "says how verdicts are read: --verdicts FILE")
    return rank_systems(*systems, **options)


def _rank_verdicts(
    systems: Sequence[str], ranking: RankOptions, label_map: str | None, options: Mapping[str, Any]
) -> Any:
    from karat.runs.compare.ranking.verdicts import rank_verdicts  # noqa: PLC0415  (heavy)

    if systems:
        raise click.UsageError(f"--verdicts FILE names the systems itself, found {', '.join(systems)} beside it")
    scored = {name: options[name] for name in ("metrics", "by", "on", "common", "allow_different")}
    _refuse(scored, "is of scored rows, and not of --verdicts")
    chosen = {name: options[name] for name in ("cluster", "correction", "confidence")}
    read: dict[str, Any] = {"map": ranking.map, "label_map": label_map, "order_effect": not ranking.no_order_effect}
    read["length_effect"] = ranking.length_effect
    return rank_verdicts(ranking.verdicts, **read, **chosen)


def _refuse(options: Mapping[str, Any], why: str) -> None:
    """Raise `UsageError` for an option that has no meaning here."""
    for name, value in options.items():
        if value:
            raise click.UsageError(f"--{name.replace('_', '-').replace('metrics', 'metric')} {why}")
