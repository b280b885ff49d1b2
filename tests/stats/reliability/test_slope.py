import math

import numpy as np
import pytest
from scipy import stats

from karat.stats.reliability.slope import slope

sm = pytest.importorskip("statsmodels.api")

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=60)
Y = 0.3 * X + RANDOM.normal(size=60) * (1 + np.abs(X))


def standard_error(found, freedom):
    return (found.high - found.low) / 2 / stats.t.ppf(0.975, freedom)


def test_the_slope_and_its_standard_error_are_those_of_statsmodels_hc3():
    found = slope(X, Y)
    fitted = sm.OLS(Y, sm.add_constant(X)).fit(cov_type="HC3")
    assert found.value == pytest.approx(fitted.params[1], rel=1e-9)
    assert found.value == pytest.approx(stats.linregress(X, Y).slope, rel=1e-9)
    assert standard_error(found, 58) == pytest.approx(fitted.bse[1], rel=1e-9)


def test_the_standard_error_for_clusters_leaves_out_each_of_them():
    clusters = np.arange(60) // 4
    found = slope(X, Y, clusters=clusters)
    without = [
        sm.OLS(Y[clusters != each], sm.add_constant(X[clusters != each])).fit().params[1]
        for each in np.unique(clusters)
    ]
    expected = math.sqrt(sum((each - found.value) ** 2 for each in without))
    assert standard_error(found, 13) == pytest.approx(expected, rel=1e-9)


def test_within_groups_the_slope_is_that_with_a_constant_for_each_group():
    groups = np.arange(60) // 3
    shifted = Y + 5 * groups
    found = slope(X, shifted, groups=groups)
    dummies = (groups[:, None] == np.unique(groups)).astype(float)
    fitted = sm.OLS(shifted, np.column_stack([X, dummies])).fit()
    assert found.value == pytest.approx(fitted.params[0], rel=1e-9)
    alone = slope(np.append(X, 3.0), np.append(shifted, 900.0), groups=np.append(groups, 99))
    assert alone == found  # a group of one row tells nothing


def test_rows_without_a_value_do_not_count():
    x, y = np.append(X, [np.nan, 1.0]), np.append(Y, [1.0, np.nan])
    assert slope(x, y) == slope(X, Y)


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        (X[:9], Y[:9], "fewer than 10 rows (9)"),
        (np.ones(60), Y, "what it depends on differs on fewer than 5 rows (0)"),
        (X, np.eye(60)[0], "the score or its error differs on fewer than 5 rows (1)"),
        (np.array([]), np.array([]), "fewer than 10 rows (0)"),
    ],
)
def test_there_is_no_estimate_from_few_rows(x, y, reason):
    found = slope(x, y)
    assert (found.value, found.low, found.high, found.reason) == (None, None, None, reason)


@pytest.mark.parametrize("units", [{"groups": np.arange(60) // 12}, {"clusters": np.arange(60) // 12}])
def test_few_groups_or_clusters_are_counted_as_such(units):
    assert slope(X, Y, **units).reason == "fewer than 10 clusters (5)"


def test_the_interval_covers_the_slope_of_rare_errors():
    """Errors of 0 or 1 that grow more frequent with x, as those of a judge with a bias for length do."""
    random, covered = np.random.default_rng(3), 0
    for _ in range(400):
        x = random.uniform(0, 1, 100)
        found = slope(x, (random.random(100) < 0.1 + 0.2 * x).astype(float))
        covered += found.value is not None and found.low <= 0.2 <= found.high
    assert 0.92 < covered / 400 < 0.98
