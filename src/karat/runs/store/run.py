"""Stored runs, each a folder with its manifest, rows, statistics and values, and files of scored rows.

A run is in `$KARAT_RUNS`, a folder or the address of one in a store, else in `karat-runs`. Any tool can read its files:
`manifest.json`, `rows.parquet` (with the scores), `statistics.parquet` (the counts of metrics whose value is not the
mean of the scores) and `values.json`. Of large files the rows and the counts are in the folders `rows` and
`statistics`: `part-000000.parquet` and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.columns.numbers import read_numbers
from karat.core.errors import ColumnError, DataError, did_you_mean
from karat.core.metric.rows import ROUNDING, stack_statistics
from karat.data.formats.columnar import read_columns
from karat.data.formats.union import unite_sources
from karat.data.formats.validate import validate_source
from karat.data.open import open_source
from karat.data.paths.nested import add_nested, find_nested
from karat.data.source import Source
from karat.data.storage.addresses import hide_secrets, is_address, join_path, to_path
from karat.data.storage.file_names import name_row, split_name
from karat.data.storage.remote_files import list_files
from karat.data.storage.stores import name_errors
from karat.runs.columns.output import find_left_out, find_reason_column
from karat.runs.store.files import check_files, count_rows, count_width, parts_pattern, read_counts, read_table
from karat.runs.store.folders import (
    ROWS,
    STATISTICS,
    VALUES,
    answers_folder,
    explain_missing,
    find_run,
    lock_file,
    partial_folder,
    written_folder,
)
from karat.runs.store.lock import is_locked
from karat.runs.store.manifest import Manifest, ScoredMetric, find_scores, read_manifest
from karat.runs.store.parts import PartsFolder
from karat.runs.store.values import read_stored_values
from karat.stats.sequential.stop import Stop

State: TypeAlias = Literal["finished", "running", "stopped", "capped"]


@dataclass(frozen=True)
class Run:
    """A stored run: its manifest, its values, and the rows behind them.

    `path` is its folder (of a file of scored rows, its path or address), `manifest` says what was scored and how,
    `values` is the `Result.as_dict` of the scoring. Rows are read on access, and only the columns that are needed.
    `paths` into objects and lists are columns too, of these types. Of a run that is not finished, `state` says
    why, the rows are those that are written, and `unscored` is the number of the others, where that is known.
    """

    path: str | Path
    manifest: Manifest
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    paths: Mapping[str, pa.DataType] = field(default_factory=dict, repr=False)
    state: State = "finished"
    unscored: int = 0

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def note(self) -> str:
        """What is missing, and what to do; empty where the run is finished."""
        if self.state == "finished":
            return ""
        scored, how = self.manifest.n or 0, {"running": "is being written", "capped": "was ended by a cap"}
        rows = f"{scored:,} of {scored + self.unscored:,} rows" if self.unscored else f"{scored:,} rows"
        remedy = "" if self.state == "running" else "; the same command with --resume scores the others"
        return f"run {self.name} {how.get(self.state, 'was not finished')}: {rows} are scored{remedy}"

    @property
    def specs(self) -> tuple[str, ...]:
        """The specs of the metrics that were scored."""
        return tuple(each.spec for each in self.manifest.metrics)

    @property
    def stops(self) -> Mapping[str, Stop]:
        """By spec, how far a judge was asked, where a rule said when to stop."""
        return {each["spec"]: Stop.read(each["stop"]) for each in self.values.get("metrics", ()) if each.get("stop")}

    @property
    def joined_on(self) -> str:
        """The id by which the rows were joined with their gold, ID or ID=OTHER; empty where they were not."""
        return str(self.manifest.settings.get("on") or "")

    @cached_property
    def rows(self) -> str | Path:
        """The file of the rows, or the pattern of its files (`glob`) where they were written in parts."""
        one = join_path(self.path, ROWS)
        return one if self.files == [one] else parts_pattern(self.path, ROWS)

    @cached_property
    def files(self) -> Sequence[str | Path]:
        """The files of the rows, in their order; `DataError` where one is not as it was written, or rows lack."""
        files, expected = self._check_files(ROWS), self.manifest.n
        if expected is not None and (rows := sum(map(count_rows, files))) != expected:
            problem = f"expected {expected} rows, as its manifest says, found {rows}"
            raise DataError(f"{self.path}: {problem}; score it again")
        return files

    def _check_files(self, kind: str) -> Sequence[str | Path]:
        return check_files(self.path, kind, self.manifest.files, others=self.state != "finished")

    @cached_property
    def starts(self) -> Array:
        """The number of the first row of each of the `files`, and the number of all rows: shape (files + 1,), int64."""
        return np.cumsum([0, *(count_rows(file) for file in self.files)])

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the rows."""
        return add_nested(self.source, self.paths).schema

    def with_path(self, path: str) -> Run:
        """The run with a column for a path into objects and lists, if it leads anywhere."""
        return replace(self, paths={**self.paths, **find_nested(self.source, [path])})

    @cached_property
    def source(self) -> Source:
        if self.state == "finished":
            return open_source(self.rows).as_values()
        sources = [open_source(file) for file in self.files]
        whole = sources[0] if len(sources) == 1 else validate_source(unite_sources(self.name, sources), checked=True)
        return whole.as_values()

    def read(self, names: Sequence[str]) -> pa.Table:
        """Some columns of the rows; `ColumnError` for one that does not exist."""
        self._check_names(names := list(names))
        if split_name(self.rows) == ("parquet", None) and self.paths.keys().isdisjoint(names):
            with name_errors(str(self.rows)):
                tables = [read_table(file, names) for file in self.files]
                return tables[0] if len(tables) == 1 else pa.concat_tables(tables)
        return pa.Table.from_batches(self.batches(names), pa.schema([self.schema.field(name) for name in names]))

    def batches(self, names: Sequence[str], most: int | None = None) -> Iterator[pa.RecordBatch]:
        """Some columns of the rows in bounded batches of up to `most` rows; `ColumnError` for one that is not there."""
        self._check_names(names)
        if self.paths.keys().isdisjoint(names):
            return read_columns(self.source, names, most)
        return (batch.select(list(names)) for batch in add_nested(self.source, self.paths).batches())

    def _check_names(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.schema.names:
                raise ColumnError(f"{self.name}: there is no column {name!r}{did_you_mean(name, self.schema.names)}")

    def column(self, name: str) -> pa.ChunkedArray:
        """One column of the rows."""
        return self.read([name]).column(0)

    def scores(self, spec: str) -> Array:
        """Each row's score, shape (n,), NaN where it has none; `SpecError` for a metric that was not scored."""
        return np.concatenate([np.empty(0), *self.read_scores(spec)])

    def read_scores(self, spec: str) -> Iterator[Array]:
        """The `scores` in batches of bounded size."""
        metric, first = self.manifest.metric(spec), 0
        where = f"column {metric.column!r}"
        low, high = -np.inf if metric.low is None else metric.low, np.inf if metric.high is None else metric.high
        for batch in self.batches([metric.column]):
            numbers = read_numbers(batch.column(0), where, partial(self._name_row, first))
            if numbers.type != pa.float64():
                raise ColumnError(f"{self.name}, {where}: expected scores, which are numbers, found {numbers.type}")
            scores = numbers.to_numpy(zero_copy_only=False)
            if (beyond := (scores < low - ROUNDING) | (scores > high + ROUNDING)).any():
                at = int(np.argmax(beyond))
                problem = f"expected a score from {low:g} to {high:g}, found {scores[at]:g}"
                raise ColumnError(f"{self._name_row(first, at)}, {where}: {problem}")
            yield scores
            first += len(batch)

    def _name_row(self, first: int, at: int) -> str:
        """The place of a row, for messages: the one `at` rows after the `first`, from 0."""
        return name_row(self.name, first + at + 1)

    def statistics(self, spec: str) -> Array:
        """Each row's statistics, shape (n, k), NaN where it is unscored: its counts, else its score.

        `DataError` where the counts are not stored, as in a scored file that is not a run.
        """
        return stack_statistics([np.empty((0, 1)), *self.read_statistics(spec)])

    def count_statistics(self, spec: str) -> int:
        """The number of statistics a row of a metric; 1 where no row is scored."""
        metric = self.manifest.metric(spec)
        if metric.percentile is not None:
            return 1
        return max((count_width(file, metric.spec) for file in self._find_counts(metric)), default=1)

    def read_statistics(self, spec: str) -> Iterator[Array]:
        """The `statistics` in batches of bounded size."""
        metric = self.manifest.metric(spec)
        return (
            read_counts(self._find_counts(metric), metric.spec)
            if metric.counts and metric.percentile is None
            else (each[:, None] for each in self.read_scores(spec))
        )

    def _find_counts(self, metric: ScoredMetric) -> Sequence[str | Path]:
        return self._counts if metric.counts else ()

    @cached_property
    def _counts(self) -> Sequence[str | Path]:
        """The files of the counts, which have as many rows as the files of rows."""
        files = self._check_files(STATISTICS)
        if (rows := sum(map(count_rows, files))) != self.starts[-1]:
            expected = f"expected counts of {self.starts[-1]} rows, found {rows}"
            raise DataError(f"{join_path(self.path, STATISTICS)}: {expected}")
        return files

    def left_out(self, spec: str) -> Array | None:
        """Which rows a rule left out when it ended the asking, shape (n,), bool; None where it left out none."""
        known = next((each for each in self.values.get("metrics", ()) if each["spec"] == spec), {"not_asked": True})
        name = find_reason_column(self.schema.names, {metric.column for metric in self.manifest.metrics})
        if name is None or not known.get("not_asked"):
            return None
        left_out: Array = find_left_out(self.column(name), spec) & np.isnan(self.scores(spec))
        return left_out if left_out.any() else None

    def reasons(self) -> list[str | None] | None:
        """For each row why it is unscored; None where the rows have no such column."""
        name = find_reason_column(self.schema.names, {metric.column for metric in self.manifest.metrics})
        return None if name is None else self.column(name).to_pylist()


@dataclass(frozen=True)
class ScoredFile(Run):
    """A file of scored rows, read like a run; `path` is the file. It has no counts, and no values but its rows'."""

    @cached_property
    def rows(self) -> str | Path:
        return self.path

    @cached_property
    def files(self) -> Sequence[str | Path]:
        return [file.path for file in list_files(self.path)] if is_address(self.path) else [self.path]

    def _find_counts(self, metric: ScoredMetric) -> Sequence[str | Path]:
        if not metric.counts:
            return ()
        problem = f"the value of {metric.spec} is computed from counts, which only a stored run has"
        raise DataError(f"{self.name}: {problem}; score it again with run='NAME' (--run NAME)")


def open_run(name: str | Path) -> Run:
    """Open a run by its name, or by the path or address of its folder; of an unfinished one what is written of it.

    Raises `DataError`, with the nearest name, where it does not exist, or none of its rows is written yet.
    """
    if (path := find_run(name)) is not None:
        manifest = replace(read_manifest(path), name=Path(path).absolute().name)  # it may be a link, a copy, or renamed
        return Run(path, manifest, read_stored_values(join_path(path, VALUES), manifest.files.get(VALUES)))
    folder = find_run(name, unfinished=True)
    if folder is None or not (run := open_unfinished(folder)).manifest.n:
        raise DataError(explain_missing(str(name)))
    return run


def open_unfinished(folder: str | Path) -> Run:
    """What is written of a run that is not finished, of which there may be no row yet."""
    manifest, parts = read_manifest(partial_folder(folder)), PartsFolder(folder).finished().values()
    scored = sum(each.rows for each in parts)
    files = {file: written for each in parts for file, written in each.files.items()}
    unscored = max(0, (manifest.n or 0) - scored)
    state = find_state(folder, capped=bool((manifest.models or {}).get("capped")))
    return Run(written_folder(folder), replace(manifest, n=scored, files=files), {}, state=state, unscored=unscored)


def find_state(folder: str | Path, *, capped: bool = False) -> State:
    """The state of a run that is not finished; `capped`: a cap has ended the last attempt."""
    locks = [lock_file(folder), *([answers / "lock"] if isinstance(answers := answers_folder(folder), Path) else [])]
    return "running" if any(map(is_locked, locks)) else "capped" if capped else "stopped"


def open_scored(path: str | Path) -> Run:
    """Open a file of scored rows, as `karat score -o FILE` writes it, like a run.

    A column whose name is the spec of a metric holds its scores. What the file does not hold is None: the metrics'
    signatures, the number of rows. Raises `DataError` for a file that cannot be read.
    """
    path, name = to_path(path), hide_secrets(str(path))
    return ScoredFile(path, Manifest(name, "", find_scores(open_source(path).schema, name), {}))
