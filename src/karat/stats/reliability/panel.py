"""What several judges of the same rows are worth together: how far they err alike, and whether one does as well.

Judges that err on the same rows correct each other little, however many they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from karat.core.errors import DataError
from karat.data.json.objects import JsonObject
from karat.stats.agreement.accuracy import Scores, Weights, mean
from karat.stats.agreement.coefficient import Coefficient, value_of_sums
from karat.stats.corrected.cross_prediction import assign_folds
from karat.stats.inference import Inference
from karat.stats.intervals.wilson import Ends
from karat.stats.value import Estimate


@dataclass(frozen=True)
class PanelErrors(JsonObject):
    """Judges of the same rows beside the truth.

    `correlation`: of the errors of two judges, over all pairs. `effective`: so many judges with independent errors are
    worth as much, k / (1 + (k - 1)·correlation). `errors`: each judge's mean error. `together`: the error of all, by
    the label of most or the mean score. `best`: the position of the judge that errs least; `alone`: the error of the
    judge that errs least on other rows, which choosing it does not flatter; `difference`: what it errs more than all.
    """

    correlation: Estimate
    effective: Estimate
    errors: tuple[Estimate, ...]
    together: Estimate
    best: int
    alone: Estimate
    difference: Estimate


def examine_panel(
    scores: Scores,
    truth: Scores,
    *,
    bounds: Ends | None = None,
    weights: Weights = None,
    clusters: NDArray[np.int64] | None = None,
    inference: Inference = Inference(),  # noqa: B008  (it is frozen)
) -> PanelErrors:
    """How far the errors of judges go together; `scores` has shape (rows, judges), `truth` (rows,), NaN where there is
    none. Only rows that all judges scored count.

    Scores are labels, right or wrong, and a tie of two labels is half an error; or they are numbers with `bounds`, and
    the error is the distance from the truth. The judge that errs least is chosen in ten folds, by cluster, each from
    the other nine.

    Raises `DataError` for fewer than two judges and fewer than two rows or clusters that all of them scored.

    Source: the variance of a mean of equally correlated errors (C. Spearman, W. Brown, 1910).

    >>> random = np.random.default_rng(0)
    >>> truth = (random.random(400) < 0.6).astype(float)
    >>> hard = random.random(400) < 0.15  # rows on which all of them err
    >>> wrong = hard[:, None] | (random.random((400, 3)) < 0.05)
    >>> found = examine_panel(np.where(wrong, 1 - truth[:, None], truth[:, None]), truth)
    >>> print(found.effective, found.difference, sep="; ")
    1.3456 (1.2532 – 1.4716); 0.0650 (0.0407 – 0.0893)
    """
    if scores.shape[1] < 2:
        raise DataError(f"two judges or more expected, found {scores.shape[1]}")
    there = ~(np.isnan(scores).any(axis=1) | np.isnan(truth))
    number = scores.shape[1]
    apart = scores - truth[:, None]
    wrong = (apart != 0).astype(np.float64) if bounds is None else np.abs(apart)
    wrong[~there] = np.nan
    together = np.full(len(truth), np.nan)
    together[there] = (_wrong_by_vote if bounds is None else _distance_of_mean)(scores[there], truth[there])
    span = (0.0, 1.0 if bounds is None else bounds[1] - bounds[0])

    def estimate(coefficient: Coefficient) -> Estimate:
        return coefficient.estimate(clusters, inference.confidence)

    shared = value_of_sums(
        _moments(wrong if bounds is None else np.where(there[:, None], apart, np.nan)),
        lambda sums: _correlation(sums, number),
        weights=weights,
        empty="no judge errs on any row",
    )
    correlation = estimate(replace(shared, bounds=(-1 / (number - 1), 1.0)))
    units = (np.arange(len(truth)) if clusters is None else clusters)[there]
    alone = np.full(len(truth), np.nan)
    counted = wrong if weights is None else wrong * weights[:, None]
    alone[there] = _by_others(wrong[there], counted[there], assign_folds(units, inference.seed))
    errors = tuple(estimate(mean(each, bounds=span, weights=weights)) for each in wrong.T)
    return PanelErrors(
        correlation=correlation,
        effective=_effective(correlation, number),
        errors=errors,
        together=estimate(mean(together, bounds=span, weights=weights)),
        best=int(np.argmin([np.inf if each.value is None else each.value for each in errors])),
        alone=estimate(mean(alone, bounds=span, weights=weights)),
        difference=estimate(mean(alone - together, bounds=(-span[1], span[1]), weights=weights)),
    )


def _wrong_by_vote(scores: Scores, truth: Scores) -> Scores:
    """The chance that the label of most judges, drawn from those that tie, is wrong, shape (rows,)."""
    alike: Scores = (scores[:, :, None] == scores[:, None, :]).sum(axis=2).astype(np.float64)  # with each vote
    most = alike == alike.max(axis=1, keepdims=True)
    winners = (most / alike).sum(axis=1)
    right = ((most & (scores == truth[:, None])) / alike).sum(axis=1)
    wrong: Scores = 1 - right / winners
    return wrong


def _distance_of_mean(scores: Scores, truth: Scores) -> Scores:
    distance: Scores = np.abs(scores.mean(axis=1) - truth)
    return distance


def _moments(errors: Scores) -> Scores:
    """A row's statistics for `_correlation`: 1, its errors, their squares, the sum of all and its square."""
    total = errors.sum(axis=1)
    return np.column_stack([np.ones(len(errors)), errors, errors**2, total, total**2])


def _correlation(sums: Scores, number: int) -> Scores:
    """The mean covariance of two judges' errors by their mean variance, from sums of `_moments`."""
    rows, errors, squares = sums[..., :1], sums[..., 1 : number + 1], sums[..., number + 1 : 2 * number + 1]
    own = (squares / rows - (errors / rows) ** 2).sum(axis=-1)
    of_sum = sums[..., -1] / rows[..., 0] - (sums[..., -2] / rows[..., 0]) ** 2
    with np.errstate(all="ignore"):
        share: Scores = (of_sum - own) / ((number - 1) * np.where(own > 0, own, np.nan))
    return share


def _effective(correlation: Estimate, number: int) -> Estimate:
    """The effective number of votes, from 1 to the number of judges."""

    def votes(each: float | None) -> float | None:
        return None if each is None else number / (1 + (number - 1) * min(1.0, max(0.0, each)))

    low, high = votes(correlation.high), votes(correlation.low)
    return Estimate(votes(correlation.value), low, high, correlation.n, correlation.reason)


def _by_others(wrong: Scores, counted: Scores, folds: NDArray[np.int64]) -> Scores:
    """The error on each row of the judge that errs least in the other folds, shape (rows,)."""
    chosen = np.zeros(len(wrong), np.int64)
    for fold in np.unique(folds):
        chosen[folds == fold] = counted[folds != fold].sum(axis=0).argmin()
    best: Scores = wrong[np.arange(len(wrong)), chosen]
    return best
