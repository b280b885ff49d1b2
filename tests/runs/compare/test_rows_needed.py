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
        karat.score(rows, ["exact_match", "token_f1"], run=name)
    return "a", "b"


def test_rows_needed_grow_as_the_square_of_the_difference(pair):
    near, far = (plan_rows("a", size, metrics="exact_match")["exact_match"] for size in (0.01, 0.02))
    assert near.rows / far.rows == pytest.approx(4, rel=0.05)
    assert near.n == N


def test_two_runs_tell_how_much_they_differ_on_a_row(pair):
    plan = plan_rows(pair, 0.02, metrics="exact_match")["exact_match"]
    assert plan.correlation is None
    assert plan.deviation == pytest.approx(np.std(RIGHT["b"].astype(float) - RIGHT["a"], ddof=1))


def test_metrics_on_which_too_few_rows_differ_say_so_and_the_others_are_planned():
    ids = {"id": [f"{row * 3}" for row in range(N)]}
    one = ids | {"same": [0.5] * N, "few": [True] * N, "many": RIGHT["a"].astype(float)}
    other = ids | {"same": [0.5] * N, "few": [False] + [True] * (N - 1), "many": RIGHT["b"].astype(float)}
    specs = [f"column({name})" for name in ("same", "few", "many")]
    pair = tuple(karat.score(each, specs, keep=True) for each in (one, other))
    same, few, many = plan_rows(pair, 0.2).values()
    assert many.rows > 0
    assert same.reason.startswith("rows on which the two systems differ expected, found none")
    assert few.reason == "the systems differ on 1 of 60 rows, which is less than a difference of 0.2 takes"
    assert [type(each).__name__ for each in plan_rows(pair[1], 0.2).values()] == [*["NoSampleSize"] * 2, "SampleSize"]
    with pytest.raises(karat.errors.DataError, match="found none"):
        plan_rows(pair, 0.2, metrics=specs[0])
