"""Rows that are added up compare as rows in memory do, in whatever batches and order they come."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from karat.core.errors import DataError, RowError
from karat.stats.aggregate import Scale
from karat.stats.paired.compare import Pairing, compare
from karat.stats.paired.paired_rows import PairedRows
from karat.stats.paired.paired_sums import PairedSums

SHARE, OPEN = (0.0, 1.0), (None, None)


def micro_f1(sums):
    return 2 * sums[..., 0] / (2 * sums[..., 0] + sums[..., 1] + sums[..., 2])


SCALES = {
    "right or wrong": (Scale(), 1, [0.0, 1.0]),
    "shares": (Scale(direction="minimize"), 1, [0.0, 0.1, 1 / 3, 0.7, 1.0]),
    "open": (Scale(bounds=OPEN), 1, [-8.0, -0.1, 0.0, 2.5, 1e-3]),
    "counts": (Scale(micro_f1), 3, [0.0, 1.0, 2.0, 5.0]),
}


@st.composite
def systems(draw):
    scale, width, scores = SCALES[draw(st.sampled_from(sorted(SCALES)))]
    rows = draw(st.integers(1, 40))
    a, b = (draw(npst.arrays(float, (rows, width), elements=st.sampled_from(scores))) for _ in range(2))
    for side in (a, b):
        side[draw(npst.arrays(bool, rows, elements=st.sampled_from([False] * 5 + [True])))] = math.nan
    clusters = draw(st.sampled_from([None, np.arange(rows, dtype=np.uint64) // 4]))
    return scale, a, b, clusters


def added(scale, a, b, clusters, order, cuts):
    """A comparison of the rows in this order, in batches that are cut here."""
    pairing = Pairing(scale, a.shape[1], clustered=clusters is not None)
    numbers = np.arange(len(a), dtype=np.uint64)
    for rows in np.split(order, sorted(cut % (len(a) + 1) for cut in cuts)):
        pairing.add(a[rows], b[rows], numbers[rows], None if clusters is None else clusters[rows])
    return pairing.compare().as_dict()


@settings(max_examples=40)
@given(systems(), st.data(), st.lists(st.integers(0, 40), max_size=4), st.sampled_from([0, 7, 100]))
def test_neither_batches_nor_order_change_a_bit(two, data, cuts, limit):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("karat.stats.paired.compare.LIMIT", limit)
        patch.setattr("karat.stats.aggregate.LIMIT", 5)
        patch.setattr("karat.stats.intervals.bootstrap.DRAWS", 50)
        order = data.draw(st.permutations(range(len(two[1]))))
        assert added(*two, np.array(order), cuts) == added(*two, np.arange(len(order)), [])


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("moved", [slice(None, None, -1), slice(1, None), slice(40, 50)])
def test_rows_of_which_any_part_is_out_of_order_are_sorted(name, moved):
    scale, width, scores = SCALES[name]
    random = np.random.default_rng(4)
    a, b = (random.choice(scores, (60, width)) * random.choice([1.0, 1 / 3, 0.7], (60, 1)) for _ in range(2))
    if name == "right or wrong":
        a, b = (np.ceil(side) for side in (a, b))
    order = np.arange(60)
    order[moved] = random.permutation(order[moved])
    assert added(scale, a, b, None, order, []) == added(scale, a, b, None, np.arange(60), [])


def near(value):
    return pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value


@settings(max_examples=40)
@given(systems())
def test_rows_that_are_added_up_compare_as_rows_in_memory(two):
    scale, a, b, clusters = two
    kept = compare(a, b, scale, keys=clusters).as_dict()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("karat.stats.paired.compare.LIMIT", 0)
        found = compare(a, b, scale, keys=clusters).as_dict()
    assert found == {name: near(value) for name, value in kept.items()}


@pytest.mark.parametrize("scale", [0.0, 1e-16, 1e-13, 1e-11, 1e-8, 1e-4, 0.1])
def test_the_variance_of_differences_that_are_almost_equal_is_not_rounded_away(scale):
    random = np.random.default_rng(1)
    a = random.random((3_000, 1))
    b = a + 0.25 + scale * random.standard_normal(a.shape)
    rows, sums = PairedRows(a, b, None, None, OPEN, 0), PairedSums(1, None, OPEN, 0, clustered=False)
    sums.add(a, b, np.arange(len(a), dtype=np.uint64))
    for name in (each.name for each in fields(rows.row_spread)):
        assert getattr(sums.row_spread, name) == pytest.approx(getattr(rows.row_spread, name), rel=1e-6)
    assert sums.varies == rows.varies


@given(st.floats(-1e100, 1e100), st.integers(2, 9))
def test_equal_differences_have_no_variance(difference, rows):
    b = np.full((rows, 1), difference)
    sums = PairedSums(1, None, OPEN, 0, clustered=False)
    sums.add(np.zeros_like(b), b, np.arange(rows, dtype=np.uint64))
    assert sums.row_spread.variance <= 1e-300
    assert not sums.varies or abs(difference) < 1e-100


def test_differences_whose_squares_are_beyond_all_numbers_have_no_variance():
    sums = PairedSums(1, None, OPEN, 0, clustered=False)
    sums.add(np.zeros((3, 1)), np.array([[1e200], [2.0], [3.0]]), np.arange(3, dtype=np.uint64))
    assert math.isinf(sums.row_spread.variance)


def test_what_cannot_be_compared_is_an_error_in_a_later_batch_too(monkeypatch):
    monkeypatch.setattr("karat.stats.paired.compare.LIMIT", 2)
    scores, numbers = np.ones((3, 1)), np.arange(3, dtype=np.uint64)
    pairing = Pairing(Scale(), 1)
    pairing.add(scores, scores, numbers)
    with pytest.raises(RowError, match="row 4 of B"):
        pairing.add(scores, np.array([[1.0], [math.inf], [1.0]]), numbers + np.uint64(3))
    with pytest.raises(DataError, match="A: scores from"):
        Pairing(Scale(), 1).add(2 * scores, scores, numbers)
