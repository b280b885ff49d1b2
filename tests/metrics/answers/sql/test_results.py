"""Two results are equal by Spider's and BIRD's rules, restated; with a tolerance if their rows can be paired."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from karat.metrics.answers.sql import results
from karat.metrics.answers.sql.results import ResultComparison, UndecidedResult

CELLS = st.sampled_from([0, 1, 1.0, 2.5, "a", "1", None, b"a"])


@st.composite
def two_results(draw, cells=CELLS):
    """A result, and another one that is often the same but for the order of its rows and columns."""
    width = draw(st.integers(1, 4))
    rows = draw(st.lists(st.tuples(*[cells] * width), max_size=5))
    if draw(st.integers(0, 3)) == 0:
        return rows, draw(st.lists(st.tuples(*[cells] * draw(st.integers(1, 4))), max_size=5))
    order = draw(st.permutations(range(width)))
    other = [tuple(row[at] for at in order) for row in draw(st.permutations(rows))]
    if other and draw(st.booleans()):
        other[0] = draw(st.tuples(*[cells] * width))
    return rows, other


def equal_by_spider(a, b, ordered):
    """`result_eq` of exec_eval.py in test-suite-sql-eval, without its shortcuts."""
    if not a and not b:
        return True
    if len(a) != len(b) or len(a[0]) != len(b[0]):
        return False
    orders = ([tuple(row[at] for at in order) for row in b] for order in permutations(range(len(a[0]))))
    return any(a == each if ordered else Counter(a) == Counter(each) for each in orders)


@given(pair=two_results(), ordered=st.booleans())
@settings(max_examples=300)
def test_spider(pair, ordered):
    assert (ResultComparison().difference(*pair, ordered=ordered) is None) == equal_by_spider(*pair, ordered)


@given(pair=two_results())
def test_bird(pair):
    a, b = pair
    assert (ResultComparison("set", "same").difference(a, b, ordered=False) is None) == (set(a) == set(b))


@given(pair=two_results(st.sampled_from([0.0, 0.9, 1.0, 1.8, 2, "a"])), kind=st.sampled_from(["bag", "set"]))
def test_rows_within_the_tolerance_are_paired_if_they_can_be(pair, kind):
    a, b = pair

    def near(x, y):
        numbers = not isinstance(x, str) and not isinstance(y, str)
        return x == y or (numbers and not (isinstance(x, int) and isinstance(y, int)) and abs(x - y) <= 0.95)

    close = np.array([[len(x) == len(y) and all(map(near, x, y)) for y in b] for x in a], bool).reshape(len(a), len(b))
    if kind == "set" or not close.size:
        equal = bool(close.any(axis=0).all() and close.any(axis=1).all()) and bool(a) == bool(b)
    else:
        equal = len(a) == len(b) and bool((maximum_bipartite_matching(csr_array(close)) >= 0).all())
    comparison = ResultComparison(kind, "same", absolute=0.95)
    assert (comparison.difference(a, b, ordered=False) is None) == equal


def test_a_difference_is_described():
    compare = ResultComparison().difference
    assert compare([(1,)], [(1,), (2,)], ordered=False) == "1 row, 2 expected"
    assert compare([(1, 2)], [(1,)], ordered=False) == "2 columns, 1 expected"
    assert compare([(1,), (3,)], [(1,), (2,)], ordered=False) == "the row (3) is not expected"
    assert compare([(1,), (1,), (2,)], [(1,), (2,), (2,)], ordered=False) == "the rows differ"
    assert compare([(1, "b"), (2, "a")], [("a", 2), ("b", 1)], ordered=True) == "the rows are in another order"


def test_what_would_take_too_long_is_undecided(monkeypatch):
    compare = ResultComparison(absolute=1.5).difference
    a, b = ([(float(n), float(m)) for n, m in pairs] for pairs in ([(0, 5), (1, 0)], [(0, 0), (1, 5)]))
    assert compare(a, b, ordered=False) is None
    monkeypatch.setattr(results, "MOST_PAIRED", 1)
    with pytest.raises(UndecidedResult, match="more than 1 rows differ in numbers alone"):
        compare(a, b, ordered=False)
    monkeypatch.setattr(results, "MOST_CELLS", 10)
    with pytest.raises(UndecidedResult, match="more than 10 cells"):
        ResultComparison().difference([(0, 1), (1, 0)], [(0, 0), (1, 1)], ordered=False)
