"""The journal of a labelling session: JSON Lines to which every key adds one line, and none is ever changed."""

from __future__ import annotations

from collections.abc import Iterable

ACTIONS = frozenset({"label", "skip", "undo"})
"""What a line does: it labels a row, leaves it out, or takes back the annotator's last line about it."""


def live_rows(ids: Iterable[str | None], annotators: Iterable[str | None], actions: Iterable[str]) -> list[int]:
    """The positions of the lines that were not taken back.

    >>> live_rows(["a", "a", "a", "b"], ["ada"] * 4, ["label", "undo", "label", "skip"])
    [2, 3]
    """
    live: dict[tuple[str | None, str | None], list[int]] = {}
    for at, (row, annotator, action) in enumerate(zip(ids, annotators, actions, strict=True)):
        lines = live.setdefault((row, annotator), [])
        if action != "undo":
            lines.append(at)
        elif lines:
            lines.pop()
    return sorted(at for lines in live.values() for at in lines)
