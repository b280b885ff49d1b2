"""Designs: what halves a standard error, and the narrowest interval that a budget pays for, by trying all designs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from karat.core.columns.variance import variance_statistics
from karat.core.errors import DataError, SpecError
from karat.stats.reliability.components import Components
from karat.stats.reliability.design import best_design, plan_answers
from karat.stats.reliability.instrument import half_width


def test_what_halves_the_standard_error():
    """The variances 0.01 and 0.25: the error of forty questions with four answers, and with what should halve it."""
    random = np.random.default_rng(0)

    def scores(questions, answers):
        return random.normal(random.normal(0, 0.1, (questions, 1)), 0.5, (questions, answers))

    def error(questions, answers):
        return np.std([scores(questions, answers).mean() for _ in range(4_000)])

    plan = plan_answers(variance_statistics(scores(40_000, 4)).sum(axis=0))
    assert (plan.between, plan.within) == pytest.approx((0.01, 0.25), rel=0.05)
    assert plan.error * np.sqrt(1_000) == pytest.approx(error(40, 4), rel=0.05)
    assert error(160, 4) == pytest.approx(error(40, 4) / 2, rel=0.05)
    assert error(40, plan.answers_needed) == pytest.approx(error(40, 4) / 2, rel=0.1)
    assert plan_answers(variance_statistics(np.array([[0.0, 0], [1, 1]])).sum(axis=0)).answers_needed is None


def test_variances_that_are_not_known():
    for numbers in ([[1.0, 0.0]], [[1.0], [0.0]]):
        with pytest.raises(DataError, match="two questions"):
            plan_answers(variance_statistics(np.array(numbers)).sum(axis=0))


FOUND = Components(
    150,
    {"prompt": 3, "judge": 2},
    (3, 3, 1, 1, 1, 1),
    {
        "row": 0.12, "prompt": 0.0002, "judge": 0.0004, "prompt × judge": 0.0001, "row × prompt": 0.02,
        "row × judge": 0.01, "row × prompt × judge": 0.01, "repeat": 0.05,
    },
)  # fmt: skip


def cost_of(more, prompts, judges, repeats, question, prices):
    asked = np.array(FOUND.asked).reshape(3, 2)
    new = more * (question + prompts * repeats * sum(prices[each] for each in judges))
    return new + sum(
        150 * prices[judge] * max(0, repeats - asked[prompt, judge]) for prompt in range(prompts) for judge in judges
    )


@pytest.mark.parametrize(
    ("budget", "question", "prices"), [(5, 0.1, [0.002, 0.01]), (30, 0.0, [0.02, 0.01]), (30, 1, [0.01] * 2)]
)
def test_no_design_for_the_money_has_a_narrower_interval(budget, question, prices):
    found = best_design(FOUND, budget, question=question, calls=dict(enumerate(prices)))
    assert found.cost == pytest.approx(
        cost_of(found.questions, found.prompts, found.asked_by, found.repeats, question, prices)
    )
    assert found.cost <= budget + 1e-9
    for prompts, repeats, judges in itertools.product((1, 2, 3), range(1, 21), ((0,), (1,), (0, 1))):
        most = 0
        while cost_of(most + 1, prompts, judges, repeats, question, prices) <= budget and most < 5_000:
            most += 1
        if cost_of(most, prompts, judges, repeats, question, prices) <= budget:
            parts = FOUND.parts(150 + most, {"prompt": prompts, "judge": len(judges)}, repeats)
            assert found.half_width <= half_width(FOUND, parts, 0.95) + 1e-12


def test_more_money_never_makes_it_wider():
    widths = [
        best_design(FOUND, budget, question=0.2, calls={"a": 0.01, "b": 0.02}).half_width for budget in (10, 20, 40, 80)
    ]
    assert widths == sorted(widths, reverse=True)


def test_what_no_budget_buys():
    with pytest.raises(DataError, match=r"one more question costs 5\.01"):
        best_design(FOUND, 0.05, question=5, calls={"a": 0.01, "b": 0.02})
    with pytest.raises(SpecError, match="each of 2 judges"):
        best_design(FOUND, 5, question=5, calls={"a": 0.01})


def test_the_error_of_a_design_is_the_error_of_its_means():
    """Means of designs drawn from these components vary as the parts say."""
    random = np.random.default_rng(0)
    shapes = {
        "row": (60, 1, 1, 1), "prompt": (1, 2, 1, 1), "judge": (1, 1, 2, 1), "prompt × judge": (1, 2, 2, 1),
        "row × prompt": (60, 2, 1, 1), "row × judge": (60, 1, 2, 1), "row × prompt × judge": (60, 2, 2, 1),
        "repeat": (60, 2, 2, 3),
    }  # fmt: skip
    means = [
        sum(random.normal(0, math.sqrt(FOUND.variances[name]), shape).mean() for name, shape in shapes.items())
        for _ in range(4_000)
    ]
    parts = FOUND.parts(60, {"prompt": 2, "judge": 2}, 3)
    assert np.std(means) == pytest.approx(math.sqrt(sum(parts.values())), rel=0.04)
