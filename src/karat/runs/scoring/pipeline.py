"""Score a table: read it batch by batch, score each batch with every metric, write the rows, add up the statistics."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from time import time_ns
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.column_cache import column_cache
from karat.core.errors import SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.core.metric.score import complete_rows, compute_rows
from karat.core.parallel import map_ordered
from karat.core.progress import report_progress_to
from karat.data.join import Joined
from karat.data.write import check_output, refuse_overwriting, write
from karat.runs.output_columns import Progress, Watch
from karat.runs.scoring.judged_documents import count_judged
from karat.runs.scoring.model_usage import Asked
from karat.runs.scoring.plan import Plan, plan, warn_of_lists_in_text
from karat.runs.scoring.provenance import describe
from karat.runs.scoring.result import Result, Values
from karat.runs.scoring.totals import cluster_keys, group_rows, join_reasons
from karat.runs.scoring.value_spans import tell_values
from karat.runs.store.writer import Keeper, keeping

_Worked: TypeAlias = tuple[int, pa.RecordBatch, dict[str, pa.Array], list[Rows | None], Counter[str]]
"""The number of a batch's first row, the batch, its columns by role, the rows of each metric that computes, and what is
counted of retrieved documents."""


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
    run: str | None = None,
    resume: bool = False,
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
    to `output` or a run. `confidence`, `seed`: of the intervals. `run`: a name under which the whole run is kept, in a
    folder of `$KARAT_RUNS`, else of `karat-runs`; `resume`: go on with it where it was stopped. `progress`: called with
    the rows done and, where known, the rows there are, from any thread.

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
    if resume and run is None:
        raise SpecError("resume goes on with a run that was stopped: run='NAME' says which")
    if output is not None:
        check_output(output)
        refuse_overwriting(output, data, gold)
    planned = plan(data, metrics, map or {}, gold, on, by, cluster, where, limit, seed)
    if keep is None:
        keep = output is None and run is None
    if run is None:
        return evaluate(planned, confidence, output, progress, None, keep=keep)
    settings = {"on": on, "by": by, "cluster": cluster, "where": where, "limit": limit}
    manifest = describe(planned, run, data, gold, {**settings, "confidence": confidence, "seed": seed})
    asked = Asked(planned.metrics)
    with keeping(manifest, planned.metrics, resume=resume) as keeper:
        result = evaluate(planned, confidence, output, progress, keeper, keep=keep)
        return replace(result, run=keeper.finish(result.as_dict(), asked.since()))


def evaluate(
    planned: Plan, confidence: float, output: str | Path | None, progress: Progress | None, keeper: Keeper | None,
    *, keep: bool,
) -> Result:  # fmt: skip
    """Have all rows scored and written, and their values."""
    kept: list[pa.RecordBatch] | None = [] if keep else None
    began = time_ns()
    watch = Watch(progress, planned.source.rows, sum(metric.definition.remote for metric in planned.metrics))
    batches = _scored(planned, watch, keeper)
    if keeper is not None:
        batches = keeper.writing(batches, planned.schema)
    if output is not None:
        write(_keep(batches, kept), planned.schema, output)
    else:
        deque(_keep(batches, kept), maxlen=0)
    result = _result(planned, confidence, None if output is None else Path(output).resolve(), kept)
    tell_values(result, began)
    return result


def _scored(planned: Plan, watch: Watch, keeper: Keeper | None) -> Iterator[pa.RecordBatch]:
    """Each batch with its scores; the tallies grow as batches pass, in order.

    Metrics that compute do so in the pool; those that wait for others are called here, where Ctrl-C arrives. Rows that
    the keeper has from before are not scored again.
    """
    before = 0 if keeper is None else keeper.kept

    def work(numbered: tuple[int, pa.RecordBatch]) -> _Worked:
        first, batch = numbered
        columns = planned.columns(batch, first)
        with column_cache():
            here = compute_rows(planned.metrics, columns, planned.named) if first > before else []
            return first, batch, columns, here, Counter() if planned.joined is None else count_judged(columns)

    seen: set[str] = set()
    for first, batch, columns, here, counted in map_ordered(
        work, _numbered(planned.source.batches(planned.text), before)
    ):
        if first == 1:
            warn_of_lists_in_text(planned, batch)
        planned.counted.update(counted)
        if keeper is not None and first <= before:
            scored = keeper.again(batch)
        else:
            with report_progress_to(watch.advance):
                scored = complete_rows(planned.metrics, columns, here, planned.named)
            if keeper is not None:
                keeper.add(batch, scored)
        keys = cluster_keys(batch.column(planned.cluster), first - 1) if planned.cluster else None
        parts = group_rows(batch.column(planned.by), seen, planned.by) if planned.by else {}
        for tally, rows in zip(planned.tallies, scored, strict=True):
            tally.add(rows, keys, parts)
        added = [
            column
            for metric, rows in zip(planned.metrics, scored, strict=True)
            for column in (rows.score_column(metric), *rows.detail_columns(metric))
        ]
        reasons = join_reasons(planned.metrics, scored)
        if planned.errors:
            reasons = pc.coalesce(pc.binary_join_element_wise(reasons, batch.column(planned.errors), ": "), reasons)
        yield pa.RecordBatch.from_arrays([*batch.columns, *added, reasons], schema=planned.schema)
        watch.finish(len(batch))


def _numbered(batches: Iterable[pa.RecordBatch], before: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Each batch with the number of its first row, counted from 1; one that goes beyond the first `before` is cut."""
    first = 1
    for batch in batches:
        left = before - first + 1
        for piece in (batch.slice(0, left), batch.slice(left)) if 0 < left < len(batch) else (batch,):
            yield first, piece
            first += len(piece)


def _keep(batches: Iterable[pa.RecordBatch], kept: list[pa.RecordBatch] | None) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if kept is not None:
            kept.append(batch)
        yield batch


def _result(planned: Plan, confidence: float, output: Path | None, kept: list[pa.RecordBatch] | None) -> Result:
    tallies = {tally.metric.spec: tally for tally in planned.tallies}
    return Result(
        metrics=tuple(planned.metrics),
        values=Values({spec: tally.whole.value(confidence) for spec, tally in tallies.items()}),
        reasons={spec: dict(tally.whole.reasons) for spec, tally in tallies.items()},
        counts={spec: dict(tally.counts) for spec, tally in tallies.items() if tally.counts},
        groups=Values(
            {
                spec: {label: group.value(confidence) for label, group in sorted(tally.groups.items())}
                for spec, tally in tallies.items()
                if planned.by
            }
        ),
        n=planned.tallies[0].whole.n,
        mapping=planned.mapping,
        joined=_said_of_join(planned.joined, planned.counted),
        confidence=confidence,
        output=output,
        batches=None if kept is None else tuple(kept),
        schema=planned.schema,
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
