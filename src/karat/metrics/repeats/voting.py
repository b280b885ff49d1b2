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

from karat.core.columns.arrow import from_numpy
from karat.core.columns.kinds import TEXT, TEXTS, Array, Score
from karat.core.context import current_context
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.definition import Configured, Definition
from karat.core.metric.extract import extract_answers
from karat.core.metric.inner import Samples, find_inner
from karat.core.metric.rows import NOTHING
from karat.core.metric.score import score_rows
from karat.core.metric.setting import OptionalCount
from karat.core.progress import advance_by_parts
from karat.metrics.repeats.answers import Answers, check_right, find_failures, find_right, incomplete, score_answers
from karat.metrics.repeats.best import scale_of_inner

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
    answers = score_answers(samples, binary=at is None)
    if current_context().rehearses:  # all comparisons are counted, or collected, before an answer is judged
        answers = answers.pretend_scored(np.asarray(samples.columns["prediction"].flatten().is_valid()))
    first = _Groups(samples.metric, samples.columns, answers, at).find_first()
    sizes = np.bincount(first)
    groups = np.flatnonzero(sizes)  # each has the number of its first answer, so they stand in the order of questions
    sizes, scores = sizes[groups], np.bincount(first, answers.scores)[groups] / sizes[groups]
    counts = np.bincount(answers.parents[groups], minlength=len(answers.sizes))
    starts = np.cumsum(counts) - counts
    statistics = np.full((len(counts), 1), np.nan)
    whole = (counts > 0) & (answers.sizes == (k or answers.sizes))
    if whole.any():
        most = np.repeat(np.maximum.reduceat(sizes, starts[counts > 0]), counts[counts > 0])
        won = np.repeat(whole, counts) & (sizes == most)
        questions = answers.parents[groups[won]]
        total = np.bincount(questions, scores[won], len(counts))[whole]
        statistics[whole, 0] = total / np.bincount(questions, minlength=len(counts))[whole]
    for row in np.flatnonzero(answers.sizes > (k or np.inf)):
        part = slice(starts[row], starts[row] + counts[row])
        statistics[row] = chance_to_win(tuple(sizes[part].tolist()), k or 0) @ scores[part]
    return answers.explain(statistics, k or 1)


@dataclass(frozen=True)
class _Groups:
    """The groups of answers to a question that a metric says are equal."""

    metric: Configured
    columns: Mapping[str, pa.Array]
    answers: Answers
    at: float | None

    def find_first(self) -> Array:
        """For each scored answer the number of the first answer of its group."""
        texts, parents = self._texts(), self.answers.parents
        codes = np.asarray(texts.dictionary_encode().indices.fill_null(-1), dtype=np.int64)
        alone, numbers = codes < 0, np.arange(len(codes))
        codes[alone] = len(codes) + numbers[alone]
        same = np.asarray(from_numpy(parents * (2 * len(codes)) + codes).dictionary_encode().indices)
        first = np.empty(same.max(initial=-1) + 1, np.int64)
        first[same[::-1]] = numbers[::-1]  # the number of the first of equal texts comes last, and stays
        leaders = numbers
        left = first  # ascending, as `same` numbers texts by their first
        while len(left):  # the first answer left of each question is compared with the others left
            starts = np.flatnonzero(np.diff(parents[left], prepend=-1))
            leader = np.repeat(left[starts], np.diff(np.append(starts, len(left))))
            rest = leader != left
            left, leader = left[rest], leader[rest]
            equal = self._agree(texts, left, leader) if len(left) else np.zeros(0, bool)
            leaders[left[equal]] = leader[equal]
            left = left[~equal]
        found: Array = leaders[first[same]]
        return found

    def _texts(self) -> pa.Array:
        """The scored answers as the metric compares them: extracted, null where one holds no answer."""
        texts = self.columns["prediction"].flatten().filter(from_numpy(self.answers.scored))
        how = self.metric.settings.get("extract", "none")
        return texts if how == "none" else extract_answers(texts, how)

    def _agree(self, texts: pa.Array, left: Array, right: Array) -> Array:
        """Which pairs of answers to a question the metric says are equal."""
        questions = from_numpy(self.answers.parents[left])
        pairs = {"prediction": texts.take(from_numpy(left)), "reference": texts.take(from_numpy(right))}
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
