"""Columns as numbers and as lists of them."""

import pyarrow as pa
import pytest

from karat.core.columns.arrow import plain_column
from karat.core.columns.kinds import NUMBER, NUMBERS


@pytest.mark.parametrize("values", [[True, False, True] * 7, [True, None, False] * 7, [None] * 3, []])
@pytest.mark.parametrize("start", [0, 1, 9])
def test_truths_are_0_and_1_and_null_stays_null(values, start):
    column = pa.array(values, pa.bool_()).slice(start)
    expected = [None if value is None else float(value) for value in values[start:]]
    assert NUMBER.of(column, "x").to_pylist() == expected
    lists = pa.array([values[:1], values[start:]], pa.list_(pa.bool_())).slice(1)
    assert NUMBERS.of(lists, "x").to_pylist() == [expected]


def test_a_map_whose_keys_or_items_are_not_plain_becomes_plain():
    rows = [[("a", "x")], None, []]
    for item in (pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        column = pa.array(rows, pa.map_(pa.string(), pa.string())).cast(pa.map_(pa.string(), item))
        plain = plain_column(column)
        assert plain.type.item_type in (pa.string(), pa.large_string())
        assert plain.to_pylist() == rows
    already = pa.array(rows, pa.map_(pa.string(), pa.string()))
    assert plain_column(already) is already
