import numpy as np
import pytest

from karat.core.columns.variance import variance_statistics
from karat.stats.agreement.coefficient import value_of_sums
from karat.stats.reliability.repetition import any_flip, disagreement, noise_share

SHROUT_FLEISS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7.0]])


def judge_share(scores):
    return value_of_sums(variance_statistics(scores), noise_share, empty="every score is the same").estimate()


def test_the_share_of_the_variance_is_that_of_shrout_and_fleiss():
    """Their table 4 has ICC(1, 1) = .17, from mean squares of 11.24 between and 6.26 within targets."""
    found = judge_share(SHROUT_FLEISS)
    between, within = 11.241667, 6.263889
    assert 1 - found.value == pytest.approx((between - within) / (between + 3 * within), abs=1e-6)
    assert found.low < found.value < found.high


def test_the_share_of_the_variance_with_unequal_numbers_of_scores():
    import pandas as pd
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    scores = SHROUT_FLEISS.copy()
    scores[0, 0] = scores[3, 1] = scores[3, 2] = np.nan
    row, column = np.nonzero(~np.isnan(scores))
    frame = pd.DataFrame({"row": row.astype(str), "score": scores[row, column]})
    between, within = anova_lm(ols("score ~ row", frame).fit())["mean_sq"]
    counts = np.bincount(row)
    size = (counts.sum() - (counts**2).sum() / counts.sum()) / 5
    assert judge_share(scores).value == pytest.approx(within / (within + max(0, (between - within) / size)), rel=1e-9)


def test_disagreement_does_not_depend_on_the_number_of_repetitions():
    random = np.random.default_rng(1)
    for repetitions in (2, 3, 8):
        verdicts = (random.random((20_000, repetitions)) < 0.8).astype(float)
        assert disagreement(verdicts).mean() == pytest.approx(2 * 0.8 * 0.2, abs=0.01)
    assert any_flip(verdicts).mean() == pytest.approx(1 - 0.8**8 - 0.2**8, abs=0.01)


def test_disagreement_with_others_compares_each_with_each():
    verdicts, others = np.array([[1.0, 0.0], [np.nan, 1.0], [np.nan, np.nan]]), np.array([[1.0], [0.0], [0.0]])
    assert disagreement(verdicts, others)[:2].tolist() == [0.5, 1.0]
    assert np.isnan(disagreement(verdicts, others)[2])


def test_no_estimate_says_why():
    assert judge_share(np.ones((9, 3))).reason == "every score is the same"
    assert judge_share(SHROUT_FLEISS[:2]).reason == "a single row decides it"
    assert judge_share(np.full((3, 2), np.nan)).reason == "there is no row"


@pytest.mark.parametrize("flipping", [0.05, 0.3])
def test_the_interval_of_the_share_covers_it(flipping):
    """Half of the rows are good and half are bad, and each verdict is wrong with the same probability."""
    random, covered = np.random.default_rng(5), 0
    spread = 0.25  # of the verdicts in all, of which `flipping` is within rows
    truth = flipping * (1 - flipping) / spread
    for _ in range(300):
        good = random.random((80, 1)) < 0.5
        scores = (good ^ (random.random((80, 3)) < flipping)).astype(float)
        found = value_of_sums(variance_statistics(scores), noise_share, empty="").estimate(confidence=0.9)
        covered += found.low <= truth <= found.high
    assert 0.85 < covered / 300 < 0.96
