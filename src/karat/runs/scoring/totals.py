"""The totals of a run: the statistics of each metric, of all rows and by group, added up while batches go by."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import from_bytes, lists_text
from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.core.metric.in_order import kept_by
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.runs.columns.groups import collect_groups, group_rows
from karat.runs.columns.ids import KeySample, hash_ids
from karat.runs.scoring.arguments import NONE
from karat.runs.scoring.clusters import ClusterFinder, Clusters, gold_column
from karat.runs.scoring.plan import Plan
from karat.stats.aggregate import Accumulator, Scale
from karat.stats.inference import Inference
from karat.stats.value import Value, make_units, restore_units, summarise

if TYPE_CHECKING:
    from karat.runs.scoring.correction import CorrectedTotals

HEAD, FORMAT = b"karat totals ", b"3\n"  # a state begins with them, and with a checksum of what follows
CHECKSUM = 16  # bytes
FREQUENT = 1000  # items of lists whose counts a result has


@dataclass
class Total:
    """The units of one metric over some rows, and why how many rows were not scored.

    There are units by row, or by the clusters of a named column; and by those of each column that may have them. Beside
    these, those of very many rows are None for a mean within bounds: it needs the sums of all rows alone.
    """

    metric: Metric
    inference: Inference
    clustered: Sequence[bool] = (False,)
    units: list[Accumulator | None] = field(default_factory=list)
    n: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, rows: Rows, keys: Sequence[Array]) -> None:
        """Add a batch; `keys`, each of shape (rows,), are those of `ClusterFinder`."""
        scored = rows.scored
        if rows.reasons is not None:
            self.reasons.update(rows.reasons[~scored].tolist())
        self.n += len(scored)
        if not scored.any():
            return
        statistics = rows.statistics
        if not scored.all():
            statistics, keys = statistics[scored], [each[scored] for each in keys]
        if not self.units:
            kinds = self.clustered if kept_by(self.metric.finish) == "sums" else self.clustered[:1]
            make = partial(make_units, self.metric.finish, statistics.shape[1], seed=self.inference.seed)
            self.units = [make(clustered=each) for each in kinds]
        for units, each in zip(self.units, keys, strict=False):
            if units is not None:
                units.add(statistics, each)
        self._drop_rows()

    def state(self, stored: list[bytes]) -> dict[str, Any]:
        """What `merge` needs, as JSON values; arrays are appended to `stored`."""
        about: dict[str, Any] = {"n": self.n, "reasons": self.reasons, "units": []}
        for units in self.units:
            state, arrays = (None, []) if units is None else units.state()
            about["units"].append(state)
            stored += arrays
        return about

    def merge(self, about: Mapping[str, Any], stored: Iterator[bytes]) -> None:
        """Add the state of a total of other rows."""
        self.n += about["n"]
        self.reasons.update(about["reasons"])
        restored = [None if each is None else restore_units(each, stored) for each in about["units"]]
        for at, (ours, theirs) in enumerate(zip(self.units, restored, strict=False)):  # of the same kinds
            if ours is None or theirs is None:
                self.units[at] = None
            else:
                ours.merge(theirs)
        self.units = self.units or restored
        self._drop_rows()

    def _drop_rows(self) -> None:
        """Drop the units by row where the units of a column that may have clusters tell as much."""
        rows, bounded = (self.units or [None])[0], None not in (self.metric.definition.low, self.metric.definition.high)
        if len(self.units) > 1 and rows is not None and rows.collapsed and bounded and self.metric.finish is None:
            self.units[0] = None

    def value(self, place: int = 0) -> Value:
        """The value of the rows added so far, by the units of the keys at this place."""
        definition = self.metric.definition
        kept = self.units or [make_units(self.metric.finish, 1)]
        units = kept[min(place, len(kept) - 1)]
        if units is None:
            units = next(each for each in kept if each is not None).view(clustered=False)
        elif place >= len(kept):
            units = units.view(clustered=True)  # it has no keys: there is no interval then
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

    def add(self, rows: Rows, keys: Sequence[Array], groups: Mapping[str, Array]) -> None:
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
            self._group(label).add(Rows(rows.statistics[part], reasons), [each[part] for each in keys])

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
        return self.groups.setdefault(label, Total(self.whole.metric, self.whole.inference, self.whole.clustered))


class Totals:
    """The totals of all metrics of a run, and what was `counted` of its rows: documents, and lengths of texts.

    Totals of parts of a table are merged; values and intervals are the same whatever the parts, and reasons, labels and
    groups come in the order of merging. `corrected` has the scores of all rows where people's labels correct them.
    """

    def __init__(self, plan: Plan) -> None:
        self._by = plan.selection.by
        named = None if plan.selection.cluster == NONE else plan.selection.cluster
        self._clusters = ClusterFinder(plan.clusters, gold_column(plan.source.schema, plan.mapping), named)
        self.metrics = {
            each.spec: MetricTotals(Total(each, plan.inference, self._clusters.clustered)) for each in plan.metrics
        }
        self.counted: dict[str, Counter[str]] = defaultdict(Counter)
        self.corrected: CorrectedTotals | None = None
        if plan.correction is not None:
            from karat.runs.scoring.correction import CorrectedTotals  # noqa: PLC0415  (only where people labelled rows)

            self.corrected = CorrectedTotals(plan.correction, plan.inference)
        self.n = 0
        self._labels: set[str] = set()
        self._ids = None if plan.selection.id is None else KeySample(plan.selection.id)
        self._source = plan.source.name
        signed = [[each.spec, each.signature] for each in plan.metrics]
        columns = list(self._clusters.columns)
        self._of = {"metrics": signed, "by": self._by, "clusters": columns, "seed": plan.inference.seed}

    def add(
        self, batch: pa.RecordBatch, scored: Sequence[Rows], counted: Mapping[str, Counter[str]], numbers: Array
    ) -> None:
        """Add a batch; `numbers`, uint64, are those of its rows in the whole table, from 0.

        Where people's labels correct values, batches are to come in the order of the rows.
        """
        if self._ids is not None:
            numbers = hash_ids(batch, self._ids.name, self._source)
            self._ids.add(numbers)
        keys = self._clusters.add(batch, numbers)
        groups = group_rows(batch.column(self._by), self._labels, self._by) if self._by else {}
        for totals, rows in zip(self.metrics.values(), scored, strict=True):
            totals.add(rows, keys, groups)
        if self.corrected is not None:
            self.corrected.add(scored, keys, groups)
        self._count(counted)
        self.n += len(batch)

    def correct(self, rows: pa.RecordBatch, scored: Sequence[Rows], numbers: Array) -> None:
        """Add the scores of rows to those that people's labels correct, where the rows are in totals that are merged.

        Batches come in the order of the rows.
        """
        if self.corrected is not None:
            groups = group_rows(rows.column(self._by), self._labels, self._by) if self._by else {}
            self.corrected.add(scored, self._clusters.find_keys(rows, numbers), groups)

    def find_clusters(self) -> tuple[int, Clusters | None]:
        """The clusters of all rows, None where each is by itself, and the place of their keys for `Total.value`."""
        return self._clusters.find()

    def add_unscored(self, rows: int, reason: str) -> None:
        """Add rows that could not be read, so that they have no group and no cluster."""
        for each in self.metrics.values():
            each.whole.n += rows
            each.whole.reasons[reason] += rows
        self.n += rows

    def to_bytes(self) -> bytes:
        """The totals as bytes for `merge_bytes`: compressed, with a format number and a checksum.

        What people's labels correct is left out: it takes the scores of the rows, see `correct`.
        """
        stored = [] if self._ids is None else [self._ids.keys.tobytes()]
        clusters = self._clusters.state(stored)
        totals = [each.state(stored) for each in self.metrics.values()]
        about = {"of": self._of, "n": self.n, "counted": self.counted, "totals": totals, "clusters": clusters}
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
        about, stored = _read_state(state)
        for name, expected in self._of.items():
            if (found := about["of"][name]) != expected:
                raise DataError(f"totals with {name} {expected!r} expected, found them with {found!r}")
        if self._ids is not None:
            self._ids.add(np.frombuffer(next(stored), "<u8"))
        self._clusters.merge(about["clusters"], stored)
        for totals, part in zip(self.metrics.values(), about["totals"], strict=True):
            collect_groups(part["groups"], self._labels, str(self._by))
            totals.merge(part, stored)
        self._count(about["counted"])
        self.n += about["n"]

    def merge(self, other: Totals) -> None:
        """Add the totals of the rows that follow, which are not to be used any longer."""
        if not self.n:
            self.__dict__ |= vars(other)
            return
        self.merge_bytes(other.to_bytes())
        if self.corrected is not None and other.corrected is not None:
            self.corrected.merge(other.corrected)

    def _count(self, counted: Mapping[str, Mapping[str, int]]) -> None:
        for name, counts in counted.items():
            self.counted[name].update(counts)


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
