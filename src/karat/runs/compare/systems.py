"""What can be compared: runs, scored files, and results that are in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from karat.core.errors import ColumnError, DataError, SpecError, did_you_mean
from karat.core.metric.spec import parse
from karat.data.open import open_source
from karat.data.roles import map_columns, matches_role
from karat.runs.scoring.result import Result
from karat.runs.store.manifest import FILE, Manifest, note
from karat.runs.store.run import Run, open_run, open_scored, root
from karat.stats.aggregate import Scale, Units
from karat.stats.value import Value, summarise

System: TypeAlias = str | Path | Run | Result
"""A run, by its name, its folder or as such; a file of scored rows; or what `karat.score` gave."""


def open_system(given: System, called: str = "") -> Run:
    """Open a system as a run; `called` names a result that is in memory only.

    Raises `DataError`, with the nearest name, where there is none, and for results whose rows were not kept;
    `SpecError` for what is no system.
    """
    if isinstance(given, Result):
        return given.run or _open_result(given, called)
    if isinstance(given, Run):
        return given
    if not isinstance(given, str | Path):
        raise SpecError(
            f"a run, a file of scored rows or what karat.score gave is expected, found {type(given).__name__}"
        )
    path = Path(given)
    if path.is_file() and not (root() / given / FILE).is_file():
        run = open_scored(path)
        return replace(run, manifest=replace(run.manifest, mapping=_guess(run)))
    return open_run(given)


def value_of(run: Run, spec: str) -> Value:
    """A metric's value: as the run says it, else, of a scored file, that of its rows."""
    for said in run.values.get("metrics", ()):
        if said["spec"] == spec:
            return Value(**{each.name: said[each.name] for each in fields(Value)})
    scored, statistics = run.manifest.metric(spec), run.statistics(spec)
    here = ~np.isnan(statistics).any(axis=1)
    units = Units(statistics.shape[1])
    units.add(statistics[here])
    return summarise(
        units,
        Scale(None, (scored.low, scored.high), "minimize" if scored.direction == "minimize" else "maximize"),
        failed=int(np.count_nonzero(~here)),
    )


def gold_of(run: Run) -> str | None:
    """The column of the gold that was scored against."""
    return run.manifest.mapping.get("reference") or run.manifest.mapping.get("relevant")


def question_of(run: Run) -> str | None:
    """The column of the questions, where one is."""
    if "question" in run.manifest.mapping:
        return run.manifest.mapping["question"]
    found = [name for name in run.schema.names if matches_role("question", name)]
    return "question" if "question" in found else found[0] if len(found) == 1 else None


def batches(run: Run, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Some columns of the rows, a bounded number of rows at a time."""
    if isinstance(run, _Held):
        yield from run.read(names).to_batches()
        return
    for batch in open_source(run.rows).batches():
        yield batch.select(list(names))


@dataclass(frozen=True)
class _Held(Run):
    """A result in memory, read like a run."""

    table: pa.Table = field(kw_only=True, repr=False)

    @cached_property
    def schema(self) -> pa.Schema:
        return self.table.schema

    def read(self, names: Sequence[str]) -> pa.Table:
        for name in names:
            if name not in self.table.column_names:
                raise ColumnError(f"{self.name}: there is no column {name!r}{did_you_mean(name, self.schema.names)}")
        return self.table.select(list(names))


def _open_result(result: Result, called: str) -> Run:
    if result.schema is None or (result.batches is None and result.output is None):
        raise DataError(f"{called}: its rows were not kept: score with run='NAME', output='FILE' or keep=True")
    width = sum(1 + len(metric.details) for metric in result.metrics) + 1  # the last one is `reason`
    added = iter(result.schema.names[-width:])
    noted = []
    for metric in result.metrics:
        noted.append(note(metric, next(added)))
        for _ in metric.details:
            next(added)
    manifest = Manifest(called, "", tuple(noted), dict(result.mapping), n=result.n)
    if result.batches is None and result.output is not None:
        return Run(result.output, manifest, result.as_dict())
    table = pa.Table.from_batches(result.batches or (), result.schema)
    return _Held(Path(called), manifest, result.as_dict(), table=table)


def _guess(run: Run) -> dict[str, str]:
    """The mapping of a scored file, which does not say it, as scoring it would find it; {} where that is not clear."""
    wanted: dict[str, None] = {}
    for spec in run.specs:
        with suppress(SpecError):
            wanted |= dict.fromkeys(parse(spec).definition.columns)
    with suppress(ColumnError):
        return map_columns(run.schema.names, list(wanted))
    return {}
