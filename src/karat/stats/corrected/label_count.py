"""How many labels by people an interval of a given width takes, with a judge and without."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from karat.core.errors import DataError, SpecError
from karat.data.json.objects import JsonObject
from karat.stats.corrected.fit import add_up
from karat.stats.corrected.influence import influence_of
from karat.stats.corrected.interval import Spread
from karat.stats.corrected.judged import Judged
from karat.stats.inference import Inference
from karat.stats.intervals.student import student_quantile

ROUNDING = 1e-9
NARROWEST = 0.000001  # interval that can be planned for


@dataclass(frozen=True)
class LabelCount(JsonObject):
    """`labels` of `n` rows give the corrected mean an interval of this `width`, from end to end; `alone` without judge.

    None: not even labels of all rows do; `smallest` is the width that these give. `deviation` is the standard deviation
    of the labels and `correlation` theirs with the judge's scores: as a pilot of `pilot` labels shows, or assumed.
    """

    labels: int | None
    alone: int | None
    width: float
    smallest: float
    n: int
    deviation: float
    correlation: float
    pilot: int
    confidence: float


def count_labels(
    width: float, rows: int, deviation: float, correlation: float, *, confidence: float = 0.95, pilot: int = 0
) -> LabelCount:
    """The labels for an interval of the corrected mean that is `width` from end to end, drawn uniformly from the rows.

    With n labels of N rows the variance is deviation² · ((1 - correlation²) / n + correlation² / N).

    Raises `SpecError` for a width or deviation that is not positive and for a correlation beyond -1 and 1.

    >>> count = count_labels(0.08, 10_000, 0.45, 0.8)
    >>> count.labels, count.alone
    (181, 487)
    >>> count_labels(0.01, 10_000, 0.45, 0.8).labels is None
    True
    """
    if not (width >= NARROWEST and deviation > 0 and -1 <= correlation <= 1):
        problem = f"found {width:g}, {deviation:g} and {correlation:g}"
        expected = f"a width from {NARROWEST}, a deviation above 0 and a correlation from -1 to 1"
        raise SpecError(f"{expected} expected, {problem}")
    Inference(confidence)  # which checks it
    reach = 2 * student_quantile((1 + confidence) / 2, math.inf) * deviation
    smallest = reach / math.sqrt(rows)
    share = (smallest / width) ** 2  # of the rows, without a judge
    labels = alone = None
    if share <= 1 + ROUNDING:
        share = min(share, 1.0)
        seen = share * correlation**2
        shares = (share - seen) / (1 - seen) if seen < 1 else 0.0, share
        labels, alone = (max(2, math.ceil(each * rows - ROUNDING)) for each in shares)
    return LabelCount(labels, alone, width, smallest, rows, deviation, correlation, pilot, confidence)


def count_labels_from_pilot(judged: Judged, width: float, *, confidence: float = 0.95) -> LabelCount:
    """The labels for such an interval, from labels of some rows: their deviation and correlation with the scores.

    As in the interval, one more error of the judge is allowed for than the pilot shows. With clusters, labels are taken
    to be as alike within them as in the pilot.

    Raises `DataError` for fewer than two labels, and for labels that are all equal.

    >>> labels = np.where(np.arange(1_000) < 100, np.arange(1_000) % 2, np.nan)
    >>> count_labels_from_pilot(Judged(np.arange(1_000) % 2 * 1.0, labels), 0.2).labels
    6
    """
    pilot = int(judged.labelled.sum())
    if pilot < 2:
        raise DataError(f"at least 2 labels expected, found {pilot}: without labels, assume a correlation")
    influence = influence_of(judged)
    near = np.where(judged.labelled, influence.judge, 0.0)
    labels, judge, shares = (add_up(each, judged) for each in (influence.labels, near, influence.shares))
    spread = Spread(labels, judge, shares, influence.weight, influence.shift, seed=0)
    left, alone = spread.variances
    if not alone:
        raise DataError(f"labels that vary expected, found {pilot} that are equal: their deviation is not known")
    error = (left + spread.unseen) / (alone + spread.unseen)
    deviation = math.sqrt(influence.deviation * alone / float(influence.labels @ influence.labels))
    correlation = math.sqrt(max(0.0, 1 - error))
    return count_labels(width, len(judged.scores), deviation, correlation, confidence=confidence, pilot=pilot)
