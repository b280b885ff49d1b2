"""The loop over the batches of one source: score each, in its order, and add up what it gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from karat.core.columns.arrow import from_numpy
from karat.core.columns.column_cache import column_cache
from karat.core.columns.kinds import Array
from karat.core.metric.rows import NOT_ASKED, UNMATCHED, Rows
from karat.core.metric.score import complete_rows, compute_rows
from karat.core.parallel import map_ordered
from karat.core.progress import report_progress_to
from karat.runs.columns.judged_documents import count_judged
from karat.runs.columns.lengths import count_lengths, depends_on_length
from karat.runs.scoring.plan import Plan, find_json_in_text
from karat.runs.scoring.tasks.progress import RowCounter
from karat.runs.scoring.totals.totals import Totals

if TYPE_CHECKING:
    from karat.runs.scoring.asking.ask import Asked

_SCORES = 1 << 22  # in a batch: 65,536 rows by 64 metrics, or fewer rows by more metrics


@dataclass(frozen=True)
class Batch:
    """A batch of rows, their columns by role, and the statistics of each metric.

    `numbers` are its row numbers, from 0, before any were left out; `counted` is what was counted of them, see
    `Totals`. `scored` is empty where the rows were scored before. `asked`: by spec, how far a rule let a judge ask.
    """

    plan: Plan
    numbers: Array
    rows: pa.RecordBatch
    columns: Mapping[str, pa.Array]
    scored: Sequence[Rows]
    counted: Mapping[str, Counter[str]]
    asked: Mapping[str, Asked] = field(default_factory=dict)

    def cut_unasked(self) -> tuple[Batch, Batch]:
        """The rows before the first that a cap left unasked, none where no reason says which it is; and the others."""
        reasons = (enumerate(rows.reasons.tolist()) for rows in self.scored if rows.reasons is not None)
        unasked = (next((at for at, reason in each if reason and NOT_ASKED in reason), None) for each in reasons)
        at = min((at for at in unasked if at is not None), default=0)
        return self._slice(0, at), self._slice(at, len(self.rows) - at)

    def _slice(self, first: int, size: int) -> Batch:
        columns = {role: column.slice(first, size) for role, column in self.columns.items()}
        scored = [rows.slice(first, size) for rows in self.scored]
        numbers, rows = self.numbers[first : first + size], self.rows.slice(first, size)
        return Batch(self.plan, numbers, rows, columns, scored, _count(self.plan, columns))

    def append_scores(self) -> pa.RecordBatch:
        """The rows with their scores, as they are written."""
        errors = None if self.plan.errors is None else self.rows.column(self.plan.errors)
        return self.plan.output.append(self.rows, self.scored, errors)


@dataclass(frozen=True)
class _Computed:
    """A batch, and what was computed of it in a worker thread; `at` is the number of rows in the batches before."""

    at: int
    batch: Batch
    computed: list[Rows | None]


def score_batches(plan: Plan, counter: RowCounter, warned: dict[str, str], before: int = 0) -> Iterator[Batch]:
    """Yield each batch with its scores, in order; the first `before` rows have none, as they were scored before.

    Metrics that compute run in worker threads; those that wait for other processes run in this thread, where Ctrl-C
    arrives. `warned` collects warnings, by role.
    """
    most = max(1, _SCORES // len(plan.metrics)) if plan.until is None else None
    begins = not plan.base.parts or plan.base.parts[0].first == 0  # with the first row of all

    def compute(numbered: tuple[int, Array, pa.RecordBatch]) -> _Computed:
        at, numbers, rows = numbered
        if at < before:
            return _Computed(at, Batch(plan, numbers, rows, {}, [], {}), [])
        by_id = plan.selection.id is not None  # the rows then have no numbers of their own
        columns = plan.role_columns(rows, np.arange(at, at + len(rows)) if by_id else numbers)
        if plan.base.unmatched is not None and (alone := plan.base.unmatched(numbers)).any():
            columns[UNMATCHED] = from_numpy(alone)
        with column_cache():
            computed = compute_rows(plan.metrics, columns, plan.labels)
            return _Computed(at, Batch(plan, numbers, rows, columns, [], _count(plan, columns)), computed)

    for each in map_ordered(compute, _count_rows(plan.source.numbered_batches(), before, most)):
        batch = each.batch
        if each.at >= before:
            find_json_in_text(plan, batch.rows, warned, first=begins and each.at == 0)
            with report_progress_to(counter.advance):
                if plan.until is None:
                    scored = complete_rows(plan.metrics, batch.columns, each.computed, plan.labels)
                    batch = replace(batch, scored=scored)
                else:
                    from karat.runs.scoring.asking.ask import ask_judges  # noqa: PLC0415  (seldom)

                    scored, outcomes = ask_judges(plan, batch.rows, batch.columns, batch.numbers, each.computed)
                    batch = replace(batch, scored=scored, asked=outcomes)
            if plan.patched is not None:
                batch = replace(batch, scored=plan.patched.explain(batch.scored, batch.rows))
        yield batch
        counter.finish(max((each.stop.asked for each in batch.asked.values()), default=len(batch.rows)), alone=True)


def add_up(
    plan: Plan, batches: Iterable[Batch], put: Callable[[Batch], object] | None, totals: Totals | None = None
) -> Totals:
    """The totals of all rows, of which those in `totals` were scored before; `put` gets each batch."""
    totals = totals or Totals(plan)
    for batch in batches:
        totals.add(batch.rows, batch.scored, batch.counted, batch.numbers)
        totals.asked.update(batch.asked)
        if put is not None:
            put(batch)
    return totals


def _count(plan: Plan, columns: Mapping[str, pa.Array]) -> dict[str, Counter[str]]:
    """What is counted of some rows: how long texts are, and of a join how many documents are judged."""
    counted = {"lengths": count_lengths(columns)} if any(map(depends_on_length, plan.metrics)) else {}
    return counted if plan.joined is None else {**counted, "documents": count_judged(columns)}


def _count_rows(
    batches: Iterable[tuple[Array, pa.RecordBatch]], before: int, most: int | None
) -> Iterator[tuple[int, Array, pa.RecordBatch]]:
    """Each batch with the number of rows before it, cut after the first `before` rows, and after each `most` of its.

    Without `most` all rows come as one batch.
    """
    at = 0
    for numbers, batch in batches if most else _join(batches):
        most = most or len(batch) or 1
        cuts = {*range(most, len(batch), most), before - at}
        ends = [*sorted(cut for cut in cuts if 0 < cut < len(batch)), len(batch)]
        for start, end in pairwise([0, *ends]):
            yield at + start, numbers[start:end], batch.slice(start, end - start)
        at += len(batch)


def _join(batches: Iterable[tuple[Array, pa.RecordBatch]]) -> Iterator[tuple[Array, pa.RecordBatch]]:
    """All rows as one batch, if there are any."""
    if parts := list(batches):
        numbers, rows = zip(*parts, strict=True)
        yield np.concatenate(numbers), pa.concat_batches(rows)
