"""Labels by people of several systems' answers, matched with the rows that are compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError, did_you_mean
from karat.data.open import open_source
from karat.runs.columns.groups import read_strata
from karat.runs.labels.choices import known_choices
from karat.runs.labels.human import Human
from karat.runs.labels.join import LabelledRows, join_labels, no_estimate, why_not_corrected
from karat.runs.labels.labels import Labels
from karat.runs.labels.reversal import describe_reversal
from karat.runs.labels.systems import SYSTEM, find_system, list_systems
from karat.runs.match.alignment import ORDER, Alignment
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.store.manifest import ScoredMetric
from karat.runs.store.run import Run
from karat.stats.corrected.corrected import Corrected
from karat.stats.corrected.estimate import corrected_difference
from karat.stats.corrected.influence import take
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
        found = (
            describe_reversal(f"{self.names[each]}: {metric.spec}", self.labelled[each].judged(own, keys))
            for each, own in zip((0, at), scores, strict=True)
        )
        return tuple(each for each in found if each)

    def correct(
        self,
        metric: ScoredMetric,
        at: int,
        scores: tuple[Array, Array],
        part: Any,
        keys: Array | None,
        inference: Inference,
    ) -> Corrected:
        """The corrected difference of the system at this position from the first, over a part of the rows.

        `scores` are those of both systems for all rows, `keys` the clusters of the part.
        """
        sides = [self.labelled[each].judged(own, None) for each, own in zip((0, at), scores, strict=True)]
        sides = [replace(take(side, part), clusters=keys) for side in sides]
        if reason := self.reasons.get(metric.spec):
            return no_estimate(reason, len(sides[0].scores), int(sides[0].labelled.sum()))
        rows = self.labelled[0]
        return corrected_difference(*sides, bounds=rows.bounds(metric), inference=inference, finite=rows.human.finite)


def read_people(human: Human, runs: Sequence[Run], metrics: Sequence[SharedMetric], rows: Alignment) -> People:
    """The labels of each run's answers.

    Raises `SpecError` where it is not known of which system labels are, or no column of ids matches the rows, and what
    reading and matching raise.
    """
    choices = known_choices(metric.spec for metric in metrics)
    labelled = read_by_run(human, runs, rows, choices.values())
    scored = [metric.by_run[0] for metric in metrics]
    mapped = {} if human.label_map is not None else choices
    reasons = [why_not_corrected(scored, each.labels, mapped) for each in labelled]
    notes = [*_count(runs, labelled)]
    known = {spec: reason for each in reasons for spec, reason in each.items()}
    return People(labelled, known, notes, [run.name for run in runs])


def _count(runs: Sequence[Run], labelled: Sequence[LabelledRows]) -> Iterator[str]:
    """How many rows of each system are labelled, how many in all, and how many labels are of other rows."""
    shared = set.intersection(*(set(each.at.tolist()) for each in labelled))
    counts = ", ".join(f"{len(each.at)} of {run.name}" for run, each in zip(runs, labelled, strict=True))
    yield f"rows with labels by people: {counts}, {len(shared)} in {'both' if len(runs) == 2 else 'all'}"
    if out := [f"{each.left_out} of {run.name}" for run, each in zip(runs, labelled, strict=True) if each.left_out]:
        yield f"labelled rows that are left out, since not all systems have them: {' and '.join(out)}"


def read_by_run(
    human: Human, runs: Sequence[Run], rows: Alignment, choices: Iterable[Mapping[str, float]]
) -> list[LabelledRows]:
    """The labels of each run's answers, in the order of the matched rows; `choices`, and errors: see above."""
    labelled = []
    for at, (run, own, order) in enumerate(
        zip(runs, labels_by_run(human, runs), map(rows.order, range(len(runs))), strict=True)
    ):
        columns = own.columns_of(run.schema.names)
        if rows.by == ORDER and not columns:
            raise SpecError("labels are joined by id: on (--on) names its column in the systems and in the labels")
        key = rows.columns[at] if rows.columns else rows.by
        needed = list(dict.fromkeys([*(columns or [key]), *([human.strata] if human.strata else [])]))
        table = run.read(needed)
        source = replace(open_source(table), name=run.name)
        found = join_labels(own, source, source, (key, human.on or key), choices)
        places = np.full(len(table), -1)
        places[order] = np.arange(len(order))
        strata = read_strata(source, human.strata)
        there = places[found.at]
        if (kept := there >= 0).sum() < len(there):
            found = replace(found, labels=found.labels.take(kept), left_out=int((~kept).sum()))
        labelled.append(replace(found, at=there[kept], strata=None if strata is None else strata[order]))
    return labelled


def labels_by_run(human: Human, runs: Sequence[Run]) -> Iterator[Human]:
    """The labels of each run."""
    names = [run.name for run in runs]
    if all(human.columns_of(run.schema.names) for run in runs):
        yield from [human] * len(runs)
        return
    tables = isinstance(human.source, Mapping) and any(find_system(name, human.source) for name in names)
    systems = [] if tables or isinstance(human.source, Labels) else list_systems(human.source)
    if tables:
        by_name = {find_system(name, names): table for name, table in human.source.items()}
        if None in by_name:
            wrong = next(name for name in human.source if find_system(name, names) is None)
            raise SpecError(f"labels of {wrong!r}: there is no such system{did_you_mean(wrong, names)}")
        if missing := [name for name in names if name not in by_name]:
            raise SpecError(f"labels of {missing[0]} are missing, which corrected differences need")
        yield from (replace(human, source=by_name[name]) for name in names)
    elif len(systems) > 1:
        found = [find_system(name, filter(None, systems)) for name in names]
        if None in found or len(set(found)) < len(found):
            wrong, listed = names[found.index(None)] if None in found else names[0], ", ".join(filter(None, systems))
            raise SpecError(f"no labels are known to be of {wrong}: their column {SYSTEM!r} names {listed}")
        yield from (replace(human, system=name) for name in found)
    else:
        listed = " and ".join(names)
        raise SpecError(f"of which system are these labels? A column {SYSTEM!r} with the names {listed} says it, or a "
                        f"file for each: --human {names[0]}=FILE (in Python, a dict of them)")  # fmt: skip
