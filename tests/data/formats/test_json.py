from __future__ import annotations

import json

import pyarrow as pa
import pytest

from karat.core.columns.json_text import RAW, decode_text
from karat.core.errors import DataError, RowError
from karat.data.json.raw import extract_members
from karat.data.open import open_source


def rows(source):
    return [row for batch in source.as_values().batches() for row in batch.to_pylist()]


def put(tmp_path, content, name="a.jsonl"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


ODD_TEXTS = [
    *("007", "1e3", "2020-01-01", "2020-01-01T00:00:00Z", "12:30:00", "true", "null", "NaN", "", " x ", "[1]", "{}"),
    *("a\x00b", 'é\n"\\\u2028😀', "550e8400-e29b-41d4-a716-446655440000"),
]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_text_in_json_is_never_retyped(tmp_path, name):
    given = [{"a": text, "b": [text]} for text in ODD_TEXTS] + [{"a": None, "b": None}, {}]
    content = json.dumps(given) if name == "a.json" else "\n".join(map(json.dumps, given))
    source = open_source(put(tmp_path, content, name))
    assert source.schema == pa.schema([("a", pa.string()), ("b", pa.list_(pa.string()))])
    assert rows(source) == [{"a": row.get("a"), "b": row.get("b")} for row in given]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_a_column_of_one_kind_of_text_only_stays_text(tmp_path, text):
    source = open_source(put(tmp_path, (json.dumps({"a": text}) + "\n") * 3))
    assert rows(source) == [{"a": text}] * 3


def test_a_key_that_first_appears_in_the_last_row_is_a_column(tmp_path):
    source = open_source(put(tmp_path, '{"a": "x"}\n' * 100_000 + '{"late": 1}\n'))
    assert source.schema.names == ["a", "late"]
    assert source.rows == 100_001
    assert rows(source)[-2:] == [{"a": "x", "late": None}, {"a": None, "late": 1}]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None, -(9 * 10**18)], pa.int64()),
        ([1, 2.5], pa.float64()),
        ([True, None], pa.bool_()),
        ([None, None], pa.null()),
        ([[], ["x"]], pa.list_(pa.string())),
        ([[]], pa.list_(pa.string())),
        ([{"x": 1}, {"y": "a"}], pa.struct([("x", pa.int64()), ("y", pa.string())])),
        (["a", 1], RAW),
        (["a", ["b"]], RAW),
        ([[1], ["b"]], RAW),
        ([{}, {"a": [1, "x"]}], RAW),
        ([2**64, 1], RAW),
        ([2**63], RAW),
        ([2**60 + 1, 0.5], RAW),
    ],
)
def test_a_column_has_the_type_that_keeps_all_its_values(tmp_path, values, kind):
    source = open_source(put(tmp_path, "".join(json.dumps({"k": value}) + "\n" for value in values)))
    assert source.as_values().schema.field("k").type == kind
    read = [row["k"] for row in rows(source)]
    if kind == RAW:
        read = [value if value is None else json.loads(value) for value in read]
    if pa.types.is_struct(kind):
        read = [{key: value for key, value in row.items() if value is not None} for row in read]
    assert read == values


FIRST = {"s": "x", "l": ["x"], "i": 1, "d": 0.5, "b": True, "n": None, "m": [["x"]]} | {
    "json": ["x"],
    "cells": "x",
    "it's": "x",
    'a "b"': 1,
}


TEXTS = pa.list_(pa.string())
ODD = {
    "s": [(value, RAW) for value in (1, True, ["x"], {"x": "y"})],
    "l": [(value, RAW) for value in ("x", ["x", 1], [["x"]], [{"x": "y"}], {"x": "y"})]
    + [(value, TEXTS) for value in (None, [], ["x", None])],
    "i": [(value, RAW) for value in ("1", 2**63, [1], True)]
    + [(value, pa.int64()) for value in (None, -(2**62), 2**62)]
    + [(1.0, pa.float64())],
    "d": [(value, RAW) for value in ("1", 2**60 + 1, 10**30, True)]
    + [(value, pa.float64()) for value in (7, 1e-7, 1e22, None)],
    "b": [(value, RAW) for value in ("true", 1)],
    "n": [(1, pa.int64())],
    "m": [([["x"], None, []], pa.list_(TEXTS)), ([["x"], "x"], RAW), ([["x", 1]], RAW)],
    "late": [("x", pa.string())],
}
"""What a column may hold in its last row, and the type that it then has."""


@pytest.mark.parametrize("at", range(max(map(len, ODD.values()))))
@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_one_odd_row_after_many_alike_decides_the_types(tmp_path, at, name):
    odd = {key: cases[at % len(cases)] for key, cases in ODD.items()}
    lines = [json.dumps(FIRST)] * 20_000 + [json.dumps(FIRST | {key: value for key, (value, _) in odd.items()})]
    content = f"[{','.join(lines)}]" if name == "a.json" else "\n".join(lines)
    source = open_source(put(tmp_path, content, name))
    assert open_source(put(tmp_path, "\n".join(lines[-2:]), "few.jsonl")).schema == source.schema
    schema = source.as_values().schema
    assert {key: schema.field(key).type for key in odd} == {key: kind for key, (_, kind) in odd.items()}
    assert source.rows == 20_001


@pytest.mark.parametrize("line", ['{"a": "x", "a": "y"}', "[1]", "null", '"x"', '{"a": "x"'])
def test_a_bad_line_after_many_good_ones_is_named(tmp_path, line):
    path = put(tmp_path, '{"a": "x"}\n' * 20_000 + line)
    with pytest.raises(RowError, match=r"a\.jsonl, line 20001"):
        rows(open_source(path))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (["1e3", "1.10", "-0", "12345678901234567890"], ["1e3", "1.10", "-0", "12345678901234567890"]),
        (['"a"', "1.10", "true", "null", "NaN"], ["a", "1.10", "true", None, "NaN"]),
        (['"a"', "[1.50, false, null]"], [["a"], ["1.50", "false", None]]),
        (["1", "2"], ["1", "2"]),
        (['"null"', '"1"'], ["null", "1"]),
    ],
)
def test_what_a_metric_reads_as_text_keeps_its_spelling(tmp_path, values, text):
    path = put(tmp_path, "".join(f'{{"gold": {value}, "n": 1}}\n' for value in values))
    batch = next(open_source(path).batches())
    column = batch.column("gold")
    found = decode_text(column)
    assert (found if pa.types.is_nested(found.type) else found.cast(pa.string())).to_pylist() == text
    assert batch.column("n").to_pylist() == [1] * len(values)


def test_an_object_is_no_text():
    with pytest.raises(RowError, match=r"row 2: .*found an object"):
        decode_text(pa.array(['"a"', '{"b": 1}'], pa.string()).cast(RAW))
    with pytest.raises(RowError, match=r"row 101: .*found a list of lists"):
        decode_text(pa.array(["[[1]]"], pa.string()).cast(RAW), lambda at: f"row {101 + at}")


def test_keys_that_differ_by_case_are_two_columns(tmp_path):
    source = open_source(put(tmp_path, '{"Answer": "x", "answer": "y", "id": "1"}\n{"answer": "z"}\n'))
    assert rows(source) == [
        {"Answer": '"x"', "answer": '"y"', "id": "1"},
        {"Answer": None, "answer": '"z"', "id": None},
    ]


def test_strange_keys_are_columns(tmp_path):
    given = {"a b": "1", "": "2", 'say "hi"': "3", "it's": "4", "é": "5"}
    source = open_source(put(tmp_path, json.dumps(given)))
    assert {key: json.loads(v) if key == "" else v for key, v in rows(source)[0].items()} == given


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"a": "x', "not valid JSON"),
        ('{"a": 1, "a": 2}', "key 'a' occurs twice"),
        ("[1]", "expected an object"),
        ('"x"', "expected an object"),
        ('{"a": "\\ud800"}', "surrogate"),
        (b'{"a": "\xff"}', "not UTF-8: byte 0xff at byte 8"),
        ('{"a": 1} {"a": 2}', "Extra data"),
    ],
)
def test_a_line_that_does_not_read_is_named(tmp_path, line, reason):
    line = line if isinstance(line, bytes) else line.encode()
    path = put(tmp_path, b'{"a": "ok"}\n\n' + line + b'\n{"a": "ok"}\n')
    with pytest.raises(RowError, match=rf"a\.jsonl, line 3: .*{reason}"):
        rows(open_source(path))


def test_blank_lines_bom_and_crlf_are_no_rows(tmp_path):
    assert rows(open_source(put(tmp_path, b'\xef\xbb\xbf{"a": "x"}\r\n\r\n{"a": "y"}'))) == [{"a": "x"}, {"a": "y"}]


@pytest.mark.parametrize("content", ["", "\n", "{}\n{}\n"])
def test_a_file_without_rows_is_an_error(tmp_path, content):
    with pytest.raises(DataError, match=r"empty|no rows"):
        open_source(put(tmp_path, content))


def test_rows_keep_their_order(tmp_path):
    path = put(tmp_path, "".join(f'{{"i": {i}}}\n' for i in range(300_000)))
    batches = list(open_source(path).batches())
    assert pa.Table.from_batches(batches)["i"].to_pylist() == list(range(300_000))
    assert max(batch.num_rows for batch in batches) <= 65_536


@pytest.mark.parametrize(
    "document", ["[]", '{"a": 1', '{"a": 1,, "b": 2}', '{"a" 1}', '{"a": 1} x', '{"a": 1, "a": 2}']
)
def test_cutting_refuses_what_is_no_object(document):
    with pytest.raises(ValueError, match=r".+"):
        extract_members(document)
