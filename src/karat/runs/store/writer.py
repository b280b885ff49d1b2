"""A run while it is written: beside its place, so that its name is that of a whole run or of none."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from karat.core.atomic import replacing, sync, write_text
from karat.core.errors import DataError
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.data.formats.writers import WRITERS
from karat.runs.store.checkpoint import Parts, Replay
from karat.runs.store.digest import Digests
from karat.runs.store.lock import holding
from karat.runs.store.manifest import FILE, Manifest, read_manifest, write_manifest
from karat.runs.store.run import ROWS, STATISTICS, VALUES, Run, folder_of, lock_of, open_run, partial_of

_DECIDED = ("mapping", "settings")  # what must be the same when a run goes on, beside the metrics


@dataclass
class Keeper:
    """Keeps what one run gives, batch by batch, and has what it gave before it was stopped.

    `kept` rows were scored before: they are taken by `again`, all others are given to `add`.
    """

    folder: Path
    manifest: Manifest
    parts: Parts
    kept: int = field(init=False)
    _replay: Replay = field(init=False)
    _before: Mapping[str, str] = field(init=False)
    _digests: Digests = field(init=False)
    _rows: int = 0

    def __post_init__(self) -> None:
        self.kept, self._replay, self._before = self.parts.rows, self.parts.replay(), self.parts.digests
        self._digests = Digests(self.manifest.mapping)

    def again(self, batch: pa.RecordBatch) -> list[Rows]:
        """What each metric gave for these rows, which are of the first `kept`; `DataError` if they are other rows."""
        self._digests.add(batch)
        self._rows += batch.num_rows
        if self._rows == self.kept:
            self._refuse_others()
        return self._replay.take(batch.num_rows)

    def add(self, batch: pa.RecordBatch, scored: list[Rows]) -> None:
        """Keep what each metric gave for these rows."""
        self._digests.add(batch)
        self._rows += batch.num_rows
        self.parts.add(scored, self._digests.by_role)

    def writing(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Pass the scored rows on, and write them."""
        with (
            replacing(self._made(ROWS)) as temporary,
            pa.OSFile(str(temporary), "wb") as sink,
            WRITERS["parquet"](sink, schema) as put,
        ):
            for batch in batches:
                put(batch)
                yield batch

    def finish(self, values: Mapping[str, Any], models: Mapping[str, Any] | None) -> Run:
        """Put the whole run in its place."""
        if self._rows < self.kept:
            self._refuse_others()
        if any(metric.definition.finish for metric in self.parts.metrics):
            with replacing(self._made(STATISTICS)) as temporary:
                _write_statistics(self.parts, temporary)
        write_text(self._made(VALUES), json.dumps(values, ensure_ascii=False, indent=2) + "\n")
        done = replace(self.manifest, digests=self._digests.by_role, n=self._rows, models=models)
        write_manifest(done, self._made(FILE).parent)
        made = self._made(FILE).parent
        made.rename(self.folder)
        sync(self.folder.parent)
        return open_run(self.folder)

    def _made(self, name: str) -> Path:
        return partial_of(self.folder) / "run" / name

    def _refuse_others(self) -> None:
        found = self._digests.by_role
        if changed := [role for role, digest in self._before.items() if found[role] != digest]:
            columns = ", ".join(f"column {self.manifest.mapping[role]!r} ({role})" for role in changed)
            raise DataError(
                f"run {self.manifest.name}: {columns}: its first {self.kept} rows are not those it was begun with; "
                f"go on with the same rows, or begin anew: {_remove(self.manifest.name)}"
            )


@contextmanager
def keeping(manifest: Manifest, metrics: list[Metric], *, resume: bool) -> Iterator[Keeper]:
    """Write a run, or go on with one that was stopped; whatever ends it, what was scored is kept for the next time.

    Raises `DataError` where there is a run of that name, or it was begun otherwise, or another process writes it.
    """
    folder = folder_of(manifest.name)
    _check_root(folder.parent)
    partial = partial_of(folder)
    with holding(lock_of(folder), manifest.name):
        if folder.exists():
            raise DataError(
                f"there is a run {manifest.name} already, in {folder}: --run OTHER, or {_remove(manifest.name)}"
            )
        if (partial / FILE).exists():
            manifest = _go_on(manifest, read_manifest(partial), resume=resume)
        shutil.rmtree(partial / "run", ignore_errors=True)
        (partial / "run").mkdir(parents=True)
        write_manifest(manifest, partial)
        keeper = Keeper(folder, manifest, Parts(partial, metrics))
        try:
            yield keeper
        finally:
            if not folder.exists():
                keeper.parts.close()
            if folder.exists() or not keeper.parts.rows:
                shutil.rmtree(partial)


def _check_root(root: Path) -> None:
    """Make the folder of all runs; `DataError` where that cannot be, or nothing can be written in it."""
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"no run can be kept in {root}: {error}; $KARAT_RUNS names another folder") from error
    if not os.access(root, os.W_OK):
        raise DataError(f"no run can be kept in {root}: it cannot be written to; $KARAT_RUNS names another folder")


def _go_on(manifest: Manifest, before: Manifest, *, resume: bool) -> Manifest:
    """The manifest of a run that goes on; `DataError` where that is not asked for, or it would be another run."""
    name = manifest.name
    if not resume:
        raise DataError(f"run {name} was not finished: --resume goes on with it, {_remove(name)} begins anew")
    old, new = ([each.signature for each in one.metrics] for one in (before, manifest))
    changes = [] if old == new else [f"metrics: {', '.join(map(str, old))}; now {', '.join(map(str, new))}"]
    for what in _DECIDED:
        old, new = getattr(before, what), json.loads(json.dumps(getattr(manifest, what)))
        changes += [
            f"{key}: {old.get(key)!r}; now {new.get(key)!r}"
            for key in dict.fromkeys([*old, *new])
            if old.get(key) != new.get(key)
        ]
    if changes:
        raise DataError(
            f"run {name} was begun with other {'; '.join(changes)}. Go on with the same, or begin anew: {_remove(name)}"
        )
    return replace(manifest, created=before.created)


def _remove(name: str) -> str:
    return f"`karat runs remove {name}`"


def _write_statistics(parts: Parts, path: Path) -> None:
    """The counts of every row, a column of lists of fixed length for each metric that has them; null where unscored."""
    counted = {at: metric.spec for at, metric in enumerate(parts.metrics) if metric.definition.finish}
    widths = dict.fromkeys(counted, 1)
    for scored in parts:
        widths = {at: max(width, scored[at].statistics.shape[1]) for at, width in widths.items()}
    schema = pa.schema([(spec, pa.list_(pa.float64(), widths[at])) for at, spec in counted.items()])
    with pq.ParquetWriter(path, schema, compression="snappy", use_dictionary=False) as writer:
        for scored in parts:
            lists = [_to_lists(scored[at], width) for at, width in widths.items()]
            writer.write_batch(pa.RecordBatch.from_arrays(lists, schema=schema))


def _to_lists(rows: Rows, width: int) -> pa.Array:
    counts = rows.statistics
    if counts.shape[1] < width:
        counts = np.full((len(counts), width), np.nan)
    return pa.FixedSizeListArray.from_arrays(pa.array(counts.ravel()), width, mask=pa.array(~rows.scored))
