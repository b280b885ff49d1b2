"""The interval leaves out 0 exactly where the test says that systems differ, but for the number of tests."""

from __future__ import annotations

import re

import numpy as np
import pytest

import karat
from karat.stats.aggregate import Scale
from karat.stats.inference import Inference
from karat.stats.paired.compare import compare

EXPLAINED = "no interval of the difference"


def scored(tmp_path, name, scores, column="token_f1"):
    path = tmp_path / f"{name}.csv"
    path.write_text(f"id,{column}\n" + "".join(f"q{at},{score}\n" for at, score in enumerate(scores)))
    return str(path)


@pytest.mark.parametrize(("rows", "verdict"), [(20, "unclear"), (400, "better")])
def test_identical_differences_of_few_rows_are_no_verdict(rows, verdict, tmp_path):
    systems = [scored(tmp_path, name, [score] * rows) for name, score in (("a", 0.5), ("b", 0.6))]
    (finding,) = karat.compare(*systems).findings
    assert finding.verdict == verdict
    assert (finding.comparison.p > 0.05) == (finding.comparison.low <= 0) == (verdict == "unclear")
    (ranking,) = karat.rank(*systems).rankings
    (pair,) = ranking.pairs
    assert pair.separated == (verdict == "better")
    assert (pair.low, pair.high, pair.p) == (finding.comparison.low, finding.comparison.high, finding.comparison.p)


def test_identical_differences_without_bounds_say_that_there_is_no_interval(tmp_path):
    systems = [scored(tmp_path, name, [score] * 20, "cost") for name, score in (("a", 0.5), ("b", 0.6))]
    (finding,) = karat.compare(*systems, metrics="column(cost)").findings
    assert finding.sentence.endswith("; these rows give no interval of the difference")


def shapes(random, rows):
    """Two systems' row statistics of each shape that a metric may have, and their scale."""
    shift = random.choice([0.0, 0.1, 0.2])
    right = (random.random((2, rows, 1)) < np.array([0.5, 0.5 + shift])[:, None, None]).astype(float)
    graded = np.clip(random.beta(0.4, 0.3, (2, rows, 1)) + np.array([0, shift / 2])[:, None, None], 0, 1).round(1)
    steady = np.stack([np.full((rows, 1), 0.5), np.full((rows, 1), 0.5 + shift)])
    steady[1, :1] -= random.choice([0.0, 1e-3, 0.4])
    counts = random.integers(1, 9, (2, rows, 2)).astype(float).cumsum(axis=2)
    yield right, Scale()
    yield graded, Scale()
    yield steady, Scale()
    yield random.exponential(1 + shift, (2, rows, 1)), Scale(bounds=(0.0, None))
    yield counts, Scale(lambda sums: sums[..., 0] / sums[..., 1])


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("rows", [6, 20, 60])
def test_a_verdict_is_that_of_the_test_and_of_the_interval(rows, clustered):
    random = np.random.default_rng(rows)
    for _ in range(12):
        for (a, b), scale in shapes(random, rows):
            found = compare(a, b, scale, keys=np.arange(rows, dtype=np.uint64) // 2 if clustered else None)
            ends = [end for end in (found.low, found.high) if end is not None]
            leaves_out = any(end > 0 for end in ends[:1]) or any(end < 0 for end in ends[-1:])
            significant = found.p is not None and found.p <= 0.05 and found.difference != 0
            assert (found.verdict() != "unclear") == (significant and (leaves_out or not ends))
            assert not ends or found.p is None or significant == leaves_out


@pytest.mark.parametrize("seed", [0, 1])
def test_the_intervals_of_all_together_leave_out_0_exactly_where_the_verdict_is_clear(seed):
    random = np.random.default_rng(seed)
    verdicts = set()
    for _ in range(4):
        rows = {"id": range(60), "topic": [str(each) for each in random.integers(0, 3, 60)]}
        shift = random.choice([0.0, 0.15, 0.3])
        right = (random.random((2, 60)) < [[0.5], [0.5 + shift]]).astype(float)
        graded = np.clip(random.beta(0.4, 0.3, (2, 60)) + np.array([[0], [shift]]), 0, 1).round(1)
        scores = {"right": right, "graded": graded}
        specs = [f"column({name}, low=0, high=1)" for name in scores]
        a, b = (karat.score({**rows, **{name: each[at] for name, each in scores.items()}}, specs) for at in (0, 1))
        found = karat.compare(a, b, by="topic")
        for each in found.findings:
            verdicts.add(each.verdict)
            assert (each.joint_low >= 0 or each.joint_high <= 0) == (each.verdict != "unclear")
            assert each.joint_low <= each.comparison.difference <= each.joint_high
            alone = compare(*(side[:, None] for side in scores["right"]), Scale(), inference=Inference(1 - 0.05 / 8))
            if each.metric == specs[0] and each.slice is None:  # Bonferroni's, but for ends at 0
                assert {each.joint_low, each.joint_high} - {0.0} <= {alone.low, alone.high}
    assert verdicts == {"unclear", "better"}


def test_the_sentence_says_that_the_interval_is_not_corrected_for_the_tests(tmp_path):
    random = np.random.default_rng(3)
    wins = np.array([1] * 9 + [0] * 91)
    random.shuffle(wins)
    path = tmp_path / "a.csv"
    columns = ["exact_match", "token_f1", *[f"rouge{each}" for each in "12"]]
    for name, scores in (("a", np.zeros(100)), ("b", wins)):
        rows = [f"q{at},{score},{at % 2},{at % 3 / 2},{at % 2}" for at, score in enumerate(scores)]
        path.with_stem(name).write_text("\n".join([",".join(["id", *columns[:2], "accuracy", "recall"]), *rows]) + "\n")
    found = karat.compare(str(path.with_stem("a")), str(path.with_stem("b")))
    for finding in found.findings:
        leaves_out = finding.comparison.holds_zero is False
        assert leaves_out == (finding.verdict != "unclear") or re.search(f"{EXPLAINED}|not corrected", finding.sentence)
