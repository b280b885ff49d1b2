"""Intervals of agreement that say 95 % hold the truth about as often; bench/agreement.py simulates more."""

import numpy as np
import pytest

from karat.stats.agreement.alpha import krippendorff_alpha
from karat.stats.agreement.auroc import auroc
from karat.stats.agreement.gwet import gwet_ac
from karat.stats.agreement.kappa import cohen_kappa

pytestmark = pytest.mark.slow

TIMES = 500
SLACK = 3.1 * np.sqrt(0.05 * 0.95 / TIMES)


def yes_no(random, n):
    hidden = random.random(n) < 0.7
    return np.where(random.random((n, 2)) < 0.85, hidden[:, None], ~hidden[:, None]) * 1.0


def scored(random, n):
    labels = random.random(n) < 0.3
    return np.column_stack([random.normal(size=n) + labels, labels])


def in_clusters(random, n):
    """Clusters of one to five rows that share the hidden label and both raters' errors."""
    clusters = np.repeat(np.arange(n), random.integers(1, 6, n))
    return yes_no(random, n)[clusters], clusters


CASES = {
    "kappa": (yes_no, lambda x: cohen_kappa(*x.T)),
    "alpha": (yes_no, krippendorff_alpha),
    "AC1": (yes_no, gwet_ac),
    "AUROC": (scored, lambda x: auroc(*x.T)),
    "kappa by cluster": (in_clusters, lambda x: cohen_kappa(*x.T)),
}


@pytest.mark.parametrize("name", CASES)
def test_intervals_hold_the_truth(name):
    draw, coefficient = CASES[name]
    random = np.random.default_rng(2)
    rows = [drawn if isinstance(drawn, tuple) else (drawn, None) for drawn in (draw(random, 80) for _ in range(TIMES))]
    large = draw(random, 300_000)
    truth = coefficient(large[0] if isinstance(large, tuple) else large).value
    estimates = [coefficient(ratings).estimate(clusters) for ratings, clusters in rows]
    held = sum(each.low <= truth <= each.high for each in estimates) / TIMES
    assert 0.95 - SLACK <= held <= 0.97 + SLACK
