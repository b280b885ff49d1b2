from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from karat.core.errors import DataError, SpecError
from karat.stats.aggregate import LIMIT
from karat.stats.intervals.bootstrap import DRAWS, draw, studentise
from karat.stats.intervals.interval import interval
from karat.stats.intervals.wilson import jackknife, unit_weight, wilson_interval
from karat.stats.sums.units import Units

random = np.random.default_rng(0)
SHARE = (0.0, 1.0)


def collect(rows, keys=None):
    rows = np.asarray(rows, float)
    rows = rows[:, None] if rows.ndim == 1 else rows
    units = Units(rows.shape[1], clustered=keys is not None)
    units.add(rows, None if keys is None else np.asarray(keys, np.uint64))
    return units


def ratio(sums):
    return sums[..., 0] / sums[..., 1]


@pytest.mark.parametrize(("ones", "n"), [(0, 5), (5, 5), (1, 2), (3, 7), (29, 30), (150, 300), (39_000, 40_000)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_zeros_and_ones_get_wilsons_interval(ones, n, confidence):
    expected = stats.binomtest(ones, n).proportion_ci(confidence, method="wilson")
    found = interval(collect(np.arange(n) < ones), bounds=SHARE, confidence=confidence)
    assert found == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_five_perfect_scores_say_little():
    assert interval(collect(np.ones(5)), bounds=SHARE) == pytest.approx((0.5655, 1.0), abs=1e-4)


def test_five_equal_scores_do_not_pin_the_mean():
    assert interval(collect([0.8] * 5), bounds=SHARE) == pytest.approx(wilson_interval(0.8, 5, 1.959964), abs=1e-6)


def test_nearly_perfect_scores_are_no_surer_than_perfect_ones():
    perfect, nearly = (interval(collect([1, 1, 1, 1, last]), bounds=SHARE)[0] for last in (1, 0.999))
    assert nearly <= perfect


@pytest.mark.parametrize("scores", [random.random(40), random.random(40) < 0.3, np.ones(9)])
def test_the_range_only_moves_and_stretches(scores):
    low, high = interval(collect(scores), bounds=SHARE)
    stretched = interval(collect(10 + 80 * np.asarray(scores)), bounds=(10.0, 90.0))
    assert stretched == pytest.approx((10 + 80 * low, 10 + 80 * high), abs=1e-6)


def test_large_samples_get_students_interval():
    scores = random.beta(2, 3, 100_000)
    expected = stats.t.interval(0.95, len(scores) - 1, scores.mean(), stats.sem(scores))
    assert interval(collect(scores), bounds=SHARE) == pytest.approx(expected, abs=2e-6)


def test_clusters_of_one_size_vary_as_their_means_do():
    scores, keys = random.random(120), np.arange(120) % 12
    units = collect(scores, keys)
    means = scores.reshape(10, 12).mean(axis=0)
    assert jackknife(units.sums[:, [0, 2]], ratio) == pytest.approx(means.var(ddof=1) / 12, rel=1e-9)


def test_clusters_of_many_sizes_agree_with_the_linearised_variance():
    keys = np.repeat(np.arange(400), random.integers(1, 20, 400))
    scores = random.random(len(keys)) * 0.5 + random.random(400)[keys] * 0.5
    residuals = np.bincount(keys, scores - scores.mean())
    expected = 400 / 399 * (residuals**2).sum() / len(keys) ** 2  # the sandwich of statsmodels' cov_type="cluster"
    low, high = interval(collect(scores, keys), bounds=SHARE)
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 399) * np.sqrt(expected), rel=0.02)


def test_perfect_clusters_count_as_one_row_each():
    perfect = interval(collect(np.ones(500), np.arange(500) % 5), bounds=SHARE)
    assert perfect == pytest.approx(interval(collect(np.ones(5)), bounds=SHARE))


@pytest.mark.parametrize("rows_each", [1, 4])
def test_groups_of_many_clusters_tell_how_many_there_were(rows_each):
    clusters = 4 * LIMIT
    units = collect(np.ones(clusters * rows_each), np.repeat(np.arange(clusters), rows_each))
    assert units.collapsed
    assert 1 / unit_weight(units) == pytest.approx(clusters, rel=0.5)


def test_groups_give_the_interval_of_the_clusters_they_hold():
    clusters = 2 * LIMIT
    scores = random.random(clusters * 3) * 0.5 + np.repeat(random.random(clusters), 3) * 0.5
    low, high = interval(collect(scores, np.repeat(np.arange(clusters), 3)), bounds=SHARE)
    means = scores.reshape(clusters, 3).mean(axis=1)
    assert high - low == pytest.approx(2 * 1.96 * means.std() / np.sqrt(clusters), rel=0.06)


def test_a_finish_that_is_the_mean_has_the_means_interval():
    scores = random.random(200)
    mean = interval(collect(scores), bounds=SHARE)
    assert interval(collect(np.column_stack([scores, np.ones(200)])), ratio, bounds=SHARE) == pytest.approx(mean, 1e-9)


def test_a_perfect_ratio_is_not_certain():
    counts = random.integers(1, 9, 20)
    low, high = interval(collect(np.column_stack([counts, counts])), ratio, bounds=SHARE)
    assert 0.75 < low < 0.9
    assert high == 1


def test_a_ratio_that_rests_on_one_row_could_be_anything():
    assert interval(collect([[1, 2], [0, 0], [0, 0]]), ratio, bounds=SHARE) == SHARE


def test_nothing_and_one_unit():
    assert interval(Units(1), bounds=SHARE) == (None, None)
    assert interval(Units(1), bounds=(0.0, None)) == (None, None)
    assert interval(collect([1.0]), bounds=SHARE) == SHARE
    assert interval(collect([1.0, 0.0], [7, 7]), bounds=SHARE) == SHARE
    assert interval(collect([1.0]), bounds=(0.0, None)) == (None, None)


def test_unbounded_values_that_do_not_vary_have_no_interval():
    assert interval(collect([0.3] * 50), bounds=(None, None)) == (None, None)
    assert interval(collect([[0, 7]] * 50), ratio, bounds=(0.0, None)) == (None, None)


@pytest.mark.parametrize("usual", [0.0, 0.7, 99.72099, 606_635.77])
@pytest.mark.parametrize("n", [20, 36, 45, 50])
def test_a_spread_that_rests_on_three_rows_leaves_an_end_open(usual, n):
    scores = np.array([usual] * (n - 3) + [1.1 * usual + 1, 1.3 * usual + 2, 1.7 * usual + 3])
    low, high = interval(collect(scores), bounds=(0.0, None))
    assert 0 <= low < scores.mean()
    assert high is None


@pytest.mark.parametrize("level", [0.0, 1e9])
def test_unbounded_means_of_normal_scores_get_students_interval(level):
    scores = level + random.normal(size=2_000)
    low, high = interval(collect(scores), bounds=(None, None))
    expected = stats.t.interval(0.95, 1_999, scores.mean(), stats.sem(scores))
    assert (low - level, high - level) == pytest.approx((expected[0] - level, expected[1] - level), abs=0.006)


def test_groups_give_the_bootstrap_of_the_rows_they_hold():
    scores = random.exponential(size=2 * LIMIT)
    low, high = interval(collect(scores), bounds=(0.0, None))
    assert high - low == pytest.approx(2 * 1.96 * stats.sem(scores), rel=0.12)
    assert low < scores.mean() < high


def test_skewed_scores_reach_further_up_than_down():
    scores = random.lognormal(size=60)
    low, high = interval(collect(scores), bounds=(0.0, None))
    assert high - scores.mean() > 1.2 * (scores.mean() - low)


def test_each_draw_of_the_bootstrap_has_its_own_standard_error_by_the_delta_method():
    observed = np.random.default_rng(3).gamma(2, 1, (15, 2)) + np.array([0, 1])
    found = studentise(observed, ratio, seed=7)
    distances = []
    for counts in np.concatenate([*draw(15, 7)]):
        rows = np.repeat(observed, counts, axis=0)
        top, bottom = rows.sum(axis=0)
        slopes = np.array([1 / bottom, -top / bottom**2])
        error = np.sqrt(slopes @ np.cov(rows.T, bias=True) @ slopes * 15)
        distances.append((top / bottom - ratio(observed.sum(axis=0))) / error)
    assert found.distances == pytest.approx(np.array(distances), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("units", [1, 700, 999])
def test_as_many_draws_are_made_whatever_their_number_at_a_time(units):
    assert sum(len(counts) for counts in draw(units, 0)) == DRAWS
    assert all((counts.sum(axis=1) == units).all() for counts in draw(units, 0))


def test_the_bootstrap_is_seeded():
    units = collect(random.exponential(size=50))
    assert interval(units, bounds=(0.0, None), seed=3) == interval(units, bounds=(0.0, None), seed=3)
    assert interval(units, bounds=(0.0, None), seed=3) != interval(units, bounds=(0.0, None), seed=4)


def test_scores_beyond_the_bounds_are_an_error():
    with pytest.raises(DataError, match=r"from 0\.0 to 1\.0"):
        interval(collect([0.5, 7.0]), bounds=SHARE)
    with pytest.raises(DataError, match="some beyond"):
        interval(collect([-1.0, 1.5, 0.5]), bounds=SHARE)
    with pytest.raises(DataError, match=r"from 0\.0 to 1\.0 expected, found 1\.5"):
        interval(collect(np.column_stack([[3.0, 3.0, 3.0], [2.0, 2.0, 2.0]])), ratio, bounds=SHARE)


def test_wrong_settings_are_an_error():
    with pytest.raises(SpecError, match="confidence"):
        interval(collect([1.0, 0.0]), bounds=SHARE, confidence=95)
    with pytest.raises(SpecError, match="finish"):
        interval(collect([[1.0, 0.0], [1.0, 0.0]]), bounds=SHARE)
