"""Rank systems that were scored on the same rows: their order, and what of it the rows support."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.metric.metric import Metric
from karat.runs.columns.lengths import find_caution, list_cautions
from karat.runs.compare.ranking.ranked import Evidence, Ranked, order_systems
from karat.runs.compare.run_values import RunValues
from karat.runs.match.match import Matched, match
from karat.runs.match.parts import count_statistics, find_asked, list_slices, read_parts
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.match.systems import System, find_lengths, name_systems
from karat.stats.inference import Inference
from karat.stats.paired.systems import Systems
from karat.stats.ranking.standing import Adjustment
from karat.stats.value import Value


def rank(
    *systems: System,
    metrics: str | Metric | Iterable[str | Metric] = (),
    by: str | None = None,
    cluster: str | None = None,
    on: str | None = None,
    common: bool = False,
    allow_different: bool = False,
    correction: Adjustment = "holm",
    confidence: float = 0.95,
    seed: int = 0,
    **named: System,
) -> Ranked:
    """Rank two or more systems, up to hundreds, that were scored on the same rows.

    Each metric orders the systems, over all rows and over each slice of `by`. Every pair gets a paired test; systems
    that share a letter are not separated, and each system gets the set of ranks that it may have. Rows count on which
    every system has a score. `correction` of p for all tests: "holm", or "bh" (Benjamini and Hochberg), which separates
    more pairs, of which up to 1 - `confidence` may be wrong. All other arguments, and errors, are as in
    `karat.compare`.

    >>> import karat
    >>> rows = {"id": range(30), "gold": ["yes"] * 30}
    >>> right = {"low": 10, "middle": 14, "high": 28}
    >>> scored = [karat.score({**rows, "prediction": ["yes"] * n + ["no"] * (30 - n)}, "em") for n in right.values()]
    >>> karat.rank(*scored)
    <karat.Ranked of 3 systems
      em
        1 (1 – 1) a C 0.9333
        2 (2 – 3) b B 0.4667
        3 (2 – 3) b A 0.3333>
    """
    every = name_systems(systems, named, rank)
    matched = match(every, metrics, on, by=by, cluster=cluster, common=common, allow_different=allow_different)
    return rank_matched(matched, Inference(confidence, seed), by, correction)


def rank_matched(
    matched: Matched, inference: Inference, by: str | None = None, correction: Adjustment = "holm"
) -> Ranked:
    """Rank systems whose rows are matched, over all rows and over the slices `by`, as `rank` does."""
    names, metrics = matched.names, matched.metrics
    rankings = [each for metric in metrics for each in _rank(matched, metric, inference, by)]
    lengths = {run.name: find_lengths(run) for run in matched.runs}
    return order_systems(
        names,
        rankings,
        correction,
        inference.confidence,
        by=matched.rows.key,
        notes=(
            *matched.notes,
            *_note_missing(names, rankings),
            *list_cautions({each.spec: find_caution(each.spec, lengths) for each in metrics}),
        ),
    )


def _rank(matched: Matched, metric: SharedMetric, inference: Inference, by: str | None) -> Iterator[Evidence]:
    """Every pair of systems, over all rows and over each slice."""
    width, clustered, systems = count_statistics(matched, metric), matched.clusters is not None, len(matched.runs)
    sums = {
        label: Systems(systems, width, metric.scale, clustered=clustered, inference=inference)
        for label in list_slices(matched)
    }
    scored: list[Array] = [np.empty(0, bool)]
    for part in read_parts(matched, metric):
        sums[part.slice].add(part.statistics, part.numbers, part.clusters)
        if part.slice is None:
            scored.append(~np.logical_or.reduce(np.isnan(part.statistics), axis=(1, 2)))
    every = np.concatenate(scored)
    if (is_asked := find_asked(matched, metric)) is not None:
        every = is_asked.copy()
        every[is_asked] = np.concatenate(scored)
    values = _read_values(matched, metric, inference, every, by)
    for label, each in sums.items():
        yield Evidence(
            metric=metric.spec,
            slice=label,
            direction=metric.scale.direction,
            n=each.n,
            scored=each.scored,
            values=[own[label] for own in values],
            missing=each.missing.tolist(),
            bounds=metric.scale.bounds,
            tests=each.test(),
        )


def _read_values(
    matched: Matched, metric: SharedMetric, inference: Inference, scored: Array, by: str | None
) -> list[Mapping[str | None, Value]]:
    """The values of each system on the rows on which all are `scored`: the stored ones where these are all."""
    rows, clusters, values = matched.rows, matched.clusters, list[Mapping[str | None, Value]]()
    parts = dict(matched.slices.split(slice(None))) if matched.slices else {}
    for at, (run, own) in enumerate(zip(matched.runs, metric.by_run, strict=True)):
        whole = bool(scored.all()) and not any(rows.left_out[at : at + 1])
        order = rows.order(at)
        keys = None
        if clusters is not None:
            keys = np.zeros(int(order.max(initial=-1)) + 1, np.uint64)
            keys[order] = clusters.keys
        slices = {label: np.sort(order[part[scored[part]]]) for label, part in parts.items()}
        reader = RunValues(run, inference, None if clusters is None else clusters.about.column, keys)
        chosen = None if whole else np.sort(order[scored])
        values.append(reader.read(own.spec, slices, by=by if whole else None, rows=chosen))
    return values


def _note_missing(names: Sequence[str], evidence: Iterable[Evidence]) -> Iterator[str]:
    """How many rows of each ranking of all rows do not count, and which systems have no score for most of them."""
    for each in evidence:
        if each.slice is None and (out := each.n - each.scored):
            most = max(each.missing)
            who = ", ".join(name for name, missing in zip(names, each.missing, strict=True) if missing == most)
            yield f"{each.metric}: {out} of {each.n} rows do not count, as a system has no score; {most} for {who}"
