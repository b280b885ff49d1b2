"""The items of lists beside scores, such as the criteria that failed, with how often each list has them."""

from __future__ import annotations

from collections.abc import Mapping

from karat.cli.options.screen import Screen
from karat.runs.table.table import Table

ITEMS = 12  # those that are wrong most often


def print_items(screen: Screen, title: str, counts: Mapping[str, Mapping[str, int]]) -> None:
    """Print how often each list has each item; nothing where there is none.

    The first of several lists is what is right. The items that the others have most often come first.
    """
    wrong = [*counts][1:] or [*counts]
    items = {item: [counts[name].get(item, 0) for name in counts] for each in counts.values() for item in each}
    if not items:
        return
    ordered = sorted(items, key=lambda item: (-sum(items[item][-len(wrong) :]), item))
    screen.line("")
    rows = ([item, *(f"{count:,}" for count in items[item])] for item in ordered[:ITEMS])
    screen.table(Table.of_texts([title, *counts], rows))
    if len(ordered) > ITEMS:
        screen.line(f"and {len(ordered) - ITEMS:,} more; --json has up to 1,000 of each", "dim")
