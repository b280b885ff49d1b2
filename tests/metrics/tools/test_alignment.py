"""The alignment of calls in their order, beside all ways there are."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.metrics.tools.pairing import align

WORTHS = st.sampled_from([0.0, 1.0, 0.5, 0.25, 1 / 3, 0.9])
TABLES = st.tuples(st.integers(0, 6), st.integers(0, 6)).flatmap(
    lambda shape: st.lists(st.lists(WORTHS, min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0])
)


@given(TABLES)
def test_the_alignment_is_the_best_of_all(table):
    rows, columns = len(table), len(table[0]) if table else 0
    ways = (
        sum(table[row][column] for row, column in zip(chosen, others, strict=True))
        for size in range(min(rows, columns) + 1)
        for chosen in combinations(range(rows), size)
        for others in combinations(range(columns), size)
    )
    pairs = align(np.array(table).reshape(rows, columns))
    assert all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(pairs))
    assert sum(table[row][column] for row, column in pairs) == pytest.approx(max(ways), abs=1e-9)
