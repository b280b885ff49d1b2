from __future__ import annotations

import math
from statistics import NormalDist

import pytest
from scipy import stats

from karat.stats.intervals.student import student_quantile


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 29, 299, 10_000, 1_000_000])
@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95, 0.99, 0.999])
def test_the_quantile_is_scipys(confidence, freedom):
    probability = (1 + confidence) / 2
    assert student_quantile(probability, freedom) == pytest.approx(stats.t.ppf(probability, freedom), rel=1e-6)


def test_infinite_freedom_is_the_normal_distribution():
    assert student_quantile(0.975, math.inf) == NormalDist().inv_cdf(0.975)
