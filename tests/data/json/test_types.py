"""Types of Arrow that not every format, and not every engine, knows."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from karat.core.errors import ColumnError, DataError
from karat.data.open import open_source
from karat.data.write import check_output, write

TYPES = {
    "float16": pa.array(np.array([1.5, 2], dtype=np.float16)),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    "string_view": pa.array(["a", "b"], pa.string_view()),
    "list_view": pa.array([[1], [2]], pa.list_view(pa.int64())),
    "decimal256": pa.array([1, 2], pa.decimal256(50, 2)),
    "run_end": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["a", "b"])),
    "interval": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
    "float16s": pa.array([[np.float16(1)], None], pa.list_(pa.float16())),
}


@pytest.mark.parametrize("kind", TYPES)
def test_a_condition_does_not_look_at_columns_it_does_not_name(kind):
    table = pa.table({"i": [1, 2], "c": TYPES[kind]})
    for where, expected in (("i = 2", [1]), ("I > 0", [0, 1]), ("true", [0, 1]), ("i > 2", [])):
        found = [row for batch in open_source(table, where=where).batches() for row in batch.to_pylist()]
        assert found == [pa.table(open_source(table)).to_pylist()[row] for row in expected]


@pytest.mark.parametrize(
    "where",
    [
        "row_number() OVER () <= 5",
        "i < (SELECT max(i) FROM karat_rows)",
        "i IN (SELECT 1)",
        "EXISTS (SELECT 1)",
        "i = 1 AND (lag(i) OVER ()) IS NULL",
        "unnest([true])",
        "COLUMNS(*) > 0",
        "max(i) > 1",
    ],
)
def test_a_condition_on_more_than_its_row_is_refused(where):
    with pytest.raises(DataError, match="one row at a time"):
        open_source({"i": [1, 2]}, where=where)


def test_conditions_on_parts_of_a_cell_work():
    data = {"s": [{"f": 1}, {"f": 2}], "l": [["a"], ["b", "c"]], "a b": ["x", "y"]}
    for where in (
        "s.f = 2",
        "len(l) = 2",
        "list_contains(l, 'c')",
        "\"a b\" = 'y'",
        "len(list_filter(l, lambda x: x > 'a')) > 1",
    ):
        found = [row["a b"] for batch in open_source(data, where=where).batches() for row in batch.to_pylist()]
        assert found == ["y"]


@pytest.mark.parametrize("limit", ["3", 1.5, -1])
def test_a_limit_that_is_no_number_of_rows_is_refused(limit):
    with pytest.raises(DataError, match="expected a whole number from 0"):
        open_source({"i": [1]}, limit=limit)


def test_types_that_a_format_holds_by_another_name_are_written(tmp_path):
    codes = pa.array([[], ["x"]], pa.list_(pa.dictionary(pa.int32(), pa.string())))
    table = pa.table({"h": TYPES["float16"], "v": TYPES["string_view"], "l": TYPES["float16s"], "d": codes})
    for name in ("a.jsonl", "a.csv", "a.parquet", "a.arrow"):
        source = open_source(table)
        assert write(source.batches(), source.schema, tmp_path / name) == 2
    assert json.loads((tmp_path / "a.jsonl").read_text().splitlines()[0]) == {"h": 1.5, "v": "a", "l": [1.0], "d": []}
    assert (tmp_path / "a.csv").read_text().splitlines()[1] == '1.5,"a","[1.0]","[]"'


@pytest.mark.parametrize(("kind", "name"), [("interval", "a.csv"), ("interval", "a.parquet")])
def test_types_that_a_format_does_not_hold_are_refused_before_any_row(tmp_path, kind, name):
    schema = pa.schema([("i", pa.int64()), ("c", TYPES[kind].type)])

    def batches():
        raise AssertionError
        yield

    with pytest.raises(ColumnError, match=rf"{name}: .* column 'c', which is"):
        check_output(tmp_path / name, schema)
    with pytest.raises(ColumnError, match="column 'c'"):
        write(batches(), schema, tmp_path / name)
