"""What the labels of matched rows tell of the next draw: which rows were drawn, how probably, and how judges err."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.runs.labels.labels import Labels
from karat.runs.labels.systems import find_system
from karat.runs.match.alignment import ORDER
from karat.runs.match.labelled import unidentified
from karat.runs.match.match import Matched, match
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.match.systems import Metrics, System
from karat.runs.scoring.arguments import NONE
from karat.stats.corrected.judged import Judged


def label_systems(
    systems: Sequence[System], metrics: Metrics, on: str | None, human: Labels | None, *, scored: bool = True
) -> Matched:
    """Match the rows of systems by `on`, by default by what tells them apart, with labels of them.

    Raises what matching rows and reading labels raise, and `SpecError` where no column tells the rows apart.
    """
    matched = match(systems, metrics, on, cluster=NONE, allow_different=None, scored=scored, human=human)
    if matched.rows.by == ORDER:
        raise unidentified(matched.runs[0], matched.rows)
    source = None if human is None else human.source
    if isinstance(source, Mapping) and find_system(matched.names[0], source):
        _check_one_draw(matched, source)
    return matched


def spell_names(matched: Matched) -> str:
    """The names of the systems, for messages."""
    return " and ".join(matched.names)


def find_drawn(matched: Matched) -> Array:
    """Which rows have a label in any system, shape (n,): they were drawn in an earlier round."""
    drawn = np.zeros(len(matched.rows), np.bool_)
    for each in matched.labelled:
        drawn[each.at] = True
    return drawn


def find_probabilities(matched: Matched) -> Array | None:
    """With which each row was drawn, shape (n,), NaN where it was not; None where all rows had the same.

    Raises `DataError` where the labels of one system differ from another's.
    """
    known = [(each, of) for each in matched.labelled if (of := each.labels.probabilities) is not None]
    if not known:
        return None
    remedy = "labels of all systems from the same rounds are expected"
    if len(known) < len(matched.labelled):
        problem = "some labels have the probability with which their row was drawn, and others do not"
        raise DataError(f"{spell_names(matched)}: {problem}; {remedy}")
    chances = np.full(len(matched.rows), np.nan)
    for each, own in known:
        there = chances[each.at]
        if (wrong := ~np.isnan(there) & (there != own)).any():
            at = int(wrong.argmax())
            problem = f"the row was drawn with a probability of {own[at]:g} here, for another system {there[at]:g}"
            raise DataError(f"{each.labels.place(at)}: {problem}; {remedy}")
        chances[each.at] = own
    return chances


def judge_systems(matched: Matched, metric: SharedMetric) -> list[Judged]:
    """The scores and labels of each system, in the common order."""
    rows, systems = matched.rows, enumerate(zip(matched.runs, metric.by_run, strict=True))
    sides = [run.scores(own.spec)[rows.order(at)] for at, (run, own) in systems]
    if not matched.labelled:
        return [Judged(scores, np.full(len(scores), np.nan)) for scores in sides]
    return [each.judged(scores, None) for each, scores in zip(matched.labelled, sides, strict=True)]


def contrast_systems(matched: Matched, metric: SharedMetric) -> list[Judged]:
    """What is to be estimated: the one system's value, or the difference of each other system from the first."""
    first, *others = judge_systems(matched, metric)
    return [Judged(each.scores - first.scores, each.labels - first.labels) for each in others] or [first]


def _check_one_draw(matched: Matched, names: Iterable[str]) -> None:
    """Raise `DataError` where labels, a table for each system, are of different rows drawn with probabilities."""
    weighted = any(each.labels.probabilities is not None for each in matched.labelled)
    first, *others = (np.sort(each.at) for each in matched.labelled)
    if weighted and not all(np.array_equal(each, first) for each in others):
        problem = "rows were drawn for each system on its own, and such probabilities do not add up"
        raise DataError(f"{' and '.join(names)}: {problem}; labels of all systems of the same rows are expected")
