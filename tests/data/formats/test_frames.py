"""Cells of frames that Arrow does not know, or knows by another name."""

import json
import uuid

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import karat
from karat.core.errors import ColumnError, DataError
from karat.data.open import open_source

pd = pytest.importorskip("pandas")

ROWS = {"prediction": list("abcd"), "reference": list("abcx")}
YEARS = pd.period_range("2020", "2023", freq="Y")


def column(values):
    source = open_source(pd.DataFrame(ROWS).assign(x=values))
    return [row["x"] for batch in source.batches() for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pd.Series([pd.NA, "a", None, float("nan")], dtype=object), [None, "a", None, None]),
        (pd.Series([pd.NaT, "a", 1, np.float32("nan")], dtype=object), [None, '"a"', "1", None]),
        (pd.Series([np.int64(1), "a", np.float32(0.5), np.bool_(True)], dtype=object), ["1", '"a"', "0.5", "true"]),
        (pd.Series([["a"], "b", np.array(["c"]), None], dtype=object), ['["a"]', '"b"', '["c"]', None]),
        (pd.arrays.SparseArray([0, 0, 1, 0]), ["0", "0", "1", "0"]),
        (YEARS, ["2020", "2021", "2022", "2023"]),
        (pd.Series(YEARS).where([True, True, False, True]), ["2020", "2021", None, "2023"]),
        (pd.interval_range(0, 4), ["(0, 1]", "(1, 2]", "(2, 3]", "(3, 4]"]),
        (pd.cut([1, 9, np.nan, 1], [0, 5, 10]), ["(0, 5]", "(5, 10]", None, "(0, 5]"]),
        (pd.Categorical(YEARS), ["2020", "2021", "2022", "2023"]),
    ],
)
def test_cells_of_pandas_are_what_they_say(values, expected):
    assert column(values) == expected
    frame = pd.DataFrame(ROWS).assign(x=values)
    result = karat.score(frame, "exact_match", by="x", cluster="x")
    assert sum(value.n for value in result.groups["exact_match"].values()) == len(frame) == len(result.to_pandas())


def test_cells_that_nothing_can_hold_are_refused_with_their_place():
    with pytest.raises(ColumnError, match=r"column 'x', row 1: .*complex has no form in JSON"):
        open_source(ROWS | {"x": np.array([1j] * 4)})


def test_rows_of_a_matrix_are_lists():
    source = open_source(ROWS | {"x": np.arange(8).reshape(4, 2)})
    assert [row["x"] for batch in source.batches() for row in batch.to_pylist()][1] == "[2, 3]"


def test_uuids_are_text(tmp_path):
    ids = [uuid.uuid5(uuid.NAMESPACE_URL, letter) for letter in "abcd"]
    texts = list(map(str, ids))
    frame = ROWS | {"id": ids}
    assert set(karat.score(frame, "exact_match", by="id").groups["exact_match"]) == set(texts)
    karat.score(frame, "exact_match", output=tmp_path / "x.csv")
    assert [row["id"] for batch in open_source(tmp_path / "x.csv").batches() for row in batch.to_pylist()] == texts
    joined = karat.score({"id": texts[::-1], "prediction": list("dcba")}, "exact_match", gold=frame, on="id")
    assert joined.values["exact_match"].value == 0.75


def test_a_condition_works_beside_types_it_does_not_read():
    relation = duckdb.sql("SELECT 'a' AS prediction, 'a' AS reference, union_value(k := 1) AS x")
    assert karat.score(relation, "exact_match", where="prediction = 'a'").n == 1


def test_objects_without_keys_are_kept_as_json(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    rows = {"prediction": ["a"], "reference": ["a"]}
    (tmp_path / "x.jsonl").write_text('{"prediction": "a", "reference": "a", "x": {"scores": {}, "pass": true}}\n')
    typed = pa.table(rows | {"x": pa.array([{"scores": {}, "pass": True}])})
    for name, source in (("file", tmp_path / "x.jsonl"), ("table", typed)):
        karat.score(source, "exact_match", run=name)
        kept = open_source(karat.open_run(name).rows).batches()
        assert [json.loads(row["x"]) for batch in kept for row in batch.to_pylist()] == [{"scores": {}, "pass": True}]
        karat.score(source, ["exact_match", "column('x.pass')"], output=tmp_path / f"{name}.parquet")


def test_a_lazy_frame_is_to_be_collected_first():
    lazy = pytest.importorskip("polars").LazyFrame({"prediction": ["a"], "reference": ["a"]})
    with pytest.raises(DataError, match=r"found LazyFrame: call its collect\(\) first"):
        open_source(lazy)
    assert open_source(lazy.collect()).schema.names == ["prediction", "reference"]
