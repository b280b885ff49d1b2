"""The last part of a run whose parts follow one another: the rows are scored in their order and added to it.

What was added is written from time to time, a further file of the part each time, so that little is lost when the
process is killed. A part that is large is written as one file, and the next begins: its bytes alone decide, so that the
same rows are in the same parts however long they take. A smaller run has one part. When it is continued the rows are
read again and compared with their digests, and only those behind the last part are scored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from time import monotonic

import numpy as np
import pyarrow as pa

from karat.core.errors import DataError
from karat.core.metric.rows import Rows
from karat.data.storage.addresses import join_path
from karat.data.storage.checksums import check_file
from karat.runs.columns.digest import Digests
from karat.runs.columns.output import OutputColumns
from karat.runs.store.files import read_counts, read_rows, read_schema
from karat.runs.store.parts import Done, PartsFolder
from karat.runs.store.unfinished import Started, check_schema, describe_columns, start_again

MIN_SECONDS = 1.0  # between two writings
MIN_SHARE = 0.01  # of the run's time so far, between two writings: even long runs have few
PAUSE = 20  # times as long as the last writing took, between two writings
MOST_BYTES = 64 << 20  # in memory; no rows are added to a part that has as many
MOST_FILES = 32  # of a part, which is written as one file then


@dataclass
class Tail:
    """The part of a run to which rows are added; the first `before` rows were scored before, and passed to `skip`.

    `parts` are those on the disk that no rows are added to, `last` is what is on the disk of the one to which they are.
    `state()` gives the totals of all rows so far, `warned` the warnings so far. `ended`: no further row is kept.
    """

    started: Started
    folder: PartsFolder
    output: OutputColumns
    columns: Mapping[str, str]
    parts: list[Done]
    warned: Mapping[str, str] = field(default_factory=dict)
    state: Callable[[], bytes] | None = None
    last: Done | None = None
    ended: bool = False
    before: int = field(init=False)
    _pending: list[tuple[pa.RecordBatch, Sequence[Rows]]] = field(default_factory=list)
    _written: int = 0  # of the pending batches
    _bytes: int = 0
    _rows: int = 0
    _kept: int = field(init=False)
    _began: float = field(default_factory=monotonic)
    _next_time: float = 0.0
    _next_number: int = field(init=False)
    _digests: Digests = field(init=False)
    _digests_before: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.before = self._kept = sum(each.rows for each in self.parts)
        self._digests = Digests(self.columns)
        self._digests_before = self.parts[-1].digests if self.parts else {}
        self._refuse(role for role in self._digests_before if role not in self.columns)
        self._next_number = 1 + max(self.folder.list_tasks(), default=-1)
        self._next_time = self._began + MIN_SECONDS
        if self.parts and not self.parts[-1].ended:
            self.last = self.parts.pop()
            self._pending = list(self.read(self.last))
            self._written = len(self._pending)
            self._bytes = sum(rows.nbytes for rows, _ in self._pending)
        for each in self.parts:
            written = read_schema(join_path(self.folder.written, next(iter(each.files))))
            check_schema(self.started.manifest.name, describe_columns(self._name_items(written)), self.output.schema)

    def read(self, part: Done) -> Iterator[tuple[pa.RecordBatch, Sequence[Rows]]]:
        """The rows of a part that was written before, and the statistics of each metric."""
        paths = {name: join_path(self.folder.written, name) for name in part.files}
        for name, written in part.files.items():
            check_file(paths[name], written)
        rows, counts = ([path for name, path in paths.items() if name.startswith("rows/") == wanted]
                        for wanted in (True, False))  # fmt: skip
        for file, counted in zip_longest(rows, counts):
            columns = {
                metric.spec: np.concatenate(list(read_counts([counted], metric.spec)))
                for metric in self.output.metrics
                if metric.definition.finish
            }
            first = 0
            for batch in read_rows(file, self.output.schema):
                scored = []
                for metric, column in zip(self.output.metrics, self.output.scores, strict=True):
                    own = columns.get(metric.spec)
                    own = batch.column(column).to_numpy(zero_copy_only=False)[:, None] if own is None else own[first:]
                    scored.append(Rows(own[: len(batch)]))
                yield batch, scored
                first += len(batch)

    def skip(self, batch: pa.RecordBatch) -> None:
        """Pass a batch of rows that were scored before; `DataError` where they are not those."""
        self._digests.add(batch)
        self._rows += len(batch)
        if self._rows == self.before:
            self._check_digests()

    def add(self, rows: pa.RecordBatch, scored: Sequence[Rows], state: Callable[[], bytes]) -> None:
        """Add a batch of rows with their scores; `state()` gives the totals of all rows so far."""
        if self.ended:
            return
        self._digests.add(rows)
        self._rows += len(rows)
        self._pending.append((rows, [Rows(each.statistics) for each in scored]))
        self._bytes += rows.nbytes
        self.state = state
        if (full := self._bytes >= MOST_BYTES) or monotonic() >= self._next_time:
            self.flush(whole=full)

    def end(self) -> None:
        """Keep the rows so far, and none that are added from now on."""
        self.flush()
        self.ended = True

    def flush(self, *, whole: bool = False) -> None:
        """Write the rows that are not on the disk yet; with `whole` all rows of the part as one, which ends it."""
        if self.state is None or (self._rows <= self._kept and not (whole and self._pending)):
            return
        began, first = monotonic(), sum(each.rows for each in self.parts)
        before = {} if self.last is None else self.last.files
        anew = whole or len(before) >= MOST_FILES
        with self.folder.write(self._next_number, self.output) as part:
            for rows, scored in self._pending if anew else self._pending[self._written :]:
                part.add(rows, scored)
        self.started.check()
        files = part.files if anew else {**before, **part.files}
        state, digests = self.state(), self._digests.by_role
        done = Done(self._next_number, self._rows - first, state, dict(self.warned), digests, files, first, whole)
        done = replace(self.folder.keep(done), state=b"")
        if self.last is not None:
            self.folder.remove(self.last.task)
        if before and anew:
            self.folder.remove_others(name for each in (*self.parts, done) for name in each.files)
        self.last, self._next_number, self._kept = done, self._next_number + 1, self._rows
        self._written = len(self._pending)
        if whole:
            self.parts.append(done)
            self.last, self._pending, self._bytes, self._written = None, [], 0, 0
        now = monotonic()
        self._next_time = now + max(MIN_SECONDS, MIN_SHARE * (now - self._began), PAUSE * (now - began))
        self.started.note_usage()

    def finish(self) -> Mapping[str, str]:
        """Write the rest, of a small run all rows in one place; the digests of all rows."""
        if self._rows < self.before:
            self._check_digests()
        if self.parts:
            self.flush(whole=True)
        else:
            with self.folder.write(None, self.output) as part:
                for rows, scored in self._pending:
                    part.add(rows, scored)
            self.parts.append(Done(0, self._rows, b"", files=part.files))
        return self._digests.by_role

    def _check_digests(self) -> None:
        now = self._digests.by_role
        self._refuse(role for role, digest in self._digests_before.items() if now.get(role) != digest)

    def _refuse(self, changed: Iterable[str]) -> None:
        """Raise `DataError` for columns that have changed, if there are any."""
        if columns := ", ".join(_name_column(role, self.columns.get(role)) for role in changed):
            name = self.started.manifest.name
            problem = f"its first {self.before} rows are not those it was started with"
            raise DataError(f"run {name}: {columns}: {problem}; resume with the same rows, {start_again(name)}")

    def _name_items(self, written: pa.Schema) -> pa.Schema:
        """The columns of a file; where types are equal, today's types: Parquet has its own names for items of lists."""
        known = {each.name: each for each in self.output.schema}
        return pa.schema([new if (new := known.get(each.name, each)).type == each.type else each for each in written])


def _name_column(role: str, name: str | None) -> str:
    """The column of a role in a message; None: no column has the role any longer."""
    further = role.removeprefix("column ")
    return f"column {further!r}" if name is None or role != further else f"column {name!r} ({role})"
