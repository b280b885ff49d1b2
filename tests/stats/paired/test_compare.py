from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.stats import ttest_rel

from karat.core.errors import DataError, RowError, SpecError
from karat.stats.aggregate import LIMIT, Scale
from karat.stats.inference import Inference
from karat.stats.paired.compare import BATCH, compare
from karat.stats.paired.mcnemar import tango_interval

SHARE = (0.0, 1.0)
OPEN = (None, None)


def column(*scores):
    return np.array(scores, float)[:, None]


def micro_f1(sums):
    return 2 * sums[..., 0] / (2 * sums[..., 0] + sums[..., 1] + sums[..., 2])


def ends(a, b, scale):
    found = compare(a, b, scale)
    return found.low, found.high


def labels(random, n, quality=0.7):
    gold = random.integers(1, 6, n)
    hits = random.binomial(gold, quality)
    return np.column_stack([hits, random.poisson(1 - quality, n), gold - hits]).astype(float)


def share(n):
    return st.sampled_from([0.0, 0.25, 1.0, math.nan]) if n else st.sampled_from([0.0, 1.0, math.nan])


TWO = st.tuples(st.integers(1, 30), st.booleans()).flatmap(
    lambda how: st.tuples(*[npst.arrays(float, (how[0], 1), elements=share(how[1]))] * 2)
)
MIRRORED = {"a": "b", "wins": "losses", "missing_a": "missing_b"}
NEGATED = {"low": "high", "least": "most"}


@given(TWO, st.booleans())
def test_the_systems_swapped_mirror_the_comparison(two, clustered):
    a, b = two
    keys = np.arange(len(a), dtype=np.uint64) // 3 if clustered else None
    one, other = (compare(*sides, Scale(bounds=SHARE), keys=keys).as_dict() for sides in ((a, b), (b, a)))
    for mine, theirs in MIRRORED.items():
        assert (one[mine], one[theirs]) == (other[theirs], other[mine])
    assert one["p_least"] == pytest.approx(other["p_most"])
    for mine, theirs in NEGATED.items():
        assert (one[mine] is None) == (other[theirs] is None)
        assert one[mine] is None or one[mine] == pytest.approx(-other[theirs], abs=1e-12)
    for same in ("p", "test", "n", "scored", "ties", "deviation", "smallest_visible", "could_turn"):
        assert one[same] == other[same] or one[same] == pytest.approx(other[same])
    if one["difference"] is not None:
        assert one["difference"] == -other["difference"]
        assert {one["verdict"], other["verdict"]} in ({"unclear"}, {"better", "worse"})
    if one["test"] == "student" and one["effect"] is not None:
        assert one["effect"] == pytest.approx(-other["effect"])
    if one["effect"] and other["effect"] and one["test"] == "mcnemar":
        assert one["effect"] == pytest.approx(1 / other["effect"])


@given(
    st.integers(2, 12).flatmap(lambda rows: npst.arrays(float, (2, rows, 1), elements=st.floats(0, 1, width=16))),
    st.sampled_from([0.8, 0.95, 0.99]),
)
def test_the_interval_of_scores_is_never_shorter_than_students(two, confidence):
    a, b = two
    found = compare(a, b, Scale(bounds=SHARE), inference=Inference(confidence=confidence))
    if found.test == "mcnemar" or not (b - a).std() > 1e-9:
        return
    students = ttest_rel(b[:, 0], a[:, 0]).confidence_interval(confidence)
    assert found.low <= max(-1, students.low) + 1e-9
    assert found.high >= min(1, students.high) - 1e-9


@given(npst.arrays(float, st.tuples(st.integers(1, 40), st.just(1)), elements=st.floats(0, 1)))
def test_a_system_against_itself(scores):
    for bounds in (SHARE, OPEN):
        found = compare(scores, scores.copy(), Scale(bounds=bounds))
        assert (found.difference, found.p, found.ties, found.verdict()) == (0.0, 1.0, len(scores), "unclear")
        assert not found.could_turn()
        assert found.effect is None
        assert found.smallest_visible is None
    assert compare(scores, scores, Scale(bounds=SHARE)).low < 0 < compare(scores, scores, Scale(bounds=SHARE)).high


def test_a_corpus_metric_against_itself():
    rows = labels(np.random.default_rng(0), 50)
    found = compare(rows, rows, Scale(micro_f1, bounds=SHARE))
    assert (found.difference, found.p, found.ties) == (0.0, 1.0, 50)
    assert found.low < 0 < found.high


@pytest.mark.parametrize("bounds", [SHARE, OPEN])
def test_a_finish_that_is_the_mean_compares_as_the_mean(bounds):
    random = np.random.default_rng(1)
    a, b = random.random((2, 120, 1))
    mean = compare(a, b, Scale(bounds=bounds)).as_dict()
    ones = np.ones_like(a)
    ratio = Scale(lambda sums: sums[..., 0] / sums[..., 1], bounds=bounds)
    same = compare(np.hstack([a, ones]), np.hstack([b, ones]), ratio).as_dict()
    for name in ("a", "b", "difference", "p", "wins", "losses", "deviation", "smallest_visible"):
        assert same[name] == pytest.approx(mean[name], rel=1e-6)
    assert (same["low"], same["high"]) == pytest.approx((mean["low"], mean["high"]), rel=1e-6)
    assert (mean["test"], same["test"], same["effect"]) == ("student", "student", None)


def test_the_test_fits_the_scores():
    right, partly, keys = column(1, 0, 1, 0), column(1, 0.5, 1, 0), np.arange(4, dtype=np.uint64)
    assert compare(right, right, Scale(bounds=SHARE)).test == "mcnemar"
    assert compare(right, partly, Scale(bounds=SHARE)).test == "student"
    assert compare(right, right, Scale(bounds=(0.0, None))).test == "student"
    assert compare(right, right, Scale(bounds=SHARE), keys=keys).test == "student"


@pytest.mark.parametrize(("right", "p"), [(2, 0.25), (3, 0.125), (4, 0.0625)])
def test_few_rows_that_differ_have_the_mid_p_of_a_fair_coin_by_either_test(right, p):
    a, b = np.zeros((9, 1)), np.arange(9)[:, None] < right
    for bounds in (SHARE, OPEN):
        found = compare(a, b * 1.0, Scale(bounds=bounds))
        assert (found.p, found.wins, found.ties) == (pytest.approx(p), right, 9 - right)


def test_a_smaller_error_is_a_win():
    a = column(*([3, 4, 5, 6, 2, 9, 8] * 3))
    b = a - 1
    found = compare(a, b, Scale(bounds=(0.0, None), direction="minimize"))
    assert (found.wins, found.losses, found.verdict()) == (21, 0, "better")
    assert found.difference == pytest.approx(-1)
    assert compare(a, b, Scale(bounds=(0.0, None))).verdict() == "worse"


def test_rows_of_one_cluster_say_it_once():
    random = np.random.default_rng(2)
    keys = np.repeat(np.arange(8, dtype=np.uint64), 50)
    a = np.zeros((400, 1))
    b = np.repeat(random.choice([-0.1, 0.2], (8, 1)), 50, axis=0) + 0.5
    a += 0.5
    alone, together = compare(a, b, Scale(bounds=SHARE)), compare(a, b, Scale(bounds=SHARE), keys=keys)
    assert alone.p < 0.01 < together.p
    assert together.high - together.low > 3 * (alone.high - alone.low)
    assert together.units == 8


def test_a_missing_row_is_left_out_and_bounded():
    a, b = column(1, 0, 0, math.nan, 1), column(1, 1, math.nan, 1, 1)
    found = compare(a, b, Scale(bounds=SHARE))
    assert (found.n, found.scored, found.missing_a, found.missing_b) == (5, 3, 1, 1)
    assert found.difference == pytest.approx(1 / 3)
    assert (found.least, found.most) == (pytest.approx(1 / 5), pytest.approx(3 / 5))
    assert (found.wins, found.losses, found.ties) == (1, 0, 2)


@pytest.mark.parametrize(("missing", "turns"), [(1, False), (3, True)])
def test_missing_rows_that_could_turn_the_verdict(missing, turns):
    a, b = np.zeros((30, 1)), np.ones((30, 1))
    b[8:] = 0.0
    b[30 - missing :] = math.nan
    found = compare(a, b, Scale(bounds=SHARE))
    assert found.verdict() == "better"
    assert found.p_least == compare(a, np.nan_to_num(b), Scale(bounds=SHARE)).p
    assert not found.could_turn()
    a[30 - missing :] = 1.0
    assert compare(a, b, Scale(bounds=SHARE)).could_turn() is turns


def test_missing_rows_could_make_a_difference_as_well():
    a, b = column(*[0.0] * 20), column(*[0.5] * 5, *[math.nan] * 3, *[0.0] * 12)
    found = compare(a, b, Scale(bounds=SHARE))
    assert (found.verdict(), found.could_turn()) == ("unclear", True)
    assert found.p > 0.05 > found.p_most
    assert not found.could_turn(0.0001)


def test_without_a_bound_or_with_a_finish_a_missing_row_could_always_turn_the_verdict():
    a, b = np.zeros((40, 1)), np.ones((40, 1))
    b[0] = math.nan
    found = compare(a, b, Scale(bounds=(0.0, None)))
    assert (found.least, found.most, found.p_least, found.could_turn()) == (None, None, None, True)
    rows = labels(np.random.default_rng(3), 40)
    other = rows.copy()
    other[3, 1] = math.nan
    found = compare(rows, other, Scale(micro_f1, bounds=SHARE))
    assert (found.least, found.most, found.scored, found.could_turn()) == (-1.0, 1.0, 39, True)
    found = compare(rows, other, Scale(micro_f1, bounds=(-1.0, 4.0)))
    assert (found.least, found.most) == (-5.0, 5.0)


def test_the_verdict_can_be_held_against_another_level():
    found = compare(column(*[0.0] * 9), column(*[1.0] * 7, 0.0, 0.0), Scale(bounds=SHARE))
    assert found.p == pytest.approx(0.0078125)
    assert (found.verdict(), found.verdict(0.005)) == ("better", "unclear")
    assert replace(found, direction="minimize").verdict() == "worse"


def test_nothing_scored_in_both_is_not_known():
    found = compare(column(math.nan, 1), column(0, math.nan), Scale(bounds=SHARE))
    assert (found.a, found.b, found.difference, found.p, found.low, found.scored) == (None, None, None, None, None, 0)
    assert (found.least, found.most, found.verdict(), found.could_turn()) == (-1.0, 0.0, "unclear", False)
    empty = compare(np.empty((0, 1)), np.empty((0, 1)), Scale(bounds=SHARE))
    assert (empty.n, empty.p, empty.could_turn()) == (0, None, False)
    undefined = compare(np.zeros((3, 3)), np.zeros((3, 3)), Scale(micro_f1, bounds=SHARE))
    assert (undefined.difference, undefined.p, undefined.ties) == (None, None, 3)


def test_one_row_is_no_evidence():
    for bounds in (SHARE, OPEN):
        found = compare(column(0.2), column(0.9), Scale(bounds=bounds))
        assert (found.p, found.deviation, found.effect, found.smallest_visible) == (1.0, None, None, None)


def test_many_rows_fall_into_groups_and_keep_their_p():
    random = np.random.default_rng(6)
    n = BATCH + LIMIT
    a = random.random((n, 1))
    b = np.clip(a + random.normal(0.0004, 0.05, a.shape), 0, 1)
    found = compare(a, b, Scale(bounds=SHARE))
    z = found.difference / (found.deviation / math.sqrt(n))
    assert found.p == pytest.approx(math.erfc(abs(z) / math.sqrt(2)), rel=0.25, abs=0.004)
    assert found.units == n


@pytest.mark.slow
def test_the_test_holds_its_level_however_uneven_the_differences():
    """Where one row outweighs the rest, Student's ratio is small."""
    random, found = np.random.default_rng(7), 0
    for _ in range(800):
        gap = random.choice([-1, 1], (11, 1)) * random.lognormal(sigma=2, size=(11, 1))
        found += compare(np.zeros_like(gap), gap, Scale(bounds=OPEN)).p <= 0.05
    assert found / 800 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 800)


@pytest.mark.slow
@pytest.mark.parametrize(("discordant", "difference"), [(0.1, 0.0), (0.1, 0.05), (0.3, 0.2), (0.05, 0.05)])
@pytest.mark.parametrize("n", [200, 500, 2_000])
def test_intervals_of_right_and_wrong_answers_hold_the_truth(discordant, difference, n):
    random = np.random.default_rng(n)
    wins, losses = (discordant + difference) / 2, (discordant - difference) / 2
    drawn, times = np.unique(random.multinomial(n, [wins, losses, 1 - discordant], 4_000), axis=0, return_counts=True)
    ends = [tango_interval(b, c, n, 1.959964) for b, c, _ in drawn.tolist()]
    held = np.average([low <= difference <= high for low, high in ends], weights=times)
    assert 0.93 <= held <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 500])
def test_intervals_of_scores_and_of_corpus_metrics_hold_the_truth(n):
    random, held = np.random.default_rng(n), np.zeros(2)
    for _ in range(300):
        a = np.where(random.random((n, 1)) < 0.5, random.choice([0.0, 1.0], (n, 1)), random.random((n, 1)))
        b = np.where(random.random((n, 1)) < 0.4, random.random((n, 1)) ** 0.5, a)  # 0.4 · (2/3 - 1/2) better
        low, high = ends(a, b, Scale(bounds=SHARE))
        held[0] += low <= 0.4 / 6 <= high
        low, high = ends(labels(random, n), labels(random, n), Scale(micro_f1, SHARE))
        held[1] += low <= 0 <= high
    assert (held / 300 >= 0.93 - 0.025).all()
    assert (held / 300 <= 0.97 + 0.015).all()


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-13, 1e-11, 1e-8, 1e-4])
def test_rows_that_all_gain_nearly_the_same_have_an_interval_around_it(noise):
    a = np.linspace(0.1, 0.6, 40)[:, None]
    b = a + 0.25 + noise * np.random.default_rng(0).standard_normal(a.shape)
    low, high = ends(a, b, Scale(bounds=SHARE))
    assert 0 < low <= 0.25 + noise
    assert 0.25 - noise <= high < 0.6


@pytest.mark.parametrize("bounds", [SHARE, OPEN])
def test_a_comparison_is_plain_json(bounds):
    random = np.random.default_rng(8)
    said = compare(*random.random((2, 30, 1)), Scale(bounds=bounds)).as_dict()
    assert json.loads(json.dumps(said)) == said
    assert list(said)[-2:] == ["verdict", "could_turn"]


def test_what_cannot_be_compared_is_an_error():
    a = column(1, 0, 1)
    with pytest.raises(RowError, match=r"\(3, 1\) and \(2, 1\)"):
        compare(a, a[:2], Scale(bounds=SHARE))
    with pytest.raises(RowError, match="3 cluster keys expected, found 2"):
        compare(a, a, Scale(bounds=SHARE), keys=np.zeros(2, np.uint64))
    with pytest.raises(RowError, match="row 1 of B"):
        compare(a, column(1, math.inf, 1), Scale(bounds=SHARE))
    with pytest.raises(DataError, match=r"A: scores from 0\.0 to 1\.0"):
        compare(2 * a, a, Scale(bounds=SHARE))
    with pytest.raises(SpecError, match="finish"):
        compare(np.ones((3, 2)), np.ones((3, 2)), Scale(bounds=SHARE))
    with pytest.raises(SpecError, match="confidence"):
        compare(a, a, Scale(bounds=SHARE), inference=Inference(confidence=95))
