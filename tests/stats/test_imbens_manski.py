"""The interval where rows are missing, against its equation, and against streams of known means."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import karat
from karat.stats.aggregate import Scale
from karat.stats.intervals.imbens_manski import critical_value
from karat.stats.sums.units import Units
from karat.stats.value import summarise


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0, 4.0, 50.0])
def test_critical_value_solves_the_equation(spread: float, confidence: float) -> None:
    expected = brentq(lambda c: norm.cdf(c + spread) - norm.cdf(-c) - confidence, 0, 10, xtol=1e-13)
    assert critical_value(spread, confidence) == pytest.approx(expected, abs=1e-9)


def test_the_value_of_all_rows_is_inside() -> None:
    """Rows are missing where scores are low, which shifts the value of the rest by more than its interval is wide."""
    random = np.random.default_rng(0)
    inside = alone = 0
    for _ in range(400):
        scores = (random.random(300) < 0.6).astype(float)
        known = random.random(300) < np.where(scores == 1, 0.95, 0.55)
        units = Units(width=1)
        units.add(scores[known, None])
        value = summarise(units, Scale(), unscored=int((~known).sum()))
        assert None not in (value.low, value.high, value.all_low, value.all_high)
        inside += value.all_low <= 0.6 <= value.all_high
        alone += value.low <= 0.6 <= value.high
    assert inside >= 0.95 * 400
    assert alone < 0.2 * 400


def test_missing_at_the_bound_gives_the_nominal_cover() -> None:
    """Where all missing rows would score 0, the truth is the lower bound, which is missed as often as it is said."""
    random = np.random.default_rng(1)
    missed = 0
    for _ in range(1_000):
        scores = (random.random(400) < 0.5).astype(float)
        known = (scores == 1) | (random.random(400) < 0.6)
        units = Units(width=1)
        units.add(scores[known, None])
        value = summarise(units, Scale(), unscored=int((~known).sum()))
        missed += not value.all_low <= 0.5 <= value.all_high
    assert missed / 1_000 == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 1_000))


def test_no_row_missing_and_clusters_give_none() -> None:
    units, clusters = Units(width=1), Units(width=1, clustered=True)
    units.add(np.ones((5, 1)))
    clusters.add(np.ones((4, 1)), np.array([1, 1, 2, 2], np.uint64))
    assert (summarise(units, Scale()).all_low, summarise(clusters, Scale(), unscored=2).all_low) == (None, None)


def test_a_difference_with_missing_rows() -> None:
    """Beyond the extreme differences by the one-sided quantile, as these are far apart."""
    random = np.random.default_rng(2)
    rows = {"id": list(range(400)), "reference": ["x"] * 400}
    answers = [["x" if each else "y" for each in random.random(400) < share] for share in (0.5, 0.6)]
    answers[1][:80] = [None] * 80
    a, b = (karat.score({**rows, "prediction": each}, "em", keep=True) for each in answers)
    found = karat.compare(a, b).findings[0]
    filled = np.array([[float(each == "x") for each in side] for side in answers])
    for fill, end, expected in ((0.0, -1, found.comparison.all_low), (1.0, 1, found.comparison.all_high)):
        filled[1][:80] = fill
        difference = filled[1] - filled[0]
        reach = NormalDist().inv_cdf(0.95) * difference.std() / 20
        assert expected == pytest.approx(difference.mean() + end * reach, abs=0.01)
    assert "whatever the scores of the rows without one, the difference of all is" in found.sentence


def test_many_unscored_rows_are_a_caution() -> None:
    rows = {"prediction": ["x"] * 8 + [None] * 2, "reference": ["x"] * 10}
    caution = karat.score(rows, "em").cautions["em"]
    assert caution.startswith("20 % of the rows have no score; whatever their scores, the value of all is 0.")
    few = {"prediction": ["x"] * 9 + [None], "reference": ["x"] * 10}
    assert not karat.score(few, "em").cautions
