"""Percentiles of many scores: NumPy's, in whatever parts rows come, and intervals that hold them by simulation."""

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from karat.core.errors import RowError, SpecError
from karat.core.metric.in_order import Percentile
from karat.metrics.confidence.curves import RocArea
from karat.stats.aggregate import Scale
from karat.stats.ordered.curve_rows import CurveRows
from karat.stats.ordered.percentile_values import ScoreCounts, find_order
from karat.stats.sums.units import Units
from karat.stats.value import make_units, restore_units, summarise

FLOATS = st.floats(-1e6, 1e6)


def keep(*parts):
    whole = ScoreCounts()
    for part in parts:
        one = ScoreCounts()
        one.add(np.asarray(part, float)[:, None])
        about, stored = one.state()
        whole.merge(ScoreCounts.restore(about, iter(stored)))
    return whole


@given(st.lists(st.lists(FLOATS, min_size=1), min_size=1, max_size=4), st.floats(0.01, 0.99))
def test_percentiles_of_parts_are_those_of_numpy(parts, share):
    assert keep(*parts).percentile(share) == pytest.approx(
        np.quantile(np.concatenate(parts), share), rel=1e-9, abs=1e-9
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_many_different_scores_are_in_bins_whatever_their_order_and_parts(sign):
    scores = sign * np.random.default_rng(0).lognormal(0, 2, 40_000)
    scores[:9] = 0
    one, other = keep(scores), keep(*np.array_split(np.random.default_rng(1).permutation(scores), 7))
    assert one.state() == other.state()
    for share in (0.01, 0.5, 0.95, 0.999):
        assert one.percentile(share) == pytest.approx(np.quantile(scores, share), rel=0.002)
    assert len(one.state()[1][0]) < 8 * 16_384


def test_few_different_scores_are_exact_however_many_rows_there_are():
    tokens = np.random.default_rng(0).integers(0, 5_000, 300_000)
    assert keep(*np.array_split(tokens, 3)).percentile(0.95) == np.quantile(tokens, 0.95)


@pytest.mark.parametrize("rows", [5, 20, 100, 1_000])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.95])
def test_order_statistics_hold_the_percentile_as_often_as_the_binomial_distribution_says(rows, share):
    low, high = find_order(rows, share, 0.95)
    held = binom.cdf(high, rows, share) - binom.cdf(low, rows, share)
    assert held >= 0.95 - 1e-12
    assert low == -1 or binom.cdf(low, rows, share) <= 0.025
    assert high == rows or binom.cdf(high - 1, rows, share) < 0.975 <= binom.cdf(high, rows, share)


def test_intervals_of_many_rows_go_on_from_those_of_few():
    (low, high), (lower, higher) = (find_order(rows, 0.95, 0.95) for rows in (16_384, 16_385))
    assert abs(low - lower) <= 2
    assert abs(high - higher) <= 2


def test_intervals_hold_the_percentile_of_the_population_by_simulation():
    random, true = np.random.default_rng(3), np.exp(NormalDist().inv_cdf(0.9))
    held = 0
    for _ in range(300):
        low, high = keep(random.lognormal(size=150)).interval(0.9, 0.95)
        held += low <= true <= high
    assert 0.93 < held / 300 <= 1


def test_few_rows_have_no_upper_end_and_rows_in_clusters_no_interval():
    scale = Scale(Percentile(0.95), (0.0, None), "minimize")
    few, clustered = ScoreCounts(), ScoreCounts(clustered=True)
    for each in (few, clustered):
        each.add(np.arange(1.0, 21.0)[:, None])
    value = summarise(few, scale, unscored=2)
    assert (value.value, value.high, value.n, value.unscored) == (pytest.approx(19.05), None, 22, 2)
    assert value.low == 17
    assert (summarise(clustered, scale).low, summarise(clustered, scale).high) == (None, None)
    assert summarise(ScoreCounts(), scale).value is None


@pytest.mark.parametrize("finish", [None, np.prod, Percentile(0.5), RocArea()])
@pytest.mark.parametrize("clustered", [False, True])
def test_what_keeps_a_metrics_statistics_is_restored_as_what_it_was(finish, clustered):
    kept = make_units(finish, 2 - isinstance(finish, Percentile), clustered=clustered)
    assert type(kept) is {Percentile: ScoreCounts, RocArea: CurveRows}.get(type(finish), Units)
    kept.add(np.random.default_rng(0).random((9, kept.width)), np.arange(9, dtype=np.uint64) // (1 + clustered))
    about, stored = kept.state()
    again = restore_units(about, iter(stored))
    assert type(again) is type(kept)
    assert again.state() == (about, stored)
    assert (again.rows, again.clustered) == (9, clustered)
    with pytest.raises(RowError, match="units of equal width, clustering and seed"):
        again.merge(make_units(finish, kept.width, clustered=not clustered))


def test_sums_have_no_percentile():
    units = Units(1)
    units.add(np.ones((3, 1)))
    with pytest.raises(SpecError, match="percentiles and curves, which are not computed from sums"):
        summarise(units, Scale(Percentile(0.5)))
    with pytest.raises(RowError, match="row 1: a finite statistic expected"):
        keep([1.0, np.inf])
