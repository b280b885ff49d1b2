"""The rows of one or several systems, matched by id, with their scores and the labels that people have given so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import DataError, SpecError
from karat.data.json.raw import spell_ids
from karat.runs.columns.ids import find_id
from karat.runs.compare.people import read_by_run
from karat.runs.labels.choices import known_choices
from karat.runs.labels.human import Human, split_on_labels
from karat.runs.labels.join import LabelledRows, name_system, read_human
from karat.runs.labels.labels import match_labels
from karat.runs.labels.systems import find_system
from karat.runs.match.alignment import ORDER
from karat.runs.match.match import match
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.scoring.arguments import NONE
from karat.runs.store.run import Run
from karat.stats.corrected.judged import Judged


@dataclass(frozen=True)
class LabelledSystems:
    """The rows of each run in one order, and the labels of each.

    `on` is the column of ids in the first run, `ids` their texts, shape (n,), and `orders` has for each run the row
    numbers in this order. `labelled` is None without labels.
    """

    runs: Sequence[Run]
    metrics: Sequence[SharedMetric]
    on: str
    ids: pa.Array
    orders: Sequence[Array]
    labelled: Sequence[LabelledRows] | None = None

    def __len__(self) -> int:
        return len(self.ids)

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

        Raises `DataError` where the labels of one system differ from those of another.
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
        sides = [
            run.scores(own.spec)[order] for run, own, order in zip(self.runs, metric.by_run, self.orders, strict=True)
        ]
        if self.labelled is None:
            return [Judged(scores, np.full(len(scores), np.nan)) for scores in sides]
        return [each.judged(scores, None) for each, scores in zip(self.labelled, sides, strict=True)]

    def contrasts(self, metric: SharedMetric) -> list[Judged]:
        """What is to be estimated: the one system's value, or the difference of each other system from the first."""
        first, *others = self.judged(metric)
        return [Judged(each.scores - first.scores, each.labels - first.labels) for each in others] or [first]

    def column(self, name: str) -> pa.Array:
        """A column of the first run that has it, in the common order."""
        at = next((at for at, run in enumerate(self.runs) if name in run.schema.names), 0)
        column: pa.Array = self.runs[at].column(name).combine_chunks().take(pa.array(self.orders[at]))
        return column


def label_systems(
    runs: Sequence[Run], metrics: Sequence[SharedMetric], on: str | None, human: Human | None
) -> LabelledSystems:
    """Match the rows of runs by `on`, by default the column with the name of an id, and read labels of them.

    Raises what matching rows and reading labels raise, `SpecError` where no id matches the rows of several runs.
    """
    choices = known_choices(spec for run in runs for spec in run.specs).values()
    if human is not None:
        human, on = split_on_labels(human, on)
    if len(runs) > 1:
        specs = [each.spec for each in metrics]
        rows = match(runs, specs, on, cluster=NONE, allow_different=None, scored=bool(metrics)).rows
        if rows.by == ORDER:
            raise SpecError("labels are joined by id: on (--on) names its column in the systems")
        labelled = None if human is None else read_by_run(human, runs, rows, choices)
        if human is not None and isinstance(human.source, Mapping) and find_system(runs[0].name, human.source):
            _check_one_draw(labelled or (), human.source)
        return LabelledSystems(runs, metrics, rows.by, rows.ids, rows.orders, labelled)
    name, ids = read_ids(runs[0], on)
    labelled = None
    if human is not None:
        labels = read_human(name_system(human, runs[0].name), name, choices)
        labelled = [LabelledRows(match_labels(labels, ids, runs[0].name), labels)]
    return LabelledSystems(runs, metrics, name, ids, [np.arange(len(ids))], labelled)


def _check_one_draw(labelled: Sequence[LabelledRows], names: Iterable[str]) -> None:
    """Raise `DataError` where labels, a table for each system, are of different rows drawn with probabilities."""
    weighted = any(each.labels.probabilities is not None for each in labelled)
    if weighted and any(not np.array_equal(np.sort(each.at), np.sort(labelled[0].at)) for each in labelled):
        problem = "rows were drawn for each system on its own, and such probabilities do not add up"
        raise DataError(f"{' and '.join(names)}: {problem}; labels of all systems of the same rows are expected")


def read_ids(run: Run, on: str | None) -> tuple[str, pa.Array]:
    """The column of ids and its texts; an error where none is known to tell rows apart."""
    found = on or find_id(run, run.manifest.mapping, run.joined_on)
    return found, spell_ids(run.column(found).combine_chunks(), f"{run.name}: column {found!r}")
