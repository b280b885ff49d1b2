"""Score a table: read it batch by batch, score each batch with every metric, write the rows, add up the statistics."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from karat.core.errors import ColumnError, SpecError, did_you_mean
from karat.core.lift import cast_columns, score_rows, to_column
from karat.core.metric import Metric
from karat.core.parallel import map_ordered
from karat.core.rows import Rows
from karat.core.setting import SEVERAL
from karat.core.spec import parse_all
from karat.core.types import NUMBER, is_text
from karat.data.filter import keep as keep_rows
from karat.data.join import Joined, join
from karat.data.mapping import map_columns
from karat.data.raw import decode_text
from karat.data.read import open_source
from karat.data.source import RAW, Source
from karat.data.write import check_output, refuse_overwriting, write
from karat.runs.result import Result, Values
from karat.runs.tally import Grouped, cluster_keys, group_rows, join_reasons
from karat.text.columns import memo

Progress = Callable[[int, int | None], None]


def score(
    data: Any,
    metrics: str | Metric | Iterable[str | Metric],
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002  (the field's word, and the flag's)
    gold: Any = None,
    on: str | None = None,
    by: str | None = None,
    cluster: str | None = None,
    where: str | None = None,
    limit: int | None = None,
    output: str | Path | None = None,
    keep: bool | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Score a table of answers with one or more metrics.

    `data`: a file, a glob, `-` for standard input, a list of dicts, a dict of columns, or anything with
    `__arrow_c_stream__` (pandas, polars, DuckDB, Arrow, Hugging Face datasets). `metrics`: specs such as `"token_f1"`
    or `"token_f1(normalize='none')"`, or metrics.

    `map`: which column serves as what (`{"reference": "gold"}`) where its name does not say so. `gold`, `on`: a second
    table with the gold, joined by id. `by`: a column whose values also get values of their own. `cluster`: a column
    whose equal values mark rows that are not independent (questions on one document), for the intervals. `where`: SQL
    that chooses rows. `limit`: the first so many of them. `output`: a file for the scored rows. `keep`: whether the
    result holds the rows in memory; by default only when they are not written to `output`. `confidence`, `seed`: of
    the intervals. `progress`: called with the rows done and, where known, the rows there are.

    Raises a `karat.KaratError` that says what to do; nothing stands under `output` then.

    >>> result = score({"output": ["Paris", "Rome"], "expected": ["Paris", None]}, "em")
    >>> result.mapping
    {'prediction': 'output', 'reference': 'expected'}
    >>> result.values["exact_match"].value, result.values["exact_match"].worst
    (1.0, 0.5)
    >>> result.table.to_pylist()[1]
    {'output': 'Rome', 'expected': None, 'exact_match': None, 'reason': 'reference is null'}
    """
    if not 0 < confidence < 1 or seed < 0:
        raise SpecError(f"confidence={confidence} must lie between 0 and 1, seed={seed} be 0 or more")
    if output is not None:
        check_output(output)
        refuse_overwriting(output, data, gold)
    run = _plan(data, metrics, map or {}, gold, on, by, cluster, where, limit, seed)
    kept: list[pa.RecordBatch] | None = [] if (output is None if keep is None else keep) else None
    batches = _watch(_scored(run), progress, run.source.rows)
    if output is not None:
        write(_keep(batches, kept), run.schema, output)
    else:
        deque(_keep(batches, kept), maxlen=0)
    return _result(run, confidence, None if output is None else Path(output).resolve(), kept)


@dataclass(frozen=True)
class _Run:
    """All that is decided before the first row is read, and the sums that grow as rows go by."""

    source: Source
    joined: Joined | None
    metrics: list[Metric]
    mapping: dict[str, str]
    text: set[str]  # the columns that are read as text
    by: str | None
    cluster: str | None
    schema: pa.Schema
    tallies: list[Grouped]

    def columns(self, batch: pa.RecordBatch, first: int = 1) -> dict[str, pa.Array]:
        """What the metrics get of a batch, by role; `first` is the number of its first row."""
        found = {role: batch.column(name) for role, name in self.mapping.items()}
        return {role: decode_text(column, first) if column.type == RAW else column for role, column in found.items()}

    @property
    def named(self) -> dict[str, str]:
        """What error messages call each role's column."""
        return {role: f"{self.source.name}: column {name!r} ({role})" for role, name in self.mapping.items()}


def _plan(
    data: Any,
    metrics: str | Metric | Iterable[str | Metric],
    given: Mapping[str, str],
    gold: Any,
    on: str | None,
    by: str | None,
    cluster: str | None,
    where: str | None,
    limit: int | None,
    seed: int,
) -> _Run:
    chosen = parse_all(metrics)
    if (gold is None) != (on is None):
        raise SpecError("gold and on go together: a second table, and the id column that joins it")
    joined = None if gold is None else join(open_source(data), open_source(gold, role="reference"), on or "")
    source = open_source(data) if joined is None else joined
    if where is not None or limit is not None:
        source = keep_rows(source, where, limit)
    names = source.schema.names
    kinds = {role: kind for metric in chosen for role, kind in metric.definition.columns.items()}
    sides, called = ({}, {}) if joined is None else (joined.sides, joined.called)
    mapping = map_columns(names, list(kinds), given, sides=sides, called=called, where=source.name)
    text = {mapping[role] for role, kind in kinds.items() if kind is not NUMBER}
    for name in (by, cluster):
        if name is not None and name not in names:
            raise ColumnError(f"{source.name}: there is no column {name!r}{did_you_mean(name, names)}")
        if name is not None and pa.types.is_nested(kind := source.schema.field(name).type):
            raise ColumnError(
                f"{source.name}: column {name!r} holds {kind}; values such as text or numbers make groups"
            )
    run = _Run(
        source=source,
        joined=joined,
        metrics=chosen,
        mapping=mapping,
        by=by,
        cluster=cluster,
        text=text,
        schema=_extend(source.schema_as(text), [metric.spec for metric in chosen]),
        tallies=[Grouped(metric, cluster is not None, seed) for metric in chosen],
    )
    schema = source.schema_as(text)
    nothing = pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)
    for metric in chosen:  # a column that does not fit is found before the first row is read
        cast_columns(metric, run.columns(nothing), run.named)
    return run


def _extend(schema: pa.Schema, specs: list[str]) -> pa.Schema:
    """The user's columns, one of scores per metric, and `reason`; a name that is taken gets a number."""
    for name, kind in [*((spec, pa.float64()) for spec in specs), ("reason", pa.string())]:
        free = name
        while free in schema.names:
            stem, _, number = free.rpartition("_")
            free = f"{stem}_{int(number) + 1}" if stem == name and number.isdecimal() else f"{name}_2"
        schema = schema.append(pa.field(free, kind))
    return schema


def _scored(run: _Run) -> Iterator[pa.RecordBatch]:
    """Each batch with its scores; the tallies grow as batches pass, in order."""

    def work(numbered: tuple[int, pa.RecordBatch]) -> tuple[pa.RecordBatch, list[Rows]]:
        first, batch = numbered
        columns = run.columns(batch, first)
        with memo():
            return batch, [score_rows(metric, columns, run.named) for metric in run.metrics]

    seen: set[str] = set()
    for number, (batch, scored) in enumerate(map_ordered(work, _numbered(run.source.batches(run.text)))):
        if number == 0:
            _warn_of_lists_in_text(run, batch)
        keys = cluster_keys(batch.column(run.cluster), run.tallies[0].whole.n) if run.cluster else None
        parts = group_rows(batch.column(run.by), seen, run.by) if run.by else {}
        for tally, rows in zip(run.tallies, scored, strict=True):
            tally.add(rows, keys, parts)
        scores = [to_column(rows.scores(metric)) for rows, metric in zip(scored, run.metrics, strict=True)]
        yield pa.RecordBatch.from_arrays(
            [*batch.columns, *scores, join_reasons(run.metrics, scored)], schema=run.schema
        )


def _numbered(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Each batch with the number of its first row, counted from 1."""
    first = 1
    for batch in batches:
        yield first, batch
        first += len(batch)


def _warn_of_lists_in_text(run: _Run, batch: pa.RecordBatch) -> None:
    """CSV has no lists: references that came from a list would each be scored as one long text."""
    for role in SEVERAL.keys() & run.mapping.keys():
        column = batch.column(run.mapping[role])
        texts = list(filter(None, column.slice(0, 100).to_pylist())) if is_text(column.type) else []
        if texts and all(text.startswith("[") and text.endswith("]") for text in texts):
            warnings.warn(
                f"{run.named[role]} looks like JSON lists but is text, and each is scored as one; "
                "JSON Lines and Parquet hold lists",
                stacklevel=2,
            )


def _watch(batches: Iterable[pa.RecordBatch], progress: Progress | None, total: int | None) -> Iterator[pa.RecordBatch]:
    done = 0
    for batch in batches:
        yield batch
        done += len(batch)
        if progress is not None:
            progress(done, total)


def _keep(batches: Iterable[pa.RecordBatch], kept: list[pa.RecordBatch] | None) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if kept is not None:
            kept.append(batch)
        yield batch


def _result(run: _Run, confidence: float, output: Path | None, kept: list[pa.RecordBatch] | None) -> Result:
    tallies = {tally.metric.spec: tally for tally in run.tallies}
    return Result(
        metrics=tuple(run.metrics),
        values=Values({spec: tally.whole.value(confidence) for spec, tally in tallies.items()}),
        reasons={spec: dict(tally.whole.reasons) for spec, tally in tallies.items()},
        groups=Values(
            {
                spec: {label: group.value(confidence) for label, group in sorted(tally.groups.items())}
                for spec, tally in tallies.items()
                if run.by
            }
        ),
        n=run.tallies[0].whole.n,
        mapping=run.mapping,
        joined=_said_of_join(run.joined),
        confidence=confidence,
        output=output,
        batches=None if kept is None else tuple(kept),
        schema=run.schema,
    )


def _said_of_join(joined: Joined | None) -> dict[str, Any] | None:
    """How many ids stand on one side only, with a few of them."""
    if joined is None:
        return None
    return {
        "missing": joined.missing,
        "missing_ids": list(joined.missing_ids),
        "unknown": joined.unknown,
        "unknown_ids": list(joined.unknown_ids),
    }
