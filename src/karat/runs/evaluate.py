"""Score a table: read it batch by batch, score each batch with every metric, write the rows, add up the statistics."""

from __future__ import annotations

import warnings
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from karat.core.errors import ColumnError, SpecError, did_you_mean
from karat.core.lift import cast_columns, score_rows, to_column
from karat.core.metric import Metric
from karat.core.parallel import map_ordered
from karat.core.progress import listening
from karat.core.rows import Rows
from karat.core.setting import SEVERAL
from karat.core.spec import parse_all
from karat.core.types import GRADED, IDS, NUMBER, Kind, is_text
from karat.data.filter import keep as keep_rows
from karat.data.join import Joined
from karat.data.mapping import map_columns
from karat.data.raw import decode_ids, decode_text
from karat.data.source import RAW, Source
from karat.data.write import check_output, refuse_overwriting, write
from karat.runs.details import Progress, Watch, detail_columns, score_fields
from karat.runs.judgements import count_judged
from karat.runs.result import Result, Values
from karat.runs.sources import open_sources
from karat.runs.tally import Grouped, cluster_keys, group_rows, join_reasons
from karat.text.columns import memo

_Worked: TypeAlias = tuple[pa.RecordBatch, dict[str, pa.Array], dict[str, Rows], Counter[str]]
"""A batch, its columns by role, the rows of each metric that computes, and what is counted of retrieved documents."""


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
    `__arrow_c_stream__` (pandas, polars, DuckDB, Arrow, Hugging Face datasets), and for metrics of rankings also a run
    as TREC has it or as dicts of scores by query. `metrics`: specs such as `"token_f1"`
    or `"token_f1(normalize='none')"`, or metrics.

    `map`: which column serves as what (`{"reference": "gold"}`) where its name does not say so. `gold`, `on`: a second
    table with the gold, joined by id; a run and its qrels join by query without `on`. `by`: a column whose values also
    get values of their own. `cluster`: a column whose equal values mark rows that are not independent (questions on one
    document), for the intervals. `where`: SQL that chooses rows. `limit`: the first so many of them. `output`: a file
    for the scored rows. `keep`: whether the result holds the rows in memory; by default only when they are not written
    to `output`. `confidence`, `seed`: of the intervals. `progress`: called with the rows done and, where known, the
    rows there are, from any thread.

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
    batches = _scored(run, Watch(progress, run.source.rows, sum(metric.definition.remote for metric in run.metrics)))
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
    kinds: dict[str, Kind]
    mapping: dict[str, str]
    text: set[str]  # the columns that are read as text
    by: str | None
    cluster: str | None
    schema: pa.Schema
    tallies: list[Grouped]
    counted: Counter[str] = field(default_factory=Counter)  # of retrieved documents

    def columns(self, batch: pa.RecordBatch, first: int = 1) -> dict[str, pa.Array]:
        """What the metrics get of a batch, by role; `first` is the number of its first row."""
        found = {role: batch.column(name) for role, name in self.mapping.items()}
        return {role: self._decode(role, column, first) for role, column in found.items()}

    def _decode(self, role: str, column: pa.Array, first: int) -> pa.Array:
        """JSON text as what the role's kind reads: ids, or text."""
        if column.type != RAW:
            return column
        read = self.kinds[role].read
        return decode_text(column, first) if read is None else decode_ids(column, first, read)

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
    kinds = {role: kind for metric in chosen for role, kind in metric.definition.columns.items()}
    source = open_sources(data, gold, on, ranked=any(kind in (IDS, GRADED) for kind in kinds.values()))
    joined = source if isinstance(source, Joined) else None
    if where is not None or limit is not None:
        source = keep_rows(source, where, limit)
    names = source.schema.names
    sides, called = ({}, {}) if joined is None else (joined.sides, joined.called)
    mapping = map_columns(names, list(kinds), given, sides=sides, called=called, where=source.name)
    text = {mapping[role] for role, kind in kinds.items() if kind not in (NUMBER, IDS, GRADED)}
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
        kinds=kinds,
        mapping=mapping,
        by=by,
        cluster=cluster,
        text=text,
        schema=_extend(source.schema_as(text), chosen),
        tallies=[Grouped(metric, cluster is not None, seed) for metric in chosen],
    )
    schema = source.schema_as(text)
    nothing = pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)
    for metric in chosen:  # a column that does not fit is found before the first row is read
        cast_columns(metric, run.columns(nothing), run.named)
    return run


def _extend(schema: pa.Schema, metrics: list[Metric]) -> pa.Schema:
    """The user's columns, those of each metric, and `reason`; a name that is taken gets a number."""
    added = [field for metric in metrics for field in score_fields(metric)]
    for name, kind in [*added, ("reason", pa.string())]:
        free = name
        while free in schema.names:
            stem, _, number = free.rpartition("_")
            free = f"{stem}_{int(number) + 1}" if stem == name and number.isdecimal() else f"{name}_2"
        schema = schema.append(pa.field(free, kind))
    return schema


def _scored(run: _Run, watch: Watch) -> Iterator[pa.RecordBatch]:
    """Each batch with its scores; the tallies grow as batches pass, in order.

    Metrics that compute do so in the pool; those that wait for others are called here, where Ctrl-C arrives.
    """

    def work(numbered: tuple[int, pa.RecordBatch]) -> _Worked:
        first, batch = numbered
        columns = run.columns(batch, first)
        with memo():
            here = {m.spec: score_rows(m, columns, run.named) for m in run.metrics if not m.definition.remote}
            return batch, columns, here, Counter() if run.joined is None else count_judged(columns)

    seen: set[str] = set()
    batches = map_ordered(work, _numbered(run.source.batches(run.text)))
    for number, (batch, columns, here, counted) in enumerate(batches):
        if number == 0:
            _warn_of_lists_in_text(run, batch)
        run.counted.update(counted)
        with listening(watch.advance):
            scored = [here.get(m.spec) or score_rows(m, columns, run.named) for m in run.metrics]
        keys = cluster_keys(batch.column(run.cluster), run.tallies[0].whole.n) if run.cluster else None
        parts = group_rows(batch.column(run.by), seen, run.by) if run.by else {}
        for tally, rows in zip(run.tallies, scored, strict=True):
            tally.add(rows, keys, parts)
        added = [
            column
            for metric, rows in zip(run.metrics, scored, strict=True)
            for column in (to_column(rows.scores(metric)), *detail_columns(metric, rows))
        ]
        yield pa.RecordBatch.from_arrays([*batch.columns, *added, join_reasons(run.metrics, scored)], schema=run.schema)
        watch.finish(len(batch))


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
        counts={spec: dict(tally.counts) for spec, tally in tallies.items() if tally.counts},
        groups=Values(
            {
                spec: {label: group.value(confidence) for label, group in sorted(tally.groups.items())}
                for spec, tally in tallies.items()
                if run.by
            }
        ),
        n=run.tallies[0].whole.n,
        mapping=run.mapping,
        joined=_said_of_join(run.joined, run.counted),
        confidence=confidence,
        output=output,
        batches=None if kept is None else tuple(kept),
        schema=run.schema,
    )


def _said_of_join(joined: Joined | None, counted: Counter[str]) -> dict[str, Any] | None:
    """How many ids stand on one side only, with a few of them; of retrieved documents how many are not judged."""
    if joined is None:
        return None
    return {
        "missing": joined.missing,
        "missing_ids": list(joined.missing_ids),
        "unknown": joined.unknown,
        "unknown_ids": list(joined.unknown_ids),
        **counted,
        **{str(side): dict(noted) for side, noted in joined.noted.items()},
    }
