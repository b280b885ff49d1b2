"""Rank systems that were scored on the same rows: their order, and what of it the rows support."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.rows import widen
from karat.runs.columns.lengths import find_caution, list_cautions
from karat.runs.compare.ranked import Evidence, Ranked, order_systems
from karat.runs.match.alignment import Alignment
from karat.runs.match.match import match
from karat.runs.match.row_groups import Slices
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.match.systems import System, find_lengths
from karat.runs.store.run import Run
from karat.stats.inference import Inference
from karat.stats.ranking.pairs import Systems
from karat.stats.ranking.standing import Correction


def rank(
    *systems: System,
    metrics: str | Metric | Iterable[str | Metric] = (),
    by: str | None = None,
    cluster: str | None = None,
    on: str | None = None,
    common: bool = False,
    allow_different: bool = False,
    correction: Correction = "holm",
    confidence: float = 0.95,
    seed: int = 0,
) -> Ranked:
    """Rank two or more systems, up to hundreds, that were scored on the same rows.

    Each metric orders the systems, over all rows and over each slice of `by`. Every pair gets a paired test; systems
    that share a letter are not separated, and each system gets the set of ranks that it may have. Rows count on which
    every system has a score. `correction` of p for all tests: "holm", or "bh" (Benjamini and Hochberg), which separates
    more pairs, of which up to 1 - `confidence` may be wrong. All other arguments, and what is raised, are those of
    `karat.compare`.

    >>> import karat
    >>> rows = {"id": range(30), "gold": ["yes"] * 30}
    >>> right = {"low": 10, "middle": 14, "high": 28}
    >>> scored = [karat.score({**rows, "prediction": ["yes"] * n + ["no"] * (30 - n)}, "em") for n in right.values()]
    >>> karat.rank(*scored)
    <karat.Ranked of 3 systems
      exact_match
        1 (1 – 1) a C 0.9333
        2 (2 – 3) b B 0.4667
        3 (2 – 3) b A 0.3333>
    """
    if len(systems) < 2:
        raise SpecError(f"expected at least two systems, found {len(systems)}")
    inference = Inference(confidence, seed)
    paired = match(systems, metrics, on, by=by, cluster=cluster, common=common, allow_different=allow_different)
    runs, shared, rows = paired.runs, paired.metrics, paired.rows
    clusters = None if paired.clusters is None else paired.clusters.keys
    matched = _Rows(runs, rows, clusters, paired.slices)
    found = [each for metric in shared for each in matched.test(metric, inference)]
    names = tuple(run.name for run in runs)
    lengths = {run.name: find_lengths(run) for run in runs}
    return Ranked(
        systems=names,
        by=rows.key,
        rankings=order_systems(names, found, correction, confidence),
        correction=correction,
        confidence=confidence,
        notes=(
            *paired.notes,
            *_note_missing(names, found),
            *list_cautions({each.spec: find_caution(each.spec, lengths) for each in shared}),
        ),
    )


@dataclass(frozen=True)
class _Rows:
    """The runs and their matched rows, with the cluster keys of these rows and their slices."""

    runs: Sequence[Run]
    rows: Alignment
    clusters: Array | None
    slices: Slices | None

    def test(self, metric: SharedMetric, inference: Inference) -> Iterator[Evidence]:
        """Every pair of systems, over all rows and over each slice."""
        scored = list(zip(self.runs, (each.spec for each in metric.by_run), strict=True))
        width = max(run.count_statistics(spec) for run, spec in scored)
        clustered = self.clusters is not None
        sums = {
            label: Systems(len(self.runs), width, metric.scale, clustered=clustered, inference=inference)
            for label in (None, *(sorted(self.slices.labels) if self.slices else ()))
        }
        first = 0
        for pieces in self.rows.read([run.read_statistics(spec) for run, spec in scored]):
            statistics = np.stack([widen(piece, width) for piece in pieces], axis=1)
            rows = slice(first, first := first + len(statistics))
            numbers, clusters = self.rows.numbers[rows], None if self.clusters is None else self.clusters[rows]
            sums[None].add(statistics, numbers, clusters)
            for label, part in self.slices.split(rows) if self.slices else ():
                sums[label].add(statistics[part], numbers[part], None if clusters is None else clusters[part])
        for label, each in sums.items():
            yield Evidence(
                metric=metric.spec,
                slice=label,
                direction=metric.scale.direction,
                n=each.n,
                scored=each.scored,
                values=each.values(),
                missing=each.missing.tolist(),
                bounds=metric.scale.bounds,
                tests=each.test(),
            )


def _note_missing(names: Sequence[str], found: Iterable[Evidence]) -> Iterator[str]:
    """How many rows of each ranking of all rows do not count, and which systems have no score for most of them."""
    for each in found:
        if each.slice is None and (out := each.n - each.scored):
            most = max(each.missing)
            who = ", ".join(name for name, missing in zip(names, each.missing, strict=True) if missing == most)
            yield f"{each.metric}: {out} of {each.n} rows do not count, as a system has no score; {most} for {who}"
