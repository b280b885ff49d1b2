"""Certificates agree with scipy's exact test, and are given in error at most as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from karat.core.errors import DataError, SpecError
from karat.stats.intervals.clopper_pearson import binomial_tail
from karat.stats.reliability.certificate import certify, certify_each, trials_needed


@given(st.integers(1, 3_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.001, 0.999))
def test_test_and_upper_end_are_scipys(counts, limit):
    accepted, asked = counts
    found, other = certify(accepted, asked, limit), binomtest(accepted, asked, limit, alternative="less")
    assert found.p == pytest.approx(other.pvalue, rel=1e-8, abs=1e-290)
    assert found.upper == pytest.approx(other.proportion_ci(0.95, "exact").high, abs=1e-9)
    if abs(found.upper - limit) > 1e-9:
        assert found.passed == (found.upper < limit)


def test_tails_far_out_are_scipys():
    for hits, trials, share in [(5, 1_000_000, 1e-5), (700_000, 1_000_000, 0.5), (3, 10, 1e-300), (0, 7, 0.3)]:
        assert binomial_tail(hits, trials, share) == pytest.approx(binom.cdf(hits, trials, share), rel=1e-7)


@pytest.mark.parametrize("asked", [20, 59, 60, 200, 503])
def test_the_level_holds_at_the_limit_for_every_number_of_trials(asked):
    """Exactly: the chance of a certificate, summed over all counts, for a share just at the limit."""
    for limit in (0.05, 0.1, 0.3):
        chances = binom.pmf(np.arange(asked + 1), asked, limit)
        given = sum(chance for hits, chance in enumerate(chances.tolist()) if certify(hits, asked, limit).passed)
        assert given <= 0.05


@pytest.mark.parametrize(
    ("limit", "share", "power"), [(0.05, 0.0, 0.8), (0.05, 0.01, 0.8), (0.1, 0.05, 0.9), (0.3, 0.2, 0.8)]
)
def test_the_fewest_trials_have_the_power(limit, share, power):
    trials = trials_needed(limit, share, power=power)

    def power_of(n):
        allowed = binom.ppf(0.05, n, limit) - (binom.cdf(binom.ppf(0.05, n, limit), n, limit) > 0.05)
        return binom.cdf(allowed, n, share) if allowed >= 0 else 0.0

    assert power_of(trials) >= power
    assert all(power_of(fewer) < power for fewer in range(1, trials))


def test_several_classes_share_one_level():
    random = np.random.default_rng(0)
    wrong = 0
    for _ in range(400):
        counts = {str(each): (int(hits), 120) for each, hits in enumerate(random.binomial(120, 0.05, 6))}
        wrong += any(each.passed for each in certify_each(counts, 0.05).values())
    assert wrong / 400 <= 0.05


def test_what_cannot_be_certified():
    assert certify(0, 0, 0.05).passed is False
    assert certify(0, 0, 0.05).upper == 1.0
    with pytest.raises(DataError, match="from 0 to 3 accepted"):
        certify(4, 3, 0.05)
    with pytest.raises(SpecError, match="limit"):
        certify(1, 3, 5)
    with pytest.raises(SpecError, match="share below"):
        trials_needed(0.05, 0.05)
