"""Drift in the order of asking, against permutations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from karat.stats.sequential.drift import find_drift


def test_the_chance_is_that_of_random_orders() -> None:
    rng = np.random.default_rng(0)
    scores = np.sort((rng.random(300) < 0.7).astype(float))
    drifts = [find_drift(rng.permutation(scores)) for _ in range(2_000)]
    chances = np.array([drift.p for drift in drifts if drift])
    for level in (0.05, 0.2, 0.5):
        assert (chances < level).mean() == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 2_000))
    drift = find_drift(mixed := rng.permutation(scores) + np.linspace(0, 0.5, 300))
    assert drift
    assert drift.p == pytest.approx(spearmanr(mixed, np.arange(300)).pvalue, rel=0.5)


def test_a_model_that_was_exchanged() -> None:
    rng = np.random.default_rng(1)
    drift = find_drift(np.concatenate([rng.random(400) < 0.8, rng.random(400) < 0.6]).astype(float))
    assert drift
    assert drift.p < 0.001
    assert drift.later < drift.earlier - 0.1


def test_nothing_to_say() -> None:
    assert find_drift(np.ones(100)) is None
    assert find_drift(np.arange(10.0)) is None
