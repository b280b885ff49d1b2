from __future__ import annotations

import numpy as np
import pytest

from karat.core.errors import RowError
from karat.stats.aggregate import LIMIT
from karat.stats.intervals.interval import interval
from karat.stats.sums.blocks import BLOCKS
from karat.stats.sums.units import Units

random = np.random.default_rng(0)
FEW, MANY = LIMIT // 2, 2 * LIMIT + 77


def collect(rows, keys=None, batches=1, seed=0):
    units = Units(rows.shape[1], clustered=keys is not None, seed=seed)
    for part in np.array_split(np.arange(len(rows)), batches):
        units.add(rows[part], None if keys is None else keys[part])
    return units


@pytest.mark.parametrize("rows", [FEW, MANY])
@pytest.mark.parametrize("batches", [2, 13, 400])
def test_batches_of_rows_do_not_matter(rows, batches):
    scores = random.random((rows, 2))
    whole, parts = collect(scores), collect(scores, batches=batches)
    assert np.array_equal(whole.keys, parts.keys)
    assert np.array_equal(whole.sums, parts.sums)


@pytest.mark.parametrize("clusters", [50, MANY])
@pytest.mark.parametrize("batches", [2, 13])
def test_batches_of_clusters_do_not_matter(clusters, batches):
    scores, keys = random.random((40_000, 1)), random.integers(clusters, size=40_000).astype(np.uint64)
    whole, parts = collect(scores, keys), collect(scores, keys, batches)
    assert np.array_equal(whole.keys, parts.keys)
    assert np.array_equal(whole.sums, parts.sums)


def test_a_cluster_is_one_unit_however_its_rows_are_scattered():
    units = collect(np.array([[1.0], [2.0], [4.0], [8.0]]), np.array([9, 3, 9, 9], np.uint64), batches=3)
    assert dict(zip(units.keys.tolist(), units.totals[:, 0].tolist(), strict=True)) == {3: 2.0, 9: 13.0}
    assert units.sizes.tolist() == [1.0, 3.0]
    assert units.squares[:, 0].tolist() == [4.0, 81.0]


@pytest.mark.parametrize(("first", "second"), [(FEW, 10), (FEW, FEW + 100), (MANY, 10), (10, MANY), (MANY, MANY)])
@pytest.mark.parametrize("clustered", [False, True])
def test_merged_parts_are_the_whole(first, second, clustered):
    scores = random.random((first + second, 1))
    numbers = np.arange(len(scores), dtype=np.uint64)
    keys = random.integers(3 * LIMIT, size=len(scores)).astype(np.uint64) if clustered else numbers
    whole, part, other = (Units(1, clustered=clustered) for _ in range(3))
    for units, rows in ((whole, numbers), (part, numbers[first:]), (other, numbers[:first])):
        units.add(scores[rows], keys[rows])
    part.merge(other)
    assert part.collapsed == whole.collapsed
    assert part.state() == whole.state()
    assert np.array_equal(part.sums, whole.sums)


def test_memory_does_not_grow_with_rows():
    units = collect(random.random((MANY, 1)), batches=50)
    assert units.collapsed
    assert units.sums.shape == (BLOCKS, 3)
    assert len(units) <= BLOCKS
    assert units.sizes.std() < 2 * np.sqrt(MANY / BLOCKS)  # the hash spreads neighbours evenly


def test_the_seed_decides_the_groups():
    scores = random.random((MANY, 1))
    assert not np.array_equal(collect(scores, seed=1).sums, collect(scores, seed=2).sums)
    with pytest.raises(RowError, match="seed"):
        collect(scores, seed=1).merge(collect(scores, seed=2))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_statistic_that_is_no_number_names_its_row(wrong):
    units = collect(np.zeros((10, 1)))
    with pytest.raises(RowError, match="row 12"):
        units.add(np.array([[0.0], [1.0], [wrong]]))
    with pytest.raises(RowError, match="row 70"):
        units.add(np.array([[wrong]]), np.array([70], np.uint64))
    assert units.rows == 10


def test_keys_and_statistics_must_fit():
    with pytest.raises(RowError, match="cluster keys"):
        Units(1, clustered=True).add(np.zeros((2, 1)))
    with pytest.raises(RowError, match="row 7 is added twice"):
        Units(1).add(np.zeros((2, 1)), np.full(2, 7, np.uint64))
    with pytest.raises(RowError, match="2 row numbers expected, found 3"):
        Units(1).add(np.zeros((2, 1)), np.zeros(3, np.uint64))
    with pytest.raises(RowError, match="2 cluster keys expected, found 3"):
        Units(1, clustered=True).add(np.zeros((2, 1)), np.zeros(3, np.uint64))
    with pytest.raises(RowError, match="keys of uint64 expected, found int64"):
        Units(1).add(np.zeros((2, 1)), np.arange(2))
    with pytest.raises(RowError, match=r"\(rows, 2\)"):
        Units(2).add(np.zeros((2, 1)))


def test_the_interval_of_a_mean_of_rows_has_the_same_bits_however_they_are_grouped():
    scores, keys = random.random((MANY, 1)) ** 3, random.integers(MANY // 2, size=MANY).astype(np.uint64)
    grouped = [collect(scores, keys).view(clustered=False), collect(scores, seed=7)]
    expected = interval(collect(scores), bounds=(0.0, 1.0))
    assert [interval(each, bounds=(0.0, 1.0)) for each in grouped] == [expected] * 2
