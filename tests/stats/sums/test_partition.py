"""Units of any parts of rows, added in any batches and merged in any tree, are those of all rows, to the last bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core.errors import RowError
from karat.stats.aggregate import Scale
from karat.stats.sums.units import Units
from karat.stats.value import summarise

NUMBERS = st.one_of(
    st.floats(-1e308, 1e308), st.floats(0, 1), st.integers(-5, 5).map(float), st.sampled_from([5e-324, 1e-300, 1e12])
)
FEW = 6  # units kept apart in these tests


@st.composite
def tables(draw):
    """Statistics, keys, whether these are of clusters, and a seed."""
    width, clustered = draw(st.sampled_from([1, 2])), draw(st.booleans())
    rows = draw(st.lists(st.tuples(*[NUMBERS] * width, st.integers(0, 9)), min_size=1, max_size=25))
    keys = [row[-1] for row in rows] if clustered else range(3, 3 + 2 * len(rows), 2)  # unscored rows between
    statistics = np.array([row[:-1] for row in rows])
    return statistics, np.array(keys, np.uint64), clustered, draw(st.integers(0, 3))


def merged(statistics, keys, clustered, seed, random):
    """The units of random parts of the rows, in random order, some of them read back from their state."""
    parts = []
    for rows in np.array_split(random.permutation(len(keys)), random.integers(1, 5)):
        units = Units(statistics.shape[1], clustered=clustered, seed=seed)
        for batch in np.array_split(rows, random.integers(1, 4)):
            units.add(statistics[batch], keys[batch])
        about, stored = units.state()
        parts.append(Units.restore(about, iter(stored)) if random.random() < 0.5 else units)
    while len(parts) > 1:
        one = parts.pop(random.integers(len(parts)))
        parts[random.integers(len(parts))].merge(one)
    return parts[0]


@given(tables(), st.integers(0, 2**32 - 1))
def test_any_parts_are_the_whole(table, seed):
    statistics, keys, clustered, units_seed = table
    random = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("karat.stats.sums.units.LIMIT", FEW)
        patch.setattr("karat.stats.sums.units.CHUNK", 5)
        patch.setattr("karat.stats.intervals.bootstrap.DRAWS", 50)
        whole = Units(statistics.shape[1], clustered=clustered, seed=units_seed)
        whole.add(statistics, keys)
        part = merged(statistics, keys, clustered, units_seed, random)
        assert whole.collapsed == (len(set(keys.tolist())) > FEW)
        assert part.state() == whole.state()
        assert part.keys.tobytes() == whole.keys.tobytes()
        assert part.sums.tobytes() == whole.sums.tobytes()
        if len(statistics[0]) == 1 and np.abs(statistics).max() < 1e100:
            scale = Scale(None, (None, None))
            assert summarise(part, scale) == summarise(whole, scale)


def test_sums_are_correctly_rounded():
    random = np.random.default_rng(4)
    values = np.ldexp(random.random(4_000) - 0.5, random.integers(-60, 60, 4_000))
    keys = random.integers(30, size=4_000).astype(np.uint64)
    units = Units(1, clustered=True)
    units.add(values[:, None], keys)
    assert units.totals[:, 0].tolist() == [math.fsum(values[keys == key]) for key in units.keys]
    assert units.squares[:, 0].tolist() == [math.fsum(values[keys == key] ** 2) for key in units.keys]


def test_merging_restored_units_keeps_the_row_that_is_in_both_out():
    units = Units(1)
    units.add(np.ones((3, 1)), np.array([5, 9, 7], np.uint64))
    about, stored = units.state()
    with pytest.raises(RowError, match="row 5 is added twice"):
        units.merge(Units.restore(about, iter(stored)))
    assert units.keys.tolist() == [5, 7, 9]
    assert units.rows == 3
