"""The totals of a run: the statistics of each metric, of all rows and by group, added up while batches go by."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import from_bytes, lists_text
from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.runs.columns.ids import KeySample
from karat.runs.scoring.groups import cluster_keys, collect_groups, group_rows
from karat.runs.scoring.plan import Plan
from karat.stats.aggregate import Scale, Units
from karat.stats.confidence.curve_rows import CurveRows
from karat.stats.inference import Inference
from karat.stats.percentiles.values import Values, make_units, restore_units
from karat.stats.value import Value, summarise

if TYPE_CHECKING:
    from karat.runs.scoring.correction import CorrectedTotals

HEAD, FORMAT = b"karat totals ", b"2\n"  # a state begins with them, and with a checksum of what follows
CHECKSUM = 16  # bytes
FREQUENT = 1000  # items of lists whose counts a result has


@dataclass
class Total:
    """The units of one metric over some rows, and why how many rows were not scored."""

    metric: Metric
    clustered: bool
    inference: Inference
    units: Units | Values | CurveRows | None = None
    n: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, rows: Rows, keys: Array) -> None:
        """Add a batch; `keys`, shape (rows,), are the clusters or the numbers of its rows."""
        scored = rows.scored
        if rows.reasons is not None:
            self.reasons.update(rows.reasons[~scored].tolist())
        self.n += len(scored)
        if not scored.any():
            return
        if self.units is None:
            self.units = make_units(
                self.metric.finish, rows.statistics.shape[1], clustered=self.clustered, seed=self.inference.seed
            )
        if scored.all():
            self.units.add(rows.statistics, keys)
        else:
            self.units.add(rows.statistics[scored], keys[scored])

    def state(self, stored: list[bytes]) -> dict[str, Any]:
        """What `merge` needs, as JSON values; arrays are appended to `stored`."""
        about: dict[str, Any] = {"n": self.n, "reasons": self.reasons}
        if self.units is not None:
            about["units"], arrays = self.units.state()
            stored += arrays
        return about

    def merge(self, about: Mapping[str, Any], stored: Iterator[bytes]) -> None:
        """Add the state of a total of other rows."""
        self.n += about["n"]
        self.reasons.update(about["reasons"])
        if "units" in about:
            units = restore_units(about["units"], stored)  # of the same kind as ours: one metric has one
            if self.units is None:
                self.units = units
            else:
                self.units.merge(units)

    def value(self) -> Value:
        """The value of the rows added so far."""
        definition = self.metric.definition
        units = Units(1) if self.units is None else self.units
        scale = Scale(self.metric.finish, (definition.low, definition.high), definition.direction)
        return summarise(units, scale, failed=self.n - units.rows, inference=self.inference)


@dataclass
class MetricTotals:
    """The total of one metric over all rows, one for each group of rows, and how often it returned each label.

    Of a detail that is a list, such as the fields that a prediction lacks, the items are counted.
    """

    whole: Total
    groups: dict[str, Total] = field(default_factory=dict)
    labels: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, rows: Rows, keys: Array, groups: Mapping[str, Array]) -> None:
        """Add a batch; `groups` has the row numbers of each group."""
        whole = self.whole
        whole.add(rows, keys)
        for name, kind in whole.metric.details.items():
            if name in rows.details and (name == "label" or pa.types.is_boolean(kind) or lists_text(kind)):
                column = pc.list_flatten(rows.details[name]) if lists_text(kind) else rows.details[name]
                for each in pc.value_counts(column.drop_null().cast(pa.string())).to_pylist():
                    self.labels[name][each["values"]] += each["counts"]
        for label, part in groups.items():
            reasons = None if rows.reasons is None else rows.reasons[part]
            self._group(label).add(Rows(rows.statistics[part], reasons), keys[part])

    def state(self, stored: list[bytes]) -> dict[str, Any]:
        """As `Total.state`."""
        groups = {label: total.state(stored) for label, total in self.groups.items()}
        return {"groups": groups, "whole": self.whole.state(stored), "labels": self.labels}

    def merge(self, about: Mapping[str, Any], stored: Iterator[bytes]) -> None:
        """As `Total.merge`."""
        for label, total in about["groups"].items():
            self._group(label).merge(total, stored)
        self.whole.merge(about["whole"], stored)
        for name, counts in about["labels"].items():
            self.labels[name].update(counts)

    def counts(self) -> dict[str, dict[str, int]]:
        """How often each label was returned, and each item of lists: of these the most frequent ones, in this order."""
        return {name: self._frequent(name, counts) for name, counts in self.labels.items()}

    def _frequent(self, name: str, counts: Counter[str]) -> dict[str, int]:
        if not lists_text(self.whole.metric.details[name]):
            return dict(counts)
        return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:FREQUENT])

    def _group(self, label: str) -> Total:
        return self.groups.setdefault(label, Total(self.whole.metric, self.whole.clustered, self.whole.inference))


class Totals:
    """The totals of all metrics of a run, and what was `counted` of its rows: documents, and lengths of texts.

    Totals of parts of a table are merged as bytes; values
    and intervals are the same whatever the parts, and reasons, labels and groups come in the order of merging.
    `corrected` has the scores of all rows where people's labels correct them, else it is None.
    """

    def __init__(self, plan: Plan) -> None:
        self._by, self._cluster = plan.selection.by, plan.selection.cluster
        clustered = self._cluster is not None
        self.metrics = {each.spec: MetricTotals(Total(each, clustered, plan.inference)) for each in plan.metrics}
        self.counted: dict[str, Counter[str]] = defaultdict(Counter)
        self.corrected: CorrectedTotals | None = None
        if plan.correction is not None:
            from karat.runs.scoring.correction import CorrectedTotals  # noqa: PLC0415  (only where people labelled rows)

            self.corrected = CorrectedTotals(plan.correction, plan.inference)
        self.n = 0
        self._labels: set[str] = set()
        self._ids = None if plan.selection.id is None else KeySample(plan.selection.id)
        signed = [[each.spec, each.signature] for each in plan.metrics]
        self._of = {"metrics": signed, "by": self._by, "cluster": self._cluster, "seed": plan.inference.seed}

    def add(
        self, batch: pa.RecordBatch, scored: Sequence[Rows], counted: Mapping[str, Counter[str]], numbers: Array
    ) -> None:
        """Add a batch; `numbers`, uint64, are those of its rows in the whole table, from 0.

        Where people's labels correct values, batches are to come in the order of the rows.
        """
        if self._ids is not None:
            self._ids.add(numbers)
        clusters = cluster_keys(batch.column(self._cluster), numbers) if self._cluster else None
        keys = numbers if clusters is None else clusters
        groups = group_rows(batch.column(self._by), self._labels, self._by) if self._by else {}
        for totals, rows in zip(self.metrics.values(), scored, strict=True):
            totals.add(rows, keys, groups)
        if self.corrected is not None:
            self.corrected.add(scored, clusters, groups)
        self._count(counted)
        self.n += len(batch)

    def add_unscored(self, rows: int, reason: str) -> None:
        """Add rows that could not be read, so that they have no group and no cluster."""
        for each in self.metrics.values():
            each.whole.n += rows
            each.whole.reasons[reason] += rows
        self.n += rows

    def to_bytes(self) -> bytes:
        """The totals as bytes for `merge_bytes`: compressed, with a format number and a checksum.

        `DataError` where people's labels correct values: that takes the scores of all rows in one process.
        """
        self._refuse_corrected()
        stored = [] if self._ids is None else [self._ids.keys.tobytes()]
        totals = [each.state(stored) for each in self.metrics.values()]
        about = {"of": self._of, "n": self.n, "counted": self.counted, "totals": totals}
        arrays = pa.record_batch({"array": from_bytes(stored)}, metadata={"about": json.dumps(about)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, arrays.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_batch(arrays)
        body: bytes = sink.getvalue().to_pybytes()
        return HEAD + FORMAT + blake2b(body, digest_size=CHECKSUM).digest() + body

    def merge_bytes(self, state: bytes) -> None:
        """Add the totals of other rows of the table, as `to_bytes` wrote them.

        `DataError` for bytes that are damaged, of another format, or of other metrics, groups, clusters or seed, and
        for more groups than one table may have.
        """
        self._refuse_corrected()
        about, stored = _read_state(state)
        for name, expected in self._of.items():
            if (found := about["of"][name]) != expected:
                raise DataError(f"totals with {name} {expected!r} expected, found them with {found!r}")
        if self._ids is not None:
            self._ids.add(np.frombuffer(next(stored), "<u8"))
        for totals, part in zip(self.metrics.values(), about["totals"], strict=True):
            collect_groups(part["groups"], self._labels, str(self._by))
            totals.merge(part, stored)
        self._count(about["counted"])
        self.n += about["n"]

    def _count(self, counted: Mapping[str, Mapping[str, int]]) -> None:
        for name, counts in counted.items():
            self.counted[name].update(counts)

    def _refuse_corrected(self) -> None:
        if self.corrected is not None:
            raise DataError("values that people's labels correct are computed in one process, not from parts")


def _read_state(state: bytes) -> tuple[dict[str, Any], Iterator[bytes]]:
    """The JSON values and the arrays of totals; `DataError` where they are damaged or of another format."""
    start = HEAD + FORMAT
    if not state.startswith(start):
        what = f"of format {state[len(HEAD) :][:4]!r}" if state.startswith(HEAD) else f"that begin with {state[:16]!r}"
        raise DataError(f"totals of karat in format {FORMAT.decode().strip()} expected, found bytes {what}")
    checksum, body = state[len(start) :][:CHECKSUM], state[len(start) + CHECKSUM :]
    if blake2b(body, digest_size=CHECKSUM).digest() != checksum:
        raise DataError("the bytes of these totals are damaged: their checksum differs")
    try:  # a short body may have this checksum by chance
        table = pa.ipc.open_stream(body).read_all()
        return json.loads(table.schema.metadata[b"about"]), iter(table.column("array").to_pylist())
    except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise DataError(f"the bytes of these totals are damaged: {error}") from error
