import numpy as np
import pytest

from karat.stats.reliability.calibration import calibrate

calibration_curve = pytest.importorskip("sklearn.calibration").calibration_curve
brier_score_loss = pytest.importorskip("sklearn.metrics").brier_score_loss

RANDOM = np.random.default_rng(11)
SCORES = RANDOM.random(500)
PEOPLE = (RANDOM.random(500) < SCORES**2).astype(float)


def test_the_numbers_are_those_of_scikit_learn():
    found = calibrate(SCORES, PEOPLE)
    right, said = calibration_curve(PEOPLE, SCORES, n_bins=10)
    assert [each.people.value for each in found.bins] == pytest.approx(right.tolist(), abs=1e-12)
    assert [each.score for each in found.bins] == pytest.approx(said.tolist(), abs=1e-12)
    assert found.brier.value == pytest.approx(brier_score_loss(PEOPLE, SCORES), abs=1e-12)
    shares = np.array([each.n for each in found.bins]) / 500
    assert found.ece.value == pytest.approx(float(shares @ np.abs(right - said)), abs=1e-12)


def test_each_of_few_scores_has_a_bin_of_its_own():
    scores = np.array([0.0, 0.5, 0.5, 1.0, np.nan, 1.0])
    found = calibrate(scores, np.array([0.0, 1.0, 0.0, 1.0, 1.0, np.nan]))
    assert [(each.low, each.high, each.n) for each in found.bins] == [(0, 0, 1), (0.5, 0.5, 2), (1, 1, 1)]
    assert found.bins[0].people.reason == "1 row, and an interval needs 2"
    assert (found.ece.value, found.ece.n) == (0, 4)


def test_the_error_by_chance_is_that_of_a_calibrated_judge():
    errors, chances = [], []
    for _ in range(60):
        scores = RANDOM.random(200)
        found = calibrate(scores, (RANDOM.random(200) < scores).astype(float))
        errors.append(found.ece.value)
        chances.append(found.ece_by_chance)
    assert np.mean(chances) == pytest.approx(np.mean(errors), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("off", [0.0, 0.2])
def test_the_interval_of_the_expected_error_covers_it(off):
    """Noise in ten bins makes the error larger than it is; for a calibrated judge the interval reaches down to 0."""
    covered = 0
    true = np.mean(np.abs(2 * off * (np.arange(10) + 0.5) / 10 - off))
    for _ in range(200):
        scores = RANDOM.random(200)
        found = calibrate(scores, (RANDOM.random(200) < scores * (1 - 2 * off) + off).astype(float))
        covered += found.ece.low <= true <= found.ece.high
    assert covered / 200 > 0.91


def test_clusters_widen_the_intervals():
    scores, people = np.repeat(SCORES[:100], 5), np.repeat(PEOPLE[:100], 5)
    alone = calibrate(scores, people)
    together = calibrate(scores, people, clusters=np.repeat(np.arange(100), 5))
    assert together.brier.value == pytest.approx(alone.brier.value)
    assert together.brier.high - together.brier.low > 1.8 * (alone.brier.high - alone.brier.low)
    assert together.ece_by_chance > 1.8 * alone.ece_by_chance


def test_no_row_has_no_calibration():
    found = calibrate(np.array([np.nan]), np.array([1.0]))
    assert found.bins == ()
    assert found.ece.value is found.brier.value is None
