from __future__ import annotations

import math

import numpy as np
import pytest

from karat.core.errors import DataError, SpecError
from karat.stats.aggregate import Scale
from karat.stats.paired.compare import compare
from karat.stats.paired.power import (
    paired_deviation,
    pairs_needed,
    power_of,
    rows_needed,
    smallest_share,
    smallest_visible,
)
from karat.stats.paired.sample_size import sample_size_from_comparison, sample_size_from_scores
from karat.stats.sums.units import Units

SHARE = (0.0, 1.0)
TIMES = 400
SLACK = 3.1 * math.sqrt(0.8 * 0.2 / TIMES)


def collect(scores, keys=None):
    units = Units(1, clustered=keys is not None)
    units.add(np.asarray(scores, float)[:, None], keys)
    return units


@pytest.mark.slow
@pytest.mark.parametrize(("discordant", "difference"), [(0.1, 0.03), (0.3, 0.1), (0.3, 0.2)])
def test_right_and_wrong_answers_get_the_power_promised(discordant, difference):
    rows = pairs_needed(difference, discordant)
    random, found = np.random.default_rng(0), 0
    for _ in range(TIMES):
        drawn = random.random(rows)
        b = drawn < (discordant + difference) / 2
        a = (drawn < discordant) & ~b
        found += compare(a[:, None] * 1.0, b[:, None] * 1.0, Scale(bounds=SHARE)).p <= 0.05
    assert 0.8 - SLACK < found / TIMES < 0.87 + SLACK


@pytest.mark.slow
def test_scores_get_the_power_promised():
    random, found = np.random.default_rng(1), 0
    rows = rows_needed(0.1, 0.2)
    for _ in range(TIMES):
        a = 0.5 * random.random((rows, 1))
        b = a + 0.1 + 0.2 * random.normal(size=a.shape)
        found += compare(a, b, Scale(bounds=(None, None))).p <= 0.05
    assert 0.8 - SLACK < found / TIMES < 0.8 + SLACK


@pytest.mark.parametrize("power", [0.5, 0.8, 0.99])
def test_rows_and_the_smallest_difference_are_each_others_reverse(power):
    rows = rows_needed(0.03, 0.4, power=power)
    assert smallest_visible(0.4 / math.sqrt(rows), rows - 1, power=power) <= 0.03
    assert smallest_visible(0.4 / math.sqrt(rows - 1), rows - 2, power=power) > 0.03
    rows = pairs_needed(0.03, 0.1, power=power)
    assert smallest_share(rows, 0.1, power=power) <= 0.03 < smallest_share(rows - 1, 0.1, power=power)


def test_power_at_no_difference_is_the_level_and_has_no_sign():
    assert power_of(0.0, 12, level=0.03) == pytest.approx(0.03)
    assert power_of(-2.2, 12) == pytest.approx(power_of(2.2, 12))
    assert power_of(2.5, math.inf) == pytest.approx(power_of(2.5, 1e7), abs=1e-6)


def test_what_a_comparison_could_have_seen_is_what_it_would_need_its_rows_for():
    random = np.random.default_rng(2)
    a = random.random((500, 1))
    b = np.clip(a + 0.2 * random.normal(size=a.shape), 0, 1)
    right = [(side > 0.5) * 1.0 for side in (a, b)]
    for found in (compare(a, b, Scale(bounds=SHARE)), compare(*right, Scale(bounds=SHARE))):
        plan = sample_size_from_comparison(found, found.smallest_visible)
        assert plan.rows == pytest.approx(500, abs=1)
        assert plan.smallest == found.smallest_visible
        assert plan.correlation is None
        assert sample_size_from_comparison(found, 2 * plan.difference).rows < plan.rows / 3


def test_clusters_count_in_a_plan():
    random = np.random.default_rng(3)
    keys = np.repeat(np.arange(50, dtype=np.uint64), 10)
    a = random.random((500, 1))
    b = a + np.repeat(random.normal(size=(50, 1)), 10, axis=0)
    alone, together = (compare(a, b, Scale(bounds=(None, None)), keys=each) for each in (None, keys))
    assert (alone.units, together.units) == (500, 50)
    assert sample_size_from_comparison(together, 0.1).rows > 8 * sample_size_from_comparison(alone, 0.1).rows
    one = sample_size_from_scores(collect(b[:, 0], keys), Scale(bounds=(None, None)), 0.1)
    assert one.rows > 5 * sample_size_from_scores(collect(b[:, 0]), Scale(bounds=(None, None)), 0.1).rows


def test_one_run_and_the_true_correlation_plan_as_both_runs_do():
    random = np.random.default_rng(4)
    a = random.normal(size=(4_000, 1))
    b = 0.7 * a + math.sqrt(1 - 0.49) * random.normal(size=a.shape)
    pair = sample_size_from_comparison(compare(a, b, Scale(bounds=(None, None))), 0.05)
    run = sample_size_from_scores(collect(a[:, 0]), Scale(bounds=(None, None)), 0.05, correlation=0.7)
    assert run.rows == pytest.approx(pair.rows, rel=0.1)
    assert run.correlation == 0.7
    assert paired_deviation(1.0, 0.7) == pytest.approx(math.sqrt(0.6))


def test_what_cannot_be_planned_is_an_error():
    same = compare(np.ones((9, 1)), np.ones((9, 1)), Scale(bounds=SHARE))
    with pytest.raises(DataError, match="differ"):
        sample_size_from_comparison(same, 0.1)
    with pytest.raises(DataError, match="vary"):
        sample_size_from_scores(collect(np.ones(9)), Scale(bounds=SHARE), 0.1)
    with pytest.raises(SpecError, match="difference"):
        rows_needed(0.0, 1.0)
    with pytest.raises(SpecError, match="discordant"):
        pairs_needed(0.2, 0.1)
    with pytest.raises(SpecError, match="power"):
        rows_needed(0.1, 1.0, power=80)
    with pytest.raises(SpecError, match="correlation"):
        paired_deviation(1.0, 1.0)
    assert smallest_share(100, 0.0) is None
