"""The rows of one or several systems, matched by id, with their scores and the labels that people have given so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.runs.labels.choices import known_choices
from karat.runs.labels.join import LabelledRows
from karat.runs.labels.labels import Labels
from karat.runs.labels.systems import find_system
from karat.runs.match.alignment import ORDER
from karat.runs.match.labelled import label_rows, unidentified
from karat.runs.match.match import Matched, match
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.match.systems import Metrics, System
from karat.runs.scoring.arguments import NONE
from karat.runs.store.run import Run
from karat.stats.corrected.judged import Judged


@dataclass(frozen=True)
class LabelledSystems:
    """The matched rows of systems, and the labels of each system; `labelled` is None without labels."""

    matched: Matched
    labelled: Sequence[LabelledRows] | None = None

    def __len__(self) -> int:
        return len(self.matched.rows)

    @property
    def runs(self) -> Sequence[Run]:
        """The systems."""
        return self.matched.runs

    @property
    def metrics(self) -> Sequence[SharedMetric]:
        """The metrics that all systems share."""
        return self.matched.metrics

    @property
    def name(self) -> str:
        """The names of the runs, for messages."""
        return " and ".join(run.name for run in self.runs)

    @property
    def drawn(self) -> Array:
        """Which rows have a label in any system, shape (n,): they were drawn in an earlier round."""
        drawn = np.zeros(len(self), np.bool_)
        for each in self.labelled or ():
            drawn[each.at] = True
        return drawn

    @property
    def probabilities(self) -> Array | None:
        """With which each row was drawn, shape (n,), NaN where it was not; None where all rows had the same.

        Raises `DataError` where the labels of two systems differ.
        """
        labelled = self.labelled or ()
        known = [(each, of) for each in labelled if (of := each.labels.probabilities) is not None]
        if not known:
            return None
        remedy = "labels of all systems from the same rounds are expected"
        if len(known) < len(labelled):
            problem = "some labels have the probability with which their row was drawn, and others do not"
            raise DataError(f"{self.name}: {problem}; {remedy}")
        chances = np.full(len(self), np.nan)
        for each, own in known:
            there = chances[each.at]
            if (wrong := ~np.isnan(there) & (there != own)).any():
                at = int(wrong.argmax())
                problem = f"the row was drawn with a probability of {own[at]:g} here, for another system {there[at]:g}"
                raise DataError(f"{each.labels.place(at)}: {problem}; {remedy}")
            chances[each.at] = own
        return chances

    def judged(self, metric: SharedMetric) -> list[Judged]:
        """The scores and labels of each system, in the common order."""
        rows, systems = self.matched.rows, enumerate(zip(self.runs, metric.by_run, strict=True))
        sides = [run.scores(own.spec)[rows.order(at)] for at, (run, own) in systems]
        if self.labelled is None:
            return [Judged(scores, np.full(len(scores), np.nan)) for scores in sides]
        return [each.judged(scores, None) for each, scores in zip(self.labelled, sides, strict=True)]

    def contrasts(self, metric: SharedMetric) -> list[Judged]:
        """What is to be estimated: the one system's value, or the difference of each other system from the first."""
        first, *others = self.judged(metric)
        return [Judged(each.scores - first.scores, each.labels - first.labels) for each in others] or [first]


def label_systems(
    systems: Sequence[System], metrics: Metrics, on: str | None, human: Labels | None, *, scored: bool = True
) -> LabelledSystems:
    """Match the rows of systems by `on`, by default by what tells them apart, and read labels of them.

    Raises what matching rows and reading labels raise, and `SpecError` where no column tells the rows apart.
    """
    human, on = (None, on) if human is None else human.split_on(on)
    matched = match(systems, metrics, on, cluster=NONE, allow_different=None, scored=scored)
    runs = matched.runs
    if matched.rows.by == ORDER:
        raise unidentified(runs[0], matched.rows)
    if human is None:
        return LabelledSystems(matched)
    choices = known_choices(spec for run in runs for spec in run.specs)
    labelled = label_rows(human, runs, matched.rows, choices.values())
    if isinstance(human.source, Mapping) and find_system(runs[0].name, human.source):
        _check_one_draw(labelled, human.source)
    return LabelledSystems(matched, labelled)


def _check_one_draw(labelled: Sequence[LabelledRows], names: Iterable[str]) -> None:
    """Raise `DataError` where labels, a table for each system, are of different rows drawn with probabilities."""
    weighted = any(each.labels.probabilities is not None for each in labelled)
    if weighted and any(not np.array_equal(np.sort(each.at), np.sort(labelled[0].at)) for each in labelled):
        problem = "rows were drawn for each system on its own, and such probabilities do not add up"
        raise DataError(f"{' and '.join(names)}: {problem}; labels of all systems of the same rows are expected")
