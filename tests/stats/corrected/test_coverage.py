"""Corrected intervals that say 95 % hold the truth 93 to 97 times in 100; bench/corrected.py simulates more, longer."""

from __future__ import annotations

import numpy as np
import pytest

from karat.stats.corrected.allocation import draw_rows, probabilities_of, uncertain
from karat.stats.corrected.estimate import corrected_difference, corrected_mean
from karat.stats.corrected.judged import Judged

pytestmark = pytest.mark.slow

TIMES = 500
SLACK = 0.025


def flip(random, labels, share):
    return np.where(random.random(labels.shape) < share, 1 - labels, labels)


def hide(labels, count):
    return np.where(np.arange(len(labels)) < count, labels, np.nan)


def check(found, truth, narrower=1.05):
    held = np.mean([each.low <= truth <= each.high for each in found])
    width = sum(each.high - each.low for each in found) / sum(np.diff(each.labels_alone[1:])[0] for each in found)
    assert 0.93 - SLACK <= held <= 0.97 + SLACK
    assert width < narrower


@pytest.mark.parametrize(
    ("right", "errors", "count", "narrower"),
    [(0.7, 0.1, 60, 0.78), (0.7, 0.5, 60, 1.05), (0.95, 0.1, 200, 0.95), (0.7, 0.85, 300, 0.82)],
)
def test_means(right, errors, count, narrower):
    random = np.random.default_rng(count)
    found = []
    for _ in range(TIMES):
        labels = (random.random(10 * count) < right).astype(float)
        found.append(corrected_mean(Judged(flip(random, labels, errors), hide(labels, count))))
    check(found, right, narrower)


def test_clusters():
    """Forty labelled clusters of 1 to 6 rows; half of the rows of a cluster share one label."""
    random = np.random.default_rng(4)
    found = []
    for _ in range(TIMES):
        keys = np.repeat(np.arange(400, dtype=np.uint64), random.integers(1, 7, 400))
        shared = (random.random(400) < 0.7)[keys]
        labels = np.where(random.random(len(keys)) < 0.5, shared, random.random(len(keys)) < 0.7).astype(float)
        known = np.where(keys < 40, labels, np.nan)
        found.append(corrected_mean(Judged(flip(random, labels, 0.1), known, clusters=keys)))
    check(found, 0.7, 0.85)


def test_clusters_of_very_unequal_size():
    """Sixty labelled clusters of Pareto's sizes, and a judge that does not know the answer."""
    random, held = np.random.default_rng(9), 0
    for _ in range(400):
        keys = np.repeat(np.arange(600, dtype=np.uint64), np.minimum(np.ceil(random.pareto(1.1, 600)), 200).astype(int))
        labels = (random.random(len(keys)) < random.beta(1.4, 0.6, 600)[keys]).astype(float)
        found = corrected_mean(Judged(flip(random, labels, 0.5), np.where(keys < 60, labels, np.nan), clusters=keys))
        held += found.low <= 0.7 <= found.high
    assert held / 400 > 0.92


def test_an_open_range_with_heavy_tails():
    """Thirty labels of a lognormal cost, and a judge that guesses them well."""
    random, held = np.random.default_rng(10), 0
    for _ in range(120):
        labels = np.exp(random.normal(size=300))
        scores = labels * np.exp(0.3 * random.normal(size=300))
        found = corrected_mean(Judged(scores, hide(labels, 30)), bounds=(0.0, None))
        held += found.low <= np.exp(0.5) <= found.high
    assert held / 120 > 0.92


def test_differences():
    random = np.random.default_rng(5)
    found = []
    for _ in range(TIMES):
        first = (random.random(1_500) < 0.6).astype(float)
        second = np.where(random.random(1_500) < 0.3, random.random(1_500) < 0.8, first).astype(float)
        sides = [Judged(flip(random, labels, 0.1), hide(labels, 150)) for labels in (first, second)]
        found.append(corrected_difference(*sides))
    check(found, 0.3 * 0.2)


@pytest.mark.parametrize("few", [2, 5, 20])
def test_differences_where_one_system_has_few_labels(few):
    random = np.random.default_rng(few)
    held = 0
    for _ in range(300):
        labels = (random.random((2, 1_000)) < 0.8).astype(float)
        sides = [
            Judged(flip(random, each, 0.2), hide(each, count)) for each, count in zip(labels, (few, 300), strict=True)
        ]
        found = corrected_difference(*sides)
        held += found.low <= 0 <= found.high
    assert held / 300 > 0.92


def test_means_where_the_judge_is_surely_wrong_in_rows_that_are_seldom_proposed():
    random = np.random.default_rng(6)
    found = []
    for at in range(400):
        labels = (random.random(2_000) < 0.8).astype(float)
        scores = flip(random, labels, 0.08)
        scores[random.random(2_000) < 0.1] = 0.5
        chances = probabilities_of(uncertain(scores), 200)
        known = np.full(2_000, np.nan)
        drawn = draw_rows(chances, at)
        known[drawn] = labels[drawn]
        found.append(corrected_mean(Judged(scores, known, chances)))
    held = np.mean([each.low <= 0.8 <= each.high for each in found])
    assert held > 0.94
