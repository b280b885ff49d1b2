"""Runs that are kept: each a folder with its manifest, rows, statistics and values.

A run stands under `$KARAT_RUNS`, else under `karat-runs` in the working directory. It is made of plain files:
`manifest.json`, `rows.parquet` (the user's columns and the scores), `statistics.parquet` (the counts of metrics whose
value does not come of scores) and `values.json`, which any other tool can read as they are.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from karat.core.columns.kinds import Array
from karat.core.errors import ColumnError, DataError, SpecError, did_you_mean
from karat.core.metric.spec import parse
from karat.data.open import open_source
from karat.data.storage.file_names import split_name
from karat.data.storage.validate import name_errors
from karat.runs.store.lock import holding
from karat.runs.store.manifest import FILE, Manifest, note, read_manifest

ROWS, STATISTICS, VALUES = "rows.parquet", "statistics.parquet", "values.json"
_NAME = re.compile(r"\w[\w.+@ -]*")


@dataclass(frozen=True)
class Run:
    """A run that was kept, or a scored file: what was decided, the values, and the rows behind them.

    `path` is its folder, or the file. `manifest` says what was scored and how, `values` is what `Result.as_dict` said,
    empty for a scored file. Rows are read when they are asked for, and only the columns that are.
    """

    path: Path
    manifest: Manifest
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def specs(self) -> tuple[str, ...]:
        """The metrics that were scored."""
        return tuple(each.spec for each in self.manifest.metrics)

    @property
    def rows(self) -> Path:
        """The file of the rows."""
        return self.path / ROWS if self.path.is_dir() else self.path

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the rows."""
        return open_source(self.rows).schema

    def read(self, names: Sequence[str]) -> pa.Table:
        """Some columns of the rows; `ColumnError` for one that is not there."""
        for name in names:
            if name not in self.schema.names:
                raise ColumnError(f"{self.name}: there is no column {name!r}{did_you_mean(name, self.schema.names)}")
        if split_name(self.rows) == ("parquet", None):
            with name_errors(str(self.rows)):
                return pq.read_table(self.rows, columns=list(names), partitioning=None)
        source = open_source(self.rows)
        chosen = pa.schema([source.schema.field(name) for name in names])
        return pa.Table.from_batches((batch.select(names) for batch in source.batches()), chosen)

    def column(self, name: str) -> pa.ChunkedArray:
        """One column of the rows; `ColumnError` where it is not there."""
        return self.read([name]).column(0)

    def scores(self, spec: str) -> Array:
        """Each row's score, shape (n,), NaN where it has none; `SpecError` for a metric that was not scored."""
        name = self.manifest.metric(spec).column
        return to_scores(self.column(name), f"{self.name}: column {name!r}")

    def statistics(self, spec: str) -> Array:
        """Each row's statistics, shape (n, k), NaN where it is unscored: its counts, else its score.

        `DataError` where counts were not kept, as in a scored file that is no run.
        """
        scored = self.manifest.metric(spec)
        if not scored.counts:
            return self.scores(spec)[:, None]
        if not self.path.is_dir():
            raise DataError(
                f"{self.name}: the value of {scored.spec} comes of counts, which a scored file does not hold; "
                "score it again with --run NAME and name the run"
            )
        path = self.path / STATISTICS
        with name_errors(str(path)):
            return _to_counts(pq.read_table(path, columns=[scored.spec], partitioning=None).column(0))


def to_scores(column: pa.ChunkedArray, where: str) -> Array:
    """A column of scores as float64, shape (n,), NaN for null and for an empty cell of a CSV; `ColumnError` else."""
    try:
        if pa.types.is_string(column.type):
            column = pa.chunked_array([pa.array([cell or None for cell in column.to_pylist()], pa.string())])
        numbers = column.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ColumnError(f"{where}: scores are expected, numbers or null: {error}") from error
    return np.asarray(numbers.to_numpy(), dtype=np.float64)


def _to_counts(column: pa.ChunkedArray) -> Array:
    width = column.type.list_size
    counts = np.full((len(column), width), np.nan)
    done = 0
    for chunk in column.chunks:
        counts[done : done + len(chunk)][np.asarray(chunk.is_valid())] = np.asarray(chunk.flatten()).reshape(-1, width)
        done += len(chunk)
    return counts


def root() -> Path:
    """The folder of all runs: `$KARAT_RUNS`, else `karat-runs` in the working directory."""
    return Path(os.environ.get("KARAT_RUNS") or "karat-runs")


def folder_of(name: str) -> Path:
    """Where the run of that name stands or will stand; `SpecError` for what cannot be a name."""
    if not _NAME.fullmatch(name) or name != name.rstrip(". "):
        raise SpecError(f"run {name!r}: a name of letters, digits and _ . + @ - is expected")
    return root() / name


def open_run(name: str | Path) -> Run:
    """Open a finished run by its name, or by the path of its folder.

    Raises `DataError`, with the nearest name, where there is none or it was not finished.
    """
    path = _find(str(name))
    manifest = read_manifest(path)
    values = path / VALUES
    try:
        return Run(path, manifest, json.loads(values.read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise DataError(f"{values} cannot be read: {error}") from error


def _find(name: str) -> Path:
    for path in (root() / name, Path(name)):
        if (path / FILE).is_file():
            return path
    if (partial_of(root() / name) / FILE).is_file():
        raise DataError(f"run {name} was not finished: the same command with --resume goes on")
    raise DataError(f"there is no run {name!r} in {root()}{did_you_mean(name, run_names())}")


def partial_of(folder: Path) -> Path:
    """Where a run is while it is written."""
    return folder.with_name(f".{folder.name}.partial")


def lock_of(folder: Path) -> Path:
    """The file that the process which writes a run holds."""
    return folder.with_name(f".{folder.name}.lock")


def answers_of(folder: Path) -> Path:
    """Where the answers of an experiment are until its run is whole."""
    return folder.with_name(f".{folder.name}.answers")


def run_names() -> list[str]:
    """The names of all runs that are finished, in order."""
    return sorted(path.parent.name for path in root().glob(f"*/{FILE}") if not path.parent.name.startswith("."))


def unfinished() -> list[str]:
    """The names of the runs that were begun and not finished."""
    begun = {path.parent.name[1 : -len(".partial")] for path in root().glob(f".*.partial/{FILE}")}
    begun |= {path.name[1 : -len(".answers")] for path in root().glob(".*.answers")}
    return sorted(name for name in begun if not (root() / name).exists())


def list_runs() -> list[Run]:
    """All finished runs, by the time at which they were begun."""
    return sorted(map(open_run, run_names()), key=lambda run: (run.manifest.created, run.name))


def remove_run(name: str) -> None:
    """Remove a run and all that is kept of it, finished or not; `DataError` where there is none of that name."""
    folder = folder_of(name)
    partial, answers = partial_of(folder), answers_of(folder)
    if not (folder / FILE).is_file() and not partial.is_dir() and not answers.is_dir():
        raise DataError(f"there is no run {name!r} in {root()}{did_you_mean(name, [*run_names(), *unfinished()])}")
    with holding(lock_of(folder), name):
        if (folder / FILE).is_file():
            gone = folder.with_name(f".{name}.removed")
            shutil.rmtree(gone, ignore_errors=True)
            folder.rename(gone)  # so that there is never half a run of that name
            shutil.rmtree(gone)
        if partial.is_dir():
            shutil.rmtree(partial)
        if answers.is_dir():
            with holding(answers / "lock", name):
                shutil.rmtree(answers)


def open_scored(path: str | Path) -> Run:
    """Open a file of scored rows, as `karat score -o FILE` writes it, like a run.

    Its scores are the columns called as a metric's spec. What such a file does not say is None: the metrics'
    signatures, the number of rows. Raises `DataError` for a file that cannot be read or holds no scores.
    """
    path = Path(path)
    schema = open_source(path).schema
    found = []
    for name in schema.names:
        try:
            metric = parse(name)
        except SpecError:
            continue
        if metric.spec == name:
            if f"{name}_2" in schema.names:
                raise ColumnError(f"{path}: are the scores of {name} in column {name!r} or {f'{name}_2'!r}?")
            found.append(note(metric, name, signed=False))
    if not found:
        raise DataError(
            f"{path} holds no scores: no column is called as a metric, such as exact_match; "
            "karat score -o FILE writes such a file"
        )
    return Run(path, Manifest(str(path), "", tuple(found), {}))
