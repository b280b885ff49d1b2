"""Results that are computed once for columns of the same memory, and of no other part of it."""

import pyarrow as pa
import pytest

from karat.core.columns.column_cache import column_cache, once

OFFSETS, PLACES = pa.array([0, 1, 2], pa.int32()), pa.array([0, 1, 0, 1], pa.int8())
NESTED = {
    "struct": lambda values: pa.StructArray.from_arrays([values], ["x"]),
    "list": lambda values: pa.ListArray.from_arrays(OFFSETS, values),
    "fixed-size list": lambda values: pa.FixedSizeListArray.from_arrays(values, 2),
    "map": lambda values: pa.MapArray.from_arrays(OFFSETS, values, PLACES[: len(values)]),
    "items of a map": lambda values: pa.MapArray.from_arrays(OFFSETS, PLACES[: len(values)], values),
    "dictionary": lambda values: pa.DictionaryArray.from_arrays(PLACES[:2], values),
    "plain": lambda values: values,
}


@pytest.mark.parametrize("outer", NESTED)
@pytest.mark.parametrize("inner", NESTED)
def test_another_part_of_the_same_memory_is_another_column(inner, outer):
    texts = pa.array(["a", "b", "c", "d", "e", "f"])
    parts = [NESTED[inner](texts[start : start + 4]) for start in (0, 2)]
    columns = [NESTED[outer](part[:2]) for part in parts]
    with column_cache():
        found = [once("values", (column,), column.to_pylist) for column in columns]
        again = [once("values", (column,), list) for column in columns]
    assert found == [column.to_pylist() for column in columns]
    assert all(one is other for one, other in zip(found, again, strict=True))
