"""Rows by confidence: the same in whatever parts they come, and intervals and tests that are right by simulation."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core.errors import RowError, SpecError
from karat.metrics.confidence.curves import CoverageAccuracy, MassCalibration, RiskCoverageArea, RocArea
from karat.stats.aggregate import Scale
from karat.stats.agreement.auroc import auroc
from karat.stats.inference import Inference
from karat.stats.ordered.curve_rows import DISTINCT, CurveRows
from karat.stats.ordered.deviation import jackknife_variance
from karat.stats.paired.compare import Pairing
from karat.stats.sums.units import Units

roc_auc_score = pytest.importorskip("sklearn.metrics").roc_auc_score

CURVES = [RocArea(), RiskCoverageArea(), CoverageAccuracy(0.8), MassCalibration(10, "l1")]
SHARES = st.floats(0, 1)


def keep(*parts):
    whole = CurveRows()
    for part in parts:
        one = CurveRows()
        one.add(np.asarray(list(part), float).reshape(-1, 2))
        about, stored = one.state()
        whole.merge(CurveRows.restore(about, iter(stored)))
    return whole


def draw(random, n, hard=None):
    hard = random.normal(size=n) if hard is None else hard
    confidence = 1 / (1 + np.exp(-1.2 - 1.2 * hard - 0.7 * random.normal(size=n)))
    right = random.random(n) < 0.9 / (1 + np.exp(-0.6 - 1.1 * hard))
    return np.column_stack([confidence, right])


@given(st.lists(st.lists(st.tuples(SHARES, SHARES), min_size=1), min_size=1, max_size=4))
def test_parts_in_any_order_are_the_whole(parts):
    one, other = keep(chain(*parts)), keep(*parts[::-1])
    assert one.state() == other.state()
    confidences, rows, scores = one.table()
    table = np.array(list(chain(*parts)))
    assert confidences.tolist() == sorted(set(table[:, 0].tolist()))
    assert rows.sum() == one.rows == len(table)
    assert scores.sum() == pytest.approx(table[:, 1].sum(), abs=1e-9)


def test_many_confidences_are_rounded_whatever_their_parts():
    rows = np.random.default_rng(0).random((3 * DISTINCT, 2))
    one, other = keep(rows), keep(*np.array_split(np.random.default_rng(1).permutation(rows), 7))
    assert one.state() == other.state()
    assert len(one.table()[0]) <= DISTINCT + 1
    assert one.table()[2].sum() == pytest.approx(rows[:, 1].sum(), abs=1e-5)
    right = rows[:, 1] > rows[:, 0]
    exact = roc_auc_score(right, rows[:, 0])
    assert RocArea().value(*keep(np.column_stack([rows[:, 0], right])).table()) == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("rows", [[[1.5, 1]], [[0.5, -1]], [[np.nan, 0]]])
def test_what_is_not_from_0_to_1_is_refused(rows):
    with pytest.raises(RowError, match="row 0: a confidence and a score from 0 to 1"):
        keep(rows)


def test_the_variance_of_the_area_under_the_roc_curve_is_delongs():
    statistics = draw(np.random.default_rng(0), 250)
    table = keep(statistics).table()
    influence = auroc(statistics[:, 0], statistics[:, 1]).influence
    delong = (influence**2).sum() * 250 / 249
    assert jackknife_variance(RocArea(), *table) == pytest.approx(delong, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("curve", CURVES[:3])
def test_intervals_hold_the_value_of_the_population_by_simulation(curve):
    random = np.random.default_rng(1)
    true = float(curve.value(*keep(draw(random, 1_000_000)).table()))
    found = [keep(draw(random, 200)).estimate(Scale(curve), Inference()) for _ in range(300)]
    held = sum(low <= true <= high for _, low, high in found)
    assert held >= 300 * 0.95 - 2.5 * np.sqrt(300 * 0.95 * 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("curve", [RocArea(), MassCalibration(10, "l1")])
def test_equal_systems_differ_rarely_and_the_interval_holds_nothing_by_simulation(curve):
    random = np.random.default_rng(5)
    found = []
    for _ in range(40):
        hard = random.normal(size=200)
        pairing = Pairing(Scale(curve), 2)
        pairing.add(draw(random, 200, hard), draw(random, 200, hard), np.arange(200, dtype=np.uint64))
        found.append(pairing.compare())
    assert sum(each.p <= 0.05 for each in found) <= 40 * 0.05 + 2.5 * np.sqrt(40 * 0.05 * 0.95)
    assert sum(each.low <= 0 <= each.high for each in found) >= 40 * 0.95 - 2.5 * np.sqrt(40 * 0.05 * 0.95)


def test_rows_that_are_counted_twice_tell_no_more_where_they_share_a_cluster():
    random = np.random.default_rng(4)
    hard = random.normal(size=100)
    a, b = draw(random, 100, hard), draw(random, 100, hard)
    keys = np.arange(200, dtype=np.uint64)
    found = []
    for clusters in (None, keys // 2):
        pairing = Pairing(Scale(RocArea()), 2, clustered=clusters is not None)
        pairing.add(np.repeat(a, 2, axis=0), np.repeat(b, 2, axis=0), keys, clusters)
        found.append(pairing.compare())
    twice, together = found
    assert together.units == 100
    assert together.difference == twice.difference
    assert together.high - together.low > 1.3 * (twice.high - twice.low)


def test_rows_that_one_system_lacks_are_left_out():
    random = np.random.default_rng(2)
    a, b = draw(random, 90), draw(random, 90)
    numbers = np.arange(90, dtype=np.uint64)
    whole, part = Pairing(Scale(RocArea()), 2), Pairing(Scale(RocArea()), 2)
    whole.add(a[5:], b[5:], numbers[5:])
    a[:2], b[2:5] = np.nan, np.nan
    part.add(a[::-1], b[::-1], numbers[::-1])
    one, other = whole.compare(), part.compare()
    assert (one.difference, one.p, one.low) == (other.difference, other.p, other.low)
    assert (other.n, other.scored, other.missing_a, other.missing_b, other.p_least) == (90, 85, 2, 3, None)


def test_an_undefined_value_has_no_test():
    rows = np.array([[0.5, 1.0], [0.7, 1.0]])
    pairing = Pairing(Scale(RocArea()), 2)
    pairing.add(rows, rows, np.arange(2, dtype=np.uint64))
    found = pairing.compare()
    assert (found.a, found.difference, found.p, found.low) == (None, None, None, None)


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: type(curve).__name__)
def test_systems_without_a_common_scored_row_have_no_difference(curve):
    rows = np.array([[0.5, 1.0], [0.7, 0.0]])
    pairing = Pairing(Scale(curve), 2)
    pairing.add(np.where([[True], [False]], rows, np.nan), np.where([[False], [True]], rows, np.nan), np.arange(2))
    found = pairing.compare()
    assert (found.n, found.scored, found.a, found.difference, found.p) == (2, 0, None, None, None)


@pytest.mark.parametrize(("curve", "direction"), [(RocArea(), "maximize"), (RiskCoverageArea(), "minimize")])
def test_a_row_is_won_by_the_system_with_the_better_score(curve, direction):
    a, b = np.array([[0.5, 0.0], [0.7, 1.0], [0.9, 0.0]]), np.array([[0.5, 1.0], [0.7, 1.0], [0.9, 1.0]])
    pairing = Pairing(Scale(curve, (0.0, 1.0), direction), 2)
    pairing.add(a, b, np.arange(3, dtype=np.uint64))
    found = pairing.compare()
    assert (found.wins, found.losses, found.ties) == (2, 0, 1)


def test_sums_and_other_finishes_are_refused():
    with pytest.raises(SpecError, match="percentiles and curves, which are not computed from sums"):
        Units(2).observe(RocArea())
