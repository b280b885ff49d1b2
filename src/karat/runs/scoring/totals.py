"""The totals of a run: the statistics of each metric, of all rows and by group, added up while batches go by."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Array
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.runs.scoring.groups import cluster_keys, group_rows
from karat.runs.scoring.plan import Plan
from karat.stats.aggregate import Scale, Units
from karat.stats.inference import Inference
from karat.stats.value import Value, summarise

if TYPE_CHECKING:
    from karat.runs.scoring.correction import CorrectedTotals


@dataclass
class Total:
    """The units of one metric over some rows, and why how many rows were not scored."""

    metric: Metric
    clustered: bool
    inference: Inference
    units: Units | None = None
    n: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, rows: Rows, keys: Array | None) -> None:
        """Add a batch; `keys`, shape (rows,), are the clusters of its rows."""
        scored = rows.scored
        if rows.reasons is not None:
            self.reasons.update(rows.reasons[~scored].tolist())
        self.n += len(scored)
        if not scored.any():
            return
        if self.units is None:
            self.units = Units(rows.statistics.shape[1], clustered=self.clustered, seed=self.inference.seed)
        if scored.all():
            self.units.add(rows.statistics, keys)
        else:
            self.units.add(rows.statistics[scored], None if keys is None else keys[scored])

    def value(self) -> Value:
        """The value of the rows added so far."""
        definition = self.metric.definition
        units = Units(1) if self.units is None else self.units
        scale = Scale(self.metric.finish, (definition.low, definition.high), definition.direction)
        return summarise(units, scale, failed=self.n - units.rows, inference=self.inference)


@dataclass
class MetricTotals:
    """The total of one metric over all rows, one for each group of rows, and how often it returned each label."""

    whole: Total
    groups: dict[str, Total] = field(default_factory=dict)
    labels: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, rows: Rows, keys: Array | None, groups: Mapping[str, Array]) -> None:
        """Add a batch; `groups` has the row numbers of each group."""
        whole = self.whole
        whole.add(rows, keys)
        for name, kind in whole.metric.details.items():
            if name in rows.details and (name == "label" or pa.types.is_boolean(kind)):  # few different values
                for each in pc.value_counts(rows.details[name].drop_null().cast(pa.string())).to_pylist():
                    self.labels[name][each["values"]] += each["counts"]
        for label, part in groups.items():
            total = self.groups.setdefault(label, Total(whole.metric, whole.clustered, whole.inference))
            reasons = None if rows.reasons is None else rows.reasons[part]
            total.add(Rows(rows.statistics[part], reasons), None if keys is None else keys[part])


class Totals:
    """The totals of all metrics of a run, and the number of retrieved documents and of unjudged ones among them.

    `corrected` has the scores of all rows where people's labels correct them, else it is None.
    """

    def __init__(self, plan: Plan) -> None:
        self._by, self._cluster = plan.selection.by, plan.selection.cluster
        clustered = self._cluster is not None
        self.metrics = {each.spec: MetricTotals(Total(each, clustered, plan.inference)) for each in plan.metrics}
        self.documents: Counter[str] = Counter()
        self.corrected: CorrectedTotals | None = None
        if plan.correction is not None:
            from karat.runs.scoring.correction import CorrectedTotals  # noqa: PLC0415  (only where people labelled rows)

            self.corrected = CorrectedTotals(plan.correction, plan.inference)
        self.n = 0
        self._labels: set[str] = set()

    def add(self, batch: pa.RecordBatch, scored: Sequence[Rows], documents: Counter[str]) -> None:
        """Add a batch; batches are to come in the order of the rows."""
        keys = cluster_keys(batch.column(self._cluster), self.n) if self._cluster else None
        groups = group_rows(batch.column(self._by), self._labels, self._by) if self._by else {}
        for totals, rows in zip(self.metrics.values(), scored, strict=True):
            totals.add(rows, keys, groups)
        if self.corrected is not None:
            self.corrected.add(scored, keys, groups)
        self.documents.update(documents)
        self.n += len(batch)
