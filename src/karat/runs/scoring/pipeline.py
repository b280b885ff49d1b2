"""Score a table: read it batch by batch, score each batch with every metric, write the rows, add up the statistics."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from karat.core import telemetry
from karat.core.columns.column_cache import column_cache
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.core.metric.score import complete_rows, compute_rows
from karat.core.parallel import map_ordered
from karat.core.progress import report_progress_to
from karat.data.write import write
from karat.runs.labels.human import Human
from karat.runs.scoring.arguments import Destination, Selection
from karat.runs.scoring.judged_documents import count_judged
from karat.runs.scoring.model_usage import ModelUsage
from karat.runs.scoring.plan import Plan, plan_run, warn_of_json_in_text
from karat.runs.scoring.progress import Progress, RowCounter
from karat.runs.scoring.result import Result, Values
from karat.runs.scoring.totals import Totals
from karat.stats.inference import Inference

if TYPE_CHECKING:
    from karat.runs.store.manifest import Manifest
    from karat.runs.store.writer import RunWriter


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
    human: Any = None,
    label_map: Mapping[str, float] | str | None = None,
    progress: Progress | None = None,
) -> Result:
    """Score a table of answers with one or more metrics.

    `data`: a file, a glob, `-` for standard input, a list of dicts, a dict of columns, or anything with
    `__arrow_c_stream__` (pandas, polars, DuckDB, Arrow, Hugging Face datasets), and for metrics of rankings also a run
    as TREC has it or as dicts of scores by query. `metrics`: specs such as `"token_f1"`
    or `"token_f1(normalize='none')"`, or metrics.

    `map`: the columns by role (`{"reference": "gold"}`), where their names are not recognised. `gold`, `on`: a second
    table with the gold, joined by the id column `on`; a run and its qrels are joined by query without `on`. `by`: a
    column of groups, each of which also gets a value. `cluster`: a column with equal values in rows that are not
    independent, such as questions on one document; it widens the intervals. `where`: an SQL condition on rows. `limit`:
    how many of these rows are scored at most. `output`: a file for the scored rows. `keep`: whether the result holds
    the rows in memory; by default only if they are not written to `output` or a run. `confidence`, `seed`: of the
    intervals. `run`: the name of a run, which is stored as a folder in `$KARAT_RUNS`, else in `karat-runs`; `resume`:
    continue it after it was stopped. `human`: labels by people, a column of the rows or what `karat.read_labels` reads,
    joined by `on`: beside each value stands the value that people would give, corrected by these labels; `label_map`:
    the score of each label, by default from a judge's own choices. `progress`: called with the number of finished rows
    and, where known, of all rows, from any thread.

    Raises a `karat.KaratError` whose message says what to do; `output` is then not written.

    >>> result = score({"output": ["Paris", "Rome"], "expected": ["Paris", None]}, "em")
    >>> result.mapping
    {'prediction': 'output', 'reference': 'expected'}
    >>> result.values["exact_match"].value, result.values["exact_match"].worst
    (1.0, 0.5)
    >>> result.table.to_pylist()[1]
    {'output': 'Rome', 'expected': None, 'exact_match': None, 'reason': 'reference is null'}
    """
    inference, destination = Inference(confidence, seed), Destination(output, run, resume, keep)
    if human is not None and not isinstance(human, Human):
        human = Human(human, label_map, system=run)
    selection = Selection(data, gold, on, map or {}, by, cluster, where, limit, human)
    destination.check(selection)
    plan = plan_run(selection, metrics, inference)
    if run is None:
        return carry_out(plan, destination, progress, None)
    from karat.runs.scoring.provenance import describe_run  # noqa: PLC0415  (only where a run is stored)

    return carry_out(plan, destination, progress, describe_run(plan, selection, run))


def carry_out(plan: Plan, destination: Destination, progress: Progress | None, manifest: Manifest | None) -> Result:
    """Score all rows of a plan, and store them as a run where there is a manifest."""
    if manifest is None:
        return _score_all(plan, destination, progress, None)
    from karat.runs.store.writer import open_writer  # noqa: PLC0415  (only where a run is stored)

    usage = ModelUsage(plan.metrics)
    with open_writer(manifest, plan.metrics, resume=destination.resume) as writer:
        result = _score_all(plan, destination, progress, writer)
        return replace(result, run=writer.finish(result.as_dict(), usage.since_start()))


def _score_all(plan: Plan, destination: Destination, progress: Progress | None, writer: RunWriter | None) -> Result:
    """Score all rows and write them; the result has no run yet."""
    started, totals = time_ns(), Totals(plan)
    rows = deque[pa.RecordBatch](maxlen=None if destination.keeps_rows else 0)
    counter = RowCounter(progress, plan.source.rows, sum(metric.definition.remote for metric in plan.metrics))
    batches = _score_batches(plan, totals, counter, writer)
    if writer is not None:
        batches = writer.write_rows(batches, plan.output.schema)
    if destination.output is None:
        rows.extend(batches)
    else:
        write(_collect(batches, rows), plan.output.schema, destination.output)
    output = None if destination.output is None else Path(destination.output).resolve()
    result = replace(_summarise(plan, totals), output=output, batches=tuple(rows) if destination.keeps_rows else None)
    if telemetry.on():
        _trace_values(result, started)
    return result


@dataclass(frozen=True)
class _Batch:
    """A batch, the number of its first row, its columns by role, and what was computed of it in a worker thread."""

    first: int
    rows: pa.RecordBatch
    columns: dict[str, pa.Array]
    computed: list[Rows | None]
    documents: Counter[str]


def _score_batches(
    plan: Plan, totals: Totals, counter: RowCounter, writer: RunWriter | None
) -> Iterator[pa.RecordBatch]:
    """Yield each batch with its scores, in order, after adding it to the totals.

    Metrics that compute run in worker threads; those that wait for other processes run in this thread, where Ctrl-C
    arrives. Rows that the writer has from before are not scored again.
    """
    before = 0 if writer is None else writer.replayed
    warned: set[str] = set()

    def compute(numbered: tuple[int, pa.RecordBatch]) -> _Batch:
        first, rows = numbered
        columns = plan.role_columns(rows, first)
        with column_cache():
            computed = compute_rows(plan.metrics, columns, plan.labels) if first > before else []
            documents = Counter[str]() if plan.joined is None else count_judged(columns)
        return _Batch(first, rows, columns, computed, documents)

    for batch in map_ordered(compute, _number_rows(plan.source.batches(plan.text), before)):
        warn_of_json_in_text(plan, batch.rows, batch.first, warned)
        if writer is not None and batch.first <= before:
            scored = writer.replay(batch.rows)
        else:
            with report_progress_to(counter.advance):
                scored = complete_rows(plan.metrics, batch.columns, batch.computed, plan.labels)
            if writer is not None:
                writer.add(batch.rows, scored)
        totals.add(batch.rows, scored, batch.documents)
        errors = None if plan.errors is None else batch.rows.column(plan.errors)
        yield plan.output.append(batch.rows, scored, errors)
        counter.finish_batch(len(batch.rows))


def _number_rows(batches: Iterable[pa.RecordBatch], before: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Each batch with the number of its first row, from 1; a batch is cut after the first `before` rows."""
    first = 1
    for batch in batches:
        left = before - first + 1
        for piece in (batch.slice(0, left), batch.slice(left)) if 0 < left < len(batch) else (batch,):
            yield first, piece
            first += len(piece)


def _collect(batches: Iterable[pa.RecordBatch], rows: deque[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows.append(batch)
        yield batch


def _summarise(plan: Plan, totals: Totals) -> Result:
    grouped = {spec: sorted(each.groups.items()) for spec, each in totals.metrics.items()}
    groups = {spec: {label: total.value() for label, total in each} for spec, each in grouped.items()}
    joined = None
    if found := plan.joined:
        joined = {
            "missing": found.missing,
            "missing_ids": list(found.missing_ids),
            "unknown": found.unknown,
            "unknown_ids": list(found.unknown_ids),
            **totals.documents,
            **{str(side): dict(notes) for side, notes in found.side_notes.items()},
        }
    corrected, corrected_groups = ({}, {}) if totals.corrected is None else totals.corrected.values()
    return Result(
        metrics=tuple(plan.metrics),
        values=Values({spec: each.whole.value() for spec, each in totals.metrics.items()}),
        reasons={spec: dict(each.whole.reasons) for spec, each in totals.metrics.items()},
        counts={spec: dict(each.labels) for spec, each in totals.metrics.items() if each.labels},
        groups=Values(groups if plan.selection.by else {}),
        n=totals.n,
        mapping=plan.mapping,
        joined=joined,
        corrected=Values(corrected),
        corrected_groups=Values(corrected_groups),
        human=None if totals.corrected is None else totals.corrected.human(),
        confidence=plan.inference.confidence,
        schema=plan.output.schema,
    )


def _trace_values(result: Result, started: int) -> None:
    """Record a span for each value; judges record theirs for each row. `started` is in ns of `time.time_ns`."""
    for metric in result.metrics:
        if "trace_id" in metric.details:
            continue
        value = result.values[metric.spec]
        about: dict[str, Any] = {"rows": value.n, "unscored": value.failed, "interval": [value.low, value.high]}
        about |= {"how": "score", "cls": "Metric", "start": started, "signature": metric.signature}
        inputs = {"rows": value.n, "columns": {role: result.mapping.get(role) for role in metric.definition.columns}}
        with telemetry.evaluation(metric.spec, inputs, **about) as span:
            if span is not None:
                span.result(metric.spec, value.value)
