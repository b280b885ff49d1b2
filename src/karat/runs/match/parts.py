"""The statistics of systems on their matched rows, over all rows and over each slice, in pieces of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.metric.rows import widen
from karat.runs.match.match import Matched
from karat.runs.match.shared_metrics import SharedMetric


@dataclass(frozen=True, eq=False)
class MatchedPart:
    """Matched rows of one slice, or of all rows where `slice` is None; there are further parts of the same slice.

    `statistics` has shape (rows, systems, width), NaN where a row is not scored; `numbers` and `clusters` as in
    `karat.stats.paired.systems`.
    """

    slice: str | None
    statistics: Array
    numbers: Array
    clusters: Array | None

    def select(self, chosen: Array) -> MatchedPart:
        """Some of these rows; `chosen` has shape (rows,), bool."""
        clusters = None if self.clusters is None else self.clusters[chosen]
        return replace(self, statistics=self.statistics[chosen], numbers=self.numbers[chosen], clusters=clusters)


def list_slices(matched: Matched) -> list[str | None]:
    """None for all rows, then the labels of the slices, sorted."""
    return [None, *(sorted(matched.slices.labels) if matched.slices else ())]


def count_statistics(matched: Matched, metric: SharedMetric) -> int:
    """The number of statistics a row of a metric, in whichever system has the most: one without scores has 1."""
    pairs = zip(matched.runs, metric.by_run, strict=True)
    return max(run.count_statistics(scored.spec) for run, scored in pairs)


def read_parts(matched: Matched, metric: SharedMetric) -> Iterator[MatchedPart]:
    """The statistics of all systems, in the order of the matched rows, without those that a rule left out of one."""
    rows, width, first = matched.rows, count_statistics(matched, metric), 0
    keys = None if matched.clusters is None else matched.clusters.keys
    pairs = list(zip(matched.runs, metric.by_run, strict=True))
    is_asked = find_asked(matched, metric)
    for pieces in rows.read([run.read_statistics(scored.spec) for run, scored in pairs]):
        statistics = np.stack([widen(piece, width) for piece in pieces], axis=1)
        here = slice(first, first := first + len(statistics))
        numbers, clusters = rows.numbers[here], None if keys is None else keys[here]
        parts: list[tuple[str | None, Any]] = [(None, slice(None))]
        for label, at in [*parts, *(matched.slices.split(here) if matched.slices else ())]:
            part = MatchedPart(label, statistics[at], numbers[at], None if clusters is None else clusters[at])
            yield part if is_asked is None else part.select(is_asked[here][at])


def find_asked(matched: Matched, metric: SharedMetric) -> Array | None:
    """Which matched rows no rule left out in any system, shape (rows,), bool; None where no rule did."""
    is_asked: Array | None = None
    for at, (run, scored) in enumerate(zip(matched.runs, metric.by_run, strict=True)):
        if (left_out := run.left_out(scored.spec)) is not None:
            is_asked = (True if is_asked is None else is_asked) & ~left_out[matched.rows.order(at)]
    return is_asked
