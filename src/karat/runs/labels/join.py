"""Labels by people, joined with the rows that were scored, and which metrics they can correct."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc

from karat.core.columns.kinds import Array
from karat.core.errors import DataError, SpecError
from karat.data.source import Source
from karat.runs.columns.groups import read_strata
from karat.runs.columns.ids import find_id, read_ids
from karat.runs.labels.labels import Labels
from karat.runs.labels.table import LabelTable, match_labels, read_labels
from karat.runs.store.manifest import ScoredMetric
from karat.stats.aggregate import Bounds
from karat.stats.agreement.threshold import fit_threshold
from karat.stats.corrected.cross_prediction import cross_predict
from karat.stats.corrected.judged import Judged
from karat.stats.corrected.value import Corrected


@dataclass(frozen=True)
class LabelledRows:
    """The labels of scored rows: `at`, shape (m,), has the row numbers from 0, and `labels` the labels of these rows.

    `left_out` counts the labels of rows that were filtered out. `strata`, shape (n,), are equal in rows of one stratum.
    """

    at: Array
    labels: LabelTable
    human: Labels
    left_out: int = 0
    strata: Array | None = None

    def judged(self, scores: Array, clusters: Array | None) -> Judged:
        """The scores of all rows, shape (n,), beside the labels of some."""
        labels, chances = np.full(len(scores), np.nan), self.labels.probabilities
        labels[self.at] = self.labels.mean
        probabilities = None
        if chances is not None:
            probabilities = np.ones(len(scores))
            probabilities[self.at] = chances
        judged = Judged(scores, labels, probabilities, clusters, self.strata)
        return judged if self.human.threshold is None else _cut(judged, self.human.threshold)

    def place(self, order: Array) -> LabelledRows:
        """The same beside rows in another order; `order`, shape (n,), has the new number of each row."""
        strata = None if self.strata is None else self.strata[np.argsort(order)]
        return replace(self, at=order[self.at], strata=strata)

    def bounds(self, metric: ScoredMetric) -> Bounds:
        """The least and the greatest label."""
        return (metric.low, metric.high) if self.human.threshold is None else (0.0, 1.0)

    def as_dict(self) -> dict[str, Any]:
        """What was joined, as JSON values."""
        weighted = self.labels.probabilities is not None
        content = {"source": self.labels.source, "labelled": len(self.labels), "left_out": self.left_out,
                 "weighted": weighted}  # fmt: skip
        content |= {"annotators": list(self.labels.annotators), "choices": dict(self.labels.choices)}
        notes = [*self.human.notes, *self.labels.notes]
        return {**content, "notes": notes} if notes else content


def _cut(judged: Judged, threshold: float | Literal["fit"]) -> Judged:
    """The same with verdicts of yes and no for scores."""
    if not isinstance(threshold, str):
        verdicts = np.where(np.isnan(judged.scores), np.nan, judged.scores >= threshold)
        return replace(judged, scores=verdicts)
    units = judged.labelled & ~np.isnan(judged.scores)
    if np.count_nonzero(units) < 2 or (judged.clusters is not None and len(np.unique(judged.clusters[units])) < 2):
        return judged  # there is no estimate
    return replace(judged, scores=cross_predict(judged, fit_threshold))


def join_labels(
    human: Labels, rows: Source, every: Source, on: tuple[str, str] | None, choices: Iterable[Mapping[str, float]]
) -> LabelledRows:
    """Read labels and match them with `rows`, which `every` holds before they were filtered.

    `on` names the column of ids in the rows and in the labels, by default one that tells the rows apart. `choices`: see
    `Labels.read`.

    Raises what reading and matching raise, `SpecError` where labels are in a file and no column has the name of an id,
    and for a threshold where labels are not yes and no.
    """
    strata = read_strata(rows, human.strata)
    if columns := human.columns_of(rows.schema.names):
        labels = read_labels(rows, on=None, label_map=human.label_map, columns=columns, choices=choices)
        at, left_out = labels.rows - 1, 0
    else:
        human.check_files(rows.schema.names, rows.name)
        own, theirs = on or (find_id(every),) * 2
        labels = human.of_system(rows.name).read(theirs, choices)
        ids, left_out = read_ids(rows, own), 0
        if every is not rows:
            match_labels(labels, read_ids(every, own), every.name)
            kept = np.asarray(pc.is_in(labels.ids, ids))
            labels, left_out = labels.take(kept), int((~kept).sum())
        at = match_labels(labels, ids, rows.name)
    if human.threshold is not None and (wrong := labels.mean[~np.isin(labels.mean, (0.0, 1.0))]).size:
        problem = f"labels of yes and no (1 and 0) expected for a threshold, found {wrong[0]:g}"
        raise SpecError(f"{labels.source}: {problem}: leave the threshold away (--human-threshold)")
    return LabelledRows(at, labels, human, left_out, strata)


def no_estimate(reason: str, rows: int, labelled: int) -> Corrected:
    """No corrected value of these rows, and why."""
    missing = dict.fromkeys(("value", "low", "high", "method", "weight", "effective", "uncorrected", "labels_alone"))
    return Corrected(n=rows, labelled=labelled, reason=reason, **missing)


def why_not_corrected(
    metrics: Sequence[ScoredMetric], labels: LabelTable, choices: Mapping[str, Mapping[str, float]]
) -> dict[str, str]:
    """The metrics that labels cannot correct, by spec, each with its reason.

    `choices`: by spec, the labels of each judge. Where these are the names of people's labels, the labels are about
    what that judge says. Raises `DataError` where the labels are on no metric's scale, and `SpecError` where they could
    be on the scale of metrics of both directions.
    """
    own = [each for each in metrics if choices.get(each.spec) == labels.choices]
    directions = {each.direction for each in own or metrics}
    if len(directions) > 1:
        problem = "for some of these metrics more is better, for others less; no label can be right for both"
        raise SpecError(f"{problem}: score or compare them in two calls")
    reasons = {}
    beyond = {each.spec: _find_beyond(each, labels) for each in metrics}
    for each in metrics:
        if each.counts:
            reasons[each.spec] = "its value is not the mean of its rows' scores"
        elif own and each not in own and each.spec in choices:
            reasons[each.spec] = f"its labels are {', '.join(choices[each.spec])}, people's {', '.join(labels.choices)}"
        elif each.direction not in directions:
            reasons[each.spec] = f"the labels belong to {own[0].spec}, of which the other direction is good"
        elif beyond[each.spec] is not None:
            reasons[each.spec] = "labels are beyond its scale"
    if (at := beyond[metrics[0].spec]) is not None and len(reasons) == len(metrics):
        first, remedy = metrics[0], "such as --label-map '1=0,2=0.5,3=1' or '1<2<3' (in Python, label_map=)"
        problem = f"the label {labels.mean[at]:g} is not on the scale of {first.spec}, {first.low} to {first.high}"
        raise DataError(f"{labels.place(at)}: {problem}: say which score each label has, {remedy}")
    return reasons


def _find_beyond(metric: ScoredMetric, labels: LabelTable) -> int | None:
    """The position of a label that is not on the metric's scale; None where all are."""
    low = -np.inf if metric.low is None else metric.low
    high = np.inf if metric.high is None else metric.high
    wrong = (labels.mean < low) | (labels.mean > high)
    return int(np.argmax(wrong)) if wrong.any() else None
