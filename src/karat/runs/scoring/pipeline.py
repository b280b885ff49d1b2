"""Score a table: read it batch by batch, score each batch with every metric, write the rows, add up the statistics."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from karat.core.metric.metric import Metric
from karat.data.storage.addresses import to_path
from karat.data.write import write
from karat.runs.labels.labels import Labels
from karat.runs.scoring.arguments import Destination, Selection
from karat.runs.scoring.plan import Plan, plan_run
from karat.runs.scoring.progress import Progress, RowCounter
from karat.runs.scoring.result import Result
from karat.runs.scoring.tasks.batches import Batch, score_batches
from karat.runs.scoring.tasks.frames import Frame, open_frame, score_rows_of
from karat.runs.scoring.tasks.summary import summarise_run
from karat.runs.scoring.totals import Totals
from karat.stats.inference import Inference

if TYPE_CHECKING:
    from karat.runs.scoring.tasks.engine import Engine
    from karat.runs.store.in_order import RunWriter
    from karat.runs.store.manifest import Manifest


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
    engine: str | Engine | None = None,
    max_failed_tasks: int = 0,
    id: str | None = None,  # noqa: A002  (the field's word)
) -> Result:
    """Score a table of answers with one or more metrics.

    `data`: a file, a glob, `-` for standard input, a list of dicts, a dict of columns, or anything with
    `__arrow_c_stream__` (pandas, polars, DuckDB, Arrow, Hugging Face datasets), and for metrics of rankings also a run
    as TREC has it or as dicts of scores by query. `metrics`: specs such as `"token_f1"`
    or `"token_f1(normalize='none')"`, or metrics.

    `map`: the columns by role (`{"reference": "gold"}`), where their names are not recognised. `gold`, `on`: a second
    table with the gold, joined by the id column `on`; a run and its qrels are joined by query without `on`. `by`: a
    column of groups, each of which also gets a value. `cluster`: a column with equal values in rows that are not
    independent, such as questions on one document; it widens the intervals. By default it is an id that repeats, else a
    question that repeats with one gold; `"none"` takes each row by itself. `where`: an SQL condition on rows. `limit`:
    how many of these rows are scored at most. `output`: a file for the scored rows. `keep`: whether the result holds
    the rows in memory; by default only if they are not written to `output` or a run. `confidence`, `seed`: of the
    intervals. `run`: the name of a run, which is stored as a folder in `$KARAT_RUNS`, else in `karat-runs`; `resume`:
    continue it after it was stopped. `human`: labels by people, a column of the rows, or as in `karat.Labels`,
    joined by `on`: beside each value stands the value that people would give, corrected by these labels; `label_map`:
    the score of each label, by default from a judge's own choices. `progress`: called with the number of finished rows
    and, where known, of all rows, from any thread.

    `engine`: what carries out the work where the data are Parquet files: `"threads"` of this process (the default for
    large files), `"processes"`, `"ray"`, `"spark"`, or an `Engine`, such as `karat.engines.Ray("ray://head:10001")`;
    rows are then kept in a run only. At most `max_failed_tasks` of its tasks may fail; their rows are unscored. `data`
    may also be a dataset of Ray Data or a DataFrame of Spark, which are scored where they are. Their rows have no
    order: `id` names the column that tells them apart. With `id`, the rows of any other table give the same interval
    in any order.

    Raises a `karat.KaratError` whose message says what to do; `output` is then not written.

    >>> result = score({"output": ["Paris", "Rome"], "expected": ["Paris", None]}, "em")
    >>> result.mapping
    {'prediction': 'output', 'reference': 'expected'}
    >>> result.values["exact_match"].value, result.values["exact_match"].worst
    (1.0, 0.5)
    >>> result.table.to_pylist()[1]
    {'output': 'Rome', 'expected': None, 'exact_match': None, 'reason': 'reference is null'}
    """
    inference, destination = (
        Inference(confidence, seed),
        Destination(output, run, resume, keep, engine, max_failed_tasks),
    )
    human = Labels.of(human, label_map)
    if human is not None and human.system is None:
        human = replace(human, system=run)
    selection = Selection(data, gold, on, map or {}, by, cluster, where, limit, human, id)
    if (frame := open_frame(selection, destination)) is not None:
        selection = replace(selection, data=frame)
    destination.check(selection)
    plan = plan_run(selection, metrics, inference)
    if run is None:
        return carry_out(plan, destination, progress, None)
    from karat.runs.scoring.provenance.describe import describe_run  # noqa: PLC0415  (only where a run is stored)

    return carry_out(plan, destination, progress, describe_run(plan, selection, run))


def carry_out(plan: Plan, destination: Destination, progress: Progress | None, manifest: Manifest | None) -> Result:
    """Score all rows of a plan, and store them as a run where there is a manifest."""
    if isinstance(plan.base, Frame):
        return score_rows_of(plan.base, plan, progress)
    if plan.base.parts or destination.engine is not None or destination.max_failed_tasks or destination.resume:
        from karat.runs.scoring.tasks.parts import plan_parts  # noqa: PLC0415  (seldom)

        if (in_parts := plan_parts(plan, destination)) is not None:
            return in_parts.score(progress, manifest)
    if manifest is None:
        return _score_all(plan, destination, progress, None)
    from karat.runs.scoring.provenance.models import count_usage, warn_capped  # noqa: PLC0415  (only for a run)
    from karat.runs.store.in_order import open_in_order  # noqa: PLC0415

    with (
        open_in_order(manifest, plan.output, plan.digested, resume=destination.resume) as writer,
        count_usage(plan.metrics, writer.started),
    ):
        result = _score_all(plan, destination, progress, writer)
        if writer.started.capped():
            warn_capped(manifest.name)
            return result
        return replace(result, run=writer.finish(result.as_dict(), lengths=result.lengths))


def _score_all(plan: Plan, destination: Destination, progress: Progress | None, writer: RunWriter | None) -> Result:
    """Score all rows in their order and write them; the result has no run yet."""
    started, totals, warned = time_ns(), Totals(plan), dict[str, str]()
    rows = deque[pa.RecordBatch](maxlen=None if destination.keeps_rows else 0)
    counter = RowCounter(progress, plan.source.rows, sum(metric.definition.remote for metric in plan.metrics))
    wanted = destination.output is not None or destination.keeps_rows
    if writer is None:
        batches = _score_rows(plan, totals, counter, warned, wanted=wanted)
    else:
        batches = _write_rows(plan, totals, counter, warned, writer, wanted=wanted)
    if destination.output is None:
        rows.extend(batches)
    else:
        write(_collect(batches, rows), plan.output.schema, destination.output)
    output = None if destination.output is None else to_path(destination.output)
    output = output.resolve() if isinstance(output, Path) else output
    result = summarise_run(plan, totals, warned, started)
    return replace(result, output=output, batches=tuple(rows) if destination.keeps_rows else None)


def _score_rows(
    plan: Plan, totals: Totals, counter: RowCounter, warned: dict[str, str], *, wanted: bool
) -> Iterator[pa.RecordBatch]:
    """Score the rows, and yield them with their scores where these are wanted."""
    for batch in score_batches(plan, counter, warned):
        totals.add(batch.rows, batch.scored, batch.counted, batch.numbers)
        if wanted:
            yield batch.append_scores()


def _write_rows(
    plan: Plan, totals: Totals, counter: RowCounter, warned: dict[str, str], writer: RunWriter, *, wanted: bool
) -> Iterator[pa.RecordBatch]:
    """Score and write the rows that are not written yet; yield all rows with their scores where these are wanted."""
    plain = replace(plan, correction=None)
    last, part = writer.last, Totals(plain)
    for done in [*writer.parts, *filter(None, [last])]:
        (part if done is last else totals).merge_bytes(done.state)
        warned.update(done.warnings)
        first = done.first or 0
        for rows, scored in writer.read(done) if wanted or totals.corrected else ():
            totals.correct(rows, scored, np.arange(first, first := first + len(rows), dtype=np.uint64))
            if wanted:
                yield rows
    writer.warned, capped = warned, False

    def add(batch: Batch) -> Iterator[pa.RecordBatch]:
        nonlocal part
        writer.state = None  # until the totals and the rows are those of the same batches
        part.add(batch.rows, batch.scored, batch.counted, batch.numbers)
        totals.correct(batch.rows, batch.scored, batch.numbers)
        rows = batch.append_scores()
        if writer.add(rows, batch.scored, part.to_bytes):
            totals.merge(part)
            part = Totals(plain)
        if wanted:
            yield rows

    for batch in score_batches(plan, counter, warned, writer.before):
        if not batch.scored:
            writer.skip(batch.rows)
            continue
        rest = batch
        if not capped and (capped := writer.started.capped()):
            asked, rest = batch.cut_unasked()
            yield from add(asked)
            writer.end()
        yield from add(rest)
    totals.merge(part)


def _collect(batches: Iterable[pa.RecordBatch], rows: deque[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows.append(batch)
        yield batch
