"""The difference of two systems at all times: its p, its decision, and what a margin shows."""

import numpy as np
import pytest

from karat.errors import SpecError
from karat.stats.inference import Inference
from karat.stats.sequential.difference import DifferenceSequence
from karat.stats.sequential.population import Population
from karat.stats.sequential.until import Until

BOUNDS = (-1.0, 1.0)


def sequence_of(differences, asked=None, **options):
    sequence = DifferenceSequence(Population(np.ones(len(differences)), BOUNDS), **options)
    part = differences[:asked]
    sequence.add(np.nan_to_num(part), np.isfinite(part).astype(float))
    return sequence


def draw(rows, shares, seed=0):
    """Differences -1, 0 and 1 in exactly these shares, in a random order."""
    counts = np.rint(np.array(shares) * rows).astype(int)
    return np.random.default_rng(seed).permutation(np.repeat([-1.0, 0.0, 1.0], counts))


def test_p_and_interval_say_the_same():
    differences = draw(800, [0.1, 0.6, 0.3])
    for asked in (40, 120, 300):
        for confidence in (0.8, 0.95, 0.999):
            other = sequence_of(differences, asked, inference=Inference(confidence))
            above = other.p_values(other.low)[0], other.p_values(other.low + 0.08)[0]
            assert above[0] <= (1 - confidence) / 2 * (1 + 1e-9) < above[1]
            below = other.p_values(other.high)[1], other.p_values(other.high - 0.08)[1]
            assert below[0] <= (1 - confidence) / 2 * (1 + 1e-9) < below[1]
            assert (other.p <= round(1 - confidence, 12)) == (other.low > 0 or other.high < 0)


def test_p_is_the_wealth_of_gamblers_who_bet_on_each_row():
    """Against the product of bets written out: Waudby-Smith & Ramdas 2024, without replacement, one stake alone."""
    differences = draw(60, [0.2, 0.3, 0.5])
    sequence = sequence_of(differences, 40)
    bound, scores = sequence._low, (differences + 1)[:40]
    wealth, most, mean = np.ones(len(bound._shares)), 1.0, 1.0
    for at, score in enumerate(scores):
        left = 60 - at
        rest = (60 * mean - scores[:at].sum()) / left  # the mean of the rows that are left, if the mean is true
        wealth = wealth * (1 + np.minimum(bound._stakes[at], 0.9 / max(rest, 1e-12)) * (score - rest))
        most = max(most, float(bound._shares @ wealth))
    assert sequence.p_values(0.0)[0] == pytest.approx(1 / most, rel=1e-9)


def test_no_difference_is_seldom_a_decision_at_any_time():
    streams = [sequence_of(draw(60, [0.25, 0.5, 0.25], seed), 59) for seed in range(60)]
    alarms = sum(2 * min(each.p_values(0.0)) <= 0.2 for each in streams)
    assert alarms <= 60 * 0.2 + 3 * (60 * 0.2 * 0.8) ** 0.5
    assert sequence_of(draw(60, [0.25, 0.5, 0.25])).p == 1.0  # all rows are known


@pytest.mark.parametrize(
    ("shares", "options", "decision"),
    [
        ([0.05, 0.55, 0.4], {}, "better"),
        ([0.4, 0.55, 0.05], {}, "worse"),
        ([0.05, 0.55, 0.4], {"direction": "minimize"}, "worse"),
        ([0.05, 0.9, 0.05], {}, "unclear"),
        ([0.05, 0.9, 0.05], {"margin": 0.15}, "equivalent"),
        ([0.11, 0.74, 0.15], {"margin": 0.1}, "no worse"),
        ([0.17, 0.72, 0.11], {"margin": 0.1, "direction": "minimize"}, "no worse"),
        ([0.17, 0.72, 0.11], {"margin": 0.1}, "unclear"),
    ],
)
def test_decisions(shares, options, decision):
    sequence = sequence_of(draw(1000, shares), 330, **options)
    assert sequence.decision == decision
    test = sequence.margin_test
    assert (test is None) == ("margin" not in options)
    if test is not None:
        assert test.low > sequence.low
        assert test.high < sequence.high
        assert test.verdict == decision
        assert sequence.p > 0.05
    assert (sequence.rows_to_decide() == 0) == (decision in {"better", "worse", "equivalent"})
    assert (sequence.rows_to_decide(Until(no_worse=True).decisions) == 0) == (decision != "unclear")


def test_rows_that_only_one_system_has_do_not_count():
    differences = draw(300, [0.1, 0.4, 0.5])
    differences[::3] = np.nan
    sequence = sequence_of(differences)
    assert sequence.low == sequence.high == pytest.approx(np.nanmean(differences))
    assert (sequence.decision, sequence.p) == ("better", 0.0)
    nothing = sequence_of(np.full(10, np.nan), margin=0.1)
    assert (nothing.p, nothing.decision, nothing.margin_test.p_equivalent) == (None, "unclear", None)


def test_margins_that_make_no_sense():
    with pytest.raises(SpecError, match="margin: expected a number above 0"):
        sequence_of(np.zeros(5), margin=0)
