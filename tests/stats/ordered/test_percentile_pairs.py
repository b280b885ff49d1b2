"""Two percentiles of the same rows: the test keeps its level, the interval holds the difference, by simulation."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest
from scipy.stats.mstats import mjci

from karat.core.errors import RowError
from karat.core.metric.in_order import Percentile
from karat.stats.aggregate import Scale
from karat.stats.paired.compare import Pairing

TTestPower = pytest.importorskip("statsmodels.stats.power").TTestPower


def pair(a, b, share=0.5, clusters=None, direction="maximize"):
    pairing = Pairing(Scale(Percentile(share), (None, None), direction), 1, clustered=clusters is not None)
    for part in np.array_split(np.arange(len(a)), 3):
        keys = None if clusters is None else clusters[part]
        pairing.add(a[part, None], b[part, None], part.astype(np.uint64), keys)
    return pairing.compare()


def draw(random, rows, factor=1.0):
    hard = random.normal(size=rows)
    one, other = (np.exp(hard + random.normal(size=rows) / 2) for _ in range(2))
    return one, other * factor


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_equal_systems_differ_rarely_and_the_interval_holds_nothing_by_simulation(share):
    random = np.random.default_rng(5)
    found = [pair(*draw(random, 200), share) for _ in range(300)]
    assert sum(each.p <= 0.05 for each in found) <= 300 * 0.05 + 2 * np.sqrt(300 * 0.05 * 0.95)
    assert sum(each.low <= 0 <= each.high for each in found) >= 300 * 0.95 - 2 * np.sqrt(300 * 0.05 * 0.95)


def test_the_test_is_mcnemars_of_the_rows_that_exceed_the_percentile_of_all():
    a, b = draw(np.random.default_rng(1), 120, 1.4)
    found = pair(a, b, 0.9, direction="minimize")
    limit = np.quantile(np.concatenate([a, b]), 0.9)
    only_a, only_b = int(((a > limit) & (b <= limit)).sum()), int(((b > limit) & (a <= limit)).sum())
    exact, same = binomtest(only_a, only_a + only_b).pvalue, binom.pmf(only_a, only_a + only_b, 0.5)
    assert found.p == pytest.approx(exact - same)
    assert found.difference == pytest.approx(np.quantile(b, 0.9) - np.quantile(a, 0.9))
    assert (found.wins, found.losses, found.ties) == ((b < a).sum(), (b > a).sum(), 0)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_error_of_two_percentiles_of_independent_scores_is_that_of_maritz_and_jarrett(share):
    random, ratios = np.random.default_rng(9), []
    for _ in range(25):
        a, b = random.normal(size=(2, 1_000))
        expected = np.hypot(*(mjci(each, [share])[0] for each in (a, b)))
        ratios.append(pair(a, b, share).deviation / np.sqrt(1_000) / expected)
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)


def test_few_rows_have_the_smallest_difference_of_a_paired_test():
    found = pair(*draw(np.random.default_rng(6), 12, 1.5))
    needed = TTestPower().solve_power(nobs=12, power=0.8, alpha=0.05)  # in standard deviations
    assert found.smallest_visible == pytest.approx(needed * found.deviation, rel=0.01)


def test_rows_that_one_system_lacks_are_left_out_and_nothing_is_known_of_what_they_change():
    a, b = draw(np.random.default_rng(2), 90, 3.0)
    whole = pair(a[5:], b[5:])
    a[:2], b[2:5] = np.nan, np.nan
    found = pair(a, b)
    assert (found.difference, found.p, found.low) == (whole.difference, whole.p, whole.low)
    assert (found.n, found.scored, found.missing_a, found.missing_b) == (90, 85, 2, 3)
    assert found.could_turn()
    assert not whole.could_turn()
    assert (whole.least, whole.most) == (whole.difference, whole.difference)


def test_rows_that_are_counted_twice_tell_no_more_where_they_share_a_cluster():
    a, b = draw(np.random.default_rng(4), 100, 1.5)
    single, keys = pair(a, b), np.repeat(np.arange(100, dtype=np.uint64), 2)
    twice, together = pair(np.repeat(a, 2), np.repeat(b, 2)), pair(np.repeat(a, 2), np.repeat(b, 2), clusters=keys)
    assert twice.p < single.p
    assert together.p == pytest.approx(single.p, abs=0.02)
    assert together.high - together.low == pytest.approx((twice.high - twice.low) * np.sqrt(2), rel=0.02)
    assert together.units == 100


def test_the_same_rows_in_another_order_are_the_same():
    a, b = draw(np.random.default_rng(6), 50)
    pairing = Pairing(Scale(Percentile(0.5), (None, None)), 1)
    for row in np.random.default_rng(0).permutation(50):
        pairing.add(a[[row], None], b[[row], None], np.array([row], np.uint64))
    assert pairing.compare() == pair(a, b)


def test_equal_scores_no_rows_and_infinite_scores():
    equal = pair(np.ones(30), np.ones(30))
    assert (equal.difference, equal.p, equal.verdict()) == (0, 1, "unclear")
    nothing = pair(np.full(3, np.nan), np.ones(3))
    assert (nothing.difference, nothing.p, nothing.low, nothing.scored) == (None, None, None, 0)
    with pytest.raises(RowError, match="finite"):
        pair(np.array([1.0, np.inf, 2]), np.ones(3))
