"""The checkpoint of a run: the statistics of the rows scored so far, on disk, from which a stopped run is continued.

It consists of parts, Arrow files with the statistics, reasons and details of some rows; the name of a part has its
first row and its checksum. The rest (the user's columns,
totals, values) is computed again from the rows by the same code as for rows that were just scored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.core.metric.metric import Metric
from karat.core.metric.rows import NOTHING, Rows, concat_rows, widen
from karat.data.storage.addresses import join_path
from karat.data.storage.checksums import sum_bytes
from karat.data.storage.remote_files import list_names, open_file
from karat.data.storage.validate import name_errors
from karat.data.storage.whole_files import write_bytes

MIN_SECONDS = 1.0  # between two parts
MIN_SHARE = 0.01  # of the run's time so far, between two parts: even long runs have few
MAX_BYTES = 32 << 20  # in memory before a part is written
NOT_ASKED = "not asked: "  # in the reason of a row where a cap is reached
_PART = re.compile(r"part-([0-9]{12,})(?:-([0-9a-f]{8}))?\.arrow")  # those of older runs have no checksum


@dataclass
class Checkpoint:
    """The parts of one run in the order of their rows, and the rows that are not yet in a part.

    `rows` is the number of rows in parts, `digests` are those of the scored columns up to the end of the last part.
    `noted` is called when a part is written.
    """

    folder: str | Path
    metrics: Sequence[Metric]
    rows: int = 0
    digests: Mapping[str, str] = field(default_factory=dict)
    noted: Callable[[], None] = lambda: None
    _pending: list[list[Rows]] = field(default_factory=list)
    _bytes: int = 0
    _started: float = field(default_factory=monotonic)
    _last: float = field(default_factory=monotonic)

    def __post_init__(self) -> None:
        for part in self.read_parts():
            self.rows += part.num_rows
            self.digests = json.loads(part.schema.metadata[b"digests"])

    def read_parts(self) -> Iterator[pa.RecordBatch]:
        """The parts as they are stored, from the first; `DataError` for a damaged one, and where one is missing."""
        rows = 0
        for path, first in list_parts(self.folder):
            if rows != first:
                problem = f"its first row is {first}, expected {rows}: one is missing, or two processes have written"
                raise DataError(f"{path}: {problem}; remove the run, and start again")
            batch = read_part(path)
            rows += batch.num_rows
            yield batch

    def __iter__(self) -> Iterator[list[Rows]]:
        """Some rows of each metric at a time: those in parts, then those pending."""
        for part in self.read_parts():
            yield _from_batch(self.metrics, part)
        yield from self._pending

    def add(self, scored: list[Rows], digests: Mapping[str, str]) -> None:
        """Add the rows of each metric; from time to time write a part."""
        self._pending.append(scored)
        self.digests = digests
        self._bytes += sum(_size(rows) for rows in scored)
        now = monotonic()
        if self._bytes >= MAX_BYTES or now - self._last >= max(MIN_SECONDS, MIN_SHARE * (now - self._started)):
            self.flush()

    def flush(self) -> None:
        """Write the pending rows as a part."""
        if not self._pending:
            return
        batch = _to_batch(self.metrics, self._pending)
        batch = batch.replace_schema_metadata({"digests": json.dumps(dict(self.digests))})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, batch.schema) as writer:
            writer.write_batch(batch)
        content = sink.getvalue()
        write_bytes(join_path(self.folder, f"part-{self.rows:012}-{sum_bytes(content).crc32}.arrow"), content)
        self.rows += batch.num_rows
        self._pending, self._bytes, self._last = [], 0, monotonic()
        self.noted()


def count_rows(folder: str | Path) -> int:
    """How many rows the parts in a folder hold; the last part is read alone."""
    if not (parts := list_parts(folder)):
        return 0
    path, first = parts[-1]
    return first + int(read_part(path).num_rows)


def list_parts(folder: str | Path) -> list[tuple[str | Path, int]]:
    """The parts in a folder, each with the number of its first row."""
    found = filter(None, map(_PART.fullmatch, list_names(folder)))
    return [(join_path(folder, part[0]), int(part[1])) for part in found]


def read_part(path: str | Path) -> pa.RecordBatch:
    """The rows of a part; `DataError` for a damaged one."""
    written = _PART.fullmatch(Path(path).name)
    with name_errors(str(path)), open_file(path) as file:
        content = file.read_buffer()
    if written and written[2] and (found := sum_bytes(content).crc32) != written[2]:
        remedy = "remove it and the parts after it, and --resume scores their rows again"
        raise DataError(f"{path} is damaged: expected the CRC-32 {written[2]}, found {found}; {remedy}")
    with name_errors(str(path)), pa.ipc.open_file(content) as part:
        return part.get_batch(0)


def keep_asked(batch: pa.RecordBatch, scored: Sequence[Rows]) -> tuple[pa.RecordBatch, list[Rows]]:
    """The rows before the first that a cap left unasked; none where no reason tells which that is."""
    reasons = (enumerate(rows.reasons.tolist()) for rows in scored if rows.reasons is not None)
    unasked = (next((at for at, reason in each if reason and NOT_ASKED in reason), None) for each in reasons)
    asked = min((at for at in unasked if at is not None), default=0)
    return batch.slice(0, asked), [rows.first(asked) for rows in scored]


@dataclass
class Replay:
    """Rows that were scored before, taken in batches of any size."""

    metrics: Sequence[Metric]
    parts: Iterator[pa.RecordBatch]
    _rest: pa.RecordBatch | None = None

    def take(self, rows: int) -> list[Rows]:
        """The next `rows` rows of each metric."""
        pieces = []
        while rows:
            part = next(self.parts) if self._rest is None else self._rest
            pieces.append(part.slice(0, rows))
            rows -= len(pieces[-1])
            self._rest = part.slice(len(pieces[-1])) if len(pieces[-1]) < len(part) else None
        several = [_from_batch(self.metrics, piece) for piece in pieces]
        return several[0] if len(several) == 1 else _from_batch(self.metrics, _to_batch(self.metrics, several))


def _to_batch(metrics: Sequence[Metric], batches: list[list[Rows]]) -> pa.RecordBatch:
    columns: dict[str, pa.Array] = {}
    for at, (metric, *parts) in enumerate(zip(metrics, *batches, strict=True)):
        rows = concat_rows(metric, parts)
        counts = rows.statistics
        columns[f"{at}.statistics"] = pa.FixedSizeListArray.from_arrays(pa.array(counts.ravel()), counts.shape[1])
        columns[f"{at}.reasons"] = rows.reason_column()
        for name, column in zip(metric.details, rows.detail_columns(metric), strict=True):
            columns[f"{at}.{name}"] = column
    return pa.RecordBatch.from_pydict(columns)


def _from_batch(metrics: Sequence[Metric], batch: pa.RecordBatch) -> list[Rows]:
    scored = []
    for at, metric in enumerate(metrics):
        lists, reasons = batch.column(f"{at}.statistics"), batch.column(f"{at}.reasons")
        statistics = np.asarray(lists.flatten()).reshape(len(lists), -1)
        why = None if reasons.null_count == len(reasons) else reasons.to_numpy(zero_copy_only=False)
        names = [name for name in metric.details if f"{at}.{name}" in batch.schema.names]
        scored.append(Rows(statistics, why, {name: batch.column(f"{at}.{name}") for name in names}))
    return scored


def _size(rows: Rows) -> int:
    reasons = 0 if rows.reasons is None else 100 * np.count_nonzero(np.not_equal(rows.reasons, NOTHING))
    return int(rows.statistics.nbytes + reasons + sum(column.nbytes for column in rows.details.values()))


def write_statistics(checkpoint: Checkpoint, path: Path) -> None:
    """The counts of every row as lists of fixed length, a column for each metric with counts; NaN where unscored."""
    counted = {at: metric.spec for at, metric in enumerate(checkpoint.metrics) if metric.definition.finish}
    widths = dict.fromkeys(counted, 1)
    for scored in checkpoint:
        widths = {at: max(width, scored[at].statistics.shape[1]) for at, width in widths.items()}
    schema = pa.schema([(spec, pa.list_(pa.float64(), widths[at])) for at, spec in counted.items()])
    with pq.ParquetWriter(path, schema, compression="snappy", use_dictionary=False) as writer:
        for scored in checkpoint:
            lists = []
            for at, width in widths.items():
                lists.append(count_lists(widen(scored[at].statistics, width)))
            writer.write_batch(pa.RecordBatch.from_arrays(lists, schema=schema))


def count_lists(counts: Array) -> pa.Array:
    """The counts of rows, shape (n, k), as lists of fixed length; NaN where a row is unscored.

    Not null: pyarrow before 26 does not read such lists back from Parquet.
    """
    return pa.FixedSizeListArray.from_arrays(pa.array(counts.ravel()), counts.shape[1])
