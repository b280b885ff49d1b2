"""The formula of each diversity metric for one row, and its application to a column.

A formula takes what a row covers (`CoveredRow`), its matches up to the cut-off, k, which is None without a cut-off, and
two numbers, its settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from math import log2
from typing import Literal, TypeAlias

import numpy as np

from karat.core.metric.rows import NOTHING, Rows
from karat.metrics.retrieval.coverage import Coverage, Covered, CoveredRow
from karat.metrics.retrieval.ranking import Cutoff

NoveltyFormula: TypeAlias = Callable[[CoveredRow, Cutoff, float, float], float]
"""From a row, k and two settings to a score."""
Discount: TypeAlias = Callable[[int, float], float]
"""From a rank and the second setting to what a gain at this rank is multiplied by."""


def by_logarithm(rank: int, _: float) -> float:
    return 1 / log2(rank + 1)


def by_rank(rank: int, _: float) -> float:
    return 1 / rank


def by_persistence(rank: int, persistence: float) -> float:
    return float(persistence ** (rank - 1))


def of_judged(discount: Discount) -> NoveltyFormula:
    """The discounted gain of novelty, divided by the best gain of the judged documents, which is found greedily."""

    def score(row: CoveredRow, k: Cutoff, alpha: float, other: float) -> float:
        def gain(ranking: Iterable[tuple[int, Covered]]) -> float:
            return _sum(worth * discount(rank, other) for rank, worth in _worths(ranking, row.subtopics, alpha))

        return _ratio(gain(row.matches), gain(enumerate(_greedy(row, k, alpha), 1)))

    return score


def of_perfect(discount: Discount) -> NoveltyFormula:
    """The same, divided by the gain of a ranking in which each document is relevant to all subtopics."""

    def score(row: CoveredRow, k: Cutoff, alpha: float, other: float) -> float:
        worths = _worths(row.matches, row.subtopics, alpha)
        gained = _sum(worth * discount(rank, other) for rank, worth in worths)
        if discount is by_persistence:  # the ranking has no end
            return _ratio(gained * (1 - (1 - alpha) * other), row.subtopics)
        whole, worth = 0.0, float(row.subtopics)
        for rank in range(1, (k or row.size) + 1):
            whole += worth * discount(rank, other)
            worth *= 1 - alpha
        return _ratio(gained, whole)

    return score


def subtopic_recall(row: CoveredRow, _k: Cutoff, _: float, __: float) -> float:
    return _ratio(len({each for _, covered in row.matches for each in covered}), row.subtopics)


def precision(row: CoveredRow, k: Cutoff, _: float, __: float) -> float:
    return _ratio(sum(len(covered) for _, covered in row.matches), (k or row.size) * row.subtopics)


def average_precision(row: CoveredRow, _k: Cutoff, _: float, __: float) -> float:
    hits, totals, relevant = [0] * row.subtopics, [0.0] * row.subtopics, [0] * row.subtopics
    for covered in row.documents:
        for each in covered:
            relevant[each] += 1
    for rank, covered in row.matches:
        for each in covered:
            hits[each] += 1
            totals[each] += hits[each] / rank
    return _ratio(_sum(total / count for total, count in zip(totals, relevant, strict=True)), row.subtopics)


FORMULAS: dict[str, NoveltyFormula] = {
    "logarithm_judged": of_judged(by_logarithm),
    "logarithm_perfect": of_perfect(by_logarithm),
    "rank_judged": of_judged(by_rank),
    "rank_perfect": of_perfect(by_rank),
    "persistence_judged": of_judged(by_persistence),
    "persistence_perfect": of_perfect(by_persistence),
    "subtopic_recall": subtopic_recall,
    "precision": precision,
    "average_precision": average_precision,
}
"""The formulas by name."""


@dataclass(frozen=True)
class Novelty:
    """A formula with its settings: `name` is a key of `FORMULAS`, `k` the cut-off or None."""

    name: str
    k: Cutoff
    alpha: float = 0.0
    other: float = 0.0

    def score(self, coverage: Coverage, empty: Literal["zero", "unscored"]) -> Rows:
        """The score of every row; with `empty="unscored"` a row without a relevant document has none."""
        scores = np.array([self._score(row) for row in coverage.rows()], float)
        if empty == "zero":
            return Rows(scores)
        unscored = coverage.subtopics == 0
        scores[unscored] = np.nan
        return Rows(scores, np.where(unscored, "no document is relevant to a subtopic", NOTHING))

    def _score(self, row: CoveredRow) -> float:
        row = row if self.k is None else row._replace(matches=[each for each in row.matches if each[0] <= self.k])
        return FORMULAS[self.name](row, self.k, self.alpha, self.other)


def _worths(ranking: Iterable[tuple[int, Covered]], subtopics: int, alpha: float) -> Iterator[tuple[int, float]]:
    """What the document at each rank is worth: 1 for each subtopic, times `1 - alpha` for each time it was covered."""
    worth = [1.0] * subtopics
    for rank, covered in ranking:
        yield rank, _sum(map(worth.__getitem__, covered))
        for each in covered:
            worth[each] *= 1 - alpha


def _greedy(row: CoveredRow, k: Cutoff, alpha: float) -> Iterator[Covered]:
    """The first k documents when each time the one that is worth most is taken; of several the first."""
    worth = [1.0] * row.subtopics
    left = [(-float(len(covered)), at) for at, covered in enumerate(row.documents)]
    heapify(left)
    for _ in row.documents[:k]:
        while True:
            known, at = left[0]
            covered = row.documents[at]
            if (less := -_sum(map(worth.__getitem__, covered))) == known:
                break
            heapreplace(left, (less, at))  # what a document is worth only falls: the others need no look
        heappop(left)
        yield covered
        for each in covered:
            worth[each] *= 1 - alpha


def _sum(values: Iterable[float]) -> float:
    """The sum, rounded after each value; Python's own is rounded once."""
    total = 0.0
    for value in values:
        total += value
    return total


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
