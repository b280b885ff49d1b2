"""Writing a run: in a hidden folder beside its place, which is renamed when the run is finished.

In a store, which renames nothing, the files are in their place from the start, and the manifest comes last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from karat.core.atomic import sync
from karat.core.errors import DataError
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.data.formats.writers import open_format
from karat.data.storage.addresses import is_address, join_path
from karat.data.storage.checksums import FileSum, sum_file
from karat.data.storage.remote_files import exists
from karat.data.storage.whole_files import make_folder, remove_folder, whole_file
from karat.data.write import check_output
from karat.runs.store.checkpoint import Checkpoint, Replay, keep_asked, write_statistics
from karat.runs.store.digest import Digests
from karat.runs.store.folders import (
    PARTS,
    has_manifest,
    lock_file,
    make_runs_folder,
    partial_folder,
    run_folder,
    written_folder,
)
from karat.runs.store.lock import lock
from karat.runs.store.manifest import CODE, ENDPOINTS, Manifest, read_manifest, write_json, write_manifest
from karat.runs.store.run import ROWS, STATISTICS, VALUES, Run, open_run

MOVED = "KARAT_MOVED_FROM"
"""The variable that names the address of an endpoint whose models have moved."""


@dataclass
class RunWriter:
    """Writes one run, batch by batch, and replays the rows that were scored before it was stopped.

    The first `replayed` rows were scored before: pass their batches to `replay`, all others to `add`, which
    keeps none from the first on that a cap left unasked.
    """

    started: Started
    checkpoint: Checkpoint
    columns: Mapping[str, str]
    replayed: int = field(init=False)
    _replay: Replay = field(init=False)
    _digests_before: Mapping[str, str] = field(init=False)
    _digests: Digests = field(init=False)
    _rows: int = 0
    _ended: bool = False

    def __post_init__(self) -> None:
        self.replayed = self.checkpoint.rows
        self._replay = Replay(self.checkpoint.metrics, self.checkpoint.read_parts())
        self._digests_before, self._digests = self.checkpoint.digests, Digests(self.columns)

    def replay(self, batch: pa.RecordBatch) -> list[Rows]:
        """The stored rows of each metric for a batch; `DataError` where the table is not the one scored before."""
        self._digests.add(batch)
        self._rows += batch.num_rows
        if self._rows == self.replayed:
            self._check_digests()
        return self._replay.take(batch.num_rows)

    def add(self, batch: pa.RecordBatch, scored: list[Rows]) -> None:
        """Store the rows of each metric for a batch."""
        if self._ended:
            return
        if self.started.capped():
            self._ended, (batch, scored) = True, keep_asked(batch, scored)
        self._digests.add(batch)
        self._rows += batch.num_rows
        self.checkpoint.add(scored, self._digests.by_role)

    def write_rows(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Write the scored rows, and yield them."""
        check_output(self._path(ROWS), schema)
        with (
            summed_file(self._path(ROWS), ROWS, self.started.files) as temporary,
            pa.OSFile(str(temporary), "wb") as sink,
            open_format("parquet", sink, schema) as write,
        ):
            for batch in batches:
                write(batch)
                yield batch

    def finish(self, values: Mapping[str, Any], **found: Any) -> Run:
        """Write the rest of the run, with what was `found` for its manifest, and give it its name."""
        if self._rows < self.replayed:
            self._check_digests()
        if any(metric.definition.finish for metric in self.checkpoint.metrics):
            with summed_file(self._path(STATISTICS), STATISTICS, self.started.files) as temporary:
                write_statistics(self.checkpoint, temporary)
        return self.started.finish(values, digests=self._digests.by_role, n=self._rows, **found)

    def _path(self, name: str) -> str | Path:
        return join_path(written_folder(self.started.folder), name)

    def _check_digests(self) -> None:
        now = self._digests.by_role
        if changed := [role for role, digest in self._digests_before.items() if now.get(role) != digest]:
            columns = ", ".join(_name_column(role, self.columns.get(role)) for role in changed)
            name = self.started.manifest.name
            problem = f"its first {self.replayed} rows are not those it was started with"
            raise DataError(f"run {name}: {columns}: {problem}; resume with the same rows, {start_again(name)}")


def _name_column(role: str, name: str | None) -> str:
    """The column of a role in a message; None: no column has the role any longer."""
    further = role.removeprefix("column ")
    return f"column {further!r}" if name is None or role != further else f"column {name!r} ({role})"


@contextmanager
def open_writer(
    manifest: Manifest, metrics: list[Metric], columns: Mapping[str, str], *, resume: bool
) -> Iterator[RunWriter]:
    """Write a run, or with `resume` continue one that was stopped. After any error the scored rows stay stored.

    `columns` are those that must not change meanwhile, by role, as `Digests` has them.

    Raises `DataError` where a run of that name exists, was started with other arguments, or is being written by another
    process.
    """
    with open_partial(manifest, resume=resume) as started:
        if exists(join_path(started.partial, PARTS)):
            raise started_otherwise(manifest.name, "in parts")
        remove_folder(written := written_folder(started.folder))
        make_folder(written)
        writer = RunWriter(started, Checkpoint(started.partial, metrics, noted=started.note_usage), columns)
        try:
            yield writer
        finally:
            if not started.finished:
                writer.checkpoint.flush()
                if not writer.checkpoint.rows and not started.paid:
                    remove_folder(started.partial)


@dataclass
class Started:
    """A run that is being written: the folder that will hold it, and its manifest.

    `check` raises `DataError` where its lock was lost. `resumed`: it was started before. `usage()` is what it has
    used of models so far, `capped()` whether a cap has kept requests from being sent, `paid` whether any was sent.
    `files` are the checksums of what is written.
    """

    folder: str | Path
    manifest: Manifest
    check: Callable[[], None]
    resumed: bool = False
    usage: Callable[[], Mapping[str, Any] | None] = lambda: None
    capped: Callable[[], bool] = lambda: False
    paid: bool = False
    files: dict[str, FileSum] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        """Whether the finished run is there."""
        return has_manifest(self.folder)

    @property
    def partial(self) -> str | Path:
        """The folder of what is kept until the run is finished."""
        return partial_folder(self.folder)

    def note_usage(self) -> None:
        """Write down what it has used of models so far."""
        if (used := self.usage()) is not None and not self.finished:
            self.paid = bool(used["calls"])
            write_manifest(replace(self.manifest, models=used), self.partial)

    def finish(self, values: Mapping[str, Any], **found: Any) -> Run:
        """Write the values and, last, the manifest with what was `found`, and give the folder its name."""
        written = written_folder(self.folder)
        self.files[VALUES] = write_json(join_path(written, VALUES), values)
        self.check()
        mended = (metric.get("counts", {}).get("repaired", {}) for metric in values["metrics"])
        models = (used := self.usage()) and {**used, "repaired": sum(each.get("true", 0) for each in mended)}
        write_manifest(replace(self.manifest, **found, models=models, files=self.files), written)
        if isinstance(written, Path):
            written.rename(self.folder)
            sync(written.parents[1])
        return open_run(self.folder)


@contextmanager
def open_partial(manifest: Manifest, *, resume: bool) -> Iterator[Started]:
    """Lock the name of a run, and make the folder in which it is written, or with `resume` find it.

    What was kept for resuming is removed once the finished run is there.
    """
    folder = run_folder(manifest.name)
    make_runs_folder()
    with lock(lock_file(folder), manifest.name) as check:
        if has_manifest(folder):  # its process may have been killed just after the end
            remove_folder(partial_folder(folder))
        check_name_free(folder)
        started = Started(folder, manifest, check, resumed=has_manifest(partial_folder(folder)))
        if started.resumed:
            started.manifest = _resume(manifest, read_manifest(started.partial), resume=resume)
        make_folder(started.partial)
        write_manifest(started.manifest, started.partial)
        try:
            yield started
        finally:
            if started.finished:
                remove_folder(started.partial)


@contextmanager
def summed_file(path: str | Path, name: str, sums: dict[str, FileSum]) -> Iterator[Path]:
    """A temporary file that is put in its place when it is whole; its checksum is in `sums` then, under its name."""
    with whole_file(path, durable=True) as temporary:
        yield temporary
        sums[name] = sum_file(temporary)


def check_name_free(folder: str | Path) -> None:
    """Raise `DataError` where a finished run is in that folder."""
    if has_manifest(folder) if is_address(folder) else Path(folder).exists():
        name = Path(folder).name
        raise DataError(f"run {name} exists already, in {folder}: {other_name(name)}")


def other_name(name: str) -> str:
    """The remedies, for messages, where a run of that name is in the way."""
    return f"choose another name (--run OTHER), or `karat runs remove {name}`"


def start_again(name: str) -> str:
    """The remedy, for messages, where a run cannot be continued."""
    return f"or start again after `karat runs remove {name}`"


def started_otherwise(name: str, how: str) -> DataError:
    """The error where a run is resumed in another way than it was started."""
    return DataError(f"run {name} was started {how}; resume it in the same way, {start_again(name)}")


def check_unchanged(name: str, *arguments: tuple[Mapping[str, Any], Mapping[str, Any]]) -> None:
    """Raise `DataError` where arguments of a continued run, as pairs of before and now, have changed."""
    changes = [
        f"{key}: {before.get(key)!r}; now {now.get(key)!r}"
        for before, now in arguments
        for key in dict.fromkeys([*before, *now])
        if before.get(key) != now.get(key) and (key in before or not key.startswith(CODE))  # older versions lack it
    ]
    if changes:
        problem = f"run {name} was started with other {'; '.join(changes)}"
        raise DataError(f"{problem}. Resume with the same, {start_again(name)}")


def check_resumed(name: str, *, resume: bool) -> None:
    """Raise `DataError` where a run was not finished and `resume` is not set."""
    if not resume:
        raise DataError(f"run {name} was not finished: continue it with --resume, {start_again(name)}")


def _resume(manifest: Manifest, before: Manifest, *, resume: bool) -> Manifest:
    """The manifest of a continued run; `DataError` where `resume` is not set or an argument has changed."""
    check_resumed(manifest.name, resume=resume)
    endpoints = _join_endpoints(manifest.name, *(each.settings.get(ENDPOINTS, ()) for each in (before, manifest)))
    asked = {ENDPOINTS: endpoints} if endpoints else {}
    before, manifest = (replace(one, settings={**one.settings, **asked}) for one in (before, manifest))
    decided = [
        ({"metrics": ", ".join(str(each.signature) for each in one.metrics)}, one.mapping, one.settings)
        for one in (before, manifest)
    ]
    as_stored = json.loads(json.dumps(decided))  # tuples become lists, as in a stored manifest
    check_unchanged(manifest.name, *zip(*as_stored, strict=True))
    return replace(manifest, created=before.created, models=before.models)


def _join_endpoints(name: str, before: Sequence[str], now: Sequence[str]) -> list[str]:
    """All addresses at which a continued run asks its models; `DataError` for another that is not said to be the same.

    One server may have moved, another may be another provider's: nobody can tell them apart but the user.
    """
    added = [each for each in now if each not in before]
    if before and added and os.environ.get(MOVED, "").rstrip("/") not in before:
        raise DataError(
            f"run {name} asked its models at {', '.join(before)}, and would now ask them at {', '.join(added)}. Resume "
            f"with the same address, {start_again(name)}; if the same models have moved there: {MOVED}={before[-1]}"
        )
    return [*before, *added]
