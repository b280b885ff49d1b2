"""Labels by people of several systems' answers, matched with the rows that are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from karat.core.columns.kinds import Array
from karat.runs.labels.choices import known_choices
from karat.runs.labels.join import LabelledRows, no_estimate, why_not_corrected
from karat.runs.labels.labels import Labels
from karat.runs.labels.reversal import describe_reversal
from karat.runs.match.match import Matched
from karat.runs.store.manifest import ScoredMetric
from karat.runs.store.run import Run
from karat.stats.corrected.estimate import corrected_difference
from karat.stats.corrected.influence import take
from karat.stats.corrected.value import Corrected
from karat.stats.inference import Inference


@dataclass(frozen=True)
class People:
    """The labels of each system's answers, in the order of the compared rows.

    `reasons`: by spec, why labels do not correct a metric. `notes`: how many rows are labelled, and what to check.
    """

    labelled: Sequence[LabelledRows]
    reasons: Mapping[str, str]
    notes: Sequence[str]
    names: Sequence[str]

    def reversals(
        self, metric: ScoredMetric, at: int, scores: tuple[Array, Array], keys: Array | None
    ) -> tuple[str, ...]:
        """What to check where scores fall as labels rise, of the first system and of that at this position."""
        if metric.spec in self.reasons:
            return ()
        reversals = (
            describe_reversal(f"{self.names[each]}: {metric.spec}", self.labelled[each].judged(own, keys))
            for each, own in zip((0, at), scores, strict=True)
        )
        return tuple(each for each in reversals if each)

    def correct(
        self,
        metric: ScoredMetric,
        at: int,
        scores: tuple[Array, Array],
        part: tuple[Any, Array | None],
        inference: Inference,
        margin: float | None = None,
    ) -> Corrected:
        """The corrected difference of the system at this position from the first, over some rows and their clusters.

        `scores` are both systems' for all rows; `margin` is as in `karat.compare`.
        """
        sides = [self.labelled[each].judged(own, None) for each, own in zip((0, at), scores, strict=True)]
        rows, keys = part
        sides = [replace(take(side, rows), clusters=keys) for side in sides]
        if reason := self.reasons.get(metric.spec):
            return no_estimate(reason, len(sides[0].scores), int(sides[0].labelled.sum()))
        labelled = self.labelled[0]
        within = None if margin is None else (margin, metric.direction)
        return corrected_difference(
            *sides, bounds=labelled.bounds(metric), inference=inference, finite=labelled.human.finite, within=within
        )


def read_people(matched: Matched, human: Labels) -> People:
    """The labels of matched rows; raises what `why_not_corrected` raises."""
    metrics, labelled = matched.metrics, matched.labelled
    choices = {} if human.label_map is not None else known_choices(metric.spec for metric in metrics)
    reasons = [why_not_corrected([each.by_run[0] for each in metrics], own.labels, choices) for own in labelled]
    known = {spec: reason for each in reasons for spec, reason in each.items()}
    return People(labelled, known, [*_count(matched.runs, labelled)], matched.names)


def _count(runs: Sequence[Run], labelled: Sequence[LabelledRows]) -> Iterator[str]:
    """How many rows of each system are labelled, how many in all, and how many labels are of other rows."""
    shared = set.intersection(*(set(each.at.tolist()) for each in labelled))
    counts = ", ".join(f"{len(each.at)} of {run.name}" for run, each in zip(runs, labelled, strict=True))
    yield f"rows with labels by people: {counts}, {len(shared)} in {'both' if len(runs) == 2 else 'all'}"
    if out := [f"{each.left_out} of {run.name}" for run, each in zip(runs, labelled, strict=True) if each.left_out]:
        yield f"labelled rows that are left out, since not all systems have them: {' and '.join(out)}"
