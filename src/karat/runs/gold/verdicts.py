"""What people say of the gold of rows that are listed, in a gold patch, and what follows for the others."""

from __future__ import annotations

import math
from collections.abc import Sequence

from karat.core.errors import DataError, JoinError, did_you_mean
from karat.runs.columns.gold_patch import GoldPatch
from karat.runs.gold.reasons import Reason
from karat.runs.gold.rows import GoldRow
from karat.runs.match.match import Matched
from karat.runs.match.shared_metrics import find_patch
from karat.stats.intervals.student import student_quantile
from karat.stats.intervals.wilson import wilson_interval
from karat.stats.value import Estimate


def read_verdicts(patch: GoldPatch, matched: Matched, rows: Sequence[GoldRow]) -> dict[int, Reason]:
    """What people say of rows, by their number: whose gold is right as it is, the number `right` of the reason.

    Empty where the systems were scored with the patch, which changed their gold. Raises `JoinError` for an id that no
    row has, unless rows were left out, and `DataError` for gold that is not as it was.
    """
    if any(note is not None and note.digest == patch.note.digest for note in map(find_patch, matched.runs)):
        return {}
    places = {row.id: at for at, row in enumerate(rows)}
    unknown = [each for each in patch.changes if each not in places]
    if unknown and not any(matched.rows.left_out):
        near = did_you_mean(unknown[0], places, total=len(places))
        raise JoinError(f"{patch.place(unknown[0])}: no row of {matched.names[0]} has the id {unknown[0]!r}{near}")
    reasons = dict[int, Reason]()
    for change in patch.changes.values():
        at = places.get(change.id)
        if at is None:
            continue
        if change.old != (gold := rows[at].references):
            problem = f"the gold of {change.id!r} was {', '.join(change.old)}, and {matched.names[0]} has"
            raise DataError(f"{patch.place(change.id)}, column 'old': {problem} {', '.join(gold) or 'none'}")
        says = f"people say: {change.verdict}" + (f" ({', '.join(change.new)})" if change.new else "")
        reasons[at] = Reason("people", says, {"right": float(change.verdict == "right")})
    return reasons


def share_wrong(verdicts: Sequence[Reason | None], first: int, confidence: float) -> Estimate | None:
    """Of the rows up to the last that people looked at, the share whose gold is not right; None without any.

    `verdicts`: of each row that is listed. The interval is Wilson's; it has no width where people looked at all. There
    is no estimate where they looked beyond the `first` rows: they were shown another list, so that the rows are not
    drawn at random from this one.
    """
    right = [each.numbers["right"] for each in verdicts if each is not None]
    if not right:
        return None
    reach = max(at for at, each in enumerate(verdicts, 1) if each is not None)
    if reach > first:
        problem = f"people looked at row {reach} of this list, of which --first names {first}"
        return Estimate.missing(f"{problem}: take the systems and the --first of the list that they saw", len(right))
    share, n = 1 - sum(right) / len(right), len(right)
    if n == reach:
        return Estimate(share, share, share, n)
    return Estimate(share, *wilson_interval(share, n, student_quantile((1 + confidence) / 2, math.inf)), n)
