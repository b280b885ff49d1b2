"""Which files answer the same questions, and the metrics that fit how long their answers are beside the gold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from karat.cli.start.survey.scorable import TASKS, Scorable
from karat.core.errors import KaratError
from karat.runs.match.alignment import ORDER
from karat.runs.match.match import match
from karat.runs.scoring.arguments import NONE

MOST_PAIRS = 300  # of scored files that are compared
_NAMED = 5  # files in a sentence
_TEXTS = TASKS["prediction", "reference"]
_INSTEAD = {
    ("longer",): ("contains", "token_recall"),
    ("shorter",): ("token_precision",),
    ("longer", "shorter"): ("token_recall", "token_precision"),
}
"""The metrics of texts that fit answers of other lengths than the gold's."""


def group_systems(scorable: Sequence[Scorable], unclear: list[str]) -> list[list[Scorable]]:
    """Those together that answer the same questions, as their first rows show, or else all their rows."""
    groups, pairs = list[list[Scorable]](), 0
    for each in scorable:
        for group in groups:
            if (group[0].specs, group[0].gold) == (each.specs, each.gold) and pairs < MOST_PAIRS:
                pairs += 1
                if _are_comparable(group[0], each):
                    group.append(each)
                    break
        else:
            groups.append([each])
    if pairs == MOST_PAIRS:
        unclear.append(f"not every pair of files was compared, only {MOST_PAIRS}")
    for specs in dict.fromkeys(group[0].specs for group in groups):
        names = [group[0].name for group in groups if group[0].specs == specs]
        if len(names) > 1:
            named = ", ".join(names[:_NAMED]) + f" and {len(names) - _NAMED} more" * (len(names) > _NAMED)
            unclear.append(f"{named}: are these the same questions? Their ids or their gold differ: not compared")
    return groups


def _are_comparable(one: Scorable, other: Scorable) -> bool:
    if one.data is other.data:
        return True
    try:
        match([one.result, other.result], cluster=NONE)
    except KaratError:
        return _hold_same_rows(one, other)
    return True


def _hold_same_rows(one: Scorable, other: Scorable) -> bool:
    """Whether an id pairs all rows of two files, which may be in another order."""
    try:
        return match([one.data.whole_path, other.data.whole_path], cluster=NONE, scored=False).rows.by != ORDER
    except (KaratError, OSError):
        return False


def fit_lengths(
    group: list[Scorable], score_again: Callable[[Scorable, tuple[str, ...]], Scorable | None]
) -> list[Scorable]:
    """The systems of one group with the metrics that fit the lengths of all their answers; those differ with a note."""
    known = {each.name: each.result.lengths for each in group if set(_TEXTS) <= set(each.specs)}
    sides = sorted({side for lengths in known.values() if lengths for side in lengths.sides})
    if not sides:
        return group
    instead = _INSTEAD[tuple(sides)]
    specs = (*instead, *(spec for spec in group[0].specs if spec not in _TEXTS))
    fitted = list[Scorable]()
    for each in group:
        lengths, again = known[each.name], score_again(each, specs)
        why = [lengths.describe(side) for side in lengths.sides] if lengths else []
        lowers = f"which lowers {' and '.join(_TEXTS)} even where they are right"
        note = f"{' and '.join(why)}, {lowers}: {' and '.join(instead)} are used instead; a judge is closer to people"
        fitted.append(replace(again or each, note=note if why else ""))
    return fitted if all(each.specs == specs for each in fitted) else group
