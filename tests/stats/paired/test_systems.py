"""Tests of every pair: equal to tests of two systems, in whatever batches rows come."""

import math

import numpy as np
import pytest
from scipy import stats

from karat.core.errors import RowError
from karat.core.metric.in_order import Percentile
from karat.metrics.confidence.curves import RocArea
from karat.stats.aggregate import Scale
from karat.stats.paired.compare import Pairing, compare
from karat.stats.paired.systems import Systems

OPEN = Scale(bounds=(None, None))


def ratio(sums):
    return sums[..., 0] / sums[..., 1]


def add(rows, scale, keys=None, width=1, batch=10_000):
    systems = Systems(rows.shape[1], width, scale, clustered=keys is not None)
    for start in range(0, len(rows), batch):
        part = slice(start, start + batch)
        numbers = np.arange(start, start + len(rows[part]), dtype=np.uint64)
        systems.add(rows[part].reshape(-1, rows.shape[1], width), numbers, None if keys is None else keys[part])
    return systems


def draw(n=60, systems=4, seed=0):
    """Scores whose differences are not skewed."""
    random = np.random.default_rng(seed)
    half = random.random((n // 2, systems)) - 0.5
    apart = np.concatenate([half, -half, np.zeros((n % 2, systems))])
    return random.random((n, 1)) + apart + 0.5 + np.linspace(0, 0.3, systems)


BOUNDED = Scale(bounds=(0.0, 1.0))
SHAPES = {
    "right or wrong": (BOUNDED, lambda random, n: (random.random((n, 4, 1)) < 0.6).astype(float)),
    "graded": (BOUNDED, lambda random, n: random.random((n, 4, 1))),
    "one graded": (BOUNDED, lambda random, n: np.where(np.arange(4) < 3, random.random((n, 4)) < 0.6, 0.5)[:, :, None]),
    "open": (OPEN, lambda random, n: random.exponential(size=(n, 4, 1))),
    "corpus": (Scale(ratio), lambda random, n: random.integers(1, 9, (n, 4, 2)).astype(float).cumsum(axis=2)),
    "percentile": (Scale(Percentile(0.5), (None, None)), lambda random, n: random.exponential(size=(n, 4, 1))),
    "curve": (Scale(RocArea()), lambda random, n: np.stack([random.random((n, 4)), random.random((n, 4)) < 0.6], -1)),
}


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("rows", [7, 300, 17_000])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_pair_has_the_same_bits_among_many_systems_as_alone(shape, rows, clustered):
    scale, make = SHAPES[shape]
    statistics = make(np.random.default_rng(rows), rows)
    keys = np.arange(rows, dtype=np.uint64) // 3 if clustered else None
    tests = add(statistics, scale, keys, width=statistics.shape[2], batch=5_000).test()
    for a, b in [(0, 1), (1, 0), (3, 1), (2, 3)]:
        two = compare(statistics[:, b].copy(), statistics[:, a].copy(), scale, keys=keys)
        found = [float(each[a, b]) for each in (tests.difference, tests.low, tests.high, tests.p)]
        alone = [math.nan if each is None else each for each in (two.difference, two.low, two.high, two.p)]
        assert (str(found), tests.test[a, b]) == (str(alone), two.test)


def test_other_scores_have_students_paired_test():
    rows = draw(200)
    tests = add(rows, OPEN).test()
    for a, b in zip(*np.triu_indices(4, 1), strict=True):
        reference = stats.ttest_rel(rows[:, a], rows[:, b])
        low, high = reference.confidence_interval(0.95)
        assert tests.p[a, b] == pytest.approx(reference.pvalue, rel=1e-9)
        assert (tests.low[a, b], tests.high[a, b]) == pytest.approx((low, high), rel=1e-9)


def test_two_rows_are_enough_for_an_interval():
    rows = draw(n=2, systems=2)
    tests, reference = add(rows, OPEN).test(), stats.ttest_rel(*rows.T)
    assert (tests.low[0, 1], tests.high[0, 1]) == pytest.approx(tuple(reference.confidence_interval(0.95)), rel=1e-9)
    one = add(rows[:1], OPEN).test()
    assert (one.p[0, 1], np.isnan(one.low[0, 1])) == (1, True)


@pytest.mark.parametrize("seed", range(5))
def test_skewed_differences_have_an_interval_that_reaches_further_to_the_side_of_the_few(seed):
    rows = np.random.default_rng(seed).random((100, 2))
    rows[:, 1] = rows[:, 0] + 0.05 - 0.9 * (np.arange(100) < 3)
    tests, students = add(rows, OPEN).test(), stats.ttest_rel(rows[:, 1], rows[:, 0])
    low, high = students.confidence_interval(0.95)
    assert tests.high[1, 0] == pytest.approx(high)
    assert tests.low[1, 0] < low - 0.01
    assert tests.p[1, 0] > students.pvalue


def test_clusters_of_one_size_are_compared_by_their_means():
    keys = np.repeat(np.arange(12, dtype=np.uint64), 5)
    means = 4 * draw(12)
    tests = add(np.repeat(means, 5, axis=0), OPEN, keys).test()
    for a, b in ((0, 1), (0, 3)):
        reference = stats.ttest_rel(means[:, a], means[:, b])
        assert tests.low[a, b] <= reference.confidence_interval(0.95).low + 1e-9
        assert tests.error[a, b] == pytest.approx(abs(reference.statistic) ** -1 * abs(tests.difference[a, b]))
        assert tests.p[a, b] >= reference.pvalue - 1e-12


def test_values_that_are_no_means_have_the_standard_error_of_two_systems():
    random = np.random.default_rng(3)
    rows = np.stack(
        [np.column_stack([random.poisson(rate, 80), random.integers(8, 12, 80)]) for rate in (1, 2, 2.2)], 1
    )
    scale = Scale(ratio, (0.0, None), "minimize")
    systems = add(rows.astype(float), scale, width=2)
    tests, pairing = systems.test(), Pairing(scale, 2)
    pairing.add(rows[:, 1].astype(float), rows[:, 2].astype(float), np.arange(80, dtype=np.uint64))
    two = pairing.compare()
    error = two.deviation / np.sqrt(80)
    assert systems.values.tolist() == pytest.approx(ratio(rows.sum(axis=0)))
    assert tests.difference[2, 1] == pytest.approx(two.difference)
    assert tests.high[2, 1] - tests.difference[2, 1] == pytest.approx(error * stats.t.ppf(0.975, 79), rel=0.05)
    assert (tests.low[2, 1], tests.high[2, 1], tests.p[2, 1]) == (two.low, two.high, two.p)


@pytest.mark.parametrize("clustered", [False, True])
def test_many_rows_give_the_same_bits_in_whatever_batches_and_order_they_come(clustered):
    rows = draw(20_000, 3, seed=1) / 2.3
    keys = np.arange(20_000, dtype=np.uint64) // (3 if clustered else 1)
    order = np.random.default_rng(5).permutation(20_000)
    one, other = (Systems(3, 1, Scale(), clustered=clustered) for _ in range(2))
    one.add(rows[:, :, None], keys, keys)
    for part in np.array_split(order, 7):
        other.add(rows[part, :, None], keys[part], keys[part])
    assert (one.values == other.values).all()
    for name in ("difference", "low", "high", "p"):
        assert (getattr(one.test(), name) == getattr(other.test(), name)).all()
    if not clustered:
        reference = stats.ttest_rel(rows[:, 0], rows[:, 1])
        reach = np.diff(reference.confidence_interval(0.95))[0]
        assert one.test().high[0, 1] - one.test().low[0, 1] == pytest.approx(reach, rel=0.05)


def test_rows_count_on_which_all_systems_are_scored():
    rows = draw(10)
    rows[2, 1] = rows[5, 1] = rows[5, 3] = np.nan
    systems = add(rows, OPEN)
    assert (systems.n, systems.scored, systems.missing.tolist()) == (10, 8, [0, 2, 0, 1])
    kept = add(np.delete(rows, [2, 5], axis=0), OPEN)
    assert (systems.values == kept.values).all()
    assert (systems.test().p == kept.test().p).all()


def test_equal_systems_are_not_separated_nor_are_constant_differences_of_few_rows():
    rows = np.tile(np.linspace(0.1, 0.9, 4)[:, None], (1, 3))
    rows[:, 2] += 0.05
    tests = add(rows, Scale()).test()
    assert tests.p[0, 1] == 1
    assert tests.p[0, 2] > 0.05
    assert tests.low[2, 0] < 0 < tests.high[2, 0]


def test_without_rows_nothing_is_known():
    tests = add(np.full((3, 2), np.nan), Scale()).test()
    assert np.isnan(tests.p[0, 1])
    assert np.isnan(tests.difference[0, 1])


def test_an_infinite_statistic_is_an_error():
    with pytest.raises(RowError, match="finite"):
        add(np.array([[1.0, np.inf]]), OPEN)
