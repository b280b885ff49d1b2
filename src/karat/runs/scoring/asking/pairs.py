"""A judge asked about two systems' answers to the same rows, until a rule about their difference ends it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.context import change_context
from karat.core.errors import DataError, SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.rows import LEFT_OUT, NOTHING, Rows, null_reasons
from karat.core.metric.score import cast_columns, compute_rows, score_rows
from karat.core.progress import report_progress_to
from karat.runs.scoring.asking.agenda import AskingOrder, RowAgenda
from karat.runs.scoring.asking.ask import Asked, choose_free, count_money, find_governor, score_others
from karat.runs.scoring.plan import Plan
from karat.stats.aggregate import Scale
from karat.stats.inference import Inference
from karat.stats.sequential.difference import DifferenceSequence
from karat.stats.sequential.population import Population
from karat.stats.sequential.sequence import ConfidenceSequence
from karat.stats.sequential.until import Until

Answered = Mapping[str, tuple[Rows, Asked]]
"""By spec, the rows of a judge that was asked, and how far it was."""


@dataclass(frozen=True)
class Side:
    """One of two systems: its `rows` by the roles of its `columns`, and what metrics other than judges say of them.

    `order`, shape (n,): the numbers of its rows that are matched with those of the other system.
    """

    plan: Plan
    rows: int
    columns: Mapping[str, pa.Array]
    scored: Sequence[Rows | None]
    order: Array

    @classmethod
    def read(cls, plan: Plan, order: Array) -> Side:
        """All rows of a plan; raises what reading and scoring raise."""
        numbers, batches = zip(*plan.source.numbered_batches(), strict=True)
        rows = pa.concat_batches(batches)
        columns = plan.role_columns(rows, np.concatenate(numbers))
        scored = score_others(plan, columns, compute_rows(plan.metrics, columns, plan.labels))
        return cls(plan, len(rows), columns, scored, order)

    @property
    def means(self) -> list[Array]:
        """The scores of the matched rows by metrics that are means of one statistic a row, each of shape (n,)."""
        pairs = zip(self.plan.metrics, self.scored, strict=True)
        known = [rows.statistics for metric, rows in pairs if rows is not None and metric.definition.finish is None]
        return [each[self.order, 0] for each in known if each.shape[1] == 1]

    def spread(self, judged: Rows, answers: Array) -> Rows:
        """The rows of the system; `answers` are the numbers in `judged` of the matched ones, shape (n,)."""
        at = np.full(self.rows, -1)
        at[self.order] = answers
        alone = at < 0
        reasons = np.full(len(judged.statistics), None, object) if judged.reasons is None else judged.reasons
        statistics, reasons = judged.statistics[at], reasons[at]
        statistics[alone], reasons[alone] = np.nan, f"{LEFT_OUT} is about the rows that both systems have"
        taken = pa.array(at, mask=alone)
        return Rows(statistics, reasons, {name: each.take(taken) for name, each in judged.details.items()})


def difference_sequence(
    order: AskingOrder,
    free: Array | None,
    scale: Scale,
    inference: Inference,
    width: float | None = None,
    margin: float | None = None,
) -> DifferenceSequence:
    """The sequence of the difference of two systems' scores on such a scale; `free` are differences of other metrics.

    `width` and `margin` are of the rule by which the rows are asked.
    """
    low, high = scale.bounds
    reach = (high or 0.0) - (low or 0.0)
    population = Population(order.sizes, (-reach, reach), None if free is None else order.add_up(free))
    wished = 2 * margin if width is None and margin is not None else width
    return DifferenceSequence(population, inference, wished, margin=margin, direction=scale.direction)


def find_judge(metrics: Sequence[Metric]) -> Metric:
    """The one judge among the metrics; `SpecError` where there is none, or another, and for one that cannot be asked.

    A judge that can has a mean of scores within bounds as its value.
    """
    judges = [metric for metric in metrics if metric.judge is not None]
    if len(judges) != 1:
        named = " and ".join(metric.spec for metric in judges) or "none"
        raise SpecError(f"until (--until decided) asks one judge about two systems, -m judge:NAME; found {named}")
    known = judges[0].definition
    if not known.judge or known.finish is not None or known.low is None or known.high is None:
        raise SpecError(f"{judges[0].spec}: until is for judges whose value is a mean of scores within bounds")
    return judges[0]


def ask_pairs(
    sides: tuple[Side, Side],
    keys: Array,
    until: Until | None,
    margin: float | None,
    inference: Inference,
    advance: Callable[[int], None],
) -> list[Answered]:
    """Ask the judge about both answers to each row, in a random order; what each system then has.

    `keys`, uint64, shape (n,), are equal for matched rows that belong together. The difference is the second system's
    score minus the first's; metrics other than the judge, known of all rows of both, narrow its interval. Without
    `until` all rows are asked, and nothing is kept: a rehearsal. `advance` is called with a number of further answers.

    Raises `DataError` where a cap of calls or money ends it before the rule does.
    """
    metric = find_judge(sides[0].plan.metrics)
    columns, labels = _interleave(metric, sides), sides[0].plan.labels
    if until is None:
        score_rows(metric, columns, labels)
        return []
    order = AskingOrder.draw(keys, inference.seed)
    scale = Scale(None, (metric.definition.low, metric.definition.high), metric.definition.direction)
    free = choose_free(other - one for one, other in zip(*(side.means for side in sides), strict=True))
    sequence = difference_sequence(order, free, scale, inference, until.width, margin)
    reasons = null_reasons(cast_columns(metric, columns, labels))
    reached = np.ones(2 * len(keys), bool) if reasons is None else np.equal(reasons, NOTHING)
    governor = find_governor(metric)
    agenda = RowAgenda(
        until, order.paired, sequence, reached, governor, count_money([governor]), metric.name, paired=True
    )
    with change_context(agenda=agenda), report_progress_to(advance):
        judged = score_rows(metric, columns, labels)
    agenda.close()
    if agenda.capped:
        raise DataError(f"{agenda.capped}; nothing is decided by then: the replies so far are kept, raise the cap")
    judged, stop = agenda.leave_out(judged), replace(agenda.stop, margin=margin)
    scores = np.empty(2 * len(keys))
    scores[agenda.order.rows] = agenda.scores
    answered = list[Answered]()
    for at, side in enumerate(sides):
        own_free = choose_free(side.means)
        population = Population(order.sizes, _bounds(metric), None if own_free is None else order.add_up(own_free))
        own = ConfidenceSequence(population, inference, until.width)
        order.add_units(own, scores[at::2], stop.asked)
        rows = side.spread(judged, np.arange(at, 2 * len(keys), 2))
        answered.append({metric.spec: (rows, Asked.of(own, stop))})
    return answered


def _bounds(metric: Metric) -> tuple[float, float]:
    return metric.definition.low or 0.0, metric.definition.high or 0.0


def _interleave(metric: Metric, sides: tuple[Side, Side]) -> dict[str, pa.Array]:
    """The columns of the judge, by role: of each matched row the first system's, and then the second's."""
    rows = len(sides[0].order)
    turns = np.arange(2 * rows).reshape(2, rows).T.ravel()
    columns = dict[str, pa.Array]()
    for role in metric.definition.columns:
        one, other = (side.columns[role].take(pa.array(side.order)) for side in sides)
        both = pa.concat_arrays([one, other if one.type == other.type else other.cast(one.type)])
        columns[role] = both.take(pa.array(turns))
    return columns
