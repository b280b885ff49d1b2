"""Columns as numbers and as lists of them."""

from datetime import date

import pyarrow as pa
import pytest

from karat.core.columns.arrow import plain_column
from karat.core.columns.kinds import IDS, NUMBER, NUMBERS, TEXT, TEXTS
from karat.errors import ColumnError


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


@pytest.mark.parametrize(
    ("kind", "values", "hint"),
    [
        (TEXT, [b"a"], "; decode the bytes to text"),
        (TEXTS, [b"a"], "; decode the bytes to text"),
        (TEXT, [0.5], "; a number has many spellings (1e3, 1000.0): store it as text"),
        (TEXT, [True], "; store it as text"),
        (TEXTS, [date(2024, 2, 29)], "; store it as text"),
        (NUMBER, [date(2024, 2, 29)], ""),
        (TEXT, [{"a": 1}], "; --map ROLE=COLUMN.KEY (in Python, map=) selects a part of an object: 'a'"),
        (IDS, [{"a": 1}], "; --map ROLE=COLUMN.KEY (in Python, map=) selects a part of an object: 'a'"),
        (
            TEXTS,
            [[["a"]]],
            "; each row needs one flat list of texts: --map ROLE=COLUMN[*][*] (in Python, map=) makes one",
        ),
        (NUMBERS, [[["a"]]], ""),
        (NUMBER, ["1"], ""),
    ],
)
def test_a_column_of_another_kind_says_what_is_expected_and_what_to_do(kind, values, hint):
    column = pa.array(values)
    with pytest.raises(ColumnError) as error:
        kind.of(column, "the reference")
    assert str(error.value) == f"the reference holds {column.type}, {kind.name} is expected{hint}"
