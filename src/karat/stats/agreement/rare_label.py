"""The upper end of an interval where raters have hardly ever agreed on a rare label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from karat.stats.agreement.accuracy import Scores, Weights
from karat.stats.agreement.coefficient import Coefficient
from karat.stats.agreement.distance import MOST_CATEGORIES, CodedLabels

ENOUGH = 5  # rows in which raters agree on a label; by simulation: docs/explanation/validation.md


def allow_for_rare_label(
    measure: Callable[[Scores, Weights], Coefficient], ratings: Scores, weights: Weights
) -> Coefficient:
    """What `measure` returns for these ratings, with an interval that reaches as far up as with one row more.

    Where a label is rare, kappa and alpha depend on the few rows in which raters agree on it. A sample that happens to
    have fewer of them shows a low value and, too, a low variance; if it has none, they are about 0 and hardly vary,
    however well the raters agree on other rows. So the interval also covers what one more row with this label from
    every rater would give.
    """
    measured = measure(ratings, weights)
    labels = CodedLabels.of(ratings)
    if measured.reason is not None or len(labels) > MOST_CATEGORIES:
        return measured
    counts = np.bincount(labels.codes[labels.codes >= 0])
    rarest = int(np.argmin(counts))
    if np.count_nonzero((labels.codes == rarest).sum(axis=1) > 1) >= ENOUGH:
        return measured
    one_more = np.vstack([ratings, np.full(ratings.shape[1], labels.values[rarest])])
    more_weights = None if weights is None else np.append(weights, weights.mean())
    return replace(measured, unseen=measure(one_more, more_weights))
