"""A judge that is asked several times about each row, and its votes as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.context import current_context
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.core.progress import report_progress_to
from karat.judges.inputs import to_materials
from karat.judges.judge import JudgeFunction
from karat.judges.outputs import to_rows
from karat.judges.replies.forms import Label
from karat.judges.replies.items import Form, ItemForm
from karat.judges.rubric import Rubric
from karat.judges.votes import Vote
from karat.runs.judge.asking.rewordings import reword
from karat.stats.reliability.repetition import verdict_codes

_TYPES = {"score": pa.float64(), "label": pa.string(), "error": pa.string(), "raw": pa.string(), "first": pa.float64()}
_TYPES |= {"consistent": pa.bool_(), "passed": pa.list_(pa.string()), "failed": pa.list_(pa.string())}
VOTES = "votes"
DETAILS = {VOTES: pa.list_(pa.struct(list(_TYPES.items())))}


@dataclass(frozen=True)
class RepeatedJudge:
    """The function of a metric that asks a judge `repetitions` times about each row, and once in each rewording.

    Its score comes from the first vote, for which a cached reply may be used; all votes are in the column `votes`.
    """

    judge: JudgeFunction
    repetitions: int
    rewordings: Mapping[str, Rubric]

    def __post_init__(self) -> None:
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            object.__setattr__(self, name, getattr(self.judge, name))

    @property
    def rubric(self) -> Rubric:
        """What the judge is asked."""
        return self.judge.rubric

    def __call__(self, *columns: pa.Array, **settings: Any) -> Rows:
        panels = [self.judge.panel(settings, repetition) for repetition in range(self.repetitions)]
        panels += [replace(self.judge, rubric=rubric).panel(settings) for rubric in self.rewordings.values()]
        materials = to_materials(self.judge.rubric.inputs, columns)
        report, reported = current_context().progress or (lambda _: None), count(1)
        with report_progress_to(lambda _: report(1) if next(reported) % len(panels) == 0 else None):
            votes = self.judge.judge_all([(panel, material) for material in materials for panel in panels])
        votes = [_cut(vote, self.judge.rubric.form) for vote in votes]
        rows = [votes[at : at + len(panels)] for at in range(0, len(votes), len(panels))]
        cells = [[self._cells(vote) for vote in row] for row in rows]
        first = to_rows([row[0] for row in rows], {}, ())
        return replace(first, details={VOTES: pa.array(cells, DETAILS[VOTES])})

    def _cells(self, vote: Vote) -> dict[str, Any]:
        """One vote; `first` is how much higher the score is where the first of two answers stands first."""
        label = None if vote.verdict is None else vote.verdict.label
        cells: dict[str, Any] = {"score": vote.score, "label": label, "error": vote.error, "raw": vote.raw}
        if vote.verdict is not None:
            cells |= vote.verdict.lists
        rubric = self.judge.rubric
        orders = [each.orders for each in vote.votes or [vote] if each.orders is not None]
        if rubric.swap is not None and isinstance(rubric.form, Label) and orders:
            choices, turned = rubric.form.choices, rubric.swap.swap_label
            raised = [choices[choice] - choices[turned(opposite)] for choice, opposite in orders]
            cells |= {"first": sum(raised) / len(raised), "consistent": vote.consistent}
        return cells


def _cut(vote: Vote, form: Form) -> Vote:
    """The vote with the score that a row shows: a score of criteria with penalties may lie out of its range."""
    if vote.verdict is None or vote.verdict.score is None or not isinstance(form, ItemForm):
        return vote
    return replace(vote, verdict=replace(vote.verdict, score=min(max(vote.verdict.score, 0.0), 1.0)))


def repeat(metric: Metric, repetitions: int, rewordings: Iterable[str]) -> Metric:
    """The judge as a metric that asks several times; any other metric as it is."""
    function = metric.definition.function
    if not isinstance(function, JudgeFunction):
        return metric
    repeated = RepeatedJudge(function, repetitions, reword(function.rubric, rewordings))
    remote = metric.definition.remote and replace(metric.definition.remote, fields=())
    definition = replace(metric.definition, function=repeated, finish=None, details=lambda _: DETAILS, remote=remote)
    return Metric(definition, metric.settings)


@dataclass(frozen=True)
class Votes:
    """The votes of one judge, shape (rows, asked) each: first its repetitions, then its rewordings.

    `scores` and `codes`, equal numbers for equal verdicts, are NaN where there is none. `asked`: the row was judged at
    all; `unreadable`: there was a reply, but no verdict could be read. `first`: how much higher the score is where the
    first of two answers stands first, NaN for judges of one answer; `consistent`: 1 where both orders agree. `errors`:
    how often a request failed, by reason. `criteria`: for each criterion with points how many verdicts of the
    repetitions `passed` and `failed` it, and of how many rows its verdicts `differ`; those that fail most come first.
    """

    scores: Array
    codes: Array
    asked: Array
    unreadable: Array
    first: Array
    consistent: Array
    errors: Mapping[str, int]
    criteria: Mapping[str, Mapping[str, int]]
    repetitions: int
    rewordings: tuple[str, ...]

    @property
    def prompts(self) -> tuple[str, ...]:
        """The name of the wording of each vote, `""` for the judge's own."""
        return ("",) * self.repetitions + self.rewordings

    @property
    def repeated(self) -> Array:
        """The scores of the repetitions, shape (rows, repetitions)."""
        return self.scores[:, : self.repetitions]

    @property
    def repeated_codes(self) -> Array:
        """The codes of the repetitions, shape (rows, repetitions)."""
        return self.codes[:, : self.repetitions]

    @classmethod
    def of(cls, column: pa.ChunkedArray, repeated: RepeatedJudge) -> Votes:
        """The votes in the column that the function returns."""
        width = repeated.repetitions + len(repeated.rewordings)
        rows: list[Sequence[dict[str, Any]]] = [row or [{}] * width for row in column.to_pylist()]

        def numbers(name: str) -> Array:
            cells = [[cell.get(name) for cell in row] for row in rows]
            return np.array(cells, dtype=np.float64).reshape(len(rows), width)

        scores = numbers("score")
        labels = [[cell.get("label") for cell in row] for row in rows]
        missing = [[cell.get("score") is None and cell.get("error") for cell in row] for row in rows]
        unreadable = [
            [bool(error) and cell["raw"] is not None for error, cell in zip(*row, strict=True)]
            for row in zip(missing, rows, strict=True)
        ]
        errors = Counter(
            error
            for row, lost in zip(missing, unreadable, strict=True)
            for error, read in zip(row, lost, strict=True)
            if error and not read
        )
        return cls(
            scores=scores,
            codes=verdict_codes(labels, scores),
            asked=np.array([[bool(cell) for cell in row] for row in rows], dtype=bool).reshape(scores.shape),
            unreadable=np.array(unreadable, dtype=bool).reshape(scores.shape),
            first=numbers("first"),
            consistent=numbers("consistent"),
            errors=dict(errors.most_common()),
            criteria=_count_criteria(row[: repeated.repetitions] for row in rows),
            repetitions=repeated.repetitions,
            rewordings=tuple(repeated.rewordings),
        )


def _count_criteria(rows: Iterable[Sequence[Mapping[str, Any]]]) -> dict[str, dict[str, int]]:
    """How often each criterion passed and failed in the votes of rows, and of how many rows its verdicts differ."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        of_row: dict[str, Counter[str]] = {}
        for vote in row:
            for verdict in ("passed", "failed"):
                for criterion in vote.get(verdict) or ():
                    of_row.setdefault(criterion, Counter())[verdict] += 1
        for criterion, verdicts in of_row.items():
            counts.setdefault(criterion, Counter()).update(verdicts, differ=int(len(verdicts) > 1))
    ordered = sorted(counts, key=lambda criterion: (-counts[criterion]["failed"], criterion))
    return {each: {name: counts[each][name] for name in ("passed", "failed", "differ")} for each in ordered}
