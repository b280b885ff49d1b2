"""The allocation of rows to two scores."""

from __future__ import annotations

import pytest
from scipy.optimize import minimize_scalar

from karat.stats.sequential.two_phase import TwoPhase


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
    assert people.rows_for(0.05, 3_000, so_far=3_000) == 0
