"""The number of labels by people that an interval of a given width takes, from a run and, if there is one, a pilot."""

from __future__ import annotations

import numpy as np

from karat.runs.labels.labels import Labels
from karat.runs.match.match import match
from karat.runs.match.systems import Metrics, System, list_specs, open_system
from karat.stats.corrected.label_count import LabelCount, count_labels, count_labels_from_pilot


def plan_labels(
    system: System, width: float, *, metrics: Metrics = (), correlation: float = 0.5, confidence: float = 0.95
) -> dict[str, LabelCount]:
    """For each metric, how many labels give its value, corrected by people, an interval of `width` from end to end.

    It is assumed that labels vary as the metric's scores do, and correlate with them by `correlation`. Raises
    `SpecError` for scores that do not vary.

    >>> import karat
    >>> rows = {"id": range(2_000), "prediction": ["yes", "no"] * 1_000, "gold": ["yes"] * 2_000}
    >>> plan = plan_labels(karat.score(rows, "em", keep=True), 0.1, correlation=0.8)["em"]
    >>> plan.labels, plan.alone
    (158, 385)
    """
    wanted = list_specs(metrics)
    run = open_system(system, "the result", wanted)
    scores = {spec: run.scores(spec) for spec in (run.manifest.metric(each).spec for each in wanted or run.specs)}
    return {
        spec: count_labels(width, len(each), float(np.nanstd(each)), correlation, confidence=confidence)
        for spec, each in scores.items()
    }


def plan_labels_from_pilot(
    system: System,
    width: float,
    pilot: Labels,
    *,
    on: str | None = None,
    metrics: Metrics = (),
    confidence: float = 0.95,
) -> dict[str, LabelCount]:
    """The same from labels of some rows, which show how they vary and correlate with the metric's scores.

    `on` is the column of the ids that the run and the labels share (LEFT=RIGHT where its name differs), by default one
    that tells the rows apart.

    Raises `DataError` for labels that do not vary, and what `karat.Labels.read` raises.
    """
    matched = match([system], metrics, on, human=pilot)
    (run,), (rows,), clusters = matched.runs, matched.labelled, matched.clusters
    keys = None if clusters is None else clusters.keys
    judged = {each.spec: rows.judged(run.scores(each.spec), keys) for each in matched.metrics}
    return {spec: count_labels_from_pilot(each, width, confidence=confidence) for spec, each in judged.items()}
