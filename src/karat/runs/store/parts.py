"""A run that is written in parts, in any order and by several processes: each part has rows, then its state.

The folder `rows` holds `part-000000.parquet` and so on, in the order of the rows; `statistics` the counts of the same
rows. A state, with what its rows add to the totals and the sizes of its files, is written last: where it exists and
the files have these sizes, its part is complete. Names and bytes follow from the part alone, so a part that is written
twice is the same.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from karat.core.atomic import replacing, sync, write_bytes, write_text
from karat.core.errors import DataError
from karat.core.metric.rows import Rows, stack_statistics
from karat.data.formats.writers import WRITERS
from karat.data.join.match import Unmatched
from karat.data.source import Part
from karat.data.storage.addresses import hide_secrets
from karat.runs.columns.output import OutputColumns
from karat.runs.store.checkpoint import count_rows
from karat.runs.store.digest import Digests
from karat.runs.store.folders import PARTS, STATES, partial_folder
from karat.runs.store.manifest import Manifest, write_manifest
from karat.runs.store.run import ROWS, STATISTICS, VALUES, Run, open_run
from karat.runs.store.writer import check_unchanged, count_lists, open_partial, start_again, started_otherwise

MOST_PARTS = 1_000_000
"""The most parts of a run: their names have six digits, and their order is that of their names."""


@dataclass(frozen=True)
class Done:
    """A finished part: its number, its rows, the state of its totals, and what was noticed.

    `state` is `Totals.to_bytes`. `warnings` are by role, `digests`, of the scored columns, too; these only where rows
    are written. `unmatched` are the rows of gold and of predictions without a partner in a bucket of ids, of which no
    rows are written.
    """

    task: int
    rows: int
    state: bytes = field(repr=False)
    warnings: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    unmatched: tuple[Unmatched, Unmatched] | None = None


@dataclass(frozen=True)
class PartsFolder:
    """The folder of a run in parts while it is written; it can be sent to other processes."""

    folder: Path

    @contextmanager
    def write(self, task: int, output: OutputColumns, mapping: Mapping[str, str]) -> Iterator[PartWriter]:
        """Write the rows and counts of a part; they appear at the end of the block, whole."""
        rows = self._path(ROWS, task)
        with (
            replacing(rows) as temporary,
            pa.OSFile(str(temporary), "wb") as sink,
            WRITERS["parquet"](sink, output.schema) as put,
        ):
            writer = PartWriter(output, put, Digests(mapping))
            yield writer
        if any(metric.definition.finish for metric in output.metrics):
            with replacing(self._path(STATISTICS, task)) as temporary:
                writer.write_counts(temporary)

    def keep(self, done: Done) -> Done:
        """Write the state of a part whose rows are written."""
        head = {name: value for name, value in asdict(done).items() if name not in ("state", "unmatched")}
        head |= {"sha256": sha256(done.state).hexdigest(), "sizes": self._sizes(done.task)}
        write_bytes(self._state(done.task), json.dumps(head).encode() + b"\n" + done.state)
        return done

    def finished(self) -> Iterator[Done]:
        """The parts that are finished, in their order; `DataError` for a damaged state.

        The state of a part whose files are missing or not whole is removed: its rows must be scored again.
        """
        for path in self._states():
            head, _, state = path.read_bytes().partition(b"\n")
            try:
                known = json.loads(head)
                if known.pop("sha256") != sha256(state).hexdigest():
                    raise ValueError("its checksum is another")
                sizes, done = known.pop("sizes"), Done(state=state, **known)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise DataError(f"{path} is damaged: {error}; remove it, and --resume scores its rows again") from error
            if sizes == self._sizes(done.task):
                yield done
            else:
                path.unlink()

    def count_rows(self) -> int:
        """How many rows the finished parts hold."""
        rows = 0
        for path in self._states():
            with path.open("rb") as file:
                rows += json.loads(file.readline())["rows"]
        return rows

    def _states(self) -> list[Path]:
        return sorted((self.folder / STATES).glob("part-*"))

    def _sizes(self, task: int) -> dict[str, int]:
        """The sizes, in bytes, of the files of a part."""
        paths = {kind: self._path(kind, task) for kind in (ROWS, STATISTICS)}
        return {kind: path.stat().st_size for kind, path in paths.items() if path.exists()}

    def _path(self, kind: str, task: int) -> Path:
        return self.folder / "run" / Path(kind).stem / f"part-{task:06}.parquet"

    def _state(self, task: int) -> Path:
        return self.folder / STATES / f"part-{task:06}"


@dataclass
class PartWriter:
    """Writes the rows of one part, batch by batch."""

    output: OutputColumns
    put: Any
    digests: Digests
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

    target: Path
    manifest: Manifest
    folder: PartsFolder
    parts: Sequence[Part]
    done: dict[int, Done]

    def finish(self, values: Mapping[str, Any], rows: int, models: Mapping[str, Any] | None = None) -> Run:
        """Write the rest of the run, with what its judges used, and rename its folder to its name."""
        written = self.folder.folder / "run"
        for leftover in written.glob("*/.*.new"):  # of a process that was killed
            leftover.unlink(missing_ok=True)
        digests: dict[str, Any] = {}
        for task in range(len(self.parts)):
            for role, digest in self.done[task].digests.items():
                digests.setdefault(role, sha256()).update(digest.encode())
        write_text(written / VALUES, json.dumps(values, ensure_ascii=False, indent=2) + "\n")
        by_role = {role: f"parts:{digest.hexdigest()[:32]}" for role, digest in digests.items()}
        write_manifest(replace(self.manifest, digests=by_role, n=rows, models=models), written)
        written.rename(self.target)
        sync(self.target.parent)
        return open_run(self.target)


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
    with open_partial(manifest, resume=resume) as (target, started):
        partial = partial_folder(target)
        listed, folder = partial / PARTS, PartsFolder(partial.absolute())
        columns = {f"column {each.name!r}": str(each.type) for each in schema}
        if listed.exists():
            before = json.loads(listed.read_text("utf-8"))
            _check_files(started.name, before["files"], _identify([*parts, *others]))
            check_unchanged(started.name, (before["columns"], columns))
            files = {hide_secrets(part.file): part for part in parts}
            parts = [replace(files[file], groups=tuple(groups), **rest) for file, groups, rest in before["parts"]]
        else:
            if count_rows(partial):
                raise started_otherwise(started.name, "row by row, without an engine")
            shutil.rmtree(partial / "run", ignore_errors=True)
            for name in (ROWS, STATISTICS):
                (partial / "run" / Path(name).stem).mkdir(parents=True)
            (partial / STATES).mkdir(exist_ok=True)
            where = [(hide_secrets(part.file), part.groups, {"first": part.first, "rows": part.rows}) for part in parts]
            content = {"files": _identify([*parts, *others]), "columns": columns, "parts": where}
            write_text(listed, json.dumps(content))
        try:
            yield PartsRun(target, started, folder, parts, {done.task: done for done in folder.finished()})
        finally:
            if not target.exists() and not any((partial / STATES).glob("part-*")):
                shutil.rmtree(partial)


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
