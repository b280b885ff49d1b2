from __future__ import annotations

import io
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from karat.core.columns.json_text import RAW
from karat.core.errors import ColumnError, DataError, RowError
from karat.data.open import open_source

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

ROWS = [{"id": "1", "n": 7}, {"id": "2", "n": None}]
TABLE = pa.Table.from_pylist(ROWS)


def rows(data, **settings):
    return [row for batch in open_source(data, **settings).as_values().batches() for row in batch.to_pylist()]


@pytest.mark.parametrize(
    "make",
    [
        lambda: ROWS,
        lambda: {"id": ["1", "2"], "n": [7, None]},
        lambda: TABLE,
        lambda: pl.DataFrame(ROWS),
        lambda: pd.DataFrame(ROWS).astype({"n": "Int64"}),
        lambda: duckdb.from_arrow(TABLE),  # one that lives until Python ends is reported as leaked
    ],
    ids=["rows", "columns", "arrow", "polars", "pandas", "duckdb"],
)
def test_a_frame_gives_its_rows_as_often_as_asked(make):
    source = open_source(make())
    for _ in range(2):
        assert [row for batch in source.batches() for row in batch.to_pylist()] == ROWS


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (None, ["p"]),
        (pd.Index([5, 3]), ["p"]),
        (pd.Index(["x", "y"], name="id"), ["id", "p"]),
        (pd.RangeIndex(2, name="id"), ["id", "p"]),
        (pd.MultiIndex.from_tuples([(1, "a"), (2, "b")], names=["id", None]), ["id", "p"]),
    ],
    ids=["none", "unnamed", "named", "range", "two"],
)
def test_an_index_of_pandas_is_a_column_where_it_has_a_name(index, expected):
    source = open_source(pd.DataFrame({"p": ["a", "b"]}, index=index))
    assert source.schema.names == expected
    assert [row["p"] for batch in source.batches() for row in batch.to_pylist()] == ["a", "b"]


def test_pandas_columns_keep_their_types_and_missing_cells_are_null():
    frame = pd.DataFrame(
        {
            "text": ["a", None],
            "mixed": ["a", 1.5],
            "gap": pd.Series(["a", float("nan")], dtype=object),
            "time": pd.to_datetime(["2020-01-01", None]).tz_localize("Europe/Berlin"),
            "kind": pd.Categorical(["x", None]),
        }
    )
    source = open_source(frame)
    assert [source.schema.field(name).type for name in ("mixed", "gap")] == [RAW, pa.string()]
    same = ["text", "time", "kind"]
    assert [source.schema.field(name).type for name in same] == pa.Table.from_pandas(frame[same]).schema.types
    assert rows(frame)[1] == {"text": None, "mixed": "1.5", "gap": None, "time": None, "kind": None}


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (pd.DataFrame([["a", "b"]], columns=["x", "x"]), "'x' more than once"),
        (pd.DataFrame({"id": ["a"]}, index=pd.Index(["b"], name="id")), "index cannot be a column"),
        (pd.Series(["a"], name="x"), "expected a .*found Series"),
    ],
)
def test_pandas_frames_whose_columns_are_not_clear_are_refused(frame, reason):
    with pytest.raises(DataError, match=reason):
        open_source(frame)


def test_a_hugging_face_dataset_gives_the_rows_chosen_in_it():
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_list(ROWS * 3).select([3, 0, 1]).select_columns(["id"])
    source = open_source(data)
    assert source.rows == 3
    assert [row for batch in source.batches() for row in batch.to_pylist()] == [{"id": i} for i in ("2", "1", "2")]
    with pytest.raises(DataError, match="expected one split, found DatasetDict; its splits are: test"):
        open_source(datasets.DatasetDict(test=data))
    with pytest.raises(DataError, match="expected a dataset that can be read more than once"):
        open_source(data.to_iterable_dataset())


def test_nan_among_text_is_null():
    assert rows([{"a": "x"}, {"a": float("nan")}, {"a": ["y"]}]) == [{"a": '"x"'}, {"a": None}, {"a": '["y"]'}]


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
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n')
    (tmp_path / "b.csv").write_text("id\n2\n")
    with pytest.raises(ColumnError, match=r"'id' is int64 in .*a\.jsonl but string in .*b\.csv"):
        open_source(f"{tmp_path}/*")


def test_of_columns_with_several_types_the_one_that_clashes_is_named(tmp_path):
    for name, columns in {"a": {"x": [1], "y": [1]}, "b": {"x": [0.5], "y": ["t"]}}.items():
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    with pytest.raises(ColumnError, match=r"'y' is int64 in .*a\.parquet but string in .*b\.parquet"):
        open_source(f"{tmp_path}/*")


def test_a_name_that_is_not_there_suggests_the_nearest(tmp_path):
    (tmp_path / "answers.jsonl").write_text("{}")
    with pytest.raises(DataError, match=r"no such file; did you mean 'answers\.jsonl'"):
        open_source(tmp_path / "answer.jsonl")
    with pytest.raises(DataError, match="no file matches"):
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
    [
        ("idd = 1", "there is no column 'idd'"),
        ("i >", "ends where a value is expected"),
        ("max(i) > 1", "one row at a time|aggregate"),
    ],
)
def test_a_condition_that_does_not_work_gives_the_reason(where, reason):
    with pytest.raises(DataError, match=reason):
        rows({"i": [1, 2]}, where=where)
