"""The best, the worst and the mean score of several answers to a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array, Score
from karat.core.metric.decorator import metric
from karat.core.metric.definition import Definition
from karat.core.metric.inner import Samples, find_inner
from karat.core.metric.rows import Rows
from karat.core.metric.setting import OptionalCount
from karat.metrics.repeats.answers import incomplete, score_answers

SOURCE = "the mean over all sets of k answers; David and Nagaraja, Order Statistics, 2003, section 2.1"


def scale_of_inner(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    """The definition with the range and the direction of the inner metric's scores."""
    inner = find_inner(settings["metric"]).definition
    return replace(definition, low=inner.low, high=inner.high, direction=inner.direction)


@metric(source=SOURCE, inner="token_f1", specialise=scale_of_inner, details=incomplete)
def best_of(samples: Samples, *, k: OptionalCount = None) -> Score:
    """The expected best score of k answers to a question, over all sets of k of them: `best_of(token_f1)@4`.

    Without k it is the best of all. Best is the lowest where less is better. Answers without a score and questions with
    fewer than k answers are as in `pass_at`.

    >>> best_of([["x y", "x", "z"]], ["x y"], k=2).to_pylist()
    [0.888...]
    """
    return _of(samples, k, best=True)


@metric(source=SOURCE, inner="token_f1", specialise=scale_of_inner, details=incomplete)
def worst_of(samples: Samples, *, k: OptionalCount = None) -> Score:
    """The expected worst score of k answers to a question, over all sets of k of them: `worst_of(token_f1)@4`.

    All else is as in `best_of`.

    >>> worst_of([["x y", "x", "z"]], ["x y"]).to_pylist()
    [0.0]
    """
    return _of(samples, k, best=False)


@metric(source="the mean over the answers", inner="token_f1", specialise=scale_of_inner, details=incomplete)
def mean_of(samples: Samples) -> Score:
    """The mean score of the answers to a question: each question counts once, however many answers it has.

    Answers without a score are as in `pass_at`.

    >>> mean_of([["x y", "z"], ["x"]], ["x y", "x"]).to_pylist()
    [0.5, 1.0]
    """
    return score_answers(samples).combine(lambda scores: np.asarray(scores.mean(axis=1)))


def _of(samples: Samples, k: int | None, *, best: bool) -> Rows:
    descending = best == (samples.metric.definition.direction == "minimize")

    def formula(scores: Array) -> Array:
        n = scores.shape[1]
        ordered = np.sort(scores, axis=1)
        # Not a product of matrices: BLAS would start threads of its own in each of karat's.
        values: Array = np.einsum("ij,j->i", ordered[:, ::-1] if descending else ordered, chance_of_last(n, k or n))
        return values

    return score_answers(samples).combine(formula, k or 1)


def chance_of_last(n: int, k: int) -> Array:
    """C(i-1, k-1) / C(n, k) for i = 1 … n: the probability that i is the greatest of k of the numbers 1 … n.

    >>> chance_of_last(4, 2).round(3).tolist()
    [0.0, 0.167, 0.333, 0.5]
    """
    places = np.arange(n - 1, 0, -1.0)
    return (k / n * np.cumprod(np.concatenate([[1.0], np.maximum(0.0, places - k + 1) / places])))[::-1]
