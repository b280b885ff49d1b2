"""The law of coinciding answers is a beta-binomial one."""

import numpy as np
import pytest

from karat.stats.reliability.coincidence import _MEANS, _SPREADS, Coincidence, fit_coincidence


def test_chances_are_those_of_scipys_beta_binomial():
    stats = pytest.importorskip("scipy.stats")
    mean, spread = 20, 9
    likelihood = np.zeros((len(_MEANS), len(_SPREADS)))
    likelihood[mean, spread] = 1.0
    law, total = Coincidence(likelihood, 50), 1 / _SPREADS[spread] - 1
    theirs = stats.betabinom(6, _MEANS[mean] * total, (1 - _MEANS[mean]) * total)
    assert [law.chance(size, 7) for size in range(1, 8)] == pytest.approx(theirs.pmf(range(7)))
    assert law.tails(7)[3] == pytest.approx(theirs.sf(1))


def test_the_law_of_many_rows_is_the_one_that_they_were_drawn_by():
    random = np.random.default_rng(0)
    answers = random.integers(2, 9, 4000)
    sizes = 1 + random.binomial(answers - 1, random.beta(1.2, 2.8, 4000))
    law = fit_coincidence(sizes, answers)
    assert float((law.likelihood.sum(1) * _MEANS).sum()) == pytest.approx(0.3, abs=0.02)
    assert float((law.likelihood.sum(0) * _SPREADS).sum()) == pytest.approx(0.2, abs=0.03)


def test_few_rows_say_nothing():
    assert fit_coincidence(np.ones(19, int), np.full(19, 3)) is None
    assert fit_coincidence(np.ones(50, int), np.ones(50, int)) is None
