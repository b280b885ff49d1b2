"""What each metric of rankings gives for one row; compiled, the same for a column.

A row is the ranks and grades of the judged ids that it retrieves, as far as the cut-off k goes (`found`), the grades
of all that is judged, the largest first (`judged`), and how many ids it retrieves (`size`); k is None where nothing is
cut off.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor, inf, log2
from typing import Literal, TypeAlias

import numpy as np

from karat.core.metric.rows import Rows
from karat.metrics.retrieval.alignment import Aligned, Found

try:
    from karat.metrics._kernels import ranking

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False

Grades: TypeAlias = list[float]
Cutoff: TypeAlias = int | None
Definition: TypeAlias = Callable[[Found, Grades, int, Cutoff, float, float], float]
"""Found, judged, size, cut-off and up to two settings."""


def precision(found: Found, _judged: Grades, size: int, k: Cutoff, rel: float, _: float) -> float:
    return _ratio(len(_ranks(found, rel)), k or size)


def recall(found: Found, judged: Grades, size: int, k: Cutoff, rel: float, capped: float) -> float:
    relevant = _relevant(judged, rel)
    return _ratio(len(_ranks(found, rel)), min(relevant, k or size) if capped else relevant)


def f_measure(found: Found, judged: Grades, size: int, k: Cutoff, rel: float, beta: float) -> float:
    whole = beta * beta * _relevant(judged, rel) + (k or size)
    return _ratio((1 + beta * beta) * len(_ranks(found, rel)), whole)


def hit_rate(found: Found, _judged: Grades, _size: int, _k: Cutoff, rel: float, _: float) -> float:
    return float(_ranks(found, rel) != [])


def reciprocal_rank(found: Found, _judged: Grades, _size: int, _k: Cutoff, rel: float, _: float) -> float:
    return next((1 / rank for rank in _ranks(found, rel)), 0.0)


def average_precision(found: Found, judged: Grades, _size: int, _k: Cutoff, rel: float, _: float) -> float:
    total = 0.0
    for hits, rank in enumerate(_ranks(found, rel), 1):
        total += hits / rank
    return _ratio(total, _relevant(judged, rel))


def r_precision(found: Found, judged: Grades, _size: int, _k: Cutoff, rel: float, multiple: float) -> float:
    depth = int(multiple * _relevant(judged, rel) + 0.9)
    return _ratio(sum(rank <= depth for rank in _ranks(found, rel)), depth)


def interpolated_up(found: Found, judged: Grades, _size: int, _k: Cutoff, rel: float, at: float) -> float:
    return _interpolated(found, judged, rel, at, 0.9)


def interpolated_nearest(found: Found, judged: Grades, _size: int, _k: Cutoff, rel: float, at: float) -> float:
    return _interpolated(found, judged, rel, at, 0.5)


def _interpolated(found: Found, judged: Grades, rel: float, at: float, rounding: float) -> float:
    """The best precision from the rank on where recall reaches `at`; the mean over eleven levels where that is -1."""
    precisions = [hits / rank for hits, rank in enumerate(_ranks(found, rel), 1)]
    total = 0.0
    for level in [tenth / 10 for tenth in range(11)] if at < 0 else [at]:
        needed = floor(level * _relevant(judged, rel) + rounding)
        total += max(precisions[max(needed - 1, 0) :], default=0.0)
    return total / 11 if at < 0 else total


def bpref(found: Found, judged: Grades, _size: int, _k: Cutoff, rel: float, _: float) -> float:
    relevant = _relevant(judged, rel)
    others = sum(0 <= grade < rel for grade in judged)
    above, total = 0, 0.0
    for _rank, grade in found:
        if grade >= rel:
            total += 1 - _ratio(min(above, relevant), min(others, relevant))
        elif grade >= 0:
            above += 1
    return _ratio(total, relevant)


def judged(found: Found, _judged: Grades, size: int, k: Cutoff, _: float, __: float) -> float:
    return _ratio(len(_ranks(found, 0)), min(size, k or size))


def ndcg(found: Found, judged: Grades, _size: int, k: Cutoff, doubling: float, _: float) -> float:
    return _ratio(_gained(found, doubling), _gained(list(enumerate(judged[:k], 1)), doubling))


def err(found: Found, _judged: Grades, _size: int, _k: Cutoff, max_grade: float, _: float) -> float:
    total, onwards = 0.0, 1.0
    for rank, grade in found:
        if grade > 0:
            satisfied = (_power(grade) - 1) / _power(max_grade)
            total += onwards * satisfied / rank
            onwards *= 1 - satisfied
    return total


def rank_biased_precision(
    found: Found, _judged: Grades, _size: int, _k: Cutoff, rel: float, persistence: float
) -> float:
    total = 0.0
    for rank in _ranks(found, rel):
        total += persistence ** (rank - 1)
    return (1 - persistence) * total


def score_rows(
    definition: Definition,
    aligned: Aligned,
    k: Cutoff,
    setting: float,
    other: float = 0,
    *,
    empty: Literal["zero", "unscored"] = "zero",
    rel: float = 0,
) -> Rows:
    """Every row's value; with `empty="unscored"` none for a row where no judged grade is `rel` or more."""
    scores = np.empty(len(aligned.sizes))
    if COMPILED:
        found = aligned.ranks, aligned.grades, aligned.found_ends, aligned.sizes
        gold = aligned.judged, aligned.judged_ends
        ranking.score(definition.__name__, *found, *gold, min(k or 0, 1 << 62), setting, other, scores)
    else:
        scores[:] = define(definition, aligned, k, setting, other)
    if empty == "zero":
        return Rows(scores)
    without = aligned.best() < rel
    scores[without] = np.nan
    reasons = np.full(len(scores), None, dtype=object)
    reasons[without] = "nothing in relevant is relevant"
    return Rows(scores, reasons)


def define(definition: Definition, aligned: Aligned, k: Cutoff, setting: float, other: float) -> list[float]:
    """What the definition gives for each row."""
    return [
        definition([each for each in found if k is None or each[0] <= k], judged, size, k, setting, other)
        for (found, judged), size in zip(aligned.rows(), aligned.sizes.tolist(), strict=True)
    ]


def _ranks(found: Found, rel: float) -> list[int]:
    return [rank for rank, grade in found if grade >= rel]


def _relevant(judged: Grades, rel: float) -> int:
    return sum(grade >= rel for grade in judged)


def _gained(found: Found, doubling: float) -> float:
    total = 0.0
    for rank, grade in found:
        if grade > 0:
            total += (_power(grade) - 1 if doubling else grade) / log2(rank + 1)
    return total


def _power(grade: float) -> float:
    """2^grade, infinite where no number holds it."""
    return 2.0**grade if grade < 1024 else inf


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
