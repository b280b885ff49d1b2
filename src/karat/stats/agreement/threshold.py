"""The threshold that best cuts a score into yes and no, and what it is worth on rows that did not choose it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from karat.stats.agreement.accuracy import NO_ROWS, Scores, Weights, both
from karat.stats.agreement.auroc import auroc, binary
from karat.stats.agreement.coefficient import Coefficient

Clusters: TypeAlias = NDArray[np.int64] | None
FOLDS = 10
FEWEST = 5  # rows or clusters of each label: with fewer, folds and draws lack one label too often
DRAWS = (200, 1_000)  # the least and the greatest number of bootstrap draws
CELLS = 100_000_000  # rows of all draws together
CHUNK = 2_000_000  # numbers at a time


@dataclass(frozen=True, eq=False)
class Threshold:
    """The least score that counts as yes: `value`, with its interval from `low` to `high`.

    `calls`, shape (rows,), is 1 where the score is at least `value`. `crossed`, shape (rows,), is the same with a
    threshold for each row that other rows chose: agreement computed from it is free of optimism. Both are NaN for rows
    not used. `reason` says why there is no threshold, where `value` is None.
    """

    value: float | None
    low: float | None
    high: float | None
    calls: Scores
    crossed: Scores
    reason: str | None = None


def best_threshold(
    scores: Scores,
    labels: Scores,
    *,
    clusters: Clusters = None,
    weights: Weights = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Threshold:
    """The threshold with the greatest sensitivity plus specificity (Youden's J).

    `scores` and `labels` (0 or 1) have shape (rows,); rows in which one is NaN are left out. The threshold lies
    half-way between two scores. Its interval is the bootstrap's, over rows or clusters. `crossed` comes from 10-fold
    cross-validation in which no cluster is divided.

    Source: W. J. Youden, "Index for rating diagnostic tests", Cancer 3 (1950).

    >>> scores = np.arange(20) / 20
    >>> round(best_threshold(scores, np.where(scores > 0.42, 1.0, 0.0)).value, 4)
    0.425
    """
    used = both(scores, labels)
    nothing = np.full(len(scores), np.nan)
    if not used.any():
        return Threshold(None, None, None, nothing, nothing, NO_ROWS)
    cut = _Cuts(scores[used], binary(labels[used]))
    if not len(cut.last):
        return Threshold(None, None, None, nothing, nothing, f"every score is {cut.scores[0]:g}")
    units = np.arange(len(cut.yes)) if clusters is None else np.unique(clusters[used], return_inverse=True)[1]
    size = int(units.max()) + 1
    fewest = min(len(np.unique(units[cut.yes == side])) for side in (True, False))
    if fewest < FEWEST:
        reason = (
            f"{fewest} labelled {'rows' if clusters is None else 'clusters'} of one of the two labels; {FEWEST} needed"
        )
        return Threshold(None, None, None, nothing, nothing, reason)
    kept = np.ones(len(units)) if weights is None else weights[used]
    value = float(cut.best(kept[None])[0])
    random = np.random.default_rng(seed)
    draws = int(np.clip(CELLS // len(units), *DRAWS))
    chunk, drawn = max(1, CHUNK // len(units)), list[NDArray[np.float64]]()
    for start in range(0, draws, chunk):
        counts = random.multinomial(size, np.full(size, 1 / size), size=min(chunk, draws - start))
        drawn.append(cut.best(kept * counts[:, units]))
    tail = (1 - confidence) / 2
    low, high = np.nanquantile(np.concatenate(drawn), [tail, 1 - tail])
    folds = (random.permutation(size) % FOLDS)[units]
    others = cut.best(kept * (folds != np.arange(FOLDS)[:, None]))
    calls, crossed = nothing.copy(), nothing
    calls[used], crossed[used] = cut.scores >= value, cut.scores >= others[folds]
    return Threshold(value, float(low), float(high), calls, crossed)


class _Cuts:
    """All thresholds between the different scores, with what each is worth for given weights of the rows."""

    def __init__(self, scores: Scores, yes: NDArray[np.bool_]) -> None:
        self.scores, self.yes = scores, yes
        self.order = np.argsort(scores, kind="stable")
        ranked = scores[self.order]
        self.last = np.flatnonzero(ranked[:-1] < ranked[1:])  # of the rows with one score
        self.between = (ranked[self.last] + ranked[self.last + 1]) / 2
        self.sides = yes[self.order], ~yes[self.order]

    def best(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The best threshold for each row of weights, shape (draws,); NaN where one label has no weight."""
        ordered = weights[:, self.order]
        yes, no = (np.cumsum(np.where(side, ordered, 0.0), axis=1) for side in self.sides)
        with np.errstate(invalid="ignore"):
            youden = no[:, self.last] / no[:, -1:] - yes[:, self.last] / yes[:, -1:]
        return np.where(np.isnan(youden[:, 0]), np.nan, self.between[np.argmax(youden, axis=1)])


def youden_index(calls: Scores, labels: Scores, *, weights: Weights = None) -> Coefficient:
    """Youden's J of calls, 0 or 1: how often yes is called where it is right, less how often where it is wrong.

    It is 2·AUROC - 1 of the calls.

    >>> youden_index(np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0, 0])).value
    0.6666666666666667
    """
    area = auroc(calls, labels, weights=weights)
    return Coefficient(2 * area.value - 1, 2 * area.influence, area.shares, (-1.0, 1.0), area.reason)
