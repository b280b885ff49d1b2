"""Rankings as lines and tables."""

from __future__ import annotations

from karat.cli.options.screen import open_screen
from karat.runs.compare.ranked import Ranked

_CORRECTIONS = {"holm": "Holm", "bh": "Benjamini and Hochberg"}
_TESTS = {
    "mcnemar": "McNemar's test",
    "student": "Student's paired test",
    "exceedance": "test of exceedance",
    "wald": "Wald's test",
}


def print_ranked(ranked: Ranked, *, pairs: bool) -> None:
    """Print each ranking: the systems, the best first, with their groups, and with `pairs` every pair."""
    screen = open_screen()
    if ranked.by is not None:
        screen.line(f"{ranked.rankings[0].n} rows, matched by {ranked.by}", "dim")
    for note in ranked.notes:
        screen.line(note, "dim")
    for ranking, table in zip(ranked.rankings, ranked.tables(), strict=True):
        screen.line(f"{ranking.heading}: {ranking.scored} {'rows' if ranked.by else 'verdicts'}")
        screen.show(table)
        every = ranking.pairs
        separated = sum(each.separated for each in every)
        level, corrected = f"{1 - ranked.confidence:g}", f"p corrected for {ranked.family} tests"
        tests = " or ".join(_TESTS[test] for test in sorted({each.test for each in every}))
        screen.line(
            f"{separated} of {len(every)} pairs are separated: {tests}, {corrected} "
            f"({_CORRECTIONS[ranked.correction]}) at most {level}; systems that share a letter do not differ "
            "significantly"
        )
        if pairs:
            screen.show(ranked.pair_table(ranking))
