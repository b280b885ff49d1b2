"""Estimates of weighted rows: how sure they are follows from the effective number of rows."""

from __future__ import annotations

import numpy as np
import pytest

from karat.stats.agreement.accuracy import accuracy
from karat.stats.reliability.calibration import calibrate
from karat.stats.reliability.estimate import estimate

UNEVEN = np.array([200.0] + [1.0] * 19)


def test_a_row_that_stands_for_most_leaves_a_share_without_errors_unsure():
    found = estimate(np.ones(20), weights=UNEVEN)
    assert (found.value, found.high, found.n) == (1, 1, 20)
    assert found.low == pytest.approx(accuracy(np.ones(20), np.ones(20), weights=UNEVEN).estimate().low)
    assert found.low < 0.3


def test_equal_weights_are_none():
    rows = np.array([0.0, 1, 1, np.nan, 1, 1, 0, 1])
    plain = estimate(rows)
    for weight in (1.0, 7.0):
        found = estimate(rows, weights=np.full(8, weight))
        assert (found.value, found.n) == (plain.value, plain.n)
    assert estimate(np.ones(8), weights=np.full(8, 7.0)) == estimate(np.ones(8))


def test_rows_of_a_cluster_weigh_together():
    keys = np.repeat(np.arange(5, dtype=np.uint64), 4)
    found = estimate(np.ones(20), weights=UNEVEN, keys=keys)
    of_clusters = estimate(np.ones(5), weights=np.array([203.0, 4, 4, 4, 4]))
    assert found.low == pytest.approx(of_clusters.low)


def test_calibration_of_rows_without_errors_is_as_unsure():
    found = calibrate(np.ones(20), np.ones(20), weights=UNEVEN)
    low = estimate(np.ones(20), weights=UNEVEN).low
    assert found.bins[0].people.low == pytest.approx(low)
    assert found.brier.high == pytest.approx(1 - low)
    assert found.ece.high == pytest.approx(1 - low)
