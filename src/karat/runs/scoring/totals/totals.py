"""The totals of a run: the statistics of each metric, of all rows and by group, added up while batches go by."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from karat.core.columns.arrow import from_bytes
from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.core.metric.rows import Rows
from karat.runs.columns.groups import collect_groups, group_rows
from karat.runs.columns.ids import KeySample, hash_ids
from karat.runs.scoring.arguments import NONE
from karat.runs.scoring.clusters import ClusterFinder, Clusters, gold_column
from karat.runs.scoring.plan import Plan
from karat.runs.scoring.totals.metric import MetricTotals, Total

if TYPE_CHECKING:
    from karat.runs.scoring.asking.ask import Asked
    from karat.runs.scoring.correction import CorrectedTotals

HEAD, FORMAT = b"karat totals ", b"3\n"  # a state begins with them, and with a checksum of what follows
CHECKSUM = 16  # bytes


class Totals:
    """The totals of all metrics of a run, and what was `counted` of its rows: documents, and lengths of texts.

    Totals of parts of a table are merged; values and intervals are the same whatever the parts, and reasons, labels and
    groups come in the order of merging. `corrected` has the scores of all rows where people's labels correct them.
    `asked`: by spec, how far a rule let judges ask.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._by = plan.selection.by
        named = None if plan.selection.cluster == NONE else plan.selection.cluster
        self._clusters = ClusterFinder(plan.clusters, gold_column(plan.source.schema, plan.mapping), named)
        self.metrics = {
            each.spec: MetricTotals(Total(each, plan.inference, self._clusters.clustered)) for each in plan.metrics
        }
        self.counted: dict[str, Counter[str]] = defaultdict(Counter)
        self.asked: dict[str, Asked] = {}
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
        """Add a batch; `numbers`, uint64, number its rows in the whole table, from 0.

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
            if (actual := about["of"][name]) != expected:
                raise DataError(f"totals with {name} {expected!r} expected, found them with {actual!r}")
        other = Totals(self._plan)
        if other._ids is not None:
            other._ids.add(np.frombuffer(next(stored), "<u8"))
        other._clusters.restore(about["clusters"], stored)
        parts = zip(self.metrics.items(), about["totals"], strict=True)
        other.metrics = {spec: totals.restore(part, stored) for (spec, totals), part in parts}
        other._count(about["counted"])
        other.n = about["n"]
        self.merge(other)

    def merge(self, other: Totals) -> None:
        """Add the totals of the rows that follow, which are not to be used any longer."""
        if self._ids is not None and other._ids is not None:
            self._ids.add(other._ids.keys)
        self._clusters.merge(other._clusters)
        for ours, theirs in zip(self.metrics.values(), other.metrics.values(), strict=True):
            collect_groups(theirs.groups, self._labels, str(self._by))
            ours.merge(theirs)
        self._count(other.counted)
        self.n += other.n
        self.asked |= other.asked
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
