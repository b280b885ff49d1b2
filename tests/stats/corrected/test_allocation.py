"""Which rows to label next: probabilities, draws with them, rounds that add up, and what they make of the interval."""

from __future__ import annotations

import numpy as np
import pytest

from karat.stats.corrected.allocation import (
    add_rounds,
    disagreeing,
    draw_rows,
    erring,
    probabilities_of,
    share_of_round,
    squared_errors,
    uncertain,
    worth_of,
)
from karat.stats.corrected.cross_prediction import cross_predict
from karat.stats.corrected.estimate import corrected_mean
from karat.stats.corrected.judged import Judged


def test_probabilities_sum_to_the_labels_and_none_is_greater_than_one():
    error = np.random.default_rng(0).exponential(size=200) ** 3
    for count in (1, 20, 150, 199):
        chances = probabilities_of(error, count)
        assert chances.sum() == pytest.approx(count)
        assert chances.max() <= 1
        assert chances.min() > 0
    assert probabilities_of(np.zeros(10), 4).tolist() == [0.4] * 10


def test_labelled_rows_have_the_probability_that_they_would_have_had():
    error, free = np.array([1.0, 2.0, 1.0, 2.0]), np.array([True, True, False, False])
    chances = probabilities_of(error, 1, free)
    assert chances[free].sum() == pytest.approx(1)
    assert chances[:2] == pytest.approx(chances[2:])


def test_rows_are_drawn_as_often_as_their_probability_says():
    chances = probabilities_of(np.random.default_rng(0).exponential(size=40), 12)
    strata = np.arange(40) % 3
    drawn = np.zeros(40)
    for seed in range(4_000):
        rows = draw_rows(chances, seed, strata)
        assert len(rows) == 12
        assert all(abs(np.bincount(strata[rows], minlength=3) - np.bincount(strata, chances)) < 1)
        drawn[rows] += 1
    assert np.abs(drawn / 4_000 - chances).max() < 4.5 * np.sqrt(0.25 / 4_000)


@pytest.mark.slow
def test_rounds_that_follow_the_earlier_labels_stay_free_of_bias():
    """Sums of weighted labels, over rounds of which the second prefers rows with the first round's rarer label."""
    random, rows, first, second = np.random.default_rng(1), 60, 12, 10
    labels = (np.arange(rows) % 4 == 0).astype(float)
    sums = []
    for seed in range(6_000):
        known = random.permutation(rows)[:first]
        free = np.ones(rows, bool)
        free[known] = False
        error = np.where(labels == (labels[known].mean() < 0.25), 3.0, 1.0)
        chances = probabilities_of(error, second, free, most=share_of_round(first, second, rows))
        fresh = draw_rows(np.where(free, chances, 0), seed)
        earlier, now = add_rounds(np.full(first, first / rows), chances[fresh], rows)
        sums.append((labels[known] / earlier).sum() + (labels[fresh] / now).sum())
    assert np.mean(sums) == pytest.approx(labels.sum(), abs=4 * np.std(sums) / np.sqrt(len(sums)))


def test_errors_are_expected_where_they_were_seen():
    scores = np.tile([0.0, 1.0], 100)
    labels = np.where(np.arange(200) < 100, scores, np.nan)
    labels[1:60:2] = 0
    error = erring(Judged(scores, labels))
    assert error[1] > 3 * error[0]
    assert erring(Judged(scores, np.full(200, np.nan)), (np.arange(200) < 100).astype(int))[0] == pytest.approx(0.5)
    many = erring(Judged(np.linspace(0, 1, 200), labels))
    assert len(np.unique(many)) == 6  # five tenths of the scores have labels, the others the error over all rows
    assert uncertain(np.array([-1.0, 0.0, 1.0]), (-1.0, None)).tolist() == [0, 0.5, 0]
    assert disagreeing(np.array([[0.0, 1.0], [1.0, np.nan]])).tolist() == [0.5, 0.5]


@pytest.mark.slow
def test_active_labels_are_worth_more_than_uniform_ones_where_the_judge_knows_its_doubts():
    random, widths, held = np.random.default_rng(2), [], 0
    for seed in range(300):
        scores = np.where(random.random(2_000) < 0.8, 0.98, 0.6)
        labels = (random.random(2_000) < scores).astype(float)
        chances = probabilities_of(uncertain(scores), 200)
        rows = draw_rows(chances, seed)
        active = corrected_mean(Judged(scores, np.where(np.isin(np.arange(2_000), rows), labels, np.nan), chances))
        uniform = corrected_mean(Judged(scores, np.where(np.arange(2_000) < 200, labels, np.nan)))
        widths.append((active.high - active.low) / (uniform.high - uniform.low))
        held += active.low <= 0.8 * 0.98 + 0.2 * 0.6 <= active.high
    assert np.mean(widths) < 0.92
    assert 0.93 - 0.03 < held / 300 < 0.99


@pytest.mark.slow
@pytest.mark.parametrize(("clear", "unclear", "least", "most"), [(0.02, 0.4, 1.1, 1.3), (0.2, 0.2, 0.9, 1.02)])
def test_what_labels_say_a_proposal_is_worth_is_what_it_is_worth(clear, unclear, least, most):
    """Against the ratio of variances over all rows, whose labels are known here; without a gain none is promised."""
    random, promised, true = np.random.default_rng(5), [], []
    for _ in range(200):
        chance = np.where(random.random(2_000) < 0.5, clear, unclear)
        verdict = (random.random(2_000) < 0.7).astype(float)
        scores, labels = np.abs(verdict - chance), np.abs(verdict - (random.random(2_000) < chance))
        judged = Judged(scores, np.where(np.arange(2_000) < 100, labels, np.nan))
        error, alone, seen = erring(judged), erring(judged, by_others=True), squared_errors(judged)
        promised.append(worth_of(alone[:100], seen[:100], typical=float(error[100:].mean())) or 1.0)
        residual = labels - np.polyfit(scores, labels, 1)[0] * scores
        true.append(worth_of(error, (residual - residual.mean()) ** 2))
    assert np.mean(promised) == pytest.approx(np.mean(true), abs=0.05)
    assert least < np.mean(promised) < most


def test_no_label_has_a_part_in_its_own_score():
    random = np.random.default_rng(3)
    scores = random.random(80)
    labels = np.where(np.arange(80) < 40, (scores + random.normal(size=80) > 0.5).astype(float), np.nan)

    def fit(scores, labels):
        level = scores[labels == 1].mean()
        return lambda new: (new >= level).astype(float)

    before = cross_predict(Judged(scores, labels), fit)
    assert set(before[:40]) <= {0, 1}
    for row in range(40):
        changed = labels.copy()
        changed[row] = 1 - changed[row]
        assert cross_predict(Judged(scores, changed), fit)[row] == before[row]
    clusters = (np.arange(80) // 4).astype(np.uint64)
    together = cross_predict(Judged(scores, labels, clusters=clusters), fit)
    changed = labels.copy()
    changed[:4] = 1 - changed[:4]
    assert cross_predict(Judged(scores, changed, clusters=clusters), fit)[:4].tolist() == together[:4].tolist()


def _scores(kind, random, rows=2_000):
    """Scores and labels: probabilities of a good label, or numbers that say no such thing."""
    good = random.random(rows) < 0.6
    if kind == "probabilities":
        scores = random.beta(0.5, 0.5, rows)
        return scores, (random.random(rows) < scores).astype(float)
    if kind == "overlaps":  # as of words: a good answer may have any, a bad one seldom has many
        high, low = random.choice([1, 1, 0.5, 0.4, 0.67, 0], rows), random.choice([0, 0, 0, 0.2, 0.3], rows)
        return np.where(good, high, low), good.astype(float)
    scores = np.where(random.random(rows) < 0.95, random.random(rows) < 0.5, random.random(rows))  # "verdicts"
    return scores, np.where(random.random(rows) < 0.15, 1 - np.round(scores), np.round(scores))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["probabilities", "overlaps", "verdicts"])
def test_what_doubtful_rows_are_said_to_be_worth_is_what_they_give(kind):
    """The promise from 100 uniform labels, beside the variances of corrected means of 100 rows drawn either way."""
    random = np.random.default_rng(3)
    promised, doubtful, uniform = [], [], []
    for seed in range(200):
        scores, labels = _scores(kind, random)
        error = uncertain(scores)
        known = np.where(np.arange(len(scores)) < 100, labels, np.nan)
        squares = squared_errors(Judged(scores, known))[:100]
        rest = error[100:]
        promised.append(worth_of(error[:100], squares, typical=float(rest.mean()), guessed=rest))
        chances = probabilities_of(error, 100)
        drawn = draw_rows(chances, seed)
        chosen, weights = np.full(len(scores), np.nan), np.ones(len(scores))
        chosen[drawn], weights[drawn] = labels[drawn], chances[drawn]
        doubtful.append(corrected_mean(Judged(scores, chosen, weights)).value - labels.mean())
        uniform.append(corrected_mean(Judged(scores, known)).value - labels.mean())
    given = np.var(uniform) / np.var(doubtful)
    assert np.mean(promised) == pytest.approx(given, rel=0.35)
    if kind != "probabilities":
        assert given < 0.6
        assert (np.array(promised) >= 1.05).mean() < 0.03
