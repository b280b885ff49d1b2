"""The score of the answer that most of k answers to a question agree on: maj@k, self-consistency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import lgamma
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import from_numpy
from karat.core.columns.kinds import TEXT, TEXTS, Array, Score
from karat.core.context import current_context
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.definition import Configured, Definition
from karat.core.metric.extract import final_answers
from karat.core.metric.inner import Samples, find_inner
from karat.core.metric.rows import NOTHING
from karat.core.metric.score import Inner, score_rows
from karat.core.metric.setting import OptionalCount
from karat.core.progress import advance_by_parts
from karat.metrics.repeats.answers import (
    QuestionAnswers,
    check_right,
    find_failures,
    find_right,
    incomplete,
    score_answers,
)
from karat.metrics.repeats.best import scale_of_inner
from karat.metrics.repeats.counting import Groups, group_texts, vote

WANG = "Wang et al. 2022, Self-Consistency Improves Chain of Thought Reasoning, arXiv:2203.11171; maj@k: 2206.14858"


def _check_equality(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    inner = find_inner(settings["metric"])
    columns, one = inner.definition.columns, (TEXT, TEXTS) if inner.definition.judge else (TEXT,)
    if columns.get("prediction") is not TEXT or columns.get("reference") not in one:
        needed = "a metric that compares a prediction with a reference is needed, such as exact_match or math_match"
        raise SpecError(f"majority: {inner} does not say which answers are equal; {needed}")
    return check_right(scale_of_inner(definition, settings), settings)


@metric(
    source=WANG,
    inner="exact_match",
    aliases=("maj", "self_consistency"),
    specialise=_check_equality,
    details=incomplete,
)
def majority(samples: Samples, *, k: OptionalCount = None, at: float | None = None) -> Score:
    """The score of the answer that most of k answers to a question agree on: maj@k, `majority(math_match)@8`.

    Two answers agree if the metric scores one as right against the other: 1, or `at` and more; texts that are the same
    agree. An answer is compared with the first of each group of answers that agree. Where several groups are the
    largest, each is chosen equally often; with k below the number of answers, all sets of k count: the score is the
    expected one, and no matter of order or luck. Its answer's score is the mean of its group. `extract` of the metric
    applies to each answer; one without an answer agrees with no other. A judge is asked about pairs of answers that are
    not the same text, beside the calls for the answers. Answers without a score and questions with fewer than k answers
    are as in `pass_at`.

    >>> majority([["4", "5", "4"], ["4", "5"]], ["4", "4"]).to_pylist()
    [1.0, 0.5]
    >>> majority([["4", "5", "4"]], ["4"], k=1).to_pylist()
    [0.666...]
    """
    texts = _extract(samples)
    same = group_texts(texts, np.asarray(pc.list_value_length(samples.columns["prediction"]), np.int64))
    answers = score_answers(samples, binary=at is None, same=same if samples.metric.judge is None else None)
    if current_context().rehearses:  # all comparisons are counted, or written, before an answer is judged
        answers = answers.pretend_scored(np.asarray(samples.columns["prediction"].flatten().is_valid()))
    votes = _EqualAnswers.of(samples, answers, at, texts, same)
    totals, weights = np.bincount(votes.same.numbers, answers.scores, len(votes.same.rows)), votes.same.weights
    if (groups := votes.find_groups()) is not None:  # which stand at the first text of each; elsewhere the weight is 0
        totals = np.bincount(groups, totals, len(groups))
        weights = np.bincount(groups, weights, len(groups)).astype(np.int64)
    scores = totals / np.maximum(weights, 1)
    statistics, ends = vote(weights, scores, votes.same.counts), np.cumsum(votes.same.counts)
    for row in np.flatnonzero(answers.sizes > (k or np.inf)):
        part = slice(ends[row] - votes.same.counts[row], ends[row])
        drawn = weights[part] > 0
        statistics[row] = chance_to_win(tuple(weights[part][drawn].tolist()), k or 0) @ scores[part][drawn]
    return answers.explain(statistics[:, None], k or 1)


def _extract(samples: Inner) -> pa.Array:
    """All answers as the metric compares them: extracted, null where one holds no answer."""
    texts, how = samples.columns["prediction"].flatten(), samples.metric.settings.get("extract", "none")
    if how == "none":
        return texts
    references, parents = samples.columns.get("reference"), pc.list_parent_indices(samples.columns["prediction"])
    return final_answers(texts, None if references is None else references.take(parents), how)


@dataclass(frozen=True)
class _EqualAnswers:
    """The scored answers, and which of them a metric says are equal: `same` are those with the same text."""

    metric: Configured
    columns: Mapping[str, pa.Array]
    answers: QuestionAnswers
    at: float | None
    texts: pa.Array
    same: Groups

    @classmethod
    def of(
        cls, samples: Inner, answers: QuestionAnswers, at: float | None, texts: pa.Array, same: Groups
    ) -> _EqualAnswers:
        """From all answers, their texts, and which are the same."""
        if not answers.scored.all():
            texts = texts.filter(from_numpy(answers.scored))
            same = group_texts(texts, answers.sizes)
        return cls(samples.metric, samples.columns, answers, at, texts, same)

    def find_groups(self) -> Array | None:
        """For each different text the number of the first one that is equal; None where no two are."""
        same, key = self.same, self.metric.definition.key
        if key is not None and (self.at is None or 0 < self.at <= 1):
            different = self.texts.take(from_numpy(same.rows))
            keys = key(different, self.metric.settings)
            equal = None if keys is different else group_texts(keys, same.counts)
            return None if equal is None else equal.rows[equal.numbers]
        parents = self.answers.parents
        leaders = np.arange(len(parents))
        left = same.rows
        while len(left):  # the first answer left of each question is compared with the others left
            starts = np.flatnonzero(np.diff(parents[left], prepend=-1))
            leader = np.repeat(left[starts], np.diff(np.append(starts, len(left))))
            rest = leader != left
            left, leader = left[rest], leader[rest]
            agree = self._agree(left, leader) if len(left) else np.zeros(0, bool)
            leaders[left[agree]] = leader[agree]
            left = left[~agree]
        groups: Array = same.numbers[leaders[same.rows]]
        return groups

    def _agree(self, left: Array, right: Array) -> Array:
        """Which pairs of answers to a question the metric says are equal."""
        questions = from_numpy(self.answers.parents[left])
        pairs = {"prediction": self.texts.take(from_numpy(left)), "reference": self.texts.take(from_numpy(right))}
        if self.metric.definition.columns["reference"] is TEXTS:
            pairs["reference"] = pa.ListArray.from_arrays(
                pa.array(range(len(left) + 1), pa.int32()), pairs["reference"]
            )
        columns = {role: pairs[role] if role in pairs else each.take(questions) for role, each in self.columns.items()}
        settings = {**self.metric.settings} | ({"extract": "none"} if "extract" in self.metric.settings else {})
        compared = replace(self.metric, settings=settings)
        with advance_by_parts(0, len(left)):
            rows = score_rows(compared, columns)
        scores = rows.scores(compared)
        scored = ~np.isnan(scores)
        if self.metric.judge is not None:
            why = find_failures(rows, self.metric, binary=self.at is None)
            failed, numbers = np.not_equal(why, NOTHING), np.flatnonzero(self.answers.scored)
            self.answers.break_questions(why[failed], numbers[left[failed]], numbers[right[failed]])
            scored &= ~failed
        scored[scored] = find_right(scores[scored], self.metric, self.at)
        return scored


@lru_cache(maxsize=1 << 16)
def chance_to_win(sizes: tuple[int, ...], k: int) -> Array:
    """The chance of each group, by the sizes of the groups, to be the largest among k of their answers, but not all.

    Of t groups that are the largest each wins with 1 / t.

    >>> chance_to_win((2, 1), 2).round(3).tolist()
    [0.667, 0.333]
    """
    each = {size: _win(size, tuple((Counter(sizes) - Counter([size])).elements()), k) for size in set(sizes)}
    return np.array([each[size] for size in sizes])


def _win(own: int, others: tuple[int, ...], k: int) -> float:
    """The chance of a group of `own` answers to be the largest, beside others of these sizes.

    Each answer is drawn with the chance k / n by itself, given that k are drawn: the numbers drawn of each group are
    then independent. `ways[t, d]` is the chance that the other groups have d answers drawn, and t of them as many as
    this one.
    """
    share = k / (own + sum(others))
    won = 0.0
    for drawn in range(1, min(own, k) + 1):
        most = min(len(others), k // drawn)
        ways = np.zeros((most + 1, k - drawn + 1))
        ways[0, 0] = 1.0
        for size in others:
            chances = _binomial(size, share)
            after = np.zeros_like(ways)
            for j in range(min(size, drawn - 1, k - drawn) + 1):
                after[:, j:] += chances[j] * ways[:, : ways.shape[1] - j]
            if drawn <= min(size, k - drawn):
                after[1:, drawn:] += chances[drawn] * ways[:-1, : ways.shape[1] - drawn]
            ways = after
        won += _binomial(own, share)[drawn] * float((ways[:, -1] / np.arange(1, most + 2)).sum())
    return won / float(_binomial(own + sum(others), share)[k])


@lru_cache(maxsize=1 << 12)
def _binomial(n: int, share: float) -> Array:
    """The chance of 0 … n hits in n draws, each of which hits with the chance `share`, between 0 and 1."""
    hits = np.arange(n + 1)
    ways = [lgamma(n + 1) - lgamma(hit + 1) - lgamma(n - hit + 1) for hit in hits.tolist()]
    return np.asarray(np.exp(ways + hits * np.log(share) + (n - hits) * np.log1p(-share)))
