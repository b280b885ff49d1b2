"""A run whose parts follow one another: the rows are scored in their order, and written from time to time.

The last part is written again, as another one, until it is large: its bytes alone decide, so that the same rows are in
the same parts however long they take. A smaller run has one part. When it is continued the rows are read again and
compared with their digests, and only those behind the last part are scored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.core.metric.rows import Rows
from karat.data.storage.addresses import join_path
from karat.data.storage.checksums import check_file
from karat.data.storage.whole_files import remove_file, remove_folder
from karat.data.write import check_output
from karat.runs.columns.digest import Digests
from karat.runs.columns.output import OutputColumns
from karat.runs.store.files import read_counts, read_rows, read_schema
from karat.runs.store.folders import ROWS, STATISTICS
from karat.runs.store.manifest import Manifest
from karat.runs.store.parts import Done, PartsFolder
from karat.runs.store.run import Run
from karat.runs.store.unfinished import Started, check_columns, describe_columns, open_partial, start_again

MIN_SECONDS = 1.0  # between two writings
MIN_SHARE = 0.01  # of the run's time so far, between two writings: even long runs have few
PAUSE = 20  # times as long as the last writing took, between two writings
SECONDS_A_BYTE = 1 / (4 << 20)  # in memory, between two writings: rows that come faster are cheap to score again
MOST_BYTES = 64 << 20  # in memory; no rows are added to a part that has as many


@dataclass
class RunWriter:
    """Writes one run, batch by batch; the first `before` rows were scored before, and are passed to `skip`.

    `parts` are those on the disk that no rows are added to, `last` is the one to which they are, `state()` gives the
    totals of its rows, and `warned` has the warnings so far.
    """

    started: Started
    output: OutputColumns
    columns: Mapping[str, str]
    parts: list[Done]
    state: Callable[[], bytes] | None = None
    warned: Mapping[str, str] = field(default_factory=dict)
    before: int = field(init=False)
    last: Done | None = field(init=False, default=None)
    _pending: list[tuple[pa.RecordBatch, Sequence[Rows]]] = field(default_factory=list)
    _bytes: int = 0
    _rows: int = 0
    _started: float = field(default_factory=monotonic)
    _written: float = field(default_factory=monotonic)
    _pause: float = 0.0
    _ended: bool = False
    _digests: Digests = field(init=False)
    _digests_before: Mapping[str, str] = field(init=False)
    _next: int = field(init=False)
    _kept: int = field(init=False)

    def __post_init__(self) -> None:
        self.before = sum(each.rows for each in self.parts)
        self._digests = Digests(self.columns)
        self._digests_before = self.parts[-1].digests if self.parts else {}
        self._refuse(role for role in self._digests_before if role not in self.columns)
        self._next = 1 + max(self.folder.list_tasks(), default=-1)
        self._kept = self.before
        if self.parts and not self.parts[-1].ended:
            self.last = self.parts.pop()
            self._pending = list(self.read(self.last))
            self._bytes = sum(rows.nbytes for rows, _ in self._pending)
        for each in self.parts:
            written = _name_items(read_schema(join_path(self.folder.written, _rows_file(each))), self.output.schema)
            check_columns(self.started.manifest.name, describe_columns(written), self.output.schema)

    @property
    def folder(self) -> PartsFolder:
        return PartsFolder(self.started.folder)

    def read(self, part: Done) -> Iterator[tuple[pa.RecordBatch, Sequence[Rows]]]:
        """The rows of a part that was written before, and the statistics of each metric."""
        for name, written in part.files.items():
            check_file(join_path(self.folder.written, name), written)
        rows = join_path(self.folder.written, _rows_file(part))
        counted = [metric.spec for metric in self.output.metrics if metric.definition.finish]
        counts = {spec: _whole(read_counts([self._counts_file(part)], spec)) for spec in counted}
        first = 0
        for batch in read_rows(rows, self.output.schema):
            scored = []
            for metric, column in zip(self.output.metrics, self.output.scores, strict=True):
                found = counts.get(metric.spec)
                own = batch.column(column).to_numpy(zero_copy_only=False)[:, None] if found is None else found[first:]
                scored.append(Rows(own[: len(batch)]))
            yield batch, scored
            first += len(batch)

    def _counts_file(self, part: Done) -> Any:
        return join_path(self.folder.written, next(name for name in part.files if not name.startswith("rows/")))

    def skip(self, batch: pa.RecordBatch) -> None:
        """Pass a batch of rows that were scored before; `DataError` where they are not those."""
        self._digests.add(batch)
        self._rows += len(batch)
        if self._rows == self.before:
            self._check_digests()

    def add(self, rows: pa.RecordBatch, scored: Sequence[Rows], state: Callable[[], bytes]) -> bool:
        """Add a batch of rows with their scores: whether a part has ended, so that the totals of another begin."""
        if self._ended:
            return False
        self._digests.add(rows)
        self._rows += len(rows)
        self._pending.append((rows, [Rows(each.statistics) for each in scored]))
        self._bytes += rows.nbytes
        self.state = state
        now = monotonic()
        pauses = MIN_SECONDS, MIN_SHARE * (now - self._started), self._pause, SECONDS_A_BYTE * self._bytes
        if self._bytes < MOST_BYTES and now - self._written < max(pauses):
            return False
        self.flush()
        return not self._pending

    def end(self) -> None:
        """Keep the rows so far, and none that are added from now on."""
        self.flush()
        self._ended = True

    def flush(self) -> None:
        """Write the rows that are not on the disk yet, with those of the part that they belong to."""
        if self._rows <= self._kept or self.state is None:
            return
        began, first = monotonic(), sum(each.rows for each in self.parts)
        with self.folder.write(self._next, self.output) as part:
            for rows, scored in self._pending:
                part.add(rows, scored)
        self.started.check()
        done = Done(self._next, self._rows - first, self.state(), dict(self.warned), self._digests.by_role, part.files)
        ended = self._bytes >= MOST_BYTES
        done = replace(self.folder.keep(replace(done, first=first, ended=ended)), state=b"")
        if self.last is not None:
            self.folder.remove(self.last.task)
            self.folder.remove_others(name for each in (*self.parts, done) for name in each.files)
        self.last, self._next, self._kept = done, self._next + 1, self._rows
        if ended:
            self.parts.append(done)
            self.last, self._pending, self._bytes = None, [], 0
        self._written = monotonic()
        self._pause = PAUSE * (self._written - began)
        self.started.note_usage()

    def finish(self, values: Mapping[str, Any], **about: Any) -> Run:
        """Write the rest of the run, with what its manifest says `about` it, and give it its name."""
        if self._rows < self.before:
            self._check_digests()
        if self.parts:
            self.flush()
            for each in (*self.parts, *filter(None, [self.last])):
                self.started.files.update(each.files)
        else:
            with self.folder.write(None, self.output) as whole:
                for rows, scored in self._pending:
                    whole.add(rows, scored)
            self.started.files.update(whole.files)
        run = self.started.finish(values, digests=self._digests.by_role, n=self._rows, **about)
        if not self.parts and self.last is not None:
            for kind in (ROWS, STATISTICS):
                remove_folder(join_path(run.path, Path(kind).stem))
        return run

    def _check_digests(self) -> None:
        now = self._digests.by_role
        self._refuse(role for role, digest in self._digests_before.items() if now.get(role) != digest)

    def _refuse(self, changed: Iterable[str]) -> None:
        """Raise `DataError` for columns that have changed, if there are any."""
        if columns := ", ".join(_name_column(role, self.columns.get(role)) for role in changed):
            name = self.started.manifest.name
            problem = f"its first {self.before} rows are not those it was started with"
            raise DataError(f"run {name}: {columns}: {problem}; resume with the same rows, {start_again(name)}")


def _rows_file(part: Done) -> str:
    return next(name for name in part.files if name.startswith("rows/"))


def _name_items(written: pa.Schema, now: pa.Schema) -> pa.Schema:
    """The columns of a file; where types are equal, those of now, as Parquet has its own names for items of lists."""
    known = {each.name: each for each in now}
    return pa.schema([new if (new := known.get(each.name, each)).type == each.type else each for each in written])


def _whole(parts: Iterator[Array]) -> Array:
    return np.concatenate(list(parts))


def _name_column(role: str, name: str | None) -> str:
    """The column of a role in a message; None: no column has the role any longer."""
    further = role.removeprefix("column ")
    return f"column {further!r}" if name is None or role != further else f"column {name!r} ({role})"


@contextmanager
def open_in_order(
    manifest: Manifest, output: OutputColumns, columns: Mapping[str, str], *, resume: bool
) -> Iterator[RunWriter]:
    """Write a run in order, or with `resume` continue one that was stopped. After any error the scored rows stay.

    `columns` are those that must not change meanwhile, by role, as `Digests` has them.

    Raises `DataError` where a run of that name exists, was started with other arguments, or is being written by another
    process.
    """
    with open_partial(manifest, resume=resume) as started:
        folder = PartsFolder(started.folder)
        check_output(join_path(folder.written, ROWS), output.schema)
        parts = folder.finished()
        for task in folder.list_tasks():
            if task not in parts:
                folder.remove(task)
        folder.remove_others(name for each in parts.values() for name in each.files)
        for kind in (ROWS, STATISTICS):  # of a process that was killed just before the end
            remove_file(join_path(folder.written, kind))
        writer = RunWriter(started, output, columns, list(parts.values()))
        try:
            yield writer
        finally:
            if not started.finished:
                writer.flush()
                if not writer.before and not folder.list_tasks() and not started.paid:
                    remove_folder(started.partial)
