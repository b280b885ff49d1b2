"""Gwet's AC1 and AC2: agreement corrected for chance, which stays meaningful where nearly all labels are the same."""

from __future__ import annotations

import numpy as np

from karat.stats.agreement.accuracy import Scores, Weights
from karat.stats.agreement.coefficient import Coefficient, shares_of, undefined
from karat.stats.agreement.distance import CodedLabels, Distance, Level


def gwet_ac(
    ratings: Scores, *, level: Level = "nominal", categories: Scores | None = None, weights: Weights = None
) -> Coefficient:
    """Gwet's AC1 (`level="nominal"`) or AC2 (any other level): agreement beyond chance on rows that are hard to label.

    `ratings` has shape (rows, raters), NaN where a rater gave no label. Agreement needs two labels in a row; how often
    a category occurs is counted in all rows. `categories` are labels that may not occur: their number matters.

    Source: K. L. Gwet, "Computing inter-rater reliability and its variance in the presence of high agreement", British
    Journal of Mathematical and Statistical Psychology 61 (2008); "Handbook of Inter-Rater Reliability" (2014).

    >>> judge, person = [1.0] * 9 + [0.0], [1.0] * 10
    >>> round(gwet_ac(np.column_stack([judge, person])).value, 4)
    0.8895
    """
    number = (~np.isnan(ratings)).sum(axis=1)
    used = number > 1
    labels = CodedLabels.of(ratings, categories)
    if not used.any() or len(labels) < 2:
        every = f"every label is {labels.values[0]:g}, and no other is known" if len(labels) == 1 else ""
        return undefined(every if used.any() else "no row has two labels", len(ratings))
    paired, rated = shares_of(used, weights), shares_of(number > 0, weights)
    each = 1 / np.maximum(number, 1)
    portions = labels.count(rated * each)
    distance = Distance.of(labels, level, portions)
    agreed = 1 - distance.within(labels.codes) / np.maximum(number * (number - 1), 1)
    observed = float(paired @ agreed)
    size = len(labels)
    factor = (size**2 - float(distance.to_all(np.ones(size)).sum())) / (size * (size - 1))
    chance = factor * float(portions @ (1 - portions))
    here = np.where(labels.codes >= 0, portions[labels.codes], 0.0).sum(axis=1) * each
    moved = -2 * factor * rated * (here - float(portions @ portions))
    influence = paired * (agreed - observed) / (1 - chance) - (1 - observed) / (1 - chance) ** 2 * moved
    return Coefficient(1 - (1 - observed) / (1 - chance), influence, paired[None], distance.bounds(1 - chance))
