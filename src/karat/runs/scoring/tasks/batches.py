"""The loop over the batches of one source: score each, write it down, add up its statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from karat.core.columns.arrow import from_numpy
from karat.core.columns.column_cache import column_cache
from karat.core.columns.kinds import Array
from karat.core.metric.rows import UNMATCHED, Rows
from karat.core.metric.score import complete_rows, compute_rows
from karat.core.parallel import map_ordered
from karat.core.progress import report_progress_to
from karat.runs.columns.judged_documents import count_judged
from karat.runs.columns.lengths import count_lengths, depends_on_length
from karat.runs.scoring.plan import Plan, find_json_in_text
from karat.runs.scoring.progress import RowCounter
from karat.runs.scoring.tasks.ahead import upload_ahead
from karat.runs.scoring.totals import Totals

if TYPE_CHECKING:
    from karat.runs.store.writer import RunWriter

_SCORES = 1 << 22  # in a batch: those of 65,536 rows by 64 metrics, of more metrics those of fewer rows


@dataclass(frozen=True)
class Batch:
    """A batch of rows, and the statistics of each metric."""

    rows: pa.RecordBatch
    scored: list[Rows]


@dataclass(frozen=True)
class _Computed:
    """A batch, its columns by role, and what was computed of it in a worker thread.

    `at` is the number of rows in the batches before, `numbers` are those of its rows, from 0, before any were left out.
    """

    at: int
    numbers: Array
    rows: pa.RecordBatch
    columns: dict[str, pa.Array]
    computed: list[Rows | None]
    counted: Mapping[str, Counter[str]]


def score_batches(
    plan: Plan, totals: Totals, counter: RowCounter, warned: dict[str, str], writer: RunWriter | None = None
) -> Iterator[Batch]:
    """Yield each batch with its scores, in order, after adding it to the totals.

    Metrics that compute run in worker threads; those that wait for other processes run in this thread, where Ctrl-C
    arrives. Rows that the writer has from before are not scored again. `warned` collects warnings, by role.
    """
    before = 0 if writer is None else writer.replayed
    most = max(1, _SCORES // len(plan.metrics))
    by_length = any(map(depends_on_length, plan.metrics))
    begins = not plan.base.parts or plan.base.parts[0].first == 0  # with the first row of all

    def read(at: int, numbers: Array, rows: pa.RecordBatch) -> dict[str, pa.Array]:
        by_id = plan.selection.id is not None  # the rows then have no numbers of their own
        columns = plan.role_columns(rows, np.arange(at, at + len(rows)) if by_id else numbers)
        if plan.base.unmatched is not None and (alone := plan.base.unmatched(numbers)).any():
            columns[UNMATCHED] = from_numpy(alone)
        return columns

    def compute(numbered: tuple[int, Array, pa.RecordBatch]) -> _Computed:
        at, numbers, rows = numbered
        columns = read(at, numbers, rows)
        with column_cache():
            computed = compute_rows(plan.metrics, columns, plan.labels) if at >= before else []
            counted = {"lengths": count_lengths(columns)} if by_length else {}
            if plan.joined is not None:
                counted["documents"] = count_judged(columns)
        return _Computed(at, numbers, rows, columns, computed, counted)

    def columns() -> Iterator[dict[str, pa.Array]]:
        """The columns of the batches that are not scored yet."""
        for at, numbers, rows in _count_rows(plan.source.numbered_batches(plan.text), before, most):
            if at >= before:
                yield read(at, numbers, rows)

    with upload_ahead(plan.metrics, columns, plan.labels):
        for batch in map_ordered(compute, _count_rows(plan.source.numbered_batches(plan.text), before, most)):
            find_json_in_text(plan, batch.rows, warned, first=begins and batch.at == 0)
            if writer is not None and batch.at < before:
                scored = writer.replay(batch.rows)
            else:
                with report_progress_to(counter.advance):
                    scored = complete_rows(plan.metrics, batch.columns, batch.computed, plan.labels)
                if writer is not None:
                    writer.add(batch.rows, scored)
            totals.add(batch.rows, scored, batch.counted, batch.numbers)
            yield Batch(batch.rows, scored)
            counter.finish_batch(len(batch.rows))


def _count_rows(
    batches: Iterable[tuple[Array, pa.RecordBatch]], before: int, most: int
) -> Iterator[tuple[int, Array, pa.RecordBatch]]:
    """Each batch with the number of rows before it, cut after the first `before` rows, and after each `most` of its."""
    at = 0
    for numbers, batch in batches:
        cuts = {*range(most, len(batch), most), before - at}
        ends = [*sorted(cut for cut in cuts if 0 < cut < len(batch)), len(batch)]
        for start, end in pairwise([0, *ends]):
            yield at + start, numbers[start:end], batch.slice(start, end - start)
        at += len(batch)
