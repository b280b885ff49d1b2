from __future__ import annotations

import io
import sys

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from karat.core.errors import ColumnError, DataError, RowError
from karat.data.read import open_source
from karat.data.source import RAW

ROWS = [{"id": "1", "n": 7}, {"id": "2", "n": None}]
TABLE = pa.Table.from_pylist(ROWS)


def rows(data, **settings):
    return [row for batch in open_source(data, **settings).batches() for row in batch.to_pylist()]


@pytest.mark.parametrize(
    "frame",
    [
        ROWS,
        {"id": ["1", "2"], "n": [7, None]},
        TABLE,
        pl.DataFrame(ROWS),
        pd.DataFrame(ROWS).astype({"n": "Int64"}),
        duckdb.from_arrow(TABLE),
    ],
    ids=["rows", "columns", "arrow", "polars", "pandas", "duckdb"],
)
def test_a_frame_gives_its_rows_as_often_as_asked(frame):
    source = open_source(frame)
    for _ in range(2):
        assert [row for batch in source.batches() for row in batch.to_pylist()] == ROWS


def test_a_reader_that_can_be_read_once_is_read_twice():
    source = open_source(pa.RecordBatchReader.from_batches(TABLE.schema, iter(TABLE.to_batches())))
    assert [b.to_pylist() for b in source.batches()] == [b.to_pylist() for b in source.batches()] == [ROWS]


def test_mixed_values_in_a_list_come_as_json_text():
    source = open_source([{"a": "x", "b": 1}, {"a": ["y", 1]}, {"c": None}])
    assert source.schema.field("a").type == RAW
    assert [row["a"] for row in rows([{"a": "x"}, {"a": ["é", 1]}, {}])] == ['"x"', '["é", 1]', None]


def test_columns_of_unequal_length_are_refused():
    with pytest.raises(RowError, match="a has 1, b has 2"):
        open_source({"a": [1], "b": [1, 2]})


@pytest.mark.parametrize("data", [3, [1, 2], None, {"a": "text"}])
def test_what_is_no_frame_is_refused(data):
    with pytest.raises(DataError, match="expected a"):
        open_source(data)


@pytest.mark.parametrize("kind", [pa.large_string(), pa.timestamp("ns", "UTC"), pa.decimal128(9, 2), pa.float32()])
def test_parquet_types_stay_as_stored(tmp_path, kind):
    table = pa.table({"a": pa.nulls(2, kind)})
    pq.write_table(table, tmp_path / "a.parquet")
    assert open_source(tmp_path / "a.parquet").schema.types == [kind]


@pytest.mark.parametrize("suffix", ["file", "stream"])
def test_arrow_files_and_streams_are_known_by_content(tmp_path, suffix):
    path = tmp_path / suffix
    with (pa.ipc.new_file if suffix == "file" else pa.ipc.new_stream)(str(path), TABLE.schema) as writer:
        writer.write_table(TABLE)
    assert rows(path) == ROWS


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"id": "1"}\n{"id": "2"}\n', [{"id": "1"}, {"id": "2"}]),
        (b"id,a\n1,x\n", [{"id": "1", "a": "x"}]),
        (b"id\ta,b\n1\tx\n", [{"id": "1", "a,b": "x"}]),
        (pa.compress(b'[{"id": "1"}]', codec="zstd", asbytes=True), [{"id": "1"}]),
        (pa.compress(b"id,a\n1,x\n", codec="gzip", asbytes=True), [{"id": "1", "a": "x"}]),
    ],
)
def test_standard_input_is_known_by_content(monkeypatch, content, expected):
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))
    monkeypatch.setattr(sys, "stdin", stdin)
    source = open_source("-")
    assert source.name == "standard input"
    assert [row for batch in source.batches() for row in batch.to_pylist()] == expected


def test_a_glob_is_its_files_in_order_with_the_columns_of_all(tmp_path):
    (tmp_path / "b.jsonl").write_text('{"id": "2", "x": 1.5}\n')
    (tmp_path / "a.jsonl").write_text('{"id": "1", "y": "t"}\n')
    assert rows(f"{tmp_path}/*.jsonl") == [{"id": "1", "y": "t", "x": None}, {"id": "2", "y": None, "x": 1.5}]


def test_a_glob_whose_columns_clash_names_both_files(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "1"}\n')
    (tmp_path / "b.jsonl").write_text('{"id": 2}\n')
    with pytest.raises(ColumnError, match=r"'id' is string in .*a\.jsonl but int64 in .*b\.jsonl"):
        open_source(f"{tmp_path}/*.jsonl")


def test_a_name_that_is_not_there_suggests_the_nearest(tmp_path):
    (tmp_path / "answers.jsonl").write_text("{}")
    with pytest.raises(DataError, match=r"no such file; did you mean 'answers\.jsonl'"):
        open_source(tmp_path / "answer.jsonl")
    with pytest.raises(DataError, match="no file fits"):
        open_source(f"{tmp_path}/*.csv")


@pytest.mark.parametrize(
    ("where", "limit", "expected"),
    [
        (None, 2, [0, 1]),
        ("i >= 3", None, [3, 4]),
        ("i % 2 = 0 -- even", 2, [0, 2]),
        ("text LIKE '%1%'", None, [1]),
        ("i > 100", None, []),
        (None, 0, []),
    ],
)
def test_where_keeps_rows_and_limit_the_first_of_them(where, limit, expected):
    data = {"i": range(5), "text": [f"t{i}" for i in range(5)]}
    assert [row["i"] for row in rows(data, where=where, limit=limit)] == expected


@pytest.mark.parametrize(
    ("where", "reason"),
    [("idd = 1", '"idd" not found'), ("i >", "syntax error"), ("max(i) > 1", "one row at a time|aggregate")],
)
def test_a_condition_that_does_not_work_gives_the_reason(where, reason):
    with pytest.raises(DataError, match=reason):
        rows({"i": [1, 2]}, where=where)
