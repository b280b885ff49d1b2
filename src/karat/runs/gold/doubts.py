"""How probable it is that the gold of a row is wrong, and which rows are reported so that few of these are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from karat.runs.gold.answers import RowAnswers
from karat.runs.gold.reasons import Reason
from karat.stats.paired.multiple import benjamini_hochberg
from karat.stats.reliability.coincidence import Coincidence, fit_coincidence, share_wrong
from karat.stats.value import Estimate

NO_LAW = (
    "too few rows say how often answers agree by chance where the gold is right, so no row can be reported: "
    "score more systems or more rows"
)


@dataclass(frozen=True)
class Doubts:
    """Of each row the doubt with its interval, its p and its adjusted p; None where answers do not say.

    `laws`: how often answers agree by chance, for answers apart from the gold and for those near it; None where too few
    rows say so.
    """

    doubts: Sequence[Estimate | None]
    adjusted: Sequence[float | None]
    ps: Sequence[float | None]
    laws: Mapping[str, Coincidence | None]

    def is_reported(self, row: int, fdr: float) -> bool:
        """Whether a row is reported, where on average at most a share `fdr` of the reported ones may be right."""
        adjusted = self.adjusted[row]
        return adjusted is not None and adjusted <= fdr


def doubt_rows(agreements: Sequence[RowAnswers], confidence: float) -> Doubts:
    """The doubts of rows.

    A row is tested where no answer confirms its gold, and two systems or more answer otherwise. The null hypothesis is
    that the gold is right, and the systems agree by chance or by a common mistake. How often they do so is learned from
    rows whose gold is confirmed: by a system that answers it, or, for answers that have nothing in common with the
    gold, by answers that share words with it. p is the probability that as many of as many answers agree; it is
    adjusted after Benjamini and Hochberg.
    """
    confirmed, others, sizes = (
        np.array([getattr(each, name) for each in agreements], np.int64) for name in ("confirmed", "others", "size")
    )
    near = np.array([each.relation == "near" for each in agreements])
    tested = (confirmed == 0) & (others >= 2)
    seen = {"apart": (confirmed > 0) | (tested & near), "near": confirmed > 0}
    laws = {kind: fit_coincidence(sizes[rows], others[rows]) for kind, rows in seen.items()}
    ps: list[float | None] = [None] * len(agreements)
    doubts: list[Estimate | None] = [None] * len(agreements)
    for kind, law in laws.items():
        rows = np.flatnonzero(tested & (near == (kind == "near")))
        if law is None or not len(rows):
            continue
        shares = share_wrong(law, sizes[rows], others[rows], confidence)
        for row, share in zip(rows.tolist(), shares, strict=True):
            ps[row], doubts[row] = law.tail(int(sizes[row]), int(others[row])), share
    return Doubts(doubts, benjamini_hochberg(ps), ps, laws)


def order_rows(agreements: Sequence[RowAnswers], doubts: Doubts, reasons: Sequence[Sequence[Reason]]) -> list[int]:
    """The numbers of the rows against whose gold anything speaks, those of the greatest doubt first."""

    def rank(row: int) -> tuple[float, ...]:
        doubt, agreement = doubts.doubts[row], agreements[row]
        value = -1.0 if doubt is None or doubt.value is None else doubt.value
        near = agreement.relation == "near"
        return -value, agreement.confirmed, -len(reasons[row]), -agreement.size, near, row

    return sorted((row for row, found in enumerate(reasons) if found), key=rank)
