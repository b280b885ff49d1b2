"""Draws with replacement from units drawn without, and the allocation of rows to two scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from karat.core.errors import RowError
from karat.stats.sequential.two_phase import TwoPhase, redraw


def test_redraw_is_a_draw_with_replacement() -> None:
    """In a random order every unit is equally likely at every draw, whatever the draws before were."""
    rng = np.random.default_rng(0)
    first, pairs = np.zeros(4), np.zeros((4, 4))
    for seed in range(2_000):
        order = rng.permutation(4)
        draws = order[redraw(3, 4, seed)[:3]]
        first[draws[0]] += 1
        pairs[draws[1], draws[2]] += 1
    assert first == pytest.approx(500, abs=5 * np.sqrt(500 * 3 / 4))
    assert pairs.ravel() == pytest.approx(125, abs=5 * np.sqrt(125))


def test_redraw_takes_each_known_unit() -> None:
    assert redraw(0, 9, 1).tolist() == []
    for known in (1, 5, 9):
        draws = redraw(known, 10, seed=3)
        assert set(draws.tolist()) == set(range(known))
        assert (np.maximum.accumulate(draws)[1:] >= draws[1:]).all()


def test_a_score_of_all_units_is_not_drawn() -> None:
    with pytest.raises(RowError, match="known of all units is a free metric"):
        redraw(9, 9, seed=0)


def test_the_ratio_is_the_cheapest() -> None:
    prices = TwoPhase(cheap=0.01, expensive=0.5, foretold=0.12, rest=0.06)

    def cost(ratio: float) -> float:
        return (prices.rest + prices.foretold / ratio) * (prices.expensive + prices.cheap + ratio * prices.cheap)

    best = minimize_scalar(cost, bounds=(1, 1_000), method="bounded", options={"xatol": 1e-6})
    assert prices.ratio == pytest.approx(best.x, rel=1e-4)
    assert TwoPhase(0.01, 0.5, foretold=0.0, rest=0.2).ratio == 0


def test_rows_for_a_width() -> None:
    people = TwoPhase(cheap=0.01, expensive=0.5, foretold=0.0, rest=0.25)
    judged = TwoPhase(cheap=0.01, expensive=0.5, foretold=0.2, rest=0.05)
    assert judged.rows_for(0.05, 3_000) < people.rows_for(0.05, 3_000) / 2
    assert people.rows_for(1e-6, 3_000) == 3_000
    assert people.rows_for(0.05, 3_000, asked=3_000) == 0
