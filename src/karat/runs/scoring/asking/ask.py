"""The judges of a table asked in a random order, each until its interval is as narrow as a rule wants it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.context import change_context, current_context
from karat.core.errors import SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.rows import NOTHING, Rows, null_reasons
from karat.core.metric.score import cast_columns, complete_rows, score_rows
from karat.models.context import current_models
from karat.models.governor.governor import Governor
from karat.models.reply_cache import run_within
from karat.runs.scoring.arguments import NONE
from karat.runs.scoring.asking.agenda import AskingOrder, RowAgenda
from karat.runs.scoring.clusters import ClusterFinder, gold_column
from karat.stats.sequential.population import Population
from karat.stats.sequential.sequence import ConfidenceSequence
from karat.stats.sequential.stop import Stop
from karat.stats.value import Value

if TYPE_CHECKING:
    from karat.runs.scoring.plan import Plan

MOST_FREE = 3  # metrics that narrow an interval: each takes answers to learn what it foretells


@dataclass(frozen=True)
class Asked:
    """The mean of a judge's scores of all rows, estimated from those that it was asked, and how asking ended."""

    value: float | None
    low: float
    high: float
    stop: Stop

    @classmethod
    def of(cls, sequence: ConfidenceSequence, stop: Stop) -> Asked:
        """What a sequence has come to."""
        value = None if np.isnan(sequence.value) else sequence.value
        return cls(value, sequence.low, sequence.high, stop)

    def apply_to(self, value: Value) -> Value:
        """The value of the rows that were asked, with the estimate for all rows and its interval."""
        if self.value is None or value.value is None:
            return replace(value, low=self.low, high=self.high)
        ends = (None if each is None else each + self.value - value.value for each in (value.worst, value.best))
        worst, best = ends if value.unscored else (self.value, self.value)
        return replace(value, value=self.value, low=self.low, high=self.high, worst=worst, best=best)


def check_until(plan: Plan) -> None:
    """Raise `SpecError` for a plan with a rule whose metrics, or rows, cannot be asked until it ends that."""
    judges = [metric for metric in plan.metrics if metric.judge is not None]
    if plan.until is not None and plan.until.decisions and plan.answered is None:
        raise SpecError("until=Until(decided=True) (--until decided) is about two systems: compare them")
    if not judges:
        raise SpecError("until (--until-width, --until-cost) is about judges, but no metric is one: judge:NAME")
    for metric in judges:
        known = metric.definition
        if not known.judge:
            raise SpecError(f"{metric.spec}: until is for judges alone: score {metric.judge and metric.judge.spec}")
        if known.finish is not None or known.low is None or known.high is None:
            raise SpecError(f"{metric.spec}: until is for judges whose value is a mean of scores within bounds")
    if plan.selection.id is not None:
        raise SpecError("until (--until-width) asks rows in a random order of their numbers, and these have none")


def ask_judges(
    plan: Plan,
    rows: pa.RecordBatch,
    columns: Mapping[str, pa.Array],
    numbers: Array,
    computed: Sequence[Rows | None],
) -> tuple[list[Rows], dict[str, Asked]]:
    """The statistics of all rows of a table, and how far each judge was asked, by spec.

    Metrics other than judges are scored first; up to three of them, known of every row, narrow the intervals. Answers
    that the plan has, since both systems of a comparison were asked together, are taken as they are.
    """
    if plan.answered is not None:
        kept = [plan.answered.get(metric.spec) for metric in plan.metrics]
        known = [each[0] if each else one for each, one in zip(kept, computed, strict=True)]
        asked_before = {spec: outcome for spec, (_, outcome) in plan.answered.items()}
        return complete_rows(plan.metrics, columns, known, plan.labels), asked_before
    if not len(rows):
        return complete_rows(plan.metrics, columns, computed, plan.labels), {}
    scored = score_others(plan, columns, computed)
    judges = [at for at, each in enumerate(scored) if each is None]
    order = AskingOrder.draw(_unit_keys(plan, rows, numbers), plan.inference.seed)
    free, spent = _find_free(plan.metrics, scored), count_money([find_governor(plan.metrics[at]) for at in judges])
    asking, outcomes = _Asking(plan, order, free, spent), dict[str, Asked]()
    for number, at in enumerate(judges, 1):
        metric = plan.metrics[at]
        reasons = null_reasons(cast_columns(metric, columns, plan.labels))
        reached = np.ones(len(rows), bool) if reasons is None else np.equal(reasons, NOTHING)
        agenda = asking.agenda(metric, reached, number / len(judges))
        with change_context(agenda=agenda):
            asked_rows = score_rows(metric, columns, plan.labels)
        agenda.close()
        if not agenda.capped:
            asked_rows = agenda.leave_out(asked_rows)
            outcomes[metric.spec] = Asked.of(agenda.sequence, agenda.stop)
        scored[at] = asked_rows
    return [each for each in scored if each is not None], outcomes


@dataclass(frozen=True)
class _Asking:
    """What the judges of a table have in common: the order, the metrics that are known of all rows, and the money."""

    plan: Plan
    order: AskingOrder
    free: Array | None
    spent: Callable[[], float]

    def agenda(self, metric: Metric, reached: Array, share: float) -> RowAgenda:
        """The agenda of a judge; `share`: of the money, that it and the judges before it may take."""
        if (until := self.plan.until) is None:
            raise AssertionError("an agenda without a rule")
        until = until if until.cost is None else replace(until, cost=until.cost * share)
        bounds = metric.definition.low or 0.0, metric.definition.high or 0.0
        free = None if self.free is None else self.order.add_up(self.free)
        sequence = ConfidenceSequence(Population(self.order.sizes, bounds, free), self.plan.inference, until.width)
        return RowAgenda(until, self.order, sequence, reached, find_governor(metric), self.spent, metric.name)


def score_others(plan: Plan, columns: Mapping[str, pa.Array], computed: Sequence[Rows | None]) -> list[Rows | None]:
    """The statistics of all metrics but judges, in their order."""
    others = [at for at, metric in enumerate(plan.metrics) if not metric.definition.judge]
    known = [computed[at] for at in others]
    rows = complete_rows([plan.metrics[at] for at in others], columns, known, plan.labels)
    by_place = dict(zip(others, rows, strict=True))
    return [by_place.get(at) for at in range(len(plan.metrics))]


def _unit_keys(plan: Plan, rows: pa.RecordBatch, numbers: Array) -> Array:
    """The key of each row's unit: of the rows that belong together, or of the row alone."""
    named = None if plan.selection.cluster == NONE else plan.selection.cluster
    finder = ClusterFinder(plan.clusters, gold_column(plan.source.schema, plan.mapping), named)
    keys = finder.add(rows, numbers)
    place, clusters = finder.find()
    return numbers if clusters is None else keys[place]


def _find_free(metrics: Sequence[Metric], scored: Sequence[Rows | None]) -> Array | None:
    """The scores of the metrics that are known of all rows and differ among them, shape (rows, metrics)."""
    means = (
        rows.statistics[:, 0]
        for metric, rows in zip(metrics, scored, strict=True)
        if rows is not None and metric.definition.finish is None and rows.statistics.shape[1] == 1
    )
    return choose_free(means)


def choose_free(columns: Iterable[Array]) -> Array | None:
    """The columns, of shape (rows,), that narrow an interval: the first whose values are known and differ."""
    varying = [each for each in columns if len(each) and np.isfinite(each).all() and np.ptp(each) > 0]
    return np.column_stack(varying[:MOST_FREE]) if varying else None


def find_governor(metric: Metric) -> Governor:
    """What a judge sends its requests through."""
    governor: Governor = metric.governor or current_models().governor
    return governor


def count_money(governors: Sequence[Governor]) -> Callable[[], float]:
    """What the run has spent so far in USD, in any process."""
    permits = [each.local for each in dict.fromkeys(governors)]
    runs = {(each.store, run_within(each.run, current_context().run)) for each in permits if each.store}
    before = sum(store.spent(run)[1] for store, run in runs if store is not None and run is not None)
    at_start = sum(each.caps.spent for each in permits)
    return lambda: before - at_start + sum(each.caps.spent for each in permits)
