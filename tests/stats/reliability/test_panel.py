"""Panels: correlations of errors that were planted are found, and the best single judge is not flattered."""

from __future__ import annotations

import numpy as np
import pytest

from karat.core.errors import DataError
from karat.stats.reliability.panel import examine_panel


def judges(random, rows, number, shared, own):
    """Verdicts and truth: all judges err on the same share of rows, and each on further rows of its own."""
    truth = (random.random(rows) < 0.6).astype(float)
    wrong = (random.random(rows) < shared)[:, None] | (random.random((rows, number)) < own)
    return np.where(wrong, 1 - truth[:, None], truth[:, None]), truth


def test_the_correlation_is_the_mean_over_pairs():
    """Of judges that err equally often, the mean of numpy's correlations of their errors."""
    random = np.random.default_rng(0)
    scores, truth = judges(random, 40_000, 4, 0.1, 0.1)
    wrong = (scores != truth[:, None]).astype(float)
    pairs = np.corrcoef(wrong.T)[np.triu_indices(4, 1)]
    found = examine_panel(scores, truth)
    assert found.correlation.value == pytest.approx(pairs.mean(), abs=1e-3)
    assert found.effective.value == pytest.approx(4 / (1 + 3 * pairs.mean()), abs=0.01)
    mean_of_all = np.var(wrong.mean(axis=1))
    assert np.var(wrong, axis=0).mean() / mean_of_all == pytest.approx(found.effective.value, rel=1e-3)


def test_judges_alike_are_one_vote_and_independent_ones_all():
    random = np.random.default_rng(1)
    scores, truth = judges(random, 500, 1, 0.2, 0.0)
    alike = examine_panel(np.repeat(scores, 3, axis=1), truth)
    assert alike.effective.value == pytest.approx(1.0)
    assert alike.difference.value == 0
    scores, truth = judges(random, 5_000, 3, 0.0, 0.2)
    apart = examine_panel(scores, truth)
    assert apart.effective.low < 3 == pytest.approx(apart.effective.high, abs=0.2)
    assert apart.together.value == pytest.approx(0.2**3 + 3 * 0.2**2 * 0.8, abs=0.01)
    assert apart.difference.low > 0


def test_the_best_of_equal_judges_is_not_flattered():
    """Chosen and tried on the same rows, the best of nine equal judges would seem to err less than they do."""
    random, cross_fitted, flattered = np.random.default_rng(2), [], []
    for _ in range(100):
        scores, truth = judges(random, 100, 9, 0.0, 0.2)
        found = examine_panel(scores, truth)
        cross_fitted.append(found.alone.value)
        flattered.append(found.errors[found.best].value)
    assert np.mean(cross_fitted) == pytest.approx(0.2, abs=0.015)
    assert np.mean(flattered) < 0.16


def test_intervals_hold_what_was_planted():
    random, held = np.random.default_rng(3), 0
    variance, both = 0.2 * 0.8, 0.1 + 0.9 * (1 / 9) ** 2
    truth_of = (both - 0.04) / variance
    for _ in range(200):
        scores, truth = judges(random, 300, 3, 0.1, 1 / 9)
        found = examine_panel(scores, truth).correlation
        held += found.low <= truth_of <= found.high
    assert 0.92 <= held / 200 <= 0.985


def test_ties_missing_scores_and_numbers():
    truth = np.array([1.0, 1.0, 0.0, 0.0, 1.0, np.nan])
    scores = np.array([[1, 0], [1, 1], [0, 0], [1, 1], [np.nan, 1], [1, 1.0]])
    found = examine_panel(scores, truth)
    assert found.together.value == (0.5 + 0 + 0 + 1) / 4
    numbers = examine_panel(
        np.array([[0.5, 0.7], [0.2, 0.6], [0.9, 0.9]]), np.array([0.5, 0.4, 0.9]), bounds=(0.0, 1.0)
    )
    assert numbers.together.value == pytest.approx((0.1 + 0 + 0) / 3)
    assert [each.value for each in numbers.errors] == pytest.approx([0.2 / 3, 0.4 / 3])


def test_what_no_panel_shows():
    with pytest.raises(DataError, match="two judges"):
        examine_panel(np.ones((5, 1)), np.ones(5))
    with pytest.raises(DataError, match="at least 2"):
        examine_panel(np.full((5, 2), np.nan), np.ones(5))
    right = examine_panel(np.ones((5, 2)), np.ones(5))
    assert right.correlation.reason == "no judge errs on any row"
    assert right.effective.value is None
    assert right.difference.value == 0
