"""The rows of systems as the check of their gold reads them: the question, the gold, and the answer of each system."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from karat.core.columns.python_values import to_python
from karat.core.errors import SpecError
from karat.core.metric.definition import Direction
from karat.data.json.texts import list_golds, read_json
from karat.data.roles import matches_role
from karat.runs.compare.scored_rows import read_scored_rows
from karat.runs.match.alignment import ORDER
from karat.runs.match.match import Matched
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.store.run import Run


@dataclass(frozen=True)
class SystemAnswer:
    """What a system answered, None where it did not, and its score by the metric, None where it has none.

    `hit`: whether the score says that the answer is the gold; None without a score. `accepted`: whether a judge says
    that it is right; None where no judge was asked.
    """

    system: str
    answer: str | None
    score: float | None
    hit: bool | None
    accepted: bool | None = None


@dataclass(frozen=True)
class GoldRow:
    """A row: its id, its question, its gold, the passages where there are any, and the answers of all systems."""

    id: str
    question: str | None
    references: tuple[str, ...]
    contexts: tuple[str, ...] | None
    answers: tuple[SystemAnswer, ...]


def read_rows(matched: Matched, metric: SharedMetric, judge: SharedMetric | None = None) -> list[GoldRow]:
    """The matched rows, in the order of the first run; `metric` says which answers are the gold, `judge` which right.

    An answer is the gold where its score is nearer to the best possible one than to the worst. Raises `SpecError` for
    a metric without bounds.
    """
    takes, accepts = _cut(metric), None if judge is None else _cut(judge)
    every = [list(read_scored_rows(run)) for run in matched.runs]
    places = [matched.rows.in_first(at).tolist() for at in range(len(every))]
    ids = [row.id for row in every[0]] if matched.rows.by == ORDER else matched.rows.all_ids.to_pylist()
    passages = _read_contexts(matched)
    rows = []
    for number, own in enumerate(zip(*places, strict=True)):
        several = [read[at] for read, at in zip(every, own, strict=True)]
        answers = []
        for at, (name, row) in enumerate(zip(matched.names, several, strict=True)):
            score = row.scores[metric.by_run[at].spec]
            verdict = accepts(row.scores[judge.by_run[at].spec]) if judge and accepts else None
            answers.append(SystemAnswer(name, row.prediction, score, takes(score), verdict))
        question = next((row.question for row in several if row.question), None)
        shown = None if passages is None else passages[number]
        rows.append(GoldRow(ids[own[0]], question, several[0].references, shown, tuple(answers)))
    return rows


def _cut(metric: SharedMetric) -> Callable[[float | None], bool | None]:
    low, high = metric.scale.bounds
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        raise SpecError(f"{metric.spec} has no best and no worst score, which say what a right answer is; name another")
    return lambda score: is_near_best(score, low, high, metric.scale.direction)


def is_near_best(score: float | None, low: float, high: float, direction: Direction) -> bool | None:
    """Whether a score is nearer to the best than to the worst; None without a score."""
    middle = (low + high) / 2
    return None if score is None else score >= middle if direction == "maximize" else score <= middle


def _read_contexts(matched: Matched) -> Sequence[tuple[str, ...]] | None:
    """The passages of each row, of the first run that has exactly one column of them; None where no run has."""
    for at, run in enumerate(matched.runs):
        if (name := _contexts_column(run)) is None:
            continue
        column = run.column(name).combine_chunks()
        cells = to_python(column.take(pa.array(matched.rows.in_first(at))), read_json)
        return [tuple(list_golds(cell)) for cell in cells]
    return None


def _contexts_column(run: Run) -> str | None:
    known = run.manifest.mapping.get("contexts")
    names = [name for name in run.schema.names if matches_role("contexts", name)] if known is None else [known]
    return names[0] if len(names) == 1 else None
