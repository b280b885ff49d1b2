"""How doubtful the gold of each row is, and which rows are reported so that few of these are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from karat.runs.gold.answers import RowAnswers, is_supported
from karat.runs.gold.rows import GoldRow
from karat.stats.paired.multiple import benjamini_hochberg
from karat.stats.reliability.coincidence import fit_coincidence

_SAMPLE = 1000  # rows that say how often passages lack gold that is right
_SELDOM = 0.02  # more often than this, the lack of it says something of the search rather than of the gold


@dataclass(frozen=True)
class Doubts:
    """The numbers of all rows, the most doubtful first (`order`), and of each row its p, and the p adjusted.

    `ps` are of the tested rows, and `adjusted` of those that can be reported; None where nothing says how often answers
    agree, or passages lack the gold, although it is right.
    """

    order: Sequence[int]
    ps: Sequence[float | None]
    adjusted: Sequence[float | None]


def doubt_rows(rows: Sequence[GoldRow], answers: Sequence[RowAnswers]) -> Doubts:
    """Rank rows by their answers, and test those where no answer confirms the gold and two or more say otherwise.

    By the null hypothesis the gold is right, and systems agree by chance or by a common mistake, as often as where a
    system confirms the gold while others agree on what has nothing in common with it. Where there are fewer than 20
    such rows, as with two systems, those take their place in which the answers share words with the gold. p is the
    probability that at least as many agree. Where passages nearly always have the gold in them, rows whose passages do
    not come before all others.

    Rows whose answers have nothing in common with the gold are adjusted together by the procedure of Benjamini and
    Hochberg. They come first, those with the smallest p before; then the other tested rows; then those whose gold
    somebody confirms. Answers that a judge accepts, where there is one, come before all these.
    """
    confirmed, others, sizes = (
        np.array([getattr(each, name) for each in answers], np.int64) for name in ("confirmed", "others", "size")
    )
    near = np.array([each.relation == "near" for each in answers], bool)
    contested, tested = (confirmed > 0) & (others > 0), (confirmed == 0) & (others >= 2)
    law = next(
        filter(None, (fit_coincidence(sizes[at], others[at]) for at in (contested & ~near, tested & near))), None
    )
    lacking = _share_lacking([rows[at] for at in np.flatnonzero(contested).tolist()])
    ps: list[float | None] = [None] * len(rows)
    for at in np.flatnonzero(tested).tolist() if law or lacking else ():
        p = 1.0 if law is None else law.tails(int(others[at]))[sizes[at]]
        if lacking is not None:
            p = min(lacking, p) if is_supported(rows[at]) is False else min(1.0, lacking + p)
        ps[at] = p

    def rank(at: int) -> tuple[float, ...]:
        row, p = answers[at], ps[at]
        taken = any(each.accepted and each.hit is False for each in rows[at].answers)
        return not taken, not tested[at], row.confirmed, near[at], 1.0 if p is None else p, -row.size, at

    adjusted = benjamini_hochberg([None if near[at] else p for at, p in enumerate(ps)])
    return Doubts(sorted(range(len(rows)), key=rank), ps, adjusted)


def _share_lacking(rows: Sequence[GoldRow]) -> float | None:
    """How often passages lack gold that a system confirms and another one misses; None where that is not seldom.

    Then a search has failed rather than the gold, and it says nothing.
    """
    seen = [is_supported(row) for row in rows[:: 1 + len(rows) // _SAMPLE]]
    share = (1 + seen.count(False)) / (1 + len(seen) - seen.count(None))
    return share if share <= _SELDOM else None
