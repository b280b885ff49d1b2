"""Rows that are added up compare as rows in memory do, in whatever batches and order they come."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from karat.core.errors import DataError, RowError
from karat.stats.aggregate import Scale
from karat.stats.paired.compare import Pairing

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


@given(systems(), st.data(), st.lists(st.integers(0, 40), max_size=4), st.sampled_from([0, 7, 100]))
def test_neither_batches_nor_order_change_a_bit(two, data, cuts, limit):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("karat.stats.sums.units.LIMIT", limit)
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


def test_what_cannot_be_compared_is_an_error_in_a_later_batch_too():
    scores, numbers = np.ones((3, 1)), np.arange(3, dtype=np.uint64)
    pairing = Pairing(Scale(), 1)
    pairing.add(scores, scores, numbers)
    with pytest.raises(RowError, match="row 4 of B"):
        pairing.add(scores, np.array([[1.0], [math.inf], [1.0]]), numbers + np.uint64(3))
    with pytest.raises(DataError, match="A: scores from"):
        Pairing(Scale(), 1).add(2 * scores, scores, numbers)
