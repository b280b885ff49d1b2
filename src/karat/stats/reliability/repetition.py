"""Verdicts on the same rows, asked for again: how often they differ, and how much of the variance is the judge's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from karat.core.columns.variance import variance_components


def disagreement(verdicts: NDArray[np.float64], others: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """For each row, the share of pairs of verdicts that differ, shape (rows,); NaN where a row has no pair.

    `verdicts` has shape (rows, repetitions), equal numbers for equal verdicts, NaN for none. The pairs are taken among
    them or, with `others` of shape (rows, m), of one verdict and one of the others. The mean over rows estimates
    the probability that two verdicts on a row differ, whatever the number of repetitions.

    >>> disagreement(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, np.nan], [0.0, np.nan, np.nan]])).round(3).tolist()
    [0.667, 0.0, nan]
    """
    same = others is None
    right = verdicts if others is None else others
    valid = ~np.isnan(verdicts)[:, :, None] & ~np.isnan(right)[:, None, :]
    differ = (verdicts[:, :, None] != right[:, None, :]) & valid
    if same:
        valid &= ~np.eye(verdicts.shape[1], dtype=bool)
    pairs = valid.sum(axis=(1, 2))
    share: NDArray[np.float64] = np.where(pairs > 0, differ.sum(axis=(1, 2)) / np.maximum(pairs, 1), np.nan)
    return share


def any_flip(verdicts: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 for each row on which two verdicts differ, else 0; NaN where a row has fewer than two.

    >>> any_flip(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, np.nan], [0.0, np.nan, np.nan]])).tolist()
    [1.0, 0.0, nan]
    """
    return np.ceil(disagreement(verdicts))


def noise_share(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of the scores' variance that is within rows: 1 minus the intraclass correlation ICC(1), from sums.

    The variance within rows is the judge's own; the variance between rows, without the judge's noise, is the rows'.
    Undefined where all scores are equal, or no row has two.

    Source: P. Shrout and J. Fleiss, "Intraclass correlations: uses in assessing rater reliability", Psychological
    Bulletin 86 (1979), case 1; for rows with unequal numbers of scores, S. Searle, "Linear Models" (1971), chapter 11.

    >>> from karat.core.columns.variance import variance_statistics
    >>> scores = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7.0]])
    >>> round(1 - float(noise_share(variance_statistics(scores).sum(axis=0))), 2)  # Shrout and Fleiss: .17
    0.17
    """
    apart, inside = variance_components(sums)
    with np.errstate(all="ignore"):
        share: NDArray[np.float64] = inside / (inside + np.maximum(0.0, apart))
    return share


def verdict_codes(labels: Sequence[Sequence[str | None]], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """A number for each verdict, shape (rows, repetitions): of its label where it has one, else its score.

    >>> verdict_codes([["good", None], ["bad", "good"]], np.array([[1.0, np.nan], [0.0, 1.0]])).tolist()
    [[0.0, nan], [1.0, 0.0]]
    """
    codes: dict[str, float] = {}
    numbers = [
        [
            score if label is None else codes.setdefault(label, float(len(codes)))
            for label, score in zip(*row, strict=True)
        ]
        for row in zip(labels, scores.tolist(), strict=True)
    ]
    return np.array(numbers).reshape(scores.shape)
