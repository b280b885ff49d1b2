"""Two one-sided tests within a margin."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from karat.core.errors import SpecError
from karat.stats.aggregate import Scale
from karat.stats.inference import Inference
from karat.stats.paired.compare import compare

ttost_paired = pytest.importorskip("statsmodels.stats.weightstats").ttost_paired
OPEN = Scale(bounds=(None, None))


def mirrored(random, rows, shift, spread):
    """Differences without skewness, so that Student's test is the one that decides."""
    half = random.normal(0, spread, rows // 2)
    return shift + np.concatenate([half, -half])


@pytest.mark.parametrize("shift", [-0.02, 0.0, 0.015])
@pytest.mark.parametrize("rows", [30, 400])
def test_p_is_that_of_two_one_sided_paired_t_tests(rows, shift):
    random = np.random.default_rng(rows)
    a, b = np.zeros(rows), mirrored(random, rows, shift, 0.1)
    test = compare(a[:, None], b[:, None], OPEN, margin=0.04).margin
    expected, (_, lower, _), (_, upper, _) = ttost_paired(b, a, -0.04, 0.04)
    assert test.p_no_worse == pytest.approx(lower, abs=2e-5)
    assert test.p_equivalent == pytest.approx(expected, abs=2e-5) == pytest.approx(max(lower, upper), abs=2e-5)
    fewer = compare(a[:, None], b[:, None], Scale(bounds=(None, None), direction="minimize"), margin=0.04).margin
    assert fewer.p_no_worse == pytest.approx(upper, abs=2e-5)
    assert fewer.p_equivalent == test.p_equivalent


def test_right_and_wrong_answers_agree_with_tangos_published_example():
    """Tango (1998): 44 pairs, 43 of which have both right, 1 only the first; within 0.1 Z is 1.709."""
    a, b = np.ones((44, 1)), np.ones((44, 1))
    b[0] = 0
    test = compare(a, b, Scale(), margin=0.1).margin
    assert norm.isf(test.p_no_worse) == pytest.approx(1.709, abs=5e-4)
    assert test.low == pytest.approx(-0.096, abs=5e-4)
    assert test.verdict == "equivalent"


def systems(random, rows):
    right = (random.random((2, rows, 1)) < 0.7).astype(float)
    right[1] = np.where(random.random((rows, 1)) < 0.9, right[0], right[1])
    yield right, Scale()
    graded = np.clip(random.beta(0.4, 0.3, (2, rows, 1)), 0, 1).round(1)
    yield np.stack([graded[0], np.where(random.random((rows, 1)) < 0.8, graded[0], graded[1])]), Scale()
    yield random.exponential(1, (2, rows, 1)), Scale(bounds=(0.0, None), direction="minimize")
    counts = random.integers(1, 9, (2, rows, 2)).astype(float).cumsum(axis=2)
    yield counts, Scale(lambda sums: sums[..., 0] / sums[..., 1])


@pytest.mark.parametrize("rows", [12, 80])
def test_a_margin_is_shown_exactly_where_the_interval_is_inside(rows):
    random, shown = np.random.default_rng(rows), set()
    for _ in range(3):
        for (a, b), scale in systems(random, rows):
            margin = float(random.choice([0.02, 0.1, 0.2]))
            test = compare(a, b, scale, margin=margin).margin
            wide = compare(a, b, scale, inference=Inference(0.9))
            assert (test.low, test.high) == (wide.low, wide.high)
            bad = test.low > -margin if scale.direction == "maximize" else test.high < margin
            assert (test.p_no_worse <= 0.05) == bad
            assert (test.p_equivalent <= 0.05) == (test.low > -margin and test.high < margin)
            assert test.p_equivalent >= test.p_no_worse
            swapped = compare(b, a, scale, margin=margin).margin
            assert swapped.p_equivalent == pytest.approx(test.p_equivalent, abs=1e-4)
            shown.add(test.verdict)
    assert shown == {"unclear", "no worse", "equivalent"} or rows < 80


def test_rows_without_a_score_could_turn_it():
    a, b = np.ones((400, 1)), np.ones((400, 1))
    found = compare(a, b, Scale(), margin=0.02)
    assert (found.verdict(), found.could_turn()) == ("equivalent", False)
    b[:30] = np.nan
    found = compare(a, b, Scale(), margin=0.02)
    assert (found.verdict(), found.margin.turns, found.could_turn()) == ("equivalent", True, True)


@pytest.mark.parametrize("margin", [0, -0.1, float("nan"), float("inf"), 1, True, "0.1"])
def test_what_is_no_margin(margin):
    with pytest.raises(SpecError, match="margin"):
        compare(np.ones((9, 1)), np.ones((9, 1)), Scale(), margin=margin)
    with pytest.raises(SpecError, match="confidence above"):
        compare(np.ones((9, 1)), np.ones((9, 1)), Scale(), margin=0.1, inference=Inference(0.4))
