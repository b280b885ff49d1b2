"""The rows of several systems, paired: opened, matched by one key, and checked to be the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from karat.core.errors import DataError, JoinError
from karat.runs.columns.ids import show_column
from karat.runs.match.alignment import ORDER, Alignment, align_by
from karat.runs.match.contradictions import Contradiction, find_contradictions
from karat.runs.match.keys import Key, Keys, align, counts_rows
from karat.runs.match.shared_metrics import SharedMetric, compare_metrics, share_metrics
from karat.runs.match.systems import Metrics, System, list_specs, open_systems, question_column
from karat.runs.store.run import Run

_ALLOW = "compare them anyway with allow_different (--allow-different)"


@dataclass(frozen=True)
class Matched:
    """The runs of systems, the metrics that all share, and their paired rows.

    `notes` say what differs between them.
    """

    runs: Sequence[Run]
    metrics: Sequence[SharedMetric]
    rows: Alignment
    notes: Sequence[str]


def match(
    systems: Sequence[System],
    metrics: Metrics = (),
    on: str | None = None,
    *,
    common: bool = False,
    allow_different: bool | None = False,
    scored: bool = True,
) -> Matched:
    """Open systems, pair their rows as `align` does, and check that they may be compared.

    Without `scored` metrics are not needed, and not compared. `allow_different`: what would be an error is a note, but
    not where rows are paired by a key that nobody named and another key pairs the same questions and gold. With None
    it is a note too, but not where most rows differ and the key only counts them.

    Raises what opening, `share_metrics` and `align` raise; `JoinError` where paired rows have other questions or gold,
    and another key agrees; `DataError` for a metric with different signatures or other code, for different gold, and
    where no gold says that the rows are the same, and most have another question.
    """
    wanted = list_specs(metrics)
    runs = open_systems(systems, wanted, scored=scored)
    shared = share_metrics(runs, wanted) if scored else []
    rows = align(runs, on, common=common)
    notes = []
    for problem, remedy in _compare_ways(runs, shared):
        if remedy and allow_different is False:
            raise DataError(f"{problem}. {remedy}, or {_ALLOW}")
        notes.append(problem)
    found = list(find_contradictions(runs, rows))
    if found and not (allow_different and on is not None) and (key := _find_agreeing(runs, rows, common=common)):
        named = f"{show_column(key[0])} pairs rows with the same: --on {key[0]!r} (in Python, on={key[0]!r})"
        raise JoinError(f"rows were paired by {rows.key}, and {found[0].problem.partition(';')[0]}; {named}")
    for each in found:
        if each.remedy and each.most and not allow_different and on is None and _only_counts(runs, rows, found):
            remedy = "name a column that tells them apart with on (--on), or score both on the same"
            raise DataError(f"{each.problem}. {rows.key} only counts the rows, so these may be other rows: {remedy}")
        if each.remedy and allow_different is False:
            raise DataError(f"{each.problem}. {each.remedy}, or {_ALLOW}")
        notes.append(each.problem)
    return Matched(runs, shared, rows, notes)


def _compare_ways(runs: Sequence[Run], shared: Sequence[SharedMetric]) -> Iterator[tuple[str, str]]:
    """How the metrics of each run were scored otherwise than those of the first."""
    for at, run in enumerate(runs[1:], 1):
        yield from compare_metrics(runs[0], run, [(metric.by_run[0], metric.by_run[at]) for metric in shared])


def _only_counts(runs: Sequence[Run], rows: Alignment, found: Sequence[Contradiction]) -> bool:
    """Whether what pairs the rows only counts them, and no questions say that they are the same."""
    asked = all(map(question_column, runs)) and not any(each.asked for each in found)
    return not asked and (rows.by == ORDER or counts_rows(runs, rows.columns))


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
