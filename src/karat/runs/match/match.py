"""The rows of one or several systems: opened, paired by one key, checked to be the same, with clusters and slices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

import pyarrow as pa

from karat.core.errors import DataError, JoinError
from karat.data.roles import singular
from karat.metrics.names.legend import tell_apart
from karat.runs.columns.ids import show_column
from karat.runs.labels.choices import known_choices
from karat.runs.labels.join import LabelledRows
from karat.runs.labels.labels import Labels
from karat.runs.match.alignment import ORDER, Alignment, align_by
from karat.runs.match.contradictions import Contradiction, find_contradictions
from karat.runs.match.keys import Key, Keys, align, counts_rows
from karat.runs.match.labelled import label_rows
from karat.runs.match.row_groups import RowClusters, Slices, read_clusters, read_column, read_slices
from karat.runs.match.shared_metrics import (
    SharedMetric,
    compare_metrics,
    find_patch,
    list_unshared,
    list_unsigned,
    share_metrics,
)
from karat.runs.match.systems import Metrics, Named, System, list_specs, open_systems, question_column
from karat.runs.store.run import Run
from karat.stats.sequential.stop import Stop

_ALLOW = "compare them anyway with allow_different (--allow-different)"


@dataclass(frozen=True)
class Matched:
    """The runs of systems, the metrics that all share, their paired rows, and what people say of these.

    `labelled` has people's labels of each system's answers; it is empty where there are none. `clusters` are rows that
    are not independent, `slices` the groups of rows to look at by themselves. All are in the order of `rows.read`.
    `notes` say how rows were paired, what is left out, and what differs between the systems.
    """

    runs: Sequence[Run]
    metrics: Sequence[SharedMetric]
    rows: Alignment
    labelled: Sequence[LabelledRows] = ()
    clusters: RowClusters | None = None
    slices: Slices | None = None
    notes: Sequence[str] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the systems."""
        return tuple(run.name for run in self.runs)

    def column(self, name: str) -> pa.Array:
        """A column of the first run that has it, in the order of `rows.read`; raises what `match` raises for slices."""
        return pa.chunked_array(list(read_column(self.runs, self.rows, name))).combine_chunks()


class How(TypedDict, total=False):
    """How rows are paired and taken together, with the defaults of `match`."""

    by: str | None
    cluster: str | None
    human: Labels | None
    common: bool
    choices: Iterable[Mapping[str, float]]
    allow_different: bool | None
    scored: bool


def match(
    systems: Sequence[System | Named], metrics: Metrics = (), on: str | None = None, **how: Unpack[How]
) -> Matched:
    """Open systems, pair their rows as `align` does, check that they may be compared, and join people's labels.

    The rows of a single system stay in their order, also where no column tells them apart. `human` are labels of the
    systems' answers, joined by what pairs the rows; with them `on` may be LEFT=RIGHT, and `choices` has the labels and
    scores of judges, by default of those among the metrics. `by` is the column of the
    slices; `cluster` the column of the clusters, by default the one that `find_clusters` finds, and "none" for none.
    `common`: pair the rows that all systems have, where some have more. Without `scored`, which is True by default,
    metrics are not needed, and not compared. `allow_different`: what would be an error is a note, but
    not where rows are paired by a key that nobody named and another key pairs the same questions and gold. With None
    it is a note too, but not where most rows differ and the key only counts them.

    Raises what opening, `share_metrics`, `align` and `label_rows` raise; `JoinError` where paired rows have other
    questions or gold, and another key agrees; `DataError` for a metric with different signatures or other code, for
    different gold, where no gold says that the rows are the same, and most have another question, and for too many
    slices; `ColumnError` for a column of slices or clusters that is not there.
    """
    wanted, scored, common = list_specs(metrics), how.get("scored", True), how.get("common", False)
    allow_different, by, human = how.get("allow_different", False), how.get("by"), how.get("human")
    human, on = (None, on) if human is None else human.split_on(on)
    runs = open_systems(systems, wanted, scored=scored)
    shared = share_metrics(runs, wanted) if scored else []
    rows = align(runs, on, common=common)
    notes = []
    for problem, remedy in _compare_ways(runs, shared):
        if remedy and allow_different is False:
            raise DataError(f"{problem}. {remedy}, or {_ALLOW}")
        notes.append(problem)
    contradictions = list(find_contradictions(runs, rows))
    if (
        contradictions
        and not (allow_different and on is not None)
        and (key := _find_agreeing(runs, rows, common=common))
    ):
        named = f"{show_column(key[0])} pairs rows with the same: --on {key[0]!r} (in Python, on={key[0]!r})"
        raise JoinError(f"rows were paired by {rows.key}, and {contradictions[0].problem.partition(';')[0]}; {named}")
    for each in contradictions:
        if (
            each.remedy
            and each.most
            and not allow_different
            and on is None
            and _only_counts(runs, rows, contradictions)
        ):
            remedy = "name a column that tells them apart with on (--on), or score both on the same"
            raise DataError(f"{each.problem}. {rows.key} only counts the rows, so these may be other rows: {remedy}")
        if each.remedy and allow_different is False:
            raise DataError(f"{each.problem}. {each.remedy}, or {_ALLOW}")
        notes.append(each.problem)
    labelled = () if human is None else label_rows(human, runs, rows, how.get("choices") or _find_choices(runs, shared))
    clusters = read_clusters(runs, rows, how.get("cluster"))
    slices = None if by is None else read_slices(runs, rows, by)
    about = [
        *(run.note for run in runs if run.note),
        *_note_patch(runs),
        *(_note_stops(runs, shared) if scored else ()),
        *([str(clusters.about)] if clusters else []),
    ]
    if len(runs) > 1:
        about = [*_note_pairing(runs, rows), *about, *(_note_metrics(runs, shared) if scored else ())]
    return Matched(runs, shared, rows, labelled, clusters, slices, (*about, *notes))


def _note_patch(runs: Sequence[Run]) -> Iterator[str]:
    """The gold patch with which the runs were scored, where it was one."""
    notes = list(map(find_patch, runs))
    if notes[0] is not None and len({note and note.digest for note in notes}) == 1:
        yield str(notes[0])


def _note_stops(runs: Sequence[Run], shared: Sequence[SharedMetric]) -> Iterator[str]:
    """How far judges were asked, where a rule said when to stop, and what that means for what is computed here."""
    stops = [[run.stops.get(scored.spec) for run, scored in zip(runs, metric.by_run, strict=True)] for metric in shared]
    for metric, each in zip(shared, stops, strict=True):
        if _asked_together(each):
            yield f"{metric.spec}, asked about {' and '.join(run.name for run in runs)} together: {each[0]}"
            continue
        for run, scored, stop in zip(runs, metric.by_run, each, strict=True):
            if stop is not None:
                yield f"{run.name}: {scored.spec} {stop}"
    if any(any(each) and not _asked_together(each) for each in stops) and len(runs) > 1:
        yield "rows that were not asked in one system are left out of all"
        yield "p and intervals are for a number of rows that is fixed beforehand; here it was chosen by looking"


def _asked_together(stops: Sequence[Stop | None]) -> bool:
    """Whether all runs were asked together, row by row, until a rule about their difference ended it."""
    return len(stops) > 1 and len(set(stops)) == 1 and stops[0] is not None and stops[0].paired


def _find_choices(runs: Sequence[Run], shared: Sequence[SharedMetric]) -> list[Mapping[str, float]]:
    """The labels and scores of the judges among the metrics, else among all that were scored."""
    choices = known_choices(each.spec for each in shared) or known_choices(spec for run in runs for spec in run.specs)
    return list(choices.values())


def _note_pairing(runs: Sequence[Run], rows: Alignment) -> Iterator[str]:
    """What pairs rows where that is not obvious, and which rows are left out."""
    how = "in their order" if rows.by == ORDER else f"by {rows.key}"
    for columns, problem in rows.passed_over.items():
        if singular(columns[0]) != "topic":  # which names a group of rows as often as a query
            yield f"rows are matched {how}, as {problem}; name another column of ids with on (--on)"
    if rows.by == ORDER:
        yield "no id or question tells the rows apart: they are taken in their order, in which the gold is the same"
    if counts := [f"{count} of {run.name}" for run, count in zip(runs, rows.left_out, strict=False) if count]:
        yield f"left out, since not all systems have them: {' and '.join(counts)}"


def _note_metrics(runs: Sequence[Run], shared: Sequence[SharedMetric]) -> Iterator[str]:
    """Which exact match is which, the metrics that are not compared, and what could not be checked."""
    yield from tell_apart([each.spec for each in shared], hint=False)
    if specs := list_unshared(runs, shared):
        yield f"not compared: {', '.join(specs)}"
    if names := list_unsigned(runs, shared):
        yield f"{', '.join(names)}: a file does not say how it was scored, so that could not be checked"


def _compare_ways(runs: Sequence[Run], shared: Sequence[SharedMetric]) -> Iterator[tuple[str, str]]:
    """How the metrics of each run were scored otherwise than the first run's."""
    for at, run in enumerate(runs[1:], 1):
        yield from compare_metrics(runs[0], run, [(metric.by_run[0], metric.by_run[at]) for metric in shared])


def _only_counts(runs: Sequence[Run], rows: Alignment, contradictions: Sequence[Contradiction]) -> bool:
    """Whether what pairs the rows only counts them, and no questions say that they are the same."""
    questions = all(map(question_column, runs)) and not any(each.asked for each in contradictions)
    return not questions and (rows.by == ORDER or counts_rows(runs, rows.columns))


def _find_agreeing(runs: Sequence[Run], rows: Alignment, *, common: bool) -> Key | None:
    """A key with one name in all runs that pairs rows without any contradiction."""
    keys = Keys(runs, common)
    several: list[Key] = [*keys.named, *keys]
    for key in dict.fromkeys(several):
        if len(set(key)) > 1 or key == rows.columns:
            continue
        try:
            other = align_by(runs, key, common=common)
        except JoinError:
            continue
        if len(other) >= len(rows) and not any(find_contradictions(runs, other)):
            return key
    return None
