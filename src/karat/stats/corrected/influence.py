"""How much each row moves the corrected value: the sums of these numbers by row or cluster give its variance.

The corrected value is linear in the weight λ of the judge: the mean of the labels, plus λ times the amount by which the
judge scores the other rows higher than the labelled ones. So is the influence of each row. Strata add up, row by row.

Source: A. Angelopoulos, J. Duchi and T. Zrnic, "PPI++: efficient prediction-powered inference", arXiv:2311.01453;
A. Fisch et al., "Stratified prediction-powered inference", arXiv:2406.04291; T. Zrnic and E. Candès, "Active
statistical inference", arXiv:2403.03208.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.stats.corrected.judged import Judged

OWN = 20  # labels in the smallest stratum from which each has a weight of its own


@dataclass(frozen=True, eq=False)
class Influence:
    """The mean of the labels with the influence of each row, and what a judge's weight of 1 adds to each.

    `labels` and `judge` have the shape (rows,) and sum to 0; `spread` is the variance of `shift`. `shares`, shape
    (rows,), are the labels' weights in their mean: they sum to 1 and are 0 without a label. `deviation` is the variance
    of one label drawn uniformly, `limit` the number of rows if the value is the mean of exactly these, else infinite.
    """

    mean: float
    shift: float
    labels: NDArray[np.float64]
    judge: NDArray[np.float64]
    shares: NDArray[np.float64]
    spread: float
    deviation: float
    limit: float

    @property
    def weight(self) -> float:
        """The weight of the judge with which the value varies least; 0 where its scores do not vary."""
        return -float(self.labels @ self.judge) / self.spread if self.spread > 0 else 0.0

    def worth(self, variance: float) -> float:
        """The number of uniformly drawn labels whose mean has this variance."""
        return 1 / (variance / self.deviation + 1 / self.limit)


def influence_of(judged: Judged, *, finite: bool = False) -> Influence:
    """The influence of each row on the corrected mean, added up over the strata if there are any.

    `finite`: on the mean of exactly these rows, in which only the choice of the labelled ones is left to chance;
    otherwise on the population from which the rows come. Strata with fewer than two labels are one: the labels'
    probabilities hold in it too.
    """
    if judged.strata is None or (judged.strata == judged.strata[0]).all():
        return _influence(judged, finite=finite)
    labels, judge, shares = np.zeros((3, len(judged.scores)))
    mean = shift = spread = square = 0.0
    place = pool_strata(judged.strata, judged.labelled)
    counts = np.bincount(place, judged.labelled)
    separate = counts.min() >= OWN
    for stratum in range(place.max() + 1):
        rows = np.flatnonzero(place == stratum)
        part = _influence(take(judged, rows), finite=finite)
        share = len(rows) / len(place)
        trust = share * part.weight if separate else share
        few = math.sqrt(counts[stratum] / (counts[stratum] - 1))  # so that squares of few labels give their variance
        mean, shift = mean + share * part.mean, shift + trust * part.shift
        spread, square = spread + (few * trust) ** 2 * part.spread, square + share * (part.deviation + part.mean**2)
        labels[rows], judge[rows] = few * share * part.labels, few * trust * part.judge
        shares[rows] = share * part.shares
    return Influence(mean, shift, labels, judge, shares, spread, square - mean**2, len(place) if finite else math.inf)


def take(judged: Judged, rows: NDArray[np.integer]) -> Judged:
    """These rows."""
    columns: dict[str, Any] = {field.name: getattr(judged, field.name) for field in fields(judged)}
    columns |= {name: column[rows] for name, column in columns.items() if column is not None}
    return Judged(**columns)


def pool_strata(strata: NDArray[np.int64], labelled: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The strata as numbers from 0, of which those with fewer than two labels are one, together with the next smallest.

    >>> pool_strata(np.array([5, 5, 7, 7, 7, 9]), np.array([True, True, True, True, False, True])).tolist()
    [0, 0, 1, 1, 1, 0]
    """
    place = np.unique(strata, return_inverse=True)[1]
    counts = np.bincount(place, labelled)
    order = np.argsort(counts, kind="stable")
    poor = counts < 2
    if poor.any() and counts[poor].sum() < 2:
        poor[order[: int(poor.sum()) + 1]] = True
    pooled: NDArray[np.int64] = np.where(poor[place], 0, place + 1)
    return np.unique(pooled, return_inverse=True)[1]


def _influence(judged: Judged, *, finite: bool) -> Influence:
    """The influence in one stratum.

    If all rows had the same probability, labelled and other rows are two samples (PPI++). Otherwise the labelled rows
    stand for all, by the inverse of their probabilities (active inference).
    """
    labelled, rows = judged.labelled, len(judged.scores)
    count = int(labelled.sum())
    rest = rows - count
    scores = judged.filled if rest else np.zeros(rows)  # where all rows are labelled, nothing is left to the judge
    if judged.uniform:
        chance, expand = np.full(rows, count / rows), rows / max(rest, 1)
        shares, others = labelled / count, ~labelled / max(rest, 1)
    else:
        chance, expand = np.where(labelled, judged.chances, 1.0), 1.0
        shares, others = labelled / chance / (labelled / chance).sum(), np.full(rows, 1 / rows)
    labels = np.where(labelled, judged.labels, 0.0)
    mean, near, far = (
        float(weights @ values) for weights, values in ((shares, labels), (shares, scores), (others, scores))
    )
    by_label, by_score = shares * (labels - mean), shares * (scores - near)
    judge = others * (scores - far) - by_score
    spread = float(scores.var(ddof=1)) * (1 / count + 1 / max(rest, 1)) if judged.uniform else float(judge @ judge)
    if finite:
        drawn = np.sqrt(1 - chance)
        by_label, judge = by_label * drawn, -by_score * drawn * expand
    deviation, limit = float(shares @ (labels - mean) ** 2), rows if finite else math.inf
    return Influence(mean, far - near, by_label, judge, shares, spread, deviation, limit)
