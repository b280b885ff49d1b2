"""The power of two one-sided tests, and the rows that they need."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import nct, norm, t

from karat.core.errors import SpecError
from karat.stats.aggregate import Scale
from karat.stats.paired.compare import compare
from karat.stats.paired.margin_size import RowDifferences, margin_size_from_comparison
from karat.stats.paired.mcnemar import tango_interval
from karat.stats.paired.power import power_within


@pytest.mark.parametrize(("variation", "rows", "power"), [(0.3, 40, 0.815845), (0.2, 20, 0.834680)])
def test_power_of_equivalence_is_the_published_one_of_bioequivalence(variation, rows, power):
    """PowerTOST's `sampleN.TOST(CV, theta0 = 0.95)`, exact by Owen's Q: a crossover within 80 % and 125 %."""
    error = math.sqrt(math.log(1 + variation**2) * 2 / rows)
    limit, true = math.log(1.25), math.log(0.95)
    assert power_within((limit + true) / error, (limit - true) / error, rows - 2) == pytest.approx(power, abs=1e-6)


@pytest.mark.parametrize("freedom", [4, 40])
def test_power_of_no_worse_is_that_of_the_noncentral_t(freedom):
    assert power_within(2.4, math.inf, freedom) == pytest.approx(nct.sf(t.isf(0.05, freedom), freedom, 2.4), abs=1e-6)


def test_rows_of_means_agree_with_the_closed_formula():
    """Chow, Shao and Wang (2008), section 3.1: ((z_α + z_β)·σ/δ)² for no worse, with z_β/2 for equivalence."""
    differences = RowDifferences(0.4)
    for both, beta in ((False, 0.2), (True, 0.1)):
        closed = ((norm.isf(0.05) + norm.isf(beta)) * 0.4 / 0.02) ** 2
        assert differences.rows_within(0.02, both=both) == pytest.approx(closed, abs=3)


def test_rows_of_right_and_wrong_answers_have_the_power_that_tangos_interval_has():
    discordant, margin = 0.1, 0.04
    rows = RowDifferences(discordant**0.5, discordant).rows_within(margin)
    random = np.random.default_rng(2)
    apart = random.binomial(rows, discordant, 1_500)
    wins = random.binomial(apart, 0.5)
    found = {}
    for won, lost in zip(wins.tolist(), (apart - wins).tolist(), strict=True):
        if (won, lost) not in found:
            found[won, lost] = tango_interval(won, lost, rows, norm.isf(0.05))[0] > -margin
    shown = [found[each] for each in zip(wins.tolist(), (apart - wins).tolist(), strict=True)]
    assert np.mean(shown) == pytest.approx(0.8, abs=0.035)


def test_the_smallest_margin_of_the_rows_at_hand_takes_so_many_rows():
    random = np.random.default_rng(1)
    a = random.random((300, 1))
    found = compare(a, a + random.normal(0, 0.1, (300, 1)), Scale(bounds=(None, None)))
    size = margin_size_from_comparison(found, 0.01)
    assert margin_size_from_comparison(found, size.smallest).no_worse == pytest.approx(300, abs=1)
    assert size.equivalent > size.no_worse
    with pytest.raises(SpecError, match="power of 1"):
        margin_size_from_comparison(found, 0.01, power=1)
    with pytest.raises(SpecError, match="margin"):
        margin_size_from_comparison(found, -0.01)
