"""The best threshold of a score, its interval, and what it is worth on other rows."""

import numpy as np
import pytest

from karat.core.errors import DataError
from karat.stats.agreement.accuracy import accuracy
from karat.stats.agreement.threshold import best_threshold, youden_index

roc_curve = pytest.importorskip("sklearn.metrics").roc_curve

NAN = np.nan


def draw(seed, n=300, shift=1.5):
    random = np.random.default_rng(seed)
    labels = (random.random(n) < 0.4) * 1.0
    return np.round(random.normal(size=n) + shift * labels, 2), labels


@pytest.mark.parametrize("seed", range(5))
def test_it_has_the_greatest_youden_index_of_scikit_learns_curve(seed):
    scores, labels = draw(seed)
    false, true, _ = roc_curve(labels, scores)
    found = best_threshold(scores, labels)
    assert youden_index(found.calls, labels).value == pytest.approx((true - false).max())
    assert found.low <= found.value <= found.high
    assert ((scores >= found.value) == found.calls).all()


@pytest.mark.slow
def test_cross_validation_finds_no_skill_in_a_score_that_has_none():
    apparent, corrected = [], []
    for seed in range(60):
        scores, labels = draw(seed, n=60, shift=0.0)
        found = best_threshold(scores, labels)
        apparent.append(youden_index(found.calls, labels).value)
        corrected.append(youden_index(found.crossed, labels).value)
    assert np.mean(apparent) > 0.1
    assert abs(np.mean(corrected)) < 0.05


def test_a_clusters_rows_do_not_choose_the_threshold_they_are_tested_with():
    """Each cluster has its own score and its own label: other clusters tell nothing about it."""
    clusters = np.repeat(np.arange(60), 5)
    random = np.random.default_rng(3)
    scores, labels = random.random(60)[clusters], (np.arange(60) % 2.0)[clusters]
    found = best_threshold(scores, labels, clusters=clusters)
    assert all(len(set(found.crossed[clusters == each])) == 1 for each in range(60))
    wide, narrow = found, best_threshold(scores, labels)
    assert wide.high - wide.low >= narrow.high - narrow.low


def test_rows_with_a_gap_are_left_out_and_equal_scores_stay_together():
    scores, labels = np.array([*([1.0] * 6), *([2.0] * 6), NAN, 5]), np.array([*([0.0] * 6), *([1.0] * 6), 1, NAN])
    found = best_threshold(scores, labels)
    assert found.value == 1.5
    assert np.isnan(found.calls[-2:]).all()
    assert accuracy(found.crossed, labels).value == 1


def test_a_gap_between_the_labels_leaves_the_threshold_open():
    found = best_threshold(np.repeat([1.0, 9.0], 10), np.repeat([0.0, 1.0], 10))
    assert (found.low, found.value, found.high) == (1, 5, 9)


@pytest.mark.parametrize(
    ("scores", "labels", "reason"),
    [
        ([1.0, 2, 3], [0.0, 1, 1], "1 labelled rows of one of the two labels; 5 needed"),
        ([1.0] * 12, [0.0, 1] * 6, "every score is 1"),
        ([NAN, 1], [1, NAN], "no row has a label of both"),
    ],
)
def test_where_there_is_no_threshold_a_reason_says_why(scores, labels, reason):
    found = best_threshold(np.array(scores), np.array(labels))
    assert (found.value, found.low, found.reason) == (None, None, reason)


def test_labels_that_are_not_yes_or_no_are_refused():
    with pytest.raises(DataError, match="labels 0 and 1 expected, found 2"):
        best_threshold(np.arange(3.0), np.arange(3.0))
