from __future__ import annotations

import csv
import json
import math
import threading

import pyarrow as pa
import pytest

import karat
from karat.core.columns.json_text import RAW
from karat.core.errors import DataError
from karat.data.open import open_source
from karat.data.write import check_output, write

COMPRESSIONS = ["", ".gz", ".zst"]
TABLE = pa.table(
    {
        "id": ["007", "1e3", "", None],
        "Answer": ["a\x00b", 'é\n"\\,\t😀', "null", "NaN"],
        "references": [["x", None], [], None, ["a,b", '"q"']],
        "n": pa.array([1, None, 9 * 10**18, -5]),
        "score": [0.1, 1e-7, None, 1e22],
        "good": [True, False, None, True],
        "nested": [{"a": 1, "b": ["x"]}, None, {"a": None, "b": []}, {"a": 2, "b": None}],
        "mixed": pa.array(['{"a": 1.10}', "1e3", None, '"s"'], pa.string()).cast(RAW),
    }
)


def read(path):
    source = open_source(path).as_values()
    return pa.Table.from_batches(source.batches(), source.schema)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json", "a.parquet", "a.arrow", "a.feather"])
def test_what_is_written_reads_back_the_same(tmp_path, name, compression):
    path = tmp_path / f"{name}{compression}"
    assert write(TABLE.to_batches(max_chunksize=3), TABLE.schema, path) == 4
    assert read(path).equals(TABLE)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_tables_of_text_hold_values_as_text_and_lists_as_json(tmp_path, name, compression):
    path = tmp_path / f"{name}{compression}"
    write(TABLE.to_batches(max_chunksize=3), TABLE.schema, path)
    back = read(path).to_pylist()
    assert [row["id"] for row in back] == ["007", "1e3", "", ""]
    assert [row["Answer"] for row in back] == TABLE["Answer"].to_pylist()
    assert [row["references"] for row in back] == ['["x",null]', "[]", "", '["a,b","\\"q\\""]']
    assert [row["mixed"] for row in back] == ['{"a": 1.10}', "1e3", "", '"s"']
    assert [float(row["score"] or "nan") for row in back][:2] == [0.1, 1e-7]


def test_json_lines_read_the_same_by_the_standard_library(tmp_path):
    table = pa.table({"a": ["\x00\u2028\x7f", None], "b": [math.inf, math.nan], "c": [2**62 + 1, None]})
    write(table.to_batches(), table.schema, tmp_path / "a.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_bytes().split(b"\n")[:-1]]
    assert lines[0] == {"a": "\x00\u2028\x7f", "b": math.inf, "c": 2**62 + 1}
    assert math.isnan(lines[1]["b"])


def test_csv_reads_the_same_by_the_standard_library(tmp_path):
    table = TABLE.select(["id", "Answer"])
    write(table.to_batches(), table.schema, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        assert [row["Answer"] for row in csv.DictReader(file)] == table["Answer"].to_pylist()


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.parquet", "a.arrow"])
def test_no_rows_are_a_file_too(tmp_path, name):
    assert write([], TABLE.schema, tmp_path / name) == 0
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_names_that_differ_by_case_are_both_written(tmp_path):
    table = pa.table({"Answer": ["a"], "answer": ["b"]})
    write(table.to_batches(), table.schema, tmp_path / "a.jsonl")
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {"Answer": "a", "answer": "b"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json.gz", "a.csv", "a.parquet", "a.arrow.zst"])
def test_an_interrupted_write_leaves_what_was_there(tmp_path, name, error):
    def batches():
        yield from TABLE.to_batches()
        raise error

    (tmp_path / name).write_text("before")
    with pytest.raises(error):
        write(batches(), TABLE.schema, tmp_path / name)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(name, "before")]


@pytest.mark.parametrize("behind", [0, 2])
def test_a_batch_that_cannot_be_written_is_an_error_wherever_it_stands(tmp_path, behind):
    early, late = (pa.table({"at": pa.array([days], pa.date32())}) for days in (0, 2**31 - 1))
    batches = [*early.to_batches(), *late.to_batches(), *early.to_batches() * behind]
    with pytest.raises(DataError, match="column 'at'"):
        write(batches, early.schema, tmp_path / "a.csv")
    assert not list(tmp_path.iterdir())


def test_rows_are_made_while_those_before_are_written(tmp_path):
    table, threads = pa.table({"a": ["x"] * 1000}), set()

    def batches():
        for _ in range(3):
            threads.update(thread.name for thread in threading.enumerate() if "write" in thread.name)
            yield from table.to_batches()

    assert write(batches(), table.schema, tmp_path / "a.jsonl") == 3000
    assert len(threads) == 1
    assert read(tmp_path / "a.jsonl")["a"].to_pylist() == ["x"] * 3000


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a.xlsx", r"ends in \.jsonl"),
        ("a.eval", r"ends in \.jsonl, .*\.ipc or \.feather,"),
        ("no/a.csv", "no folder"),
        ("d.csv", "is a folder"),
    ],
)
def test_an_output_that_cannot_be_is_refused_at_once(tmp_path, name, reason):
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(DataError, match=reason):
        check_output(tmp_path / name)


def test_a_format_that_is_only_read_is_refused_before_any_row_is_read(tmp_path):
    with pytest.raises(DataError, match=r"a\.eval: expected a name that ends in \.jsonl") as refused:
        karat.score(tmp_path / "not-there.jsonl", "exact_match", output=tmp_path / "a.eval")
    assert str(refused.value).count(".eval") == 1


def test_two_writers_of_one_file_do_not_mix_their_rows(tmp_path):
    path = tmp_path / "a.csv"
    first, second = pa.table({"a": ["first"] * 3}), pa.table({"a": ["second"]})

    def batches():
        yield from first.to_batches()
        write(second.to_batches(), second.schema, path)
        assert read(path).equals(second)
        yield from first.to_batches()

    assert write(batches(), first.schema, path) == 6
    assert read(path)["a"].to_pylist() == ["first"] * 6
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]
