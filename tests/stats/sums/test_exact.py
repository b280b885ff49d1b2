"""Exact sums against fractions, whatever the order, the parts and the kernel."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.stats.sums import blocks, exact

NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(0, 1),
    st.floats(-1e-300, 1e-300),
    st.integers(-(2**70), 2**70).map(float),
    st.sampled_from([1.7976931348623157e308, -1e308, 5e-324, -5e-324, 2.0**-1022, -0.0, 2.0**31, 2.0**53 + 2, 1.0]),
)
CELLS = 3


def to_float(sum_):
    try:
        return float(sum_)
    except OverflowError:
        return np.inf if sum_ > 0 else -np.inf


@pytest.fixture(params=[True, False], ids=["kernel", "definition"])
def compiled(request, monkeypatch):
    if request.param and not exact.COMPILED:
        pytest.skip("no kernel")
    monkeypatch.setattr(exact, "COMPILED", request.param)
    monkeypatch.setattr(blocks, "COMPILED", request.param)


def sums_of(cells, values):
    sums = exact.ExactSums(CELLS)
    sums.add(np.array(cells, np.int64), np.array(values, np.float64))
    return sums


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, CELLS - 1), NUMBERS), max_size=40), st.integers(0, 2**32 - 1), st.booleans())
def test_sums_are_those_of_fractions_in_any_order_and_parts(rows, seed, use_kernel):
    cells, values = [row[0] for row in rows], [row[1] for row in rows]
    random = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "COMPILED", exact.COMPILED and use_kernel)
        whole = sums_of(cells, values)
        cut = np.split(random.permutation(len(rows)), sorted(random.integers(0, len(rows) + 1, size=3)))
        parts = [sums_of(np.array(cells)[part], np.array(values)[part]) for part in cut if len(part)]
        while len(parts) > 1:
            at = random.integers(len(parts) - 1)
            parts[at].absorb(np.arange(CELLS), parts.pop())
    sums = [Fraction(0)] * CELLS
    for cell, value in rows:
        sums[cell] += Fraction(value)
    assert whole.rounded().tolist() == [to_float(each) for each in sums]
    for part in parts:
        (low, limbs), (other_low, others) = whole.to_array(), part.to_array()
        assert (low, limbs.shape, limbs.tobytes()) == (other_low, others.shape, others.tobytes())
        assert exact.ExactSums.from_array(low, limbs).rounded().tolist() == whole.rounded().tolist()


@given(st.integers(2**52, 2**53 - 1), st.integers(-1074, 900), st.sampled_from([-1, 1]), st.integers(0, 1000))
def test_of_two_nearest_numbers_a_sum_is_the_even_one(whole, exponent, sign, below):
    half = [sign * 0.5, sign * math.ldexp(1, -below), -sign * math.ldexp(1, -below)]
    for number, parts in ((3, half), (2, half), (1, half[:1])):  # at the middle, above it, at it
        values = [math.ldexp(part, max(exponent, below - 1000)) for part in [sign * whole, *parts[:number]]]
        expected = [float(sum(map(Fraction, values))), 0, 0]
        assert sums_of([0] * len(values), values).rounded().tolist() == expected


@given(
    st.lists(st.sampled_from([2**31 - 1, 1 - 2**31, 2**30, -(2**30), 2**16, 1, -1]), min_size=1, max_size=24),
    st.sampled_from([0, 0, -1, -32, -40, 32]),
)
def test_a_sum_that_outgrows_the_limb_of_its_numbers_is_kept_and_stored_whole(numbers, exponent):
    values = np.ldexp(np.array(numbers, float), exponent)
    sums, expected = exact.ExactSums(1), sum(map(Fraction, values.tolist()))
    for value in values:
        sums.add(np.zeros(1, np.int64), value[None])
    assert sums.fraction(0) == expected
    stored = sums.to_array()
    assert exact.ExactSums.from_array(*stored).fraction(0) == sums.fraction(0) == expected
    assert sums.rounded().tolist() == [float(expected)]


@pytest.mark.skipif(not exact.COMPILED, reason="no kernel")
@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, CELLS - 1), NUMBERS), max_size=20), st.integers(25, 40), st.integers(0, 12))
def test_the_kernel_is_its_definition(rows, low, width):
    cells, values = np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.float64)
    ours, theirs = np.zeros((2, CELLS, width), np.int64)
    assert exact.kernel.add(ours, low, cells, values, 0) == exact.add_values(theirs, low, cells, values, 0)
    assert np.array_equal(ours, theirs)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    ("values", "limbs"),
    [([3.0, 70_000.0], 1), ([1 / 3, 2 / 3, 1.0], 3), ([-1e12], 3), ([1e-300], 3), ([1e300, 1e-300], 65), ([0.0], 0)],
)
def test_only_the_limbs_that_values_need_are_kept(values, limbs):
    assert sums_of([0] * len(values), values).limbs.shape == (CELLS, limbs)
    for each in (values, values[::-1]):
        sums = sums_of([], [])
        for value in each:
            sums.add(np.zeros(1, np.int64), np.array([value]))
        assert sums.limbs.shape == (CELLS, limbs)


def test_carries_are_moved_before_a_limb_overflows(monkeypatch):
    monkeypatch.setattr(exact, "ROUND", 4)
    sums = exact.ExactSums(1)
    for _ in range(1_000):
        sums.add(np.zeros(2, np.int64), np.full(2, 2.0**32 - 1))
        assert np.abs(sums.limbs).max() <= 6 * 2**32
    assert sums.rounded().tolist() == [2_000 * (2.0**32 - 1)]
    whole = exact.ExactSums(1)
    for _ in range(1_000):
        whole.absorb(np.zeros(1, np.int64), sums)
        assert np.abs(whole.limbs).max() <= 6 * 2**32
    assert whole.fraction(0) == 1_000 * sums.fraction(0)


@pytest.mark.usefixtures("compiled")
def test_an_infinite_square_stays_infinite():
    assert sums_of([0, 0], [np.inf, 1.0]).rounded().tolist() == [np.inf, 0, 0]


@pytest.mark.usefixtures("compiled")
def test_the_hash_of_a_key_never_changes():
    keys = np.array([0, 1, 2, 3, 2**63, 2**64 - 1], np.uint64)
    assert blocks.blocks(keys, 0).tolist()[:4] == [3503, 3265, 1742, 4077]
    assert blocks.blocks(keys[::2], 5).tolist() == blocks.blocks(keys, 5)[::2].tolist()
    spread = np.bincount(blocks.blocks(np.arange(4 * blocks.BLOCKS, dtype=np.uint64), 1), minlength=blocks.BLOCKS)
    assert spread.max() < 20
