"""Rankings as lines and tables."""

from __future__ import annotations

from karat.cli.options.screen import open_screen
from karat.runs.compare.ranked import Ranked, join_letters
from karat.stats.value import format_value

_CORRECTIONS = {"holm": "Holm", "bh": "Benjamini and Hochberg"}
_TESTS = {"mcnemar": "McNemar's test", "student": "Student's paired test", "wald": "Wald's test"}


def print_ranked(ranked: Ranked, *, pairs: bool) -> None:
    """Print each ranking: the systems, the best first, with their groups, and with `pairs` every pair."""
    screen = open_screen()
    if ranked.by is not None:
        screen.line(f"{ranked.rankings[0].n} rows, matched by {ranked.by}", "dim")
    for note in ranked.notes:
        screen.line(note, "dim")
    interval = f"{100 * ranked.confidence:g} % interval"
    for ranking in ranked.rankings:
        screen.line(f"{ranking.heading}: {ranking.scored} {'rows' if ranked.by else 'verdicts'}")
        rows = [
            [
                each.system,
                join_letters(each.groups),
                str(each.rank),
                f"{each.rank_low} – {each.rank_high}",
                format_value(each.value),
                f"{format_value(each.low)} – {format_value(each.high)}",
            ]
            for each in ranking.systems
        ]
        screen.table(["system", "group", "rank", "may be", "value", interval], rows, left=2)
        every = list(ranking.pairs)
        separated = sum(each.separated for each in every)
        level, corrected = f"{1 - ranked.confidence:g}", f"p corrected for {ranked.family} tests"
        screen.line(
            f"{separated} of {len(every)} pairs are separated: {_TESTS[ranking.tests.test]}, {corrected} "
            f"({_CORRECTIONS[ranked.correction]}) at most {level}; systems that share a letter are not"
        )
        if pairs:
            headings = ["system", "other", "difference", interval, "p", "p, corrected", "separated"]
            cells = [
                [
                    each.system,
                    each.other,
                    format_value(each.difference),
                    f"{format_value(each.low)} – {format_value(each.high)}",
                    format_value(each.p),
                    format_value(each.p_adjusted),
                    "yes" if each.separated else "no",
                ]
                for each in every
            ]
            screen.table(headings, cells, left=2)
