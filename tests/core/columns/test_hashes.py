"""Hashes of cells tell where cells differ, in every layout of a column."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core.columns.hashes.cells import hash_cells

texts = st.none() | st.sampled_from(["", "a", "b", "ab", "a\0", "\0", "a question of more than eight bytes"])
KINDS = (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()))
LISTS = (pa.list_, pa.large_list)


@given(st.lists(texts, max_size=20), st.sampled_from(KINDS), st.integers(0, 5))
def test_texts_have_one_hash_where_they_are_equal(cells, kind, start):
    found = hash_cells(pa.array(cells, pa.string()).cast(kind)[start:]).tolist()
    assert len(set(zip(found, cells[start:], strict=True))) == len(set(found)) == len(set(cells[start:]))


@given(st.lists(st.none() | st.lists(texts, max_size=3), max_size=20), st.sampled_from(LISTS), st.integers(0, 5))
def test_lists_have_one_hash_where_they_are_equal(cells, lists, start):
    found = hash_cells(pa.array(cells, lists(pa.string()))[start:]).tolist()
    known = [None if each is None else tuple(each) for each in cells[start:]]
    assert len(set(zip(found, known, strict=True))) == len(set(found)) == len(set(known))


@pytest.mark.parametrize("cell", [{"a": 1}, b"a", [{"a": 1}]])
def test_cells_that_are_no_texts_numbers_or_lists_of_them_have_no_hash(cell):
    assert hash_cells(pa.array([cell])) is None


def test_numbers_and_lists_of_lists_have_hashes():
    for cells in ([1, 2, 1], [0.5, None, 0.5], [[[1], []], [[], [1]], [[1], []]], [True, False, True]):
        assert np.equal.outer(keys := hash_cells(pa.array(cells)), keys).sum() == 5
