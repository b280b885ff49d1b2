"""Abilities by Rasch's model equal conditional logistic regression's; misfits are rows where the weak are right."""

import numpy as np
import pytest

from karat.stats.ranking.rasch import find_misfit, fit_abilities


def draw(abilities, rows, seed):
    random = np.random.default_rng(seed)
    odds = np.asarray(abilities) - random.normal(0, 1.5, (rows, 1))
    return random.random(odds.shape) < 1 / (1 + np.exp(-odds))


def test_abilities_are_those_of_conditional_logit():
    conditional = pytest.importorskip("statsmodels.discrete.conditional_models")
    hits = draw([0.8, 0.1, -0.2, -0.7], 150, 1)
    kept = hits[(hits.sum(1) > 0) & ~hits.all(1)]
    systems = np.tile(np.eye(4)[:, 1:], (len(kept), 1))
    model = conditional.ConditionalLogit(kept.ravel().astype(int), systems, groups=np.repeat(np.arange(len(kept)), 4))
    theirs = np.concatenate([[0.0], model.fit(disp=0, method="newton").params])
    ours = fit_abilities(hits, ridge=0.0)
    assert ours - ours[0] == pytest.approx(theirs, abs=1e-6)


def test_a_system_that_is_never_right_has_an_ability():
    hits = draw([1.0, 0.0, -1.0], 50, 2)
    hits[:, 2] = False
    abilities = fit_abilities(hits)
    assert np.isfinite(abilities).all()
    assert abilities.argmin() == 2


def test_a_misfit_is_the_mean_of_its_conditional_distribution_apart():
    abilities = np.array([2.0, 0.0, -2.0])
    odds = np.exp(abilities)
    mean = (odds * abilities).sum() / odds.sum()
    spread = np.sqrt((odds * abilities**2).sum() / odds.sum() - mean**2)
    found = find_misfit(np.array([False, False, True]), abilities)
    assert found == pytest.approx((mean + 2.0) / spread)
    assert find_misfit(np.array([True, True, True]), abilities) == 0
