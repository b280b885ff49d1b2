"""How probable it is that the gold of a row is wrong, and which rows are reported so that few of these are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from karat.core.columns.kinds import Array
from karat.runs.gold.answers import RowAnswers
from karat.runs.gold.rows import GoldRow
from karat.stats.intervals.student import student_quantile
from karat.stats.intervals.wilson import wilson_interval
from karat.stats.paired.multiple import benjamini_hochberg
from karat.stats.reliability.coincidence import Coincidence, fit_coincidence
from karat.stats.reliability.mixture import fit_share
from karat.stats.value import Estimate

NO_LAW = (
    "too few rows say how often answers agree by chance where the gold is right, so no row can be reported: "
    "score more systems or more rows"
)


@dataclass(frozen=True)
class Doubts:
    """Of each row the doubt with its interval, its p and its adjusted p; None where answers do not say.

    `share`: of the tested rows those whose gold is wrong. `law`: how often answers agree by chance or by a common
    mistake; both are None where too few rows say so.
    """

    doubts: Sequence[Estimate | None]
    ps: Sequence[float | None]
    adjusted: Sequence[float | None]
    share: Estimate | None
    law: Coincidence | None

    def is_reported(self, row: int, fdr: float) -> bool:
        """Whether a row is reported, where on average at most a share `fdr` of the reported ones may be right."""
        adjusted = self.adjusted[row]
        return adjusted is not None and adjusted <= fdr


def doubt_rows(answers: Sequence[RowAnswers], near_wrong: float, confidence: float) -> Doubts:
    """The doubts of rows; `near_wrong`: how often answers share words with gold that is wrong, as `share_near` counts.

    A row is tested where no answer confirms its gold, and two systems or more answer otherwise. By the null hypothesis
    its gold is right, and the systems agree by chance or by a common mistake, as often as where a system confirms the
    gold while others agree on what has nothing in common with it. Where there are fewer than 20 such rows, as with two
    systems, those take their place in which the answers share words with the gold. p is the probability that at least
    as many agree; rows whose answers have nothing in common with the gold are reported, by the procedure of Benjamini
    and Hochberg. Where the gold is wrong, systems agree as often as they do in all rows, the gold left aside, and share
    words with it as seldom as with another row's. From both, and the rows, follow the share of wrong gold among the
    tested rows and the doubt of each. How often answers share words with right gold is taken from all tested rows, so
    that both are rather too small.
    """
    confirmed, others, sizes, everybody, largest = (
        np.array([getattr(each, name) for each in answers], np.int64)
        for name in ("confirmed", "others", "size", "answered", "largest")
    )
    near = np.array([each.relation == "near" for each in answers], bool)
    tested = (confirmed == 0) & (others >= 2)
    nothing: list[None] = [None] * len(answers)
    law = _fit(sizes, others, (confirmed > 0) & ~near) or _fit(sizes, others, tested & near)
    anyway = _fit(largest, everybody, everybody > 0)
    rows = np.flatnonzero(tested)
    if law is None or anyway is None or not len(rows):
        return Doubts(nothing, nothing, nothing, None, law)
    pairs = list(zip(sizes[rows].tolist(), others[rows].tolist(), strict=True))
    right, wrong = (np.array([each.chance(*pair) for pair in pairs]) for each in (law, anyway))
    near_right = (float(near[rows].sum()) + 0.5) / (len(rows) + 1)
    right *= np.where(near[rows], near_right, 1 - near_right)
    wrong *= np.where(near[rows], near_wrong, 1 - near_wrong)
    share = fit_share(right, wrong, confidence)
    value, low, high = (_posterior(right, wrong, each or 0.0) for each in (share.value, share.low, share.high))
    doubts: list[Estimate | None] = list(nothing)
    ps: list[float | None] = list(nothing)
    for at, row in enumerate(rows.tolist()):
        doubts[row] = Estimate(float(value[at]), float(low[at]), float(high[at]), len(rows))
        ps[row] = law.tails(int(others[row]))[sizes[row]]
    own = [None if near[row] else p for row, p in enumerate(ps)]
    return Doubts(doubts, ps, benjamini_hochberg(own), share, law)


def add_judge(doubts: Sequence[Estimate | None], rows: Sequence[GoldRow], confidence: float) -> list[Estimate | None]:
    """The doubts, where a judge accepts an answer that is not the gold at least the probability that it is right.

    The judge is taken to accept wrong answers as often as it refuses those that are the gold.
    """
    verdicts = [(each.hit, each.accepted) for row in rows for each in row.answers if each.accepted is not None]
    hits, misses = ([taken for hit, taken in verdicts if hit is known] for known in (True, False))
    if not hits or not any(misses):
        return list(doubts)
    deviations = student_quantile((1 + confidence) / 2, np.inf)
    refused, taken = 1 - sum(hits) / len(hits), sum(misses) / len(misses)
    low_refused, high_refused = wilson_interval(refused, len(hits), deviations)
    low_taken, high_taken = wilson_interval(taken, len(misses), deviations)
    value = _right_of_accepted(refused, taken)
    ends = _right_of_accepted(high_refused, low_taken), _right_of_accepted(low_refused, high_taken)
    own = Estimate(value, min(value, *ends), max(value, *ends), len(misses))
    return [
        own
        if any(each.accepted and each.hit is False for each in row.answers)
        and (doubt is None or doubt.value is None or doubt.value < value)
        else doubt
        for row, doubt in zip(rows, doubts, strict=True)
    ]


def _right_of_accepted(error: float, accepted: float) -> float:
    """The share of right answers among those accepted, of which a judge errs with the same probability both ways."""
    if error >= 0.5 or not accepted:
        return 0.0
    right = min(max((accepted - error) / (1 - 2 * error), 0.0), 1.0)
    return min(1.0, right * (1 - error) / accepted)


def _fit(sizes: Array, answers: Array, rows: Array) -> Coincidence | None:
    return fit_coincidence(sizes[rows], answers[rows])


def _posterior(right: Array, wrong: Array, share: float) -> Array:
    found: Array = share * wrong / np.maximum(share * wrong + (1 - share) * right, 1e-300)
    return found


def order_rows(answers: Sequence[RowAnswers], doubts: Sequence[Estimate | None]) -> list[int]:
    """The numbers of all rows, the most doubtful first; of equal ones, those that fewer answers confirm."""

    def rank(row: int) -> tuple[float, ...]:
        doubt, own = doubts[row], answers[row]
        value = -1.0 if doubt is None or doubt.value is None else doubt.value
        unlikely = 1.0 if doubt is None else -(doubt.low or 0.0)
        return -value, unlikely, own.confirmed, own.relation == "near", -own.size, row

    return sorted(range(len(answers)), key=rank)
