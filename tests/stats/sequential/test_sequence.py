"""Confidence sequences, against fair games of which every course is tried, and against streams of known means."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from karat.core.errors import RowError, SpecError
from karat.stats.inference import Inference
from karat.stats.sequential.lower_bound import LowerBound
from karat.stats.sequential.population import Population
from karat.stats.sequential.sequence import ConfidenceSequence


def _course(side: LowerBound, mean: float) -> list[float]:
    """The wealth of the gambler who bets against one mean, before and after each unit."""
    wealth, course = np.ones(len(side._shares)), [1.0]
    for (level, slope, loss, loss_slope), stakes in zip(side._lines[: side._units], side._stakes, strict=False):
        outcome, most = level - mean * slope, loss + mean * loss_slope
        assert outcome >= -most - 1e-12
        wealth *= 1 + np.minimum(stakes, 0.9 / max(most, 1e-12)) * outcome
        course.append(float(side._shares @ wealth))
    return course


def _wealth_at(side: LowerBound, mean: float) -> float:
    return _course(side, mean)[-1]


@pytest.mark.parametrize("asked", [1, 3, 5])
@pytest.mark.parametrize("covariate", [False, True])
def test_the_game_is_fair_at_the_true_mean(asked: int, covariate: bool) -> None:
    totals, counts = np.array([0.5, 2.0, 0.0, 1.0, 1.0]), np.array([1.0, 2.0, 0.0, 1.0, 3.0])
    sizes = np.array([1.0, 2.0, 1.0, 1.0, 3.0])
    free = np.array([[0.4], [1.5], [0.3], [0.2], [2.0]]) if covariate else None
    mean = totals.sum() / counts.sum()
    lower, upper = [], []
    for order in map(list, permutations(range(5))):
        population = Population(sizes[order], free=None if free is None else free[order])
        sequence = ConfidenceSequence(population, width=0.2)
        sequence.add(totals[order][:asked], counts[order][:asked])
        lower.append(_wealth_at(sequence._low, mean))
        upper.append(_wealth_at(sequence._high, 1 - mean))
    assert np.mean(lower) == pytest.approx(1, abs=1e-12)
    assert np.mean(upper) == pytest.approx(1, abs=1e-12)
    assert max(lower) > 1 > min(lower)


def test_the_game_is_fair_where_units_are_drawn_with_probabilities() -> None:
    totals, sizes, odds = np.array([0.0, 1.0, 1.0, 0.0, 0.5]), np.ones(5), np.array([1.0, 2.0, 4.0, 1.0, 3.0])
    free = np.array([[0.3], [0.8], [0.6], [0.1], [0.5]])
    expected = chances = 0.0
    for order in map(list, permutations(range(5))):
        chance = float(np.prod(odds[order] / np.cumsum(odds[order][::-1])[::-1]))
        sequence = ConfidenceSequence(Population(sizes, free=free[order], probabilities=odds[order]))
        sequence.add(totals[order][:4], sizes[:4])
        expected += chance * _wealth_at(sequence._low, 0.5)
        chances += chance
    assert chances == pytest.approx(1)
    assert expected == pytest.approx(1, abs=1e-12)


def test_the_game_is_fair_with_a_cheap_score_of_other_units() -> None:
    """Over all orders of four units, and all draws of another unit for each of the two that are asked."""
    totals, sizes, cheap = np.array([0.0, 1.0, 1.0, 0.5]), np.ones(4), np.array([0.3, 0.9, 0.6, 0.0])
    lower, upper = [], []
    for order in map(list, permutations(range(4))):
        for drawn in map(list, product(range(4), repeat=2)):
            sequence = ConfidenceSequence(Population(sizes, cheap=True), width=0.3)
            sequence._slopes = np.array([0.7])
            sequence.add(totals[order][:2], sizes[:2], np.column_stack([cheap[order][:2], cheap[drawn]]))
            lower.append(_wealth_at(sequence._low, 0.625))
            upper.append(_wealth_at(sequence._high, 0.375))
    assert np.mean(lower) == pytest.approx(1, abs=1e-12)
    assert np.mean(upper) == pytest.approx(1, abs=1e-12)


def test_what_refutes_a_mean_refutes_all_lower_ones() -> None:
    rng = np.random.default_rng(3)
    counts = (rng.random(80) < 0.9).astype(float)
    totals = counts * rng.random(80)
    sequence = ConfidenceSequence(Population(np.ones(200), free=rng.random((200, 2))), width=0.1)
    sequence.add(totals, counts)
    for side in (sequence._low, sequence._high):
        wealth = [_wealth_at(side, mean) for mean in np.linspace(0, 1, 41)]
        assert (np.diff(wealth) <= 1e-12).all()


def test_the_bound_is_where_the_wealth_is_reached() -> None:
    scores = np.random.default_rng(1).random(60) ** 2
    sequence = ConfidenceSequence(Population(np.ones(60)))
    sequence.add(scores[:40], np.ones(40))
    assert 0.1 < sequence.low < scores.mean()
    assert (
        max(_course(sequence._low, sequence._low.bound)) >= 40 > max(_course(sequence._low, sequence._low.bound + 0.01))
    )


def test_the_parts_make_no_difference() -> None:
    rng = np.random.default_rng(5)
    scores, free = rng.random(700), rng.random((700, 1))
    whole, single = (ConfidenceSequence(Population(np.ones(700), free=free), width=0.1) for _ in range(2))
    whole.add(scores[:300], np.ones(300))
    ends = []
    for at in range(300):
        single.add(scores[at : at + 1], np.ones(1))
        ends.append((at + 1, single.low, single.high))
    assert (whole.low, whole.high, whole.value) == (single.low, single.high, single.value)
    asked, low, high = whole.course()
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) <= 0).all()
    expected = np.array(ends).T
    assert (asked == expected[0]).all()
    # the course has what was known before hypotheses were refined, an instant later
    assert (low <= expected[1]).all()
    assert low == pytest.approx(expected[1], abs=0.02)
    assert high == pytest.approx(expected[2], abs=0.02)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 1.0), (1.0, 5.0)])
def test_all_rows_are_a_width_of_0(bounds: tuple[float, float]) -> None:
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 4, 90).astype(float)
    totals = counts * (bounds[0] + (bounds[1] - bounds[0]) * rng.random(90))
    sequence = ConfidenceSequence(Population(np.full(90, 3.0), bounds))
    sequence.add(totals[:60], counts[:60])
    assert sequence.low < sequence.high
    sequence.add(totals[60:], counts[60:])
    expected = totals.sum() / counts.sum()
    # the rows that have no score are known to have none, once all are asked
    assert (sequence.low, sequence.high, sequence.value) == pytest.approx((expected, expected, expected), abs=1e-12)
    assert sequence.rows_to(0.1) == 0


def test_without_scores_nothing_is_known() -> None:
    sequence = ConfidenceSequence(Population(np.ones(4), (1.0, 5.0)))
    sequence.add(np.zeros(3), np.zeros(3))
    assert (sequence.low, sequence.high, sequence.asked) == (1.0, 5.0, 3)
    assert np.isnan(sequence.value)


def _streams(kind: str, rng: np.random.Generator) -> tuple[Population, np.ndarray, np.ndarray]:
    n = 400
    ones = np.ones(n)
    if kind == "clusters":
        sizes = rng.integers(1, 9, n).astype(float)
        return Population(sizes), rng.binomial(sizes.astype(int), rng.beta(2, 1, n)).astype(float), sizes
    if kind == "probabilities":
        odds = 0.25 + 0.75 * rng.random(n)
        order = np.argsort(rng.exponential(size=n) / odds)
        scores = (rng.random(n) > odds / 2).astype(float)
        return Population(ones, free=odds[order, None], probabilities=odds[order]), scores[order], ones
    share = 0.02 if kind == "near 0" else 0.7
    scores = (rng.random(n) < share).astype(float)
    if kind == "unscored":
        counts = (rng.random(n) < 0.7).astype(float)
        return Population(ones), scores * counts, counts
    free = np.where(rng.random(n) < 0.1, scores, 1 - scores)[:, None] if kind == "reversed" else None
    return Population(ones, free=free), scores, ones


@pytest.mark.parametrize("kind", ["near 0", "unscored", "reversed", "clusters", "probabilities"])
def test_the_mean_is_inside_at_all_times(kind: str) -> None:
    """At 80 % confidence, of 30 streams that are looked at after each of 100 units more than 11 miss in .5 % of cases.

    The ends never go back: the last interval shows whether one before it missed.
    """
    rng = np.random.default_rng(11)
    missed = 0
    for _ in range(30):
        population, totals, counts = _streams(kind, rng)
        sequence = ConfidenceSequence(population, Inference(0.8), width=0.1)
        sequence.add(totals[:100], counts[:100])
        mean = totals.sum() / counts.sum()
        missed += not sequence.low <= mean <= sequence.high
    assert missed <= 11


def test_a_free_metric_narrows_it() -> None:
    rng = np.random.default_rng(4)
    scores = (rng.random(2_000) < 0.7).astype(float)
    near = np.where(rng.random(2_000) < 0.9, scores, 1 - scores)
    widths = []
    for free in (None, near, 1 - near, rng.random(2_000)):
        sequence = ConfidenceSequence(Population(np.ones(2_000), free=None if free is None else free[:, None]))
        sequence.add(scores[:600], np.ones(600))
        widths.append(sequence.width)
    alone, useful, reversed_, useless = widths
    assert useful < 0.75 * alone
    assert reversed_ == pytest.approx(useful, rel=0.05)
    assert useless == pytest.approx(alone, rel=0.05)


def test_a_cheap_score_of_some_rows_narrows_it() -> None:
    rng = np.random.default_rng(6)
    people = (rng.random(2_000) < 0.65).astype(float)
    judge = np.where(rng.random(2_000) < 0.9, people, 1 - people)
    batches = judge[rng.integers(2_000, size=(150, 5))].mean(axis=1)
    widths = []
    for cheap in (None, np.column_stack([judge[:150], batches]), rng.random((150, 2))):
        sequence = ConfidenceSequence(Population(np.ones(2_000), cheap=cheap is not None))
        sequence.add(people[:150], np.ones(150), cheap)
        assert sequence.low < people.mean() < sequence.high
        assert sequence.value == pytest.approx(people.mean(), abs=0.08)
        widths.append(sequence.width)
    alone, useful, useless = widths
    assert useful < 0.85 * alone
    assert useless == pytest.approx(alone, rel=0.05)


def test_rows_to_a_width() -> None:
    sequence = ConfidenceSequence(Population(np.ones(1_000)))
    assert sequence.rows_to(0.1) == 1_000
    sequence.add(np.tile([0.0, 1.0], 100), np.ones(200))
    assert sequence.rows_to(1.0) == 0
    assert 0 < sequence.rows_to(0.15) < sequence.rows_to(0.05) <= 800


def test_what_does_not_fit_is_an_error() -> None:
    with pytest.raises(SpecError, match="width=0: expected a number above 0"):
        ConfidenceSequence(Population(np.ones(3)), width=0)
    sequence = ConfidenceSequence(Population(np.ones(3)))
    for totals, counts in (([2.0], [1.0]), ([1.0], [2.0]), ([-0.1], [1.0])):
        with pytest.raises(RowError, match="scores from 0 to 1 expected, at most one a row"):
            sequence.add(np.array(totals), np.array(counts))
    with pytest.raises(RowError, match="totals and counts of 3 units or fewer"):
        sequence.add(np.ones(4), np.ones(4))
    with pytest.raises(RowError, match="cheap scores from 0 to 1 expected"):
        sequence.add(np.ones(1), np.ones(1), np.array([[2.0, 0.5]]))
    with pytest.raises(RowError, match="finite bounds"):
        Population(np.ones(3), (0.0, np.inf))
    with pytest.raises(RowError, match="free: 3 finite values"):
        Population(np.ones(3), free=np.ones((2, 1)))
    with pytest.raises(RowError, match="probabilities above 0"):
        Population(np.ones(3), probabilities=np.array([1.0, 0.0, 1.0]))
