"""Values corrected by people: the scores of all rows beside the labels of some, kept while batches go by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.data.join.join import split_on
from karat.data.source import Source
from karat.runs.labels.choices import choices_by_spec, known_choices
from karat.runs.labels.join import LabelledRows, join_labels, no_estimate, why_not_corrected
from karat.runs.labels.labels import Labels
from karat.runs.labels.reversal import describe_reversal
from karat.runs.scoring.arguments import Selection
from karat.runs.store.manifest import ScoredMetric, describe_metric
from karat.runs.store.run import Run
from karat.stats.corrected.estimate import corrected_mean
from karat.stats.corrected.influence import take
from karat.stats.corrected.judged import Judged
from karat.stats.corrected.value import Corrected
from karat.stats.inference import Inference


@dataclass(frozen=True)
class Correction:
    """What people's labels correct: the metrics, and `reasons`, by spec, why some are left as they are."""

    rows: LabelledRows
    metrics: Sequence[ScoredMetric]
    reasons: Mapping[str, str]


def plan_correction(
    human: Labels, selection: Selection, rows: Source, every: Source, metrics: Sequence[Metric]
) -> Correction:
    """Read people's labels and match them with the rows of a selection; `every` holds them before they were filtered.

    Raises what reading and matching raise, before any row is scored.
    """
    on = None
    if selection.on is not None:
        left, right = split_on(selection.on)
        on = (left if selection.gold is None else right, right)
    choices, scored = choices_by_spec(metrics), [describe_metric(metric, metric.spec) for metric in metrics]
    joined = join_labels(human, rows, every, on, choices.values())
    return Correction(joined, scored, why_not_corrected(scored, joined.labels, {} if human.label_map else choices))


class CorrectedTotals:
    """The scores of each metric, with the groups and the clusters of the rows; batches come in the order of the rows.

    A row takes 8 bytes for each metric and for its cluster and group.
    """

    def __init__(self, correction: Correction, inference: Inference) -> None:
        self.correction, self._inference = correction, inference
        self._reversals: list[str] = []
        self._scores: list[list[Array]] = [[] for _ in correction.metrics]
        self._keys: list[list[Array]] = []
        self._groups: defaultdict[str, list[Array]] = defaultdict(list)
        self._n = 0

    def add(self, scored: Sequence[Rows], keys: Sequence[Array], groups: Mapping[str, Array]) -> None:
        """Add a batch; `keys` are the clusters of its rows by each column, `groups` the row numbers of each group."""
        for parts, rows in zip(self._scores, scored, strict=True):
            parts.append(rows.statistics[:, 0])
        self._keys.append(list(keys))
        for label, part in groups.items():
            self._groups[label].append(part + self._n)
        self._n += len(scored[0].statistics)

    def merge(self, other: CorrectedTotals) -> None:
        """Add the scores of the rows that follow."""
        for ours, theirs in zip(self._scores, other._scores, strict=True):
            ours.extend(theirs)
        self._keys += other._keys
        for label, parts in other._groups.items():
            self._groups[label] += [part + self._n for part in parts]
        self._n += other._n

    def values(self, place: int | None = 0) -> tuple[dict[str, Corrected], dict[str, dict[str, Corrected]]]:
        """The corrected values by spec, and by spec and group; by the clusters at this place, if any."""
        groups = {label: np.concatenate(parts) for label, parts in sorted(self._groups.items())}
        keys = None
        if place is not None and any(self._keys):
            keys = np.concatenate([each[place] for each in self._keys])
        whole, grouped = dict[str, Corrected](), dict[str, dict[str, Corrected]]()
        for metric, parts in zip(self.correction.metrics, self._scores, strict=True):
            if reason := self.correction.reasons.get(metric.spec):
                whole[metric.spec] = no_estimate(reason, self._n, len(self.correction.rows.at))
                grouped[metric.spec] = {}
                continue
            rows = self.correction.rows
            judged = rows.judged(np.concatenate([np.empty(0), *parts]), keys)
            if reversal := describe_reversal(metric.spec, judged, self._inference.confidence):
                self._reversals.append(reversal)
            if judged.strata is None and judged.probabilities is not None and _drawn_by(groups.values(), judged):
                judged = replace(judged, strata=_number(groups.values(), self._n))
            correct = partial(
                corrected_mean, bounds=rows.bounds(metric), inference=self._inference, finite=rows.human.finite
            )
            whole[metric.spec] = correct(judged)
            grouped[metric.spec] = {label: correct(take(judged, part)) for label, part in groups.items()}
        return whole, grouped

    def human(self) -> dict[str, Any]:
        """What was joined, as JSON values; after `values`, also which scores fall where labels rise."""
        content = self.correction.rows.as_dict()
        notes = [*content.get("notes", ()), *self._reversals]
        return {**content, "notes": notes} if notes else content


def correct_kept(
    run: Run, labelled: LabelledRows, clusters: Array | None, groups: Mapping[str, Array], inference: Inference
) -> CorrectedTotals:
    """The kept scores of a run beside people's labels, which are in the order of its rows.

    `clusters` are the keys of the rows, `groups` has their numbers. Raises what `why_not_corrected` raises.
    """
    metrics, choices = run.manifest.metrics, {} if labelled.human.label_map else known_choices(run.specs)
    correction = Correction(labelled, metrics, why_not_corrected(metrics, labelled.labels, choices))
    totals = CorrectedTotals(correction, inference)
    totals.add(
        [Rows(run.scores(metric.spec)[:, None]) for metric in metrics], [] if clusters is None else [clusters], groups
    )
    return totals


def _drawn_by(groups: Collection[Array], judged: Judged) -> bool:
    """Whether the labelled rows of each group had one probability, and different groups different ones."""
    chances = [np.unique(judged.chances[rows][judged.labelled[rows]]) for rows in groups]
    return all(len(each) < 2 for each in chances) and len(np.unique(np.concatenate([*chances, []]))) > 1


def _number(groups: Collection[Array], rows: int) -> Array:
    """The number of each row's group."""
    strata = np.empty(rows, np.int64)
    for number, part in enumerate(groups):
        strata[part] = number
    return strata
