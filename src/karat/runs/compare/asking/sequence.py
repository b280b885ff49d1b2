"""The difference of two runs whose judge was asked about both, row by row, until a rule ended it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from karat.core.columns.kinds import Array
from karat.runs.match.match import Matched
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.scoring.asking.agenda import AskingOrder
from karat.runs.scoring.asking.ask import choose_free
from karat.runs.scoring.asking.pairs import difference_sequence
from karat.runs.store.run import Run
from karat.stats.inference import Inference
from karat.stats.paired.comparison import Comparison
from karat.stats.sequential.difference import DifferenceSequence
from karat.stats.sequential.stop import Stop


def find_stop(runs: Sequence[Run], metric: SharedMetric, at: int) -> Stop | None:
    """How far a judge was asked about the first run and the one at this position together; None where it was not."""
    one, other = (runs[each].stops.get(metric.by_run[each].spec) for each in (0, at))
    return one if one is not None and one.paired and one == other else None


@dataclass(frozen=True)
class AskedTogether:
    """Rows of two systems about which a judge was asked together, in a random order that follows from the seed.

    `scores`, shape (2, n): of both systems' matched rows, NaN for none.
    """

    stop: Stop
    metric: SharedMetric
    order: AskingOrder
    free: Array | None
    scores: Array

    @classmethod
    def find(cls, matched: Matched, metric: SharedMetric, at: int) -> AskedTogether | None:
        """The rows of the first system and the one at this position.

        None where the judge was not asked about these two together, and where rows are paired or belong together in
        another way than they did then, so that the order is not known.
        """
        stop = find_stop(matched.runs, metric, at)
        if stop is None or stop.rows != len(matched.rows):
            return None
        keys = matched.rows.numbers if matched.clusters is None else matched.clusters.keys
        order = AskingOrder.draw(keys, stop.seed)
        runs = [(matched.runs[each], matched.rows.order(each)) for each in (0, at)]
        specs = [metric.by_run[each].spec for each in (0, at)]
        is_asked = np.ones(len(keys), bool)
        for (run, rows), spec in zip(runs, specs, strict=True):
            if (left_out := run.left_out(spec)) is not None:
                is_asked &= ~left_out[rows]
        if not is_asked[order.rows[: stop.asked]].all() or is_asked.sum() != stop.asked:
            return None
        scores = [run.statistics(spec)[rows, 0] for (run, rows), spec in zip(runs, specs, strict=True)]
        others = [each.spec for each in runs[0][0].manifest.metrics if each.spec != specs[0] and not each.counts]
        free = choose_free(
            runs[1][0].statistics(spec)[runs[1][1], 0] - runs[0][0].statistics(spec)[runs[0][1], 0]
            for spec in others
            if spec in runs[1][0].specs
        )
        return cls(stop, metric, order, free, np.stack(scores))

    def apply_to(self, comparison: Comparison, inference: Inference, margin: float | None) -> Comparison:
        """The comparison with the difference of all rows, and the interval and the p that hold at all times.

        `margin`: by default the one against which the rule held the difference.
        """
        margin = self.stop.margin if margin is None else margin
        sequence, *filled = (self._sequence(each, inference, margin) for each in self._cases())
        ends = [(each.value, each.p) for each in filled or [sequence]]
        test = sequence.margin_test
        if test is not None:
            verdicts = {each.margin_test.verdict for each in (sequence, *filled) if each.margin_test is not None}
            test = replace(test, turns=len(verdicts) > 1)
        deviation = comparison.deviation
        return replace(
            comparison,
            difference=None if np.isnan(sequence.value) else sequence.value,
            low=sequence.low,
            high=sequence.high,
            p=sequence.p,
            test="sequence",
            effect=sequence.value / deviation if deviation else None,
            least=ends[0][0],
            p_least=ends[0][1],
            most=ends[-1][0],
            p_most=ends[-1][1],
            smallest_visible=None,
            margin=test,
            all_low=filled[0].low if filled else None,
            all_high=filled[-1].high if filled else None,
        )

    def _sequence(self, differences: Array, inference: Inference, margin: float | None) -> DifferenceSequence:
        wished = self.stop.width if self.stop.width is not None or self.stop.margin is None else 2 * self.stop.margin
        sequence = difference_sequence(self.order, self.free, self.metric.scale, inference, wished, margin)
        self.order.add_units(sequence, differences, self.stop.asked)
        return sequence

    def _cases(self) -> Iterator[Array]:
        """The differences; where a row lacks a score also the least and the greatest that they could be."""
        one, other = self.scores[0], self.scores[1]
        yield other - one
        low, high = (np.nan if end is None else end for end in self.metric.scale.bounds)
        if np.isnan(other - one)[self.order.rows[: self.stop.asked]].any():
            for best, worst in ((high, low), (low, high)):
                yield np.where(np.isnan(other), worst, other) - np.where(np.isnan(one), best, one)


def find_sequences(matched: Matched) -> Mapping[tuple[str, int], AskedTogether]:
    """By metric and position of a system, the rows of those that were asked together with the first."""
    together = {
        (metric.spec, at): AskedTogether.find(matched, metric, at)
        for metric in matched.metrics
        for at in range(1, len(matched.runs))
    }
    return {key: each for key, each in together.items() if each is not None}


def note_fixed(matched: Matched, together: Mapping[tuple[str, int], AskedTogether]) -> Iterator[str]:
    """Which intervals are for a number of rows that is fixed beforehand, although it was chosen by looking."""
    fixed = "are for a number of rows that is fixed beforehand; here it was chosen by looking"
    for metric in matched.metrics:
        for at in range(1, len(matched.runs)):
            if find_stop(matched.runs, metric, at) is not None and (metric.spec, at) not in together:
                yield f"{metric.spec}: rows are not taken together as when they were asked, so p and interval {fixed}"
    if together and matched.slices is not None:
        yield f"slices: p and intervals {fixed}"
