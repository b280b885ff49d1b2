"""How likely one of k answers, or each of k answers, to a question is right: pass@k and pass^k; and often enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

import numpy as np

from karat.core.columns.kinds import Array, Score
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.definition import Definition
from karat.core.metric.inner import Samples
from karat.core.metric.rows import Rows
from karat.core.metric.setting import OptionalCount, Range
from karat.metrics.repeats.answers import check_right, incomplete, score_answers

CHEN = "Chen et al. 2021, Evaluating Large Language Models Trained on Code, arXiv:2107.03374, section 2.1"
AnswerCount: TypeAlias = Annotated[int, Range(1, 1_000_000)]
YAO = "Yao et al. 2024, tau-bench, arXiv:2406.12045, section 3: pass^k"


@metric(source=CHEN, inner="exact_match", aliases=("pass_at_k",), specialise=check_right, details=incomplete)
def pass_at(samples: Samples, *, k: OptionalCount = None, at: float | None = None) -> Score:
    """The probability that one of k answers to a question is right: pass@k, `pass_at(exact_match)@4`.

    Of n answers c are right; the estimate is 1 - C(n-c, k) / C(n, k), which is unbiased. Without k it is the estimate
    of all n answers: whether one is right. Right is a score of 1; `at` is the least score that is right, for metrics
    with scores between 0 and 1. An answer that is null, or has no score, is left out, and the detail `incomplete` says
    so; a question with fewer than k answers is unscored.

    >>> pass_at([["Rome", "Paris", "Nice", "Lyon"], ["Bonn", None]], ["Paris", "Bonn"], k=2).to_pylist()
    [0.5, None]
    >>> pass_at.using(metric="column(passed)", k=1)([[True, False, True, True]]).to_pylist()
    [0.75]
    """
    return _pass(samples, k, at, every=False)


@metric(source=YAO, inner="exact_match", aliases=("pass_hat_k",), specialise=check_right, details=incomplete)
def pass_all(samples: Samples, *, k: OptionalCount = None, at: float | None = None) -> Score:
    """The probability that each of k answers to a question is right: pass^k, `pass_all(exact_match)@4`.

    Of n answers c are right; the estimate is C(c, k) / C(n, k), which is unbiased. All else is as in `pass_at`.

    >>> pass_all([["Rome", "Paris", "Paris"], ["Bonn", "Bonn", "Bonn"]], ["Paris", "Bonn"], k=2).to_pylist()
    [0.333..., 1.0]
    """
    return _pass(samples, k, at, every=True)


def _check_share(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    if settings["least"] > settings["of"]:
        raise SpecError(f"{definition.name}: {settings['least']} of {settings['of']} answers cannot be right")
    return check_right(definition, settings)


@metric(source=YAO, inner="exact_match", specialise=_check_share, details=incomplete)
def enough_right(samples: Samples, *, least: AnswerCount = 9, of: AnswerCount = 10, at: float | None = None) -> Score:
    """1 where a question is answered right often enough, by default 9 of 10 times, else 0.

    Of n answers c are right; that is enough where c / n is at least `least` / `of`. A question with fewer than `of`
    scored answers is unscored. All else is as in `pass_at`.

    >>> answers = [["Paris", "Paris", "Rome"], ["Bonn", "Bonn", "Bonn"], ["Bern", None, "Bern"]]
    >>> enough_right(answers, ["Paris", "Bonn", "Bern"], least=3, of=3).to_pylist()
    [0.0, 1.0, None]
    """
    answers = score_answers(samples, binary=at is None)
    return answers.look_up(answers.count_right(at), lambda n: np.arange(n + 1) * of >= least * n, of)


def _pass(samples: Samples, k: int | None, at: float | None, *, every: bool) -> Rows:
    answers = score_answers(samples, binary=at is None)

    def chances(n: int) -> Array:
        missed = chance_of_none(n, n if k is None else k)
        return missed[::-1] if every else 1 - missed

    return answers.look_up(answers.count_right(at), chances, k or 1)


def chance_of_none(n: int, k: int) -> Array:
    """C(n-c, k) / C(n, k) for c = 0 … n: the probability that k of n answers hold none of c; shape (n + 1,).

    >>> chance_of_none(4, 2).round(3).tolist()
    [1.0, 0.5, 0.167, 0.0, 0.0]
    """
    factors = 1 - k / np.arange(n, 0, -1.0)
    return np.concatenate([[1.0], np.cumprod(np.maximum(0.0, factors))])
