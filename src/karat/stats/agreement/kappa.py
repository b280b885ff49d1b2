"""Cohen's kappa: how far two raters agree, corrected for what chance would give."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from karat.stats.agreement.accuracy import NO_ROWS, Scores, Weights, both
from karat.stats.agreement.coefficient import Coefficient, shares_of, undefined
from karat.stats.agreement.distance import CodedLabels, Distance, Level
from karat.stats.agreement.rare_label import allow_for_rare_label


def cohen_kappa(
    a: Scores, b: Scores, *, level: Level = "nominal", categories: Scores | None = None, weights: Weights = None
) -> Coefficient:
    """Cohen's kappa: 1 minus the mean distance of two raters' labels by the distance that chance would give.

    Chance: each rater gives labels as often as here, but without looking. `level` is the distance: `nominal` for the
    plain kappa, `linear` or `quadratic` in the difference of the labels' values for the weighted ones. `categories` are
    labels that may not occur. There is no kappa where a rater gives one label only.

    Source: J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20
    (1960); "Weighted kappa", Psychological Bulletin 70 (1968).

    >>> judge, person = np.array([1.0, 1, 0, 0, 1]), np.array([1.0, 1, 0, 1, 1])
    >>> round(cohen_kappa(judge, person).value, 4)
    0.5455
    """
    both(a, b)
    ratings = np.column_stack([a, b])
    return allow_for_rare_label(lambda ratings, weights: _kappa(ratings, level, categories, weights), ratings, weights)


def _kappa(ratings: Scores, level: Level, categories: Scores | None, weights: Weights) -> Coefficient:
    used: NDArray[np.bool_] = np.asarray(~np.isnan(ratings).any(axis=1))
    if not used.any():
        return undefined(NO_ROWS, len(used))
    for rater, name in ((0, "first"), (1, "second")):
        if np.ptp(ratings[used, rater]) == 0:
            return undefined(f"the {name} rater gives one label only, {ratings[used][0, rater]:g}", len(used))
    labels = CodedLabels.of(ratings[used], categories)
    shares = shares_of(used, weights)
    kept, (first, second) = shares[used], labels.codes.T
    counts = [np.asarray(np.bincount(codes, kept, len(labels)), np.float64) for codes in (first, second)]
    distance = Distance.of(labels, level, counts[0] + counts[1])
    apart, (to_first, to_second) = distance.between(first, second), (distance.to_all(each) for each in counts)
    observed, expected = float(kept @ apart), float(counts[0] @ to_second)
    moved = -(apart - observed) + observed / expected * (to_second[first] + to_first[second] - 2 * expected)
    influence = np.zeros(len(used))
    influence[used] = kept * moved / expected
    return Coefficient(1 - observed / expected, influence, shares[None], distance.bounds(expected))
