"""Krippendorff's alpha: agreement of any number of raters, of whom each may have left out rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from karat.stats.agreement.accuracy import Scores, Weights
from karat.stats.agreement.coefficient import Coefficient, shares_of, undefined
from karat.stats.agreement.distance import CodedLabels, Distance, Level
from karat.stats.agreement.rare_label import allow_for_rare_label


def krippendorff_alpha(ratings: Scores, *, level: Level = "nominal", weights: Weights = None) -> Coefficient:
    """Krippendorff's alpha: 1 minus the distance of labels within rows by the distance of labels from any two rows.

    `ratings` has shape (rows, raters), NaN where a rater gave no label; rows with fewer than two labels are left out.
    `level` is `nominal` for names, `ordinal` for an order, `quadratic` for numbers (Krippendorff's interval level).

    Source: K. Krippendorff, "Content Analysis" (2004), chapter 11.

    >>> two = np.array([[1, 1], [0, 0], [1, 0], [1, 1], [np.nan, 1]])
    >>> round(krippendorff_alpha(two).value, 4)
    0.5333
    """
    return allow_for_rare_label(lambda ratings, weights: _alpha(ratings, level, weights), ratings, weights)


def alpha_with_each(
    scores: Scores, ratings: Scores, *, level: Level = "nominal", weights: Weights = None
) -> Coefficient:
    """Krippendorff's alpha of one rater with each of some others: of the pairs of its score and one of their labels.

    `scores` has shape (rows,), `ratings` (rows, raters). It is what the alpha of the others is compared with, to see
    whether the one agrees with them as they do among themselves.

    >>> judge, people = np.array([1.0, 0, 0, 1]), np.array([[1, 1], [0, 0], [1, 0], [1, np.nan]])
    >>> round(alpha_with_each(judge, people).value, 4)
    0.7347
    """
    rows, raters = ratings.shape
    pairs = np.column_stack([np.tile(scores, raters), ratings.T.ravel()])
    alpha = krippendorff_alpha(pairs, level=level, weights=None if weights is None else np.tile(weights, raters))
    influence, shares = (each.reshape(raters, rows).sum(axis=0) for each in (alpha.influence, alpha.shares[0]))
    return replace(alpha, influence=influence, shares=shares[None], unseen=None)


def _alpha(ratings: Scores, level: Level, weights: Weights) -> Coefficient:
    number = (~np.isnan(ratings)).sum(axis=1)
    used = number > 1
    if not used.any():
        return undefined("no row has two labels", len(ratings))
    labels = CodedLabels.of(ratings[used])
    if len(labels) == 1:
        return undefined(f"every label is {labels.values[0]:g}", len(ratings))
    shares, number = shares_of(used, weights), number[used]
    rows = shares[used] * len(number)
    counts = labels.count(rows)
    distance = Distance.of(labels, level, counts)
    total, to_all = counts.sum(), distance.to_all(counts)
    apart = distance.within(labels.codes) / (number - 1)
    pairs = float(counts @ to_all)
    observed, expected = float(rows @ apart) / total, pairs / (total * (total - 1))
    from_row = np.where(labels.codes >= 0, to_all[labels.codes], 0.0).sum(axis=1)
    moved = -(apart - observed * number) / total + 2 * observed * (from_row / pairs - number / total)
    influence = np.zeros(len(ratings))
    influence[used] = rows * moved / expected
    return Coefficient(1 - float(observed / expected), influence, shares[None], distance.bounds(expected))
