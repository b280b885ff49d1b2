"""Intervals of corrected values: leaving units out, one by one, and p by scipy's normal distribution."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from karat.stats.corrected.interval import Spread
from karat.stats.intervals.inversion import LEAST, p_value


def spread_of(values, shares, *, silent=0):
    """That of a weighted mean of labels without a judge, and of so many units that have no part in it."""
    mean = values @ shares
    nothing = np.zeros(silent)
    moves, shares = (np.append(each, nothing) for each in (shares * (values - mean), shares))
    return Spread(moves, np.zeros(len(moves)), shares, weight=0.0, shift=0.0, seed=0)


@pytest.mark.parametrize("greatest", [1 / 12, 0.3, 0.85, 0.9])
def test_the_jackknife_leaves_out_each_unit_however_great_its_share(greatest):
    values = np.random.default_rng(1).normal(size=12)
    shares = np.append(greatest, np.full(11, (1 - greatest) / 11))
    left_out = [np.delete(values, at) @ np.delete(shares, at) / (1 - shares[at]) for at in range(12)]
    expected = 11 / 12 * sum((values @ shares - each) ** 2 for each in left_out)
    assert spread_of(values, shares).jackknifed[1] == pytest.approx(expected)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.0, None), (None, None)])
def test_units_that_say_nothing_change_no_end(bounds):
    values = np.random.default_rng(2).beta(1, 3, 14)
    shares = np.full(14, 1 / 14)
    found = [spread_of(values, shares, silent=silent).interval(values.mean(), bounds, 0.9) for silent in (0, 60)]
    assert found[0][0] == ("wilson" if bounds == (0.0, 1.0) else "bootstrap")
    assert found[1][1] == pytest.approx(found[0][1])


@pytest.mark.parametrize("deviations", [0.001, 0.3, 1.0, 1.96, 2.5, 4.0, 5.9, -0.5, -3.0])
@pytest.mark.parametrize("error", [1e-6, 1.0, 1e5])
def test_the_p_of_a_normal_interval_is_scipys(deviations, error):
    value, asked = deviations * error, []

    def ends(confidence):
        asked.append(confidence)
        return value - norm.isf((1 - confidence) / 2) * error, value + norm.isf((1 - confidence) / 2) * error

    assert p_value(value, ends) == pytest.approx(2 * norm.sf(abs(deviations)), rel=1e-3)
    assert len(asked) < 20


def test_the_p_of_a_value_at_0_far_from_it_and_without_an_end():
    assert p_value(0.0, lambda _: (-1.0, 1.0)) == 1
    assert p_value(7.0, lambda c: (7 - norm.isf((1 - c) / 2), math.inf)) == LEAST
    assert p_value(1.0, lambda _: (None, 2.0)) is None
    assert p_value(-1.0, lambda _: (-2.0, None)) is None
