"""Means of weighted rows: how sure they are follows from the effective number of rows."""

from __future__ import annotations

import numpy as np
import pytest

from karat.stats.agreement.accuracy import mean
from karat.stats.reliability.calibration import calibrate

UNEVEN = np.array([200.0] + [1.0] * 19)


def test_a_row_that_stands_for_most_leaves_a_share_without_errors_unsure():
    found = mean(np.ones(20), weights=UNEVEN).estimate()
    assert (found.value, found.high, found.n) == (1, 1, 20)
    assert found.low < 0.3


def test_equal_weights_are_none():
    rows = np.array([0.0, 1, 1, np.nan, 1, 1, 0, 1])
    plain = mean(rows).estimate()
    for weight in (1.0, 7.0):
        found = mean(rows, weights=np.full(8, weight)).estimate()
        assert (found.value, found.n) == (plain.value, plain.n)
        assert found.low == pytest.approx(plain.low)


def test_rows_of_a_cluster_weigh_together():
    found = mean(np.ones(20), weights=UNEVEN).estimate(np.repeat(np.arange(5), 4))
    of_clusters = mean(np.ones(5), weights=np.array([203.0, 4, 4, 4, 4])).estimate()
    assert found.low == pytest.approx(of_clusters.low)


def test_calibration_of_rows_without_errors_is_as_unsure():
    found = calibrate(np.ones(20), np.ones(20), weights=UNEVEN)
    low = mean(np.ones(20), weights=UNEVEN).estimate().low
    assert found.bins[0].people.low == pytest.approx(low)
    assert found.brier.high == pytest.approx(1 - low)
    assert found.ece.high == pytest.approx(1 - low)
