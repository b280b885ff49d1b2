"""A run that is written in parts, in any order and by several processes: each part has rows, then its state.

The folder `rows` holds `part-000000.parquet` and so on, in the order of the rows; `statistics` the counts of the same
rows. A state, with what its rows add to the totals and the checksums of its files, is written last: where it exists and
the files have these sizes, its part is complete. Names and bytes follow from the part alone, so a part that is written
twice is the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from karat.core.errors import DataError
from karat.core.metric.rows import Rows, stack_statistics
from karat.data.formats.writers import open_format
from karat.data.join.match import Unmatched
from karat.data.source import Part
from karat.data.storage.addresses import hide_secrets, join_path
from karat.data.storage.checksums import FileSum, read_json, seal, sum_bytes, unseal
from karat.data.storage.remote_files import REQUESTS, exists, find_size, list_names, read_bytes
from karat.data.storage.whole_files import make_folder, remove_folder, write_bytes
from karat.runs.columns.output import OutputColumns
from karat.runs.store.checkpoint import count_lists, count_rows
from karat.runs.store.digest import Digests
from karat.runs.store.folders import PARTS, STATES, partial_folder, written_folder
from karat.runs.store.manifest import Manifest
from karat.runs.store.run import ROWS, STATISTICS, Run
from karat.runs.store.writer import (
    Started,
    check_unchanged,
    open_partial,
    start_again,
    started_otherwise,
    summed_file,
)

MOST_PARTS = 1_000_000
"""The most parts of a run: their names have six digits, and their order is that of their names."""


@dataclass(frozen=True)
class Done:
    """A finished part: its number, its rows, the state of its totals, and what was noticed.

    `state` is `Totals.to_bytes`. `warnings` are by role, `digests`, of the scored columns, too, `files` the checksums
    of the files by their names; these two only where rows are written. `unmatched` are the rows of gold and of
    predictions without a partner in a bucket of ids, of which no rows are written.
    """

    task: int
    rows: int
    state: bytes = field(repr=False)
    warnings: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, FileSum] = field(default_factory=dict)
    unmatched: tuple[Unmatched, Unmatched] | None = None


@dataclass(frozen=True)
class PartsFolder:
    """The `folder` of a run in parts, which is there when it is finished; this can be sent to other processes."""

    folder: str | Path

    @property
    def partial(self) -> str | Path:
        """The folder of what is kept until the run is finished."""
        return partial_folder(self.folder)

    @contextmanager
    def write(self, task: int, output: OutputColumns, columns: Mapping[str, str]) -> Iterator[PartWriter]:
        """Write the rows and counts of a part; they appear at the end of the block, whole. `columns`: as `Digests`."""
        files: dict[str, FileSum] = {}
        with (
            self._summed_file(ROWS, task, files) as temporary,
            pa.OSFile(str(temporary), "wb") as sink,
            open_format("parquet", sink, output.schema) as put,
        ):
            writer = PartWriter(output, put, Digests(columns), files)
            yield writer
        if any(metric.definition.finish for metric in output.metrics):
            with self._summed_file(STATISTICS, task, files) as temporary:
                writer.write_counts(temporary)

    def keep(self, done: Done) -> Done:
        """Write the state of a part whose rows are written."""
        head = {name: value for name, value in asdict(done).items() if name not in ("state", "unmatched")}
        content = json.dumps(head).encode() + b"\n" + done.state
        write_bytes(self._state(done.task), f"{sum_bytes(content).crc32}\n".encode() + content)
        return done

    def find(self, task: int) -> Done | None:
        """The part, if it is finished: its files have the sizes in its state; `DataError` for a damaged state.

        A state that was written without a checksum does not count: its rows are scored again.
        """
        if not find_size(path := self._state(task)):  # while a file is sent to Azure it may be empty
            return None
        written, _, content = (stored := read_bytes(path)).partition(b"\n")
        if stored.startswith(b"{"):
            return None
        if written.decode("latin-1") != (found := sum_bytes(content).crc32):
            problem = f"expected the CRC-32 {written.decode('latin-1')!r:.40}, found {found}"
            raise DataError(f"{path} is damaged: {problem}; remove it, and --resume scores its rows again")
        head, _, state = content.partition(b"\n")
        known = json.loads(head)
        files = {name: FileSum(**each) for name, each in known.pop("files").items()}
        done = Done(state=state, files=files, **known)
        sizes = {name: find_size(join_path(written_folder(self.folder), name)) for name in files}
        return done if sizes == {name: each.size for name, each in files.items()} else None

    def finished(self) -> dict[int, Done]:
        """The parts that are finished, by their numbers."""
        with ThreadPoolExecutor(REQUESTS) as pool:
            return {done.task: done for done in pool.map(self.find, self.list_tasks()) if done is not None}

    def count_rows(self) -> int:
        """How many rows the finished parts hold."""
        return sum(done.rows for done in self.finished().values())

    def list_tasks(self) -> list[int]:
        """The parts that have a state, in their order."""
        names = list_names(join_path(self.partial, STATES))
        return [int(name.removeprefix("part-")) for name in names if name.startswith("part-")]

    def _summed_file(self, kind: str, task: int, sums: dict[str, FileSum]) -> AbstractContextManager[Path]:
        name = f"{Path(kind).stem}/part-{task:06}.parquet"
        return summed_file(join_path(written_folder(self.folder), name), name, sums)

    def _state(self, task: int) -> str | Path:
        return join_path(self.partial, STATES, f"part-{task:06}")


@dataclass
class PartWriter:
    """Writes the rows of one part, batch by batch."""

    output: OutputColumns
    put: Any
    digests: Digests
    files: Mapping[str, FileSum]
    _counts: list[list[Rows]] = field(default_factory=list)

    def add(self, batch: pa.RecordBatch, scored: Sequence[Rows]) -> None:
        """Write a batch with its scores."""
        self.digests.add(batch)
        self.put(self.output.append(batch, scored))
        if any(metric.definition.finish for metric in self.output.metrics):
            self._counts.append([Rows(rows.statistics) for rows in scored])

    def write_counts(self, path: Path) -> None:
        """Write the counts of every row, a column for each metric that has counts."""
        metrics = [(at, each) for at, each in enumerate(self.output.metrics) if each.definition.finish]
        no_rows = np.empty((0, 1))
        columns = {
            each.spec: count_lists(stack_statistics([no_rows, *(rows[at].statistics for rows in self._counts)]))
            for at, each in metrics
        }
        pq.write_table(pa.table(columns), path, compression="snappy", use_dictionary=False)


@dataclass
class PartsRun:
    """A run in parts that is being written: which parts it has, and which of them are finished."""

    started: Started
    folder: PartsFolder
    parts: Sequence[Part]
    done: dict[int, Done]

    def finish(self, values: Mapping[str, Any], **found: Any) -> Run:
        """Write the rest of the run, with what was `found` for its manifest, and give it its name."""
        written = written_folder(self.folder.folder)
        for leftover in written.glob("*/.*.new") if isinstance(written, Path) else ():  # of a process that was killed
            leftover.unlink(missing_ok=True)
        digests: dict[str, Any] = {}
        for task in range(len(self.parts)):
            self.started.files.update(self.done[task].files)
            for role, digest in self.done[task].digests.items():
                digests.setdefault(role, sha256()).update(digest.encode())
        by_role = {role: f"parts:{digest.hexdigest()[:32]}" for role, digest in digests.items()}
        return self.started.finish(values, digests=by_role, **found)


@contextmanager
def open_parts(
    manifest: Manifest, schema: pa.Schema, parts: Sequence[Part], others: Sequence[Part] = (), *, resume: bool
) -> Iterator[PartsRun]:
    """Write a run in parts, or with `resume` continue one that was stopped, with the parts that it was started with.

    `schema` is that of the scored rows. `others` are in files that are read too, such as the predictions where the
    parts are gold's.

    Raises `DataError` as `open_writer` does, where a file or a column has changed since, and for too many parts.
    """
    if len(parts) > MOST_PARTS:
        problem = f"expected at most {MOST_PARTS} parts, found {len(parts)}"
        raise DataError(f"run {manifest.name}: {problem}; put the rows into fewer files, with larger row groups")
    with open_partial(manifest, resume=resume) as started:
        whole = started.folder.absolute() if isinstance(started.folder, Path) else started.folder
        listed, folder = join_path(started.partial, PARTS), PartsFolder(whole)
        columns = {f"column {each.name!r}": str(each.type) for each in schema}
        if exists(listed):
            before = unseal(read_json(listed), listed)
            _check_files(manifest.name, before["files"], _identify([*parts, *others]))
            check_unchanged(manifest.name, (before["columns"], columns))
            files = {hide_secrets(part.file): part for part in parts}
            parts = [replace(files[file], groups=tuple(groups), **rest) for file, groups, rest in before["parts"]]
        else:
            if count_rows(started.partial):
                raise started_otherwise(manifest.name, "row by row, without an engine")
            remove_folder(written := written_folder(started.folder))
            for name in (ROWS, STATISTICS):
                make_folder(join_path(written, Path(name).stem))
            make_folder(join_path(started.partial, STATES))
            where = [(hide_secrets(part.file), part.groups, {"first": part.first, "rows": part.rows}) for part in parts]
            content = {"files": _identify([*parts, *others]), "columns": columns, "parts": where}
            write_bytes(listed, json.dumps(seal(content)).encode())
        try:
            yield PartsRun(started, folder, parts, folder.finished())
        finally:
            if not started.finished and not started.paid and not folder.list_tasks():
                remove_folder(started.partial)


def _identify(parts: Sequence[Part]) -> dict[str, list[int | str]]:
    """The size and the version of each file."""
    return {hide_secrets(part.file): [part.size, part.version] for part in parts}


def _check_files(name: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise `DataError` where files are not those that a run was started with."""
    changed = [file for file in {**before, **now} if before.get(file) != now.get(file)]
    if changed:
        file = changed[0]
        problem = "is gone" if file not in now else "is new" if file not in before else "has changed since"
        raise DataError(f"run {name}: {file} {problem}; resume with the same files, {start_again(name)}")
