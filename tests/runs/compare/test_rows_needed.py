"""How many rows the next comparison needs."""

import numpy as np
import pytest

import karat
from karat.runs.compare.rows_needed import plan_rows

N = 60
RIGHT = {name: np.random.default_rng(seed).random(N) < share for name, seed, share in (("a", 5, 0.4), ("b", 6, 0.7))}


@pytest.fixture
def pair(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "kept"))
    for name, right in RIGHT.items():
        rows = {"id": range(N), "gold": ["yes"] * N, "prediction": ["yes" if each else "no" for each in right]}
        karat.score(rows, ["em", "f1"], run=name)
    return "a", "b"


def test_rows_needed_grow_as_the_square_of_the_difference(pair):
    near, far = (plan_rows("a", size, metrics="em")["exact_match"] for size in (0.01, 0.02))
    assert near.rows / far.rows == pytest.approx(4, rel=0.05)
    assert near.n == N


def test_two_runs_tell_how_much_they_differ_on_a_row(pair):
    plan = plan_rows(pair, 0.02, metrics="em")["exact_match"]
    assert plan.correlation is None
    assert plan.deviation == pytest.approx(np.std(RIGHT["b"].astype(float) - RIGHT["a"], ddof=1))
