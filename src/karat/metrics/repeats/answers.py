"""The scores of several answers to each question, and what follows from them, question by question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import from_numpy
from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.core.metric.definition import Configured, Definition
from karat.core.metric.inner import find_inner
from karat.core.metric.rows import NOTHING, Rows
from karat.core.metric.score import Inner, find_samples
from karat.metrics.repeats.counting import Groups, count_ones
from karat.metrics.repeats.verdicts import join_verdicts, verdict_types


def incomplete(settings: Mapping[str, Any]) -> dict[str, pa.DataType]:
    """The columns beside the score: whether an answer to the question is unscored, and what a judge says of each."""
    inner = find_inner(settings["metric"])
    return {"incomplete": pa.bool_(), **({} if inner.judge is None else verdict_types(inner))}


@dataclass(frozen=True)
class QuestionAnswers:
    """The answers to each question, of which those without a score are left out.

    `scores`, shape (scored,), has the scores of all scored answers, one question after the other; `scored`, shape
    (answers,), says which these are. `sizes` and `given`, shape (questions,), count the scored answers and all;
    `reasons` says why the first unscored one is. `column` holds the answers. `broken`, shape (questions,): a judge gave
    no verdict on an answer, so none of the question counts. `details` are what it says.
    """

    metric: Configured
    column: str
    scores: Array
    scored: Array
    sizes: Array
    given: Array
    reasons: Array
    broken: Array
    details: Mapping[str, pa.Array] = field(default_factory=dict)

    @property
    def parents(self) -> Array:
        """The question of each scored answer."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def combine(self, formula: Callable[[Array], Array], least: int = 1) -> Rows:
        """The statistics of each question by a formula: from scores of shape (questions, n) to (questions, …).

        It is called once for each number of answers n. Questions with fewer than `least` answers are unscored.
        """
        starts = np.cumsum(self.sizes) - self.sizes
        parts = []
        for n, questions in self._by_size(least):
            even = isinstance(questions, slice)
            taken = self.scores.reshape(-1, n) if even else self.scores[starts[questions][:, None] + np.arange(n)]
            parts.append((questions, formula(taken)))
        width = next((values.shape[1] for _, values in parts if values.ndim == 2), 1)
        statistics = np.full((len(self.sizes), width), np.nan)
        for questions, values in parts:
            statistics[questions] = values.reshape(-1, width)
        return self.explain(statistics, least)

    def look_up(self, counts: Array, table: Callable[[int], Array], least: int) -> Rows:
        """The score of each question from a table for each number of answers n: `table(n)[count]`."""
        statistics = np.full((len(counts), 1), np.nan)
        for n, questions in self._by_size(least):
            statistics[questions, 0] = table(n)[counts[questions]]
        return self.explain(statistics, least)

    def _by_size(self, least: int) -> Iterator[tuple[int, Any]]:
        """Each number of scored answers from `least` on that questions have, and these questions: an index of rows."""
        if len(self.sizes) and (self.sizes == self.sizes[0]).all():
            different: dict[Any, Any] = {self.sizes[0]: slice(None)}
        else:
            order = np.argsort(self.sizes, kind="stable")
            sizes, starts = np.unique(self.sizes[order], return_index=True)
            different = dict(zip(sizes, np.split(order, starts[1:]), strict=True))
        return ((int(n), questions) for n, questions in different.items() if n >= least)

    def count_right(self, at: float | None) -> Array:
        """How many answers to each question are right (`find_right`), shape (questions,)."""
        plain = at is None and self.metric.definition.direction == "maximize"
        counts = count_ones(self.scores, self.sizes) if plain else None
        if counts is None:
            counts = count_ones(find_right(self.scores, self.metric, at).astype(float), self.sizes)
        return np.asarray(counts)

    def explain(self, statistics: Array, least: int) -> Rows:
        """The statistics of questions, with the reason for each that has fewer than `least` answers."""
        few = (self.sizes < least) | self.broken
        statistics[few] = np.nan
        reasons = np.where(self.broken, self.reasons, NOTHING)
        for row in np.flatnonzero(few & ~self.broken):
            needed = f"{least} scored answer{'s are' if least > 1 else ' is'} needed"
            why = f": {self.reasons[row]}" if self.reasons[row] else ""
            problem = f"{needed}, found {self.sizes[row]} of {self.given[row]}{why}"
            reasons[row] = problem if self.given[row] else f"{self.column} is an empty list"
        details = {"incomplete": from_numpy(self.sizes < self.given, ~few), **self.details}
        return Rows(statistics, reasons if few.any() else None, details)

    def name(self, *answers: int) -> str:
        """One or two of all answers, to one question, in messages."""
        ends = np.cumsum(self.given)
        question = int(np.searchsorted(ends, answers[0], side="right"))
        numbers = sorted(at - int(ends[question] - self.given[question]) + 1 for at in answers)
        return f"answer{'s' * (len(answers) > 1)} {' and '.join(map(str, numbers))} of {self.given[question]}"

    def break_questions(self, reasons: Array, *answers: Array) -> None:
        """Leave the questions unscored of which a judge gave no verdict on an answer, or on two, for these reasons."""
        for at, reason in zip(zip(*answers, strict=True), reasons, strict=True):
            question = int(np.searchsorted(np.cumsum(self.given), at[0], side="right"))
            if not self.broken[question]:
                self.broken[question] = True
                self.reasons[question] = type(reason)(f"{self.name(*at)}: {reason}")

    def pretend_scored(self, scored: Array) -> QuestionAnswers:
        """As if these answers, and no others, had scores."""
        parents = np.repeat(np.arange(len(self.given)), self.given)
        sizes = np.bincount(parents[scored], minlength=len(self.given))
        return replace(self, scores=np.zeros(len(parents))[scored], scored=scored, sizes=sizes)


def score_answers(samples: Inner, *, binary: bool = False, same: Groups | None = None) -> QuestionAnswers:
    """Score every answer by the inner metric; of those that are the `same`, one.

    With `binary`, a score of a judge that is neither 0 nor 1, such as a tie of its models, is not a verdict.
    """
    metric = samples.metric
    rows, counts = _score(samples, same)
    scores = rows.scores(metric)
    reasons = np.full(len(counts), None, dtype=object)
    broken = np.zeros(len(counts), dtype=bool)
    column = find_samples(metric.definition)
    if rows.reasons is None and metric.finish is None and metric.judge is None:
        return QuestionAnswers(metric, column, scores, np.ones(len(scores), bool), counts, counts, reasons, broken)
    scored = ~np.isnan(scores)
    details = {} if metric.judge is None else join_verdicts(metric, rows, counts)
    why = find_failures(rows, metric, binary=binary)
    failed = np.not_equal(why, NOTHING)
    questions = QuestionAnswers(metric, column, scores, scored, counts, counts, reasons, broken, details)
    if scored.all() and not failed.any():
        return questions
    parents = np.repeat(np.arange(len(counts)), counts)
    if rows.reasons is not None:
        known = np.not_equal(rows.reasons, NOTHING)
        reasons[parents[known][::-1]] = rows.reasons[known][::-1]  # the first one comes last, and stays
    questions.break_questions(why[failed], np.flatnonzero(failed))
    scored &= ~broken[parents]
    sizes = np.bincount(parents[scored], minlength=len(counts))
    return replace(questions, scores=scores[scored], scored=scored, sizes=sizes)


def _score(samples: Inner, same: Groups | None) -> tuple[Rows, Array]:
    """The statistics of each answer, and the number of answers to each question."""
    if same is None:
        return samples.score_samples()
    column = find_samples(samples.metric.definition)
    lists = samples.columns[column]
    ends = np.concatenate([[0], np.cumsum(same.counts)])
    different = pa.LargeListArray.from_arrays(ends, lists.flatten().take(from_numpy(same.rows)))
    rows, _ = Inner(samples.metric, {**samples.columns, column: different}).score_samples()
    reasons = None if rows.reasons is None else rows.reasons[same.numbers]
    return Rows(rows.statistics[same.numbers], reasons), np.asarray(pc.list_value_length(lists), np.int64)


def find_failures(rows: Rows, metric: Configured, *, binary: bool) -> Array:
    """Why a judge gave no verdict, None where it did; with `binary` other scores than 0 and 1 are none."""
    reasons = np.full(len(rows.statistics), None, dtype=object)
    if metric.judge is None or not rows.details:
        return reasons
    failed = ~rows.scored & np.asarray(rows.details["error"].is_valid())
    if rows.reasons is not None:
        reasons[failed] = rows.reasons[failed]
    if binary:
        scores = rows.scores(metric)
        for at in np.flatnonzero(rows.scored & (scores != 0) & (scores != 1)):
            reasons[at] = f"a score of {scores[at]:g} is neither right (1) nor wrong (0): set at="
    return reasons


def check_right(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    """The same definition; `SpecError`, before it is asked, for a judge with scores between 0 and 1 and no `at`."""
    inner = definition.inner
    remote = inner and inner.definition.remote
    if settings["at"] is None and remote and remote.judge and not remote.binary:
        problem = f"{definition.name}: {inner} has scores that are neither right (1) nor wrong (0)"
        raise SpecError(f"{problem}: say from which score on an answer counts as right, such as at=0.5")
    return definition


def find_right(scores: Array, metric: Configured, at: float | None) -> Array:
    """Which scores count as right: those at least as good as `at`; without it the better one of 0 and 1.

    Raises `SpecError`, without `at`, for a score that is neither 0 nor 1.
    """
    low_is_better = metric.definition.direction == "minimize"
    if at is None:
        other = scores[(scores != 0) & (scores != 1)]
        if len(other):
            problem = f"{metric.name} gives a score of {other[0]:g}, which is neither right (1) nor wrong (0)"
            raise SpecError(f"{problem}: say from which score on an answer counts as right, such as at={other[0]:g}")
        at = 0.0 if low_is_better else 1.0
    right: Array = scores <= at if low_is_better else scores >= at
    return right
