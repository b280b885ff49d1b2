"""The share that is right, from a judge's share and error rates: published figures, intervals that hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from karat.stats.agreement.accuracy import mean
from karat.stats.agreement.coefficient import correlate
from karat.stats.corrected.rogan_gladen import implied_range, rogan_gladen
from karat.stats.intervals.wilson import wilson_interval
from karat.stats.value import Estimate

NORMAL = 1.959963984540054


def of(hits, trials):
    return Estimate(hits / trials, *wilson_interval(hits / trials, trials, NORMAL), trials)


def sure(value):
    return Estimate(value, value, value, 1_000_000)


def lang_reiczigel(positive, tested, sensitivity, diseased, specificity, healthy):
    """The formulas of section 2.3 of the paper."""
    p = (positive + NORMAL**2 / 2) / (tested + NORMAL**2)
    se = (sensitivity * diseased + 1) / (diseased + 2)
    sp = (specificity * healthy + 1) / (healthy + 2)
    prevalence = (p + sp - 1) / (se + sp - 1)
    of_se, of_sp = se * (1 - se) / (diseased + 2), sp * (1 - sp) / (healthy + 2)
    shift = 2 * NORMAL**2 * (prevalence * of_se - (1 - prevalence) * of_sp)
    variance = p * (1 - p) / (tested + NORMAL**2) + prevalence**2 * of_se + (1 - prevalence) ** 2 * of_sp
    reach = NORMAL * math.sqrt(variance) / (se + sp - 1)
    return max(0.0, prevalence + shift - reach), min(1.0, prevalence + shift + reach)


def test_known_rates_give_the_published_prevalence():
    """The two examples of `epi.prev` of R's epiR, whose intervals (Blaker's, Clopper and Pearson's) are to two digits.

    With rates that are known, the interval is Wilson's, moved as the value is: method "wilson" of the same function.
    """
    cows = rogan_gladen(of(23, 150), sure(1 - 0.89), sure(0.96))
    assert [round(100 * each) for each in (cows.value, cows.low, cows.high)] == [5, 0, 13]
    children = rogan_gladen(of(6, 151), sure(1 - 0.927), sure(0.964))
    assert children.value == children.low == 0
    assert 100 * children.high == pytest.approx(1.3, abs=0.1)
    moved = [(end - 0.11) / (0.96 - 0.11) for end in wilson_interval(60 / 150, 150, NORMAL)]
    assert rogan_gladen(of(60, 150), sure(0.11), sure(0.96)).low == pytest.approx(moved[0], abs=1e-9)
    assert rogan_gladen(of(60, 150), sure(0.11), sure(0.96)).high == pytest.approx(moved[1], abs=1e-9)


def test_a_judge_that_never_errs_changes_nothing():
    found = rogan_gladen(of(140, 200), sure(0.0), sure(1.0))
    assert (found.value, found.low, found.high) == pytest.approx((0.7, *wilson_interval(0.7, 200, NORMAL)), abs=1e-9)


@pytest.mark.parametrize(
    "counts", [(120, 200, 40, 200, 180, 200), (240, 400, 60, 300, 285, 300), (50, 500, 6, 200, 190, 200)]
)
def test_the_interval_is_close_to_the_one_of_lang_and_reiczigel(counts):
    positive, tested, false, wrong, true, right = counts
    found = rogan_gladen(of(positive, tested), of(false, wrong), of(true, right))
    other = lang_reiczigel(positive, tested, true / right, right, 1 - false / wrong, wrong)
    assert (found.low, found.high) == pytest.approx(other, abs=0.01)


def test_a_judge_that_tells_nothing_gives_no_estimate():
    assert "may not tell them apart" in rogan_gladen(of(50, 100), of(45, 100), of(55, 100)).reason
    assert "on these are others" in rogan_gladen(of(2, 200), of(60, 200), of(190, 200)).reason
    assert rogan_gladen(Estimate.missing("no row"), of(1, 20), of(19, 20)).reason == "no row"
    assert rogan_gladen(of(50, 100), of(5, 100), Estimate(0.9, None, None, 1, "1 row")).value is None


def test_the_range_holds_the_interval_of_rates_alone():
    wrong, right = of(30, 150), of(135, 150)
    found = rogan_gladen(sure(0.6), wrong, right)
    low, high = implied_range(0.6, (wrong.low, wrong.high), (right.low, right.high))
    assert low < found.low < found.value < found.high < high
    assert implied_range(0.05, (0.1, 0.2), (0.8, 0.9)) == (0.0, 0.0)
    assert implied_range(0.5, (None, None), (0.8, 0.9)) == (0.0, 1.0)


@pytest.mark.parametrize("alike", [0.0, 0.8])
def test_intervals_hold_the_truth_with_and_without_correlated_rates(alike):
    """Each of 150 questions has a right and a wrong answer in the exam; a lenient question is lenient for both."""
    random = np.random.default_rng(3)
    truth, accepts = 0.6, np.array([[0.25], [0.85]])
    held, used = 0, 300
    for _ in range(used):
        shared, own = random.random(150), random.random((2, 150))
        wrong, right = (np.where(random.random(150) < alike, shared, own) < accepts).astype(float)
        p = of(int(random.binomial(300, truth * 0.85 + (1 - truth) * 0.25)), 300)
        rates = mean(wrong), mean(right)
        found = rogan_gladen(p, *(each.estimate() for each in rates), correlation=correlate(*rates))
        held += found.low <= truth <= found.high
    assert 0.915 <= held / used <= 0.98  # in 2,000: 94.2 and 94.4 %
