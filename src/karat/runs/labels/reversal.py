"""Whether scores fall where people's labels rise: mostly a label map or a direction that is turned round."""

from __future__ import annotations

import numpy as np

from karat.core.columns.kinds import Array
from karat.stats.agreement.correlation import correlation
from karat.stats.corrected.judged import Judged
from karat.stats.value import spell


def describe_reversal(name: str, judged: Judged, confidence: float = 0.95, *, turned: bool = False) -> str | None:
    """What to check where the interval of Pearson's correlation of scores and labels is below 0, in words; else None.

    `turned`: less of the metric is better, and the scores have their sign reversed.

    >>> scores, labels = np.tile([1.0, 0.0], 20), np.tile([0.0, 1.0], 20)
    >>> print(describe_reversal("exact_match", Judged(scores, labels)))
    exact_match falls where people's labels rise (correlation -1.00 [-1.00, -0.82]): check which label is good ...
    >>> describe_reversal("exact_match", Judged(scores, scores)) is None
    True
    """
    used = judged.labelled
    weights = None if judged.probabilities is None else 1 / judged.probabilities[used]
    clusters: Array | None = None
    if judged.clusters is not None:
        clusters = np.unique(judged.clusters[used], return_inverse=True)[1]
    coefficient = correlation(judged.scores[used], judged.labels[used], "pearson", weights=weights)
    shown = coefficient.estimate(clusters, confidence)
    if shown.value is None or shown.high is None or shown.high >= 0:
        return None
    moves, sign = ("rises", -1) if turned else ("falls", 1)
    value, *ends = (spell(sign * (each or 0.0), ".2f") for each in (shown.value, shown.low, shown.high))
    low, high = ends[::sign]
    seen = f"{name} {moves} where people's labels rise (correlation {value} [{low}, {high}])"
    return f"{seen}: check which label is good (--label-map) and whether less of the metric is better (direction)"
