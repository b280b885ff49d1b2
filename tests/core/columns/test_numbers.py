"""Columns as numbers: what a text spells is what Python's `float` reads, or yes and no."""

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core.columns.numbers import are_truths, read_numbers
from karat.core.errors import ColumnError, RowError

SPELLED = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**15), 10**15).map(str),
    st.sampled_from(["1e5", "+3", " 7 ", ".5", "5.", "-0.0", "1E-3", "007"]),
)


def read(values, **kind):
    return read_numbers(pa.array(values, **kind), "column 'a'", "row {}".format).to_pylist()


@given(st.lists(SPELLED))
def test_a_text_is_what_python_reads(texts):
    assert read(texts, type=pa.string()) == [float(each) for each in texts]
    assert read([*texts, "yes"], type=pa.string()) == [*map(float, texts), 1.0]


@given(st.lists(st.one_of(st.none(), st.booleans(), st.floats(-1e300, 1e300), st.just(math.nan))))
def test_numbers_are_themselves_and_nan_is_null(values):
    numbers = [None if each is None else float(each) for each in values]
    expected = [None if each is None or math.isnan(each) else each for each in numbers]
    assert read(numbers, type=pa.float64()) == expected


def test_yes_and_no():
    words = ["true", "TRUE", "False", "yes", " No ", None, "", "  ", "nan"]
    assert read(words) == [1.0, 1.0, 0.0, 1.0, 0.0, None, None, None, None]
    assert read([True, None, False]) == [1.0, None, 0.0]


@pytest.mark.parametrize(
    ("values", "row", "said"),
    [
        (["1", "0,5"], 1, "expected a number, yes or no, found '0,5'; write a decimal point"),
        (["yes", "no", "-1,25"], 2, "expected a number, yes or no, found '-1,25'; write a decimal point"),
        (["1", "1", "1_000"], 2, "expected a number, yes or no, found '1_000'"),
        (["maybe", "1,000,000"], 0, "expected a number, yes or no, found 'maybe'"),
        (["1", "inf"], 1, "expected a finite number, found inf"),
        (["1", "x", "-inf"], 1, "expected a number, yes or no, found 'x'"),
        ([0.0, None, -math.inf], 2, "expected a finite number, found -inf"),
    ],
)
def test_what_is_no_number_is_refused_with_its_row(values, row, said):
    with pytest.raises(RowError) as error:
        read(values)
    assert str(error.value) == f"row {row}, column 'a': {said}"


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        (pa.array([[[1]]]), "; a path such as COLUMN[0] names a part of it"),
        (pa.array([{"a": 1}]), "; a path such as COLUMN.KEY names a part of it"),
        (pa.array([b"1"]), ""),
    ],
)
def test_what_is_neither_number_nor_text_is_refused(values, hint):
    with pytest.raises(ColumnError) as error:
        read(values)
    assert str(error.value) == f"column 'a' holds {values.type}; expected a number, yes or no in each row{hint}"


@pytest.mark.parametrize(
    ("values", "truths"),
    [
        ([True, None], True), ([1.0], False), ([None, None], None), (["", None, " Yes"], True),
        (["maybe", "yes"], False), (["", None], None), (["0"], False), (["FALSE"], True),
    ],
)  # fmt: skip
def test_a_column_holds_yes_and_no_by_its_type_or_first_text(values, truths):
    assert are_truths(pa.array(values)) is truths
