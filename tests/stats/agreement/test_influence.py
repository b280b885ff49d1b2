"""What each row moves: equal to the slope by its weight; clusters, weights and differences follow from it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from karat.stats.agreement.accuracy import accuracy, mean
from karat.stats.agreement.alpha import krippendorff_alpha
from karat.stats.agreement.auroc import auroc
from karat.stats.agreement.coefficient import difference
from karat.stats.agreement.correlation import correlation
from karat.stats.agreement.gwet import gwet_ac
from karat.stats.agreement.kappa import cohen_kappa
from karat.stats.intervals.wilson import effective_interval

ROWS = 400
STEP = 1e-5
random = np.random.default_rng(5)
GRADES = np.clip(np.round(random.normal(3, 1, (ROWS, 1)) + random.normal(0, 0.7, (ROWS, 3))), 1, 5)
GRADES[random.random((ROWS, 3)) < 0.15] = np.nan
FIRST, SECOND, _ = GRADES.T
YES = (np.nan_to_num(SECOND, nan=1.0) > 3) * 1.0

COEFFICIENTS = {
    "accuracy": lambda weights: accuracy(FIRST, SECOND, weights=weights),
    "kappa": lambda weights: cohen_kappa(FIRST, SECOND, weights=weights),
    "linear kappa": lambda weights: cohen_kappa(FIRST, SECOND, level="linear", weights=weights),
    "alpha": lambda weights: krippendorff_alpha(GRADES, weights=weights),
    "interval alpha": lambda weights: krippendorff_alpha(GRADES, level="quadratic", weights=weights),
    "AC1": lambda weights: gwet_ac(GRADES, weights=weights),
    "AC2": lambda weights: gwet_ac(GRADES, level="quadratic", weights=weights),
    "Pearson": lambda weights: correlation(FIRST, SECOND, "pearson", weights=weights),
    "Spearman": lambda weights: correlation(FIRST, SECOND, "spearman", weights=weights),
    "Kendall": lambda weights: correlation(FIRST, SECOND, "kendall", weights=weights),
    "AUROC": lambda weights: auroc(FIRST, YES, weights=weights),
}

AGREEMENTS = {
    "accuracy": lambda grades: accuracy(*grades.T),
    "kappa": lambda grades: cohen_kappa(*grades.T),
    "linear kappa": lambda grades: cohen_kappa(*grades.T, level="linear"),
    "quadratic kappa": lambda grades: cohen_kappa(*grades.T, level="quadratic"),
    "alpha": krippendorff_alpha,
    "ordinal alpha": lambda grades: krippendorff_alpha(grades, level="ordinal"),
    "AC1": gwet_ac,
    "linear AC2": lambda grades: gwet_ac(grades, level="linear"),
    "Kendall": lambda grades: correlation(*grades.T, "kendall"),
}


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_influence_is_the_slope_by_the_weight_of_a_row(name):
    coefficient, weights = COEFFICIENTS[name], random.uniform(0.5, 2, ROWS)
    found = coefficient(weights).influence
    assert found.sum() == pytest.approx(0, abs=1e-9)
    for row in range(0, ROWS, 40):
        values = []
        for sign in (1, -1):
            moved = weights.copy()
            moved[row] *= 1 + sign * STEP
            values.append(coefficient(moved).value)
        slope = (values[0] - values[1]) / (2 * STEP)
        assert found[row] == pytest.approx(slope, rel=0.01, abs=1e-5)  # alpha and AUROC correct for the sample's size


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_equal_weights_are_no_weights(name):
    one, other = (COEFFICIENTS[name](weights) for weights in (None, np.full(ROWS, 3.0)))
    assert other.value == pytest.approx(one.value, abs=1e-12)
    assert other.estimate().low == pytest.approx(one.estimate().low, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", AGREEMENTS)
@given(st.integers(2, 9).flatmap(lambda rows: npst.arrays(float, (rows, 2), elements=st.sampled_from([1.0, 2, 3, 5]))))
def test_an_interval_holds_the_value_and_ends_at_1(name, grades):
    found = AGREEMENTS[name](grades).estimate()
    if found.value is not None:
        assert found.low <= found.value + 1e-12
        assert found.value - 1e-12 <= found.high <= 1 + 1e-12


def test_a_row_that_is_there_twice_counts_once_in_its_cluster():
    once = cohen_kappa(FIRST, SECOND)
    twice = cohen_kappa(np.tile(FIRST, 2), np.tile(SECOND, 2)).estimate(np.tile(np.arange(ROWS), 2))
    alone = once.estimate()
    assert (twice.low, twice.high) == pytest.approx((alone.low, alone.high))
    assert twice.n == 2 * alone.n
    naive = cohen_kappa(np.tile(FIRST, 2), np.tile(SECOND, 2)).estimate()
    assert naive.high - naive.low < 0.75 * (alone.high - alone.low)


def test_the_difference_of_two_means_on_the_same_rows_has_the_error_of_their_differences():
    a, b = random.random(ROWS), random.random(ROWS)
    a, b = (0.7 * each + 0.3 * random.random(ROWS) for each in (a, 0.8 * a + 0.2 * b))
    found = difference(mean(a), mean(b))
    reach = 1.96 * np.std(a - b, ddof=1) / np.sqrt(ROWS)
    assert found.value == pytest.approx(a.mean() - b.mean())
    assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach), abs=0.002)


def test_there_is_no_difference_where_one_of_the_two_has_no_estimate():
    known, unknown = accuracy(FIRST, SECOND), accuracy(np.full(ROWS, np.nan), SECOND)
    for pair in ((known, unknown), (unknown, known)):
        found = difference(*pair)
        assert (found.value, found.low, found.high, found.n) == (None, None, None, int(known.used.sum()))
        assert found.reason == unknown.estimate().reason


def test_the_difference_of_two_perfect_coefficients_is_not_certain():
    same = np.tile([0.0, 1.0], 10)
    apart = difference(accuracy(same[:10], same[:10]), accuracy(np.append(same[:9], np.nan), same[:10]))
    assert apart.value == pytest.approx(0)
    assert apart.low < -0.1 < 0.1 < apart.high


NAN = np.nan


@pytest.mark.parametrize(
    ("coefficient", "reason"),
    [
        (accuracy(np.array([NAN, 1]), np.array([1, NAN])), "no row has a label of both"),
        (accuracy(np.array([1.0]), np.array([1.0])), "1 row, and an interval needs 2"),
        (cohen_kappa(np.ones(9), np.eye(9)[0]), "the first rater gives one label only, 1"),
        (krippendorff_alpha(np.ones((9, 2))), "every label is 1"),
        (krippendorff_alpha(np.array([[1, NAN], [NAN, 0]])), "no row has two labels"),
        (gwet_ac(np.ones((9, 2))), "every label is 1, and no other is known"),
        (correlation(np.arange(9.0), np.zeros(9), "kendall"), "the second rater gives one score only, 0"),
        (auroc(np.arange(9.0), np.zeros(9)), "every label is 0"),
    ],
)
def test_where_there_is_no_estimate_a_reason_says_why(coefficient, reason):
    found = coefficient.estimate()
    assert (found.value, found.low, found.high, found.reason) == (None, None, None, reason)


def test_one_cluster_gives_no_interval():
    found = accuracy(np.ones(5), np.ones(5)).estimate(np.zeros(5, int))
    assert found.reason == "1 cluster, and an interval needs 2"


def test_perfect_agreement_on_few_rows_is_not_certain():
    same = np.array([0.0, 1.0] * 5)
    assert cohen_kappa(same, same).estimate().low < 0.5
    assert gwet_ac(np.column_stack([same, same])).estimate().low < 0.5
    assert correlation(same, same, "spearman").estimate().low < 0.5


def test_no_agreement_on_a_rare_label_is_not_certain_either():
    judge, person = np.zeros(30), np.zeros(30)
    judge[:2], person[2:4] = 1, 1
    assert cohen_kappa(judge, person).estimate().high > 0.4
    assert krippendorff_alpha(np.column_stack([judge, person])).estimate().high > 0.4


def test_a_rare_label_is_held_by_its_interval():
    """With 95 % of one label the true kappa is 0.447 (docs/explanation/validation.md)."""
    random, held = np.random.default_rng(6), 0
    for _ in range(300):
        hidden = random.random(100) < 0.95
        labels = np.where(random.random((2, 100)) < 0.95, hidden, ~hidden).astype(float)
        found = cohen_kappa(*labels).estimate()
        held += found.low <= 0.447 <= found.high
    assert held / 300 > 0.935


def test_gwets_coefficient_counts_categories_that_nobody_used():
    ratings = np.array([[1.0, 1], [1, 1], [1, 2], [2, 2]])
    assert gwet_ac(ratings, categories=np.arange(1.0, 6)).value > gwet_ac(ratings).value


@pytest.mark.parametrize("clusters", [None, np.repeat(np.arange(6), 2)])
def test_an_interval_of_a_coefficient_allows_for_the_few_units_that_its_variance_rests_on(clusters):
    first, second = np.array([1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1.0]), np.array([1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0.0])
    found = cohen_kappa(first, second)
    moved = found.influence if clusters is None else np.bincount(clusters, found.influence)
    units = len(moved)
    variance = moved.var() * units * units / (units - 1)
    ends = effective_interval(found.value, variance, (1 / units, units - 1), (-1.0, 1.0), 0.95)
    estimate = replace(found, unseen=None).estimate(clusters)
    assert (estimate.low, estimate.high) == pytest.approx(ends)
