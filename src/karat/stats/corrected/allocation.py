"""Which rows to label next: the probability of each, a sample drawn with it, and how rounds of labels add up.

The variance of a corrected value is least where each row is drawn with a probability in proportion to the error that is
to be expected of the judge there. No guess of that error makes the value wrong, since each label is weighted by the
inverse of its probability; a bad guess makes the interval wider, so a part of the labels is drawn uniformly.

Source: J. Neyman, "On the two different aspects of the representative method", JRSS 97 (1934), by slice; T. Zrnic and
E. Candès, "Active statistical inference", arXiv:2403.03208, by row.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from karat.stats.aggregate import Bounds
from karat.stats.corrected.influence import influence_of
from karat.stats.corrected.judged import Judged

UNIFORM = 0.25  # share of the probability that is the same for all rows: no weight exceeds four times the uniform one
GROUPS = 10  # of scores, in which the judge's errors are pooled
SIDES = 4  # groups of each system's scores, where the errors of a difference are pooled
PRIOR = 4  # labels' worth of the overall error in each group


def uncertain(scores: NDArray[np.float64], bounds: Bounds = (0.0, 1.0)) -> NDArray[np.float64]:
    """The error to expect if a score is the probability of the best label: greatest halfway between the bounds.

    >>> uncertain(np.array([0.0, 0.5, 0.9, np.nan])).round(2).tolist()
    [0.0, 0.5, 0.3, 0.5]
    """
    low, high = bounds
    low = float(np.nanmin(scores)) if low is None else low
    high = float(np.nanmax(scores)) if high is None else high
    shares = np.clip(
        (np.where(np.isnan(scores), (low + high) / 2, scores) - low) / max(high - low, math.ulp(1.0)), 0, 1
    )
    error: NDArray[np.float64] = np.sqrt(shares * (1 - shares))
    return error


def disagreeing(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The standard deviation of the scores of several judges, shape (rows, judges); the greatest where one has none.

    >>> disagreeing(np.array([[1.0, 1.0], [0.0, 1.0]])).tolist()
    [0.0, 0.5]
    """
    spread = scores.std(axis=1)
    error: NDArray[np.float64] = np.where(np.isnan(spread), np.nanmax(spread, initial=0.0), spread)
    return error


def squared_errors(judged: Judged) -> NDArray[np.float64]:
    """The squared error of the judge that each label has shown, shape (rows,); NaN where there is no label.

    With fewer than two labels, the squared distance of every score from their mean stands for it.

    >>> squared_errors(Judged(np.array([1.0, 0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0, np.nan]))).round(2).tolist()
    [0.41, 0.08, 0.13, nan]
    """
    labelled = judged.labelled
    if np.count_nonzero(labelled) < 2:
        deviation: NDArray[np.float64] = (judged.filled - judged.filled.mean()) ** 2
        return deviation
    influence = influence_of(judged)
    residual = np.where(labelled, judged.labels - influence.weight * judged.filled, 0.0)
    return np.where(labelled, (residual - influence.shares @ residual) ** 2, np.nan)


def erring(judged: Judged, slices: NDArray[np.int64] | None = None, *, by_others: bool = False) -> NDArray[np.float64]:
    """The error to expect of each row from those that the labels have shown, pooled by slice or by the judge's score.

    With few labels in a slice or at a score, the error over all rows counts. Without labels, the standard deviation of
    the judge's scores in each slice stands for it. `by_others`: the expectation for a labelled row leaves out what its
    own label shows.

    >>> labels = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, np.nan, np.nan])
    >>> scores = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0])
    >>> error = erring(Judged(scores, labels))
    >>> bool(error[6] > error[7])
    True
    """
    groups = _group(judged.filled) if slices is None else slices
    _, place = np.unique(groups, return_inverse=True)
    squares = squared_errors(judged)
    known = (~np.isnan(squares)).astype(float)
    squares = np.nan_to_num(squares)
    own = 1.0 if by_others else 0.0
    count = np.bincount(place, known)[place] - own * known + PRIOR
    overall = (squares.sum() - own * squares) / (known.sum() - own * known)
    expected: NDArray[np.float64] = np.sqrt(
        (np.bincount(place, squares)[place] - own * squares + PRIOR * overall).clip(0) / count
    )
    return expected


def worth_of(
    error: NDArray[np.float64],
    squares: NDArray[np.float64],
    weights: NDArray[np.float64] | None = None,
    *,
    typical: float | None = None,
    guessed: NDArray[np.float64] | None = None,
) -> float | None:
    """How many labels drawn uniformly one label is worth where rows are drawn in proportion to their expected error.

    It is the ratio of the variances of the corrected value. `squares` are the squared errors of rows that stand for
    all, by `weights`, and `error` is the one expected of each; `typical` is its mean over the rows to draw from, by
    default over these. `guessed`: the error expected of the rows to draw from, where it is not learned from labels;
    then the worth is drawn towards the one of errors that have nothing to do with the guess, as if `PRIOR` labels had
    shown such. None where there was no error.

    >>> squares = np.array([0.01, 0.25])
    >>> [round(worth_of(error, squares), 2) for error in (np.array([0.1, 0.5]), np.array([0.5, 0.1]))]
    [1.39, 0.51]
    """
    weights = np.ones(len(error)) if weights is None else weights
    mean = float(np.average(error, weights=weights)) if typical is None else typical

    def share(error: NDArray[np.float64]) -> NDArray[np.float64]:
        return UNIFORM + (1 - UNIFORM) * (error / mean if mean > 0 else np.ones(len(error)))

    uniform, spread = float(weights @ squares), float(weights @ (squares / share(error)))
    if guessed is not None:
        prior = PRIOR * uniform / len(squares)
        uniform, spread = uniform + prior, spread + prior * float((1 / share(guessed)).mean())
    return uniform / spread if spread > 0 else None


def group_pairs(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.int64]:
    """Groups of rows by the scores of two systems, in which the errors of their difference are pooled.

    >>> group_pairs(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])).tolist()
    [0, 1, 4]
    """
    return _group(first, SIDES) * SIDES + _group(second, SIDES)


def _group(scores: NDArray[np.float64], most: int = GROUPS) -> NDArray[np.int64]:
    """Groups of rows of equal score, or of about as many rows each where there are many scores."""
    values, place = np.unique(scores, return_inverse=True)
    if len(values) <= most:
        return place.astype(np.int64)
    edges = np.quantile(scores, np.arange(1, most) / most)
    return np.searchsorted(edges, scores, side="right").astype(np.int64)


def probabilities_of(
    error: NDArray[np.float64], count: int, free: NDArray[np.bool_] | None = None, *, most: float = 1.0
) -> NDArray[np.float64]:
    """The probability of each row, in proportion to its expected error and in part uniform, at most `most`.

    The probabilities of the `free` rows, which have no label yet, sum to `count`; the others have what they
    would have, were they free.

    >>> probabilities_of(np.array([0.0, 1.0, 1.0, 2.0]), 1).round(4).tolist()
    [0.0625, 0.25, 0.25, 0.4375]
    """
    free = np.ones(len(error), np.bool_) if free is None else free
    total = float(error[free].sum())
    shape = UNIFORM / free.sum() + (1 - UNIFORM) * (error / total if total > 0 else np.full(len(error), 1 / free.sum()))
    sure = np.zeros(len(error), np.bool_)
    while True:
        left = free & ~sure
        scale = (count - most * (free & sure).sum()) / shape[left].sum() if left.any() else 0.0
        more = ~sure & (shape * scale > most)
        if not more.any():
            return np.where(sure, most, shape * scale)
        sure |= more


def draw_rows(
    probabilities: NDArray[np.float64], seed: int, strata: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Draw rows with these probabilities: as many as they sum to, and in each stratum too, to within one row.

    Source: W. G. Madow, "On the theory of systematic sampling, II", Annals of Mathematical Statistics 20 (1949).

    >>> len(draw_rows(np.full(1_000, 0.05), seed=0))
    50
    """
    random = np.random.default_rng(seed)
    order = random.permutation(len(probabilities))
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
    steps = np.floor(np.cumsum(probabilities[order]) + random.random() + 1e-9)
    return np.sort(order[np.diff(steps, prepend=0.0) > 0])


def add_rounds(earlier: NDArray[np.float64], fresh: NDArray[np.float64], rows: int) -> tuple[NDArray[np.float64], ...]:
    """The probabilities with which labels of earlier rounds and of a new one count together.

    A row's weight, the inverse of its probability, is what it counts for in the sum over all rows. The new round,
    drawn from the rows without a label, gives one estimate of that sum, in which earlier labels count once. The earlier
    rounds give another. Their average is free of bias even if the new probabilities follow from the earlier labels; its
    parts are such that rounds drawn uniformly are together a uniform sample.

    >>> [each.round(6).tolist() for each in add_rounds(np.full(2, 2 / 100), np.full(3, 3 / 98), 100)]
    [[0.05, 0.05], [0.05, 0.05, 0.05]]
    """
    part = share_of_round(len(earlier), len(fresh), rows)
    return 1 / ((1 - part) / earlier + part), np.minimum(fresh / part, 1.0)


def share_of_round(earlier: int, fresh: int, rows: int) -> float:
    """The part of a new round in the average of estimates; no probability in it may be greater."""
    return rows * fresh / (earlier * (rows - earlier - fresh) + rows * fresh)
