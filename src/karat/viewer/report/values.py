"""The values on a report, under its own settings: the stored ones where these are those of the scoring, else the kept
scores' by the same inference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.runs.columns.lengths import find_cautions
from karat.runs.labels.labels import Labels
from karat.runs.match.labelled import labels_by_run
from karat.runs.match.match import Matched
from karat.runs.match.row_groups import RowClusters
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.match.systems import find_lengths
from karat.runs.scoring.clusters import find_clusters
from karat.runs.scoring.correction import correct_kept
from karat.runs.store.run import Run
from karat.stats.aggregate import Bounds, points
from karat.stats.corrected.corrected import Corrected
from karat.stats.inference import Inference
from karat.stats.value import Value, value_of_rows


@dataclass(frozen=True)
class SystemValue:
    """The value of a metric in a system, over all its rows or one slice of them; where people labelled, corrected.

    `caution`: why it is low however right the answers are.
    """

    spec: str
    system: str
    slice: str | None
    value: Value
    corrected: Corrected | None
    bounds: Bounds
    caution: str = ""

    @property
    def factor(self) -> float:
        """The factor from the metric's unit to that of the report."""
        return points(self.bounds)


@dataclass(frozen=True)
class Settings:
    """How values are computed: their `inference`, and labels by people.

    `on` names the ids in the rows and in the labels; None: they are found.
    """

    inference: Inference
    human: Labels | None = None
    on: tuple[str, str] | None = None

    def are_those_of(self, run: Run, clusters: RowClusters | None) -> bool:
        """Whether the run was scored with the same intervals, so that its stored values are the ones asked for."""
        cluster = None if clusters is None else clusters.about.column
        known = run.manifest.settings
        stored = Inference(float(known.get("confidence", 0.95)), int(known.get("seed", 0)))
        return bool(run.values) and stored == self.inference and find_clusters([run]) == cluster


@dataclass(frozen=True)
class ReportValues:
    """The values of all systems; `slices`, the row numbers by label, are those of a single one by the column `by`."""

    matched: Matched
    settings: Settings
    slices: Mapping[str, Array]
    by: str | None
    notes: list[str] = field(default_factory=list)
    """What a reader has to know of the values; complete when they have been read."""

    @property
    def runs(self) -> Sequence[Run]:
        """The systems."""
        return self.matched.runs

    def read(self, drawn: frozenset[str]) -> list[SystemValue]:
        """The values by metric and system, those of the `drawn` slices after that of all rows."""
        if len(self.runs) == 1:  # of several, the comparison says it
            self.notes.extend(self.matched.notes)
        corrected = [self._correct(at) for at in range(len(self.runs))]
        cautions = [find_cautions(run.specs, find_lengths(run)) for run in self.runs]
        return [
            SystemValue(
                metric.spec, run.name, label, value, corrected[at].get((scored.spec, label)), bounds,
                cautions[at].get(scored.spec, ""),
            )
            for metric in self.matched.metrics
            for bounds in ((metric.by_run[0].low, metric.by_run[0].high),)
            for at, (run, scored) in enumerate(zip(self.runs, metric.by_run, strict=True))
            for label, value in self._read(at, metric, drawn)
        ]  # fmt: skip

    def _read(self, at: int, metric: SharedMetric, drawn: frozenset[str]) -> Iterator[tuple[str | None, Value]]:
        run, scored = self.runs[at], metric.by_run[at]
        labels = [label for label in self.slices if label in drawn]
        stored = _stored(run, scored.spec) if self.settings.are_those_of(run, self.matched.clusters) else {}
        groups = stored.get("groups", {}) if run.manifest.settings.get("by") == self.by else {}
        if stored:
            yield None, _value(stored)
        if stored and groups.keys() >= set(labels):
            yield from ((label, _value(groups[label])) for label in labels)
            return
        scale, statistics = replace(metric, by_run=(scored,)).scale, run.statistics(scored.spec)
        inference, clusters = self.settings.inference, self._clusters[at]
        for label in labels if stored else (None, *labels):
            rows = None if label is None else self.slices[label]
            value = value_of_rows(statistics, scale, clusters=clusters, rows=rows, inference=inference)
            yield label, value

    @cached_property
    def _clusters(self) -> list[Array | None]:
        """The cluster keys of each run's rows, in its own order."""
        if (found := self.matched.clusters) is None:
            return [None] * len(self.runs)
        return [found.keys[np.argsort(self.matched.rows.order(at))] for at in range(len(self.runs))]

    def _correct(self, at: int) -> dict[tuple[str, str | None], Corrected]:
        """A run's values corrected by people, by spec and slice."""
        run, settings = self.runs[at], self.settings
        metrics = tuple(metric.by_run[at] for metric in self.matched.metrics)
        if settings.human is None:
            found = dict(_stored_corrections(run, [each.spec for each in metrics], self.by))
            if found and not settings.are_those_of(run, self.matched.clusters):
                remedy = "name the labels again to see it here (--human)"
                self.notes.append(f"{run.name} was scored with labels by people under other settings: {remedy}")
                return {}
            return found
        human = labels_by_run(settings.human, self.runs)[at]
        run = replace(run, manifest=replace(run.manifest, metrics=metrics))
        totals = correct_kept(run, human, settings.on, self._clusters[at], self.slices, settings.inference)
        whole, grouped = totals.values()
        if len(self.runs) == 1:  # of several, the comparison says it
            self.notes.extend(totals.human().get("notes", ()))
        return {(spec, label): each for spec in whole for label, each in ((None, whole[spec]), *grouped[spec].items())}


def _stored(run: Run, spec: str) -> dict[str, Any]:
    """What a run says of a metric's value; {} in a file of scored rows."""
    return next((dict(entry) for entry in run.values.get("metrics", ()) if entry["spec"] == spec), {})


def _stored_corrections(
    run: Run, specs: Sequence[str], by: str | None
) -> Iterator[tuple[tuple[str, str | None], Corrected]]:
    for spec in specs:
        entry = _stored(run, spec)
        groups = entry.get("groups", {}) if run.manifest.settings.get("by") == by else {}
        for label, each in ((None, entry), *groups.items()):
            if each.get("corrected"):
                yield (spec, label), Corrected(**each["corrected"])


def _value(entry: Mapping[str, Any]) -> Value:
    return Value(**{each.name: entry[each.name] for each in fields(Value)})
