"""The number of labels by people that an interval of a given width takes, from a run and, if there is one, a pilot."""

from __future__ import annotations

import numpy as np

from karat.runs.columns.groups import cluster_keys
from karat.runs.labels.choices import known_choices
from karat.runs.labels.human import Human, split_on_labels
from karat.runs.labels.join import LabelledRows, name_system, read_human
from karat.runs.labels.labels import match_labels
from karat.runs.match.systems import Metrics, System, list_specs, open_system
from karat.runs.sampling.labelled_systems import read_ids
from karat.runs.scoring.clusters import find_clusters
from karat.runs.store.run import Run
from karat.stats.corrected.label_count import LabelCount, count_labels, count_labels_from_pilot


def plan_labels(
    system: System, width: float, *, metrics: Metrics = (), correlation: float = 0.5, confidence: float = 0.95
) -> dict[str, LabelCount]:
    """For each metric, how many labels give its value, corrected by people, an interval of `width` from end to end.

    It is assumed that labels vary as the metric's scores do, and correlate with them by `correlation`. Raises
    `SpecError` for scores that do not vary.

    >>> import karat
    >>> rows = {"id": range(2_000), "prediction": ["yes", "no"] * 1_000, "gold": ["yes"] * 2_000}
    >>> plan = plan_labels(karat.score(rows, "em", keep=True), 0.1, correlation=0.8)["exact_match"]
    >>> plan.labels, plan.alone
    (158, 385)
    """
    wanted = list_specs(metrics)
    run = open_system(system, "the result", wanted)
    scores = {spec: run.scores(spec) for spec in _find_specs(run, wanted)}
    return {
        spec: count_labels(width, len(each), float(np.nanstd(each)), correlation, confidence=confidence)
        for spec, each in scores.items()
    }


def plan_labels_from_pilot(
    system: System,
    width: float,
    pilot: Human,
    *,
    on: str | None = None,
    metrics: Metrics = (),
    confidence: float = 0.95,
) -> dict[str, LabelCount]:
    """The same from labels of some rows, which show how they vary and correlate with the metric's scores.

    `on` is the column of the ids that the run and the labels share (LEFT=RIGHT where its name differs), by default one
    that tells the rows apart.

    Raises `DataError` for labels that do not vary, and what `read_labels` raises.
    """
    wanted = list_specs(metrics)
    run = open_system(system, "the result", wanted)
    people, own = split_on_labels(pilot, on)
    name, ids = read_ids(run, own)
    labels = read_human(name_system(people, run.name), name, known_choices(run.specs).values())
    rows = LabelledRows(match_labels(labels, ids, run.name), labels)
    cluster = find_clusters([run])
    keys = None if cluster is None else cluster_keys(run.column(cluster).combine_chunks())
    judged = {spec: rows.judged(run.scores(spec), keys) for spec in _find_specs(run, wanted)}
    return {spec: count_labels_from_pilot(each, width, confidence=confidence) for spec, each in judged.items()}


def _find_specs(run: Run, wanted: list[str]) -> list[str]:
    return [run.manifest.metric(spec).spec for spec in wanted or run.specs]
