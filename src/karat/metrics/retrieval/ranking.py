"""The formula of each metric of rankings for one row, and its application to a column, compiled where possible.

A formula takes the retrieved ids of a row that are judged, as pairs of rank and grade up to the cut-off k (`matches`),
the grades of all ids that are judged, the largest first (`judged`), the number of ids retrieved (`size`), `k`, which is
None without a cut-off, and up to two numbers, its settings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import floor, inf, log2
from typing import Literal, TypeAlias

import numpy as np

from karat.core.metric.rows import NOTHING, Rows
from karat.metrics.retrieval.alignment import Aligned, Matches

try:
    from karat.metrics._kernels import ranking as kernel

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False

Grades: TypeAlias = list[float]
Cutoff: TypeAlias = int | None
RankingFormula: TypeAlias = Callable[[Matches, Grades, int, Cutoff, float, float], float]
"""From matches, judged, size, k and two settings to a score."""
INFERRED_PRIOR = 0.00001
"""How many documents trec_eval counts as judged relevant, and as judged not relevant, before the first one is."""


def precision(matches: Matches, _judged: Grades, size: int, k: Cutoff, rel: float, _: float) -> float:
    return _ratio(len(_ranks(matches, rel)), k or size)


def recall(matches: Matches, judged: Grades, size: int, k: Cutoff, rel: float, capped: float) -> float:
    relevant = _relevant(judged, rel)
    return _ratio(len(_ranks(matches, rel)), min(relevant, k or size) if capped else relevant)


def f_measure(matches: Matches, judged: Grades, size: int, k: Cutoff, rel: float, beta: float) -> float:
    whole = beta * beta * _relevant(judged, rel) + (k or size)
    return _ratio((1 + beta * beta) * len(_ranks(matches, rel)), whole)


def hit_rate(matches: Matches, _judged: Grades, _size: int, _k: Cutoff, rel: float, _: float) -> float:
    return float(_ranks(matches, rel) != [])


def reciprocal_rank(matches: Matches, _judged: Grades, _size: int, _k: Cutoff, rel: float, _: float) -> float:
    return next((1 / rank for rank in _ranks(matches, rel)), 0.0)


def average_precision(matches: Matches, judged: Grades, _size: int, _k: Cutoff, rel: float, _: float) -> float:
    total = 0.0
    for hits, rank in enumerate(_ranks(matches, rel), 1):
        total += hits / rank
    return _ratio(total, _relevant(judged, rel))


def r_precision(matches: Matches, judged: Grades, _size: int, _k: Cutoff, rel: float, multiple: float) -> float:
    depth = int(multiple * _relevant(judged, rel) + 0.9)
    return _ratio(sum(rank <= depth for rank in _ranks(matches, rel)), depth)


def interpolated_up(matches: Matches, judged: Grades, _size: int, _k: Cutoff, rel: float, at: float) -> float:
    return _interpolated(matches, judged, rel, at, 0.9)


def interpolated_nearest(matches: Matches, judged: Grades, _size: int, _k: Cutoff, rel: float, at: float) -> float:
    return _interpolated(matches, judged, rel, at, 0.5)


def _interpolated(matches: Matches, judged: Grades, rel: float, at: float, rounding: float) -> float:
    """The best precision from the rank on where recall reaches `at`; the mean over eleven levels if `at` is -1."""
    precisions = [hits / rank for hits, rank in enumerate(_ranks(matches, rel), 1)]
    total = 0.0
    for level in [tenth / 10 for tenth in range(11)] if at < 0 else [at]:
        needed = floor(level * _relevant(judged, rel) + rounding)
        total += max(precisions[max(needed - 1, 0) :], default=0.0)
    return total / 11 if at < 0 else total


def bpref(matches: Matches, judged: Grades, _size: int, _k: Cutoff, rel: float, _: float) -> float:
    relevant = _relevant(judged, rel)
    others = sum(0 <= grade < rel for grade in judged)
    above, total = 0, 0.0
    for _rank, grade in matches:
        if grade >= rel:
            total += 1 - _ratio(min(above, relevant), min(others, relevant))
        elif grade >= 0:
            above += 1
    return _ratio(total, relevant)


def inferred_precision(matches: Matches, judged: Grades, _size: int, _k: Cutoff, rel: float, _: float) -> float:
    """The sum of the expected precisions at relevant documents, by those above them that are judged."""
    hits, others, total = 0, 0, 0.0
    for pooled, (rank, grade) in enumerate(matches):
        if grade >= rel:
            above = rank - 1
            share = (hits + INFERRED_PRIOR) / (hits + others + 2 * INFERRED_PRIOR)
            total += 1.0 if above == 0 else 1.0 / rank + above / rank * (pooled / above) * share
            hits += 1
        elif grade >= 0:
            others += 1
    return _ratio(total, _relevant(judged, rel))


def binary_gain(matches: Matches, judged: Grades, _size: int, _k: Cutoff, rel: float, _: float) -> float:
    total = 0.0
    for hits, rank in enumerate(_ranks(matches, rel), 1):
        total += 1 / log2(2 + rank - hits)
    return _ratio(total, _relevant(judged, rel))


def normalized_gain(matches: Matches, judged: Grades, _size: int, _k: Cutoff, _: float, __: float) -> float:
    best = [grade for grade in judged if grade > 0]
    at, cost, gained, total = 0, 0.0, 0.0, 0.0
    for rank, grade in matches:
        if grade > 0:
            while at < rank:
                cost += max(best[at], 1.0) if at < len(best) else 1.0
                at += 1
            gained += grade
            total += grade / log2(2 + cost - gained)
    whole = 0.0
    for grade in best:
        whole += grade
    return _ratio(total, whole)


def judged(matches: Matches, _judged: Grades, size: int, k: Cutoff, _: float, __: float) -> float:
    return _ratio(len(_ranks(matches, 0)), min(size, k or size))


def ndcg(matches: Matches, judged: Grades, _size: int, k: Cutoff, exponential: float, _: float) -> float:
    return _ratio(_gain(matches, exponential), _gain(list(enumerate(judged[:k], 1)), exponential))


def ndcg_at_relevant(matches: Matches, judged: Grades, _size: int, _k: Cutoff, _: float, __: float) -> float:
    """The mean of nDCG at the rank of each relevant document, or at the end for those not retrieved."""
    best = [grade for grade in judged if grade > 0]
    ideal, at, gained, total, hits = 0.0, 0, 0.0, 0.0, 0
    for rank, grade in matches:
        if grade > 0:
            while at < min(rank, len(best)):
                ideal += best[at] / log2(at + 2)
                at += 1
            gained += grade / log2(rank + 1)
            total += gained / ideal
            hits += 1
    while at < len(best):
        ideal += best[at] / log2(at + 2)
        at += 1
    return _ratio(total + (len(best) - hits) * _ratio(gained, ideal), len(best))


def ndcg_at_levels(matches: Matches, judged: Grades, size: int, _k: Cutoff, _: float, __: float) -> float:
    """The mean of nDCG where the best possible ranking ends a gain, and at the end of a longer one."""
    best = [grade for grade in judged if grade > 0]
    ideal, at, gained, total, levels = 0.0, 0, 0.0, 0.0, 0
    for place, grade in enumerate(best, 1):
        ideal += grade / log2(place + 1)
        if place == len(best) or best[place] != grade:
            while at < len(matches) and matches[at][0] <= place:
                gained += _discounted(matches[at])
                at += 1
            total += gained / ideal
            levels += 1
    if best and size > len(best) + 1:
        for match in matches[at:]:
            gained += _discounted(match)
        total += gained / ideal
        levels += 1
    return _ratio(total, levels)


def err(matches: Matches, _judged: Grades, _size: int, _k: Cutoff, max_grade: float, _: float) -> float:
    total, reading_on = 0.0, 1.0
    for rank, grade in matches:
        if grade > 0:
            satisfied = (_power(grade) - 1) / _power(max_grade)
            total += reading_on * satisfied / rank
            reading_on *= 1 - satisfied
    return total


def rank_biased_precision(
    matches: Matches, _judged: Grades, _size: int, _k: Cutoff, rel: float, persistence: float
) -> float:
    total = 0.0
    for rank in _ranks(matches, rel):
        total += persistence ** (rank - 1)
    return (1 - persistence) * total


DEFINITIONS: dict[str, RankingFormula] = {
    "average_precision": average_precision,
    "binary_gain": binary_gain,
    "bpref": bpref,
    "err": err,
    "f_measure": f_measure,
    "hit_rate": hit_rate,
    "inferred_precision": inferred_precision,
    "interpolated_nearest": interpolated_nearest,
    "interpolated_up": interpolated_up,
    "judged": judged,
    "ndcg": ndcg,
    "ndcg_at_levels": ndcg_at_levels,
    "ndcg_at_relevant": ndcg_at_relevant,
    "normalized_gain": normalized_gain,
    "precision": precision,
    "r_precision": r_precision,
    "rank_biased_precision": rank_biased_precision,
    "recall": recall,
    "reciprocal_rank": reciprocal_rank,
}
"""The definition of each formula, by the name under which `_kernels/ranking.pyx` compiles it."""


@dataclass(frozen=True)
class Formula:
    """A formula with its settings: `name` is a key of `DEFINITIONS`, `k` the cut-off or None."""

    name: str
    k: Cutoff
    setting: float
    other: float = 0.0

    def score(
        self, aligned: Aligned, empty: Literal["zero", "unscored"] = "zero", relevant_from: float | None = None
    ) -> Rows:
        """The score of every row.

        With `empty="unscored"` a row in which no grade is `relevant_from` (by default `setting`) or more has none.
        """
        scores = np.empty(len(aligned.sizes))
        if COMPILED:
            matches = aligned.ranks, aligned.grades, aligned.match_ends, aligned.sizes
            gold = aligned.judged, aligned.judged_ends
            kernel.score(self.name, *matches, *gold, min(self.k or 0, 1 << 62), self.setting, self.other, scores)
        else:
            scores[:] = self.define(aligned)
        if empty == "zero":
            return Rows(scores)
        unscored = aligned.best() < (self.setting if relevant_from is None else relevant_from)
        scores[unscored] = np.nan
        return Rows(scores, np.where(unscored, "no gold document has the grade of a relevant one", NOTHING))

    def define(self, aligned: Aligned) -> list[float]:
        """The score of every row by the definition."""
        definition, k = DEFINITIONS[self.name], self.k
        return [
            definition(
                [each for each in matches if k is None or each[0] <= k], judged, size, k, self.setting, self.other
            )
            for (matches, judged), size in zip(aligned.rows(), aligned.sizes.tolist(), strict=True)
        ]


def _ranks(matches: Matches, rel: float) -> list[int]:
    return [rank for rank, grade in matches if grade >= rel]


def _relevant(judged: Grades, rel: float) -> int:
    return sum(grade >= rel for grade in judged)


def _gain(matches: Matches, exponential: float) -> float:
    total = 0.0
    for rank, grade in matches:
        if grade > 0:
            total += (_power(grade) - 1 if exponential else grade) / log2(rank + 1)
    return total


def _discounted(match: tuple[int, float]) -> float:
    rank, gain = match
    return gain / log2(rank + 1) if gain > 0 else 0.0


def _power(grade: float) -> float:
    """2^grade, or infinity if a float cannot hold it."""
    return 2.0**grade if grade < 1024 else inf


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
