"""The quick look at JSON Lines says nothing that the close one does not."""

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.data.json import infer as look_module
from karat.data.json import uniform as plain
from karat.data.json.infer import JsonFile, infer_types
from karat.data.storage.duckdb import connect

values = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=5),
    st.sampled_from(['a"b', "\\", '\\"', "{", "}", ",", "]", "\n", "é", "\u2028"]),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.text(max_size=3), max_size=3),
    st.lists(st.one_of(st.integers(0, 9), st.none()), max_size=3),
    st.dictionaries(st.sampled_from("xy"), st.integers(0, 3), max_size=1),
)
rows = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "ü"]), values, min_size=1, max_size=3), min_size=2, max_size=6
)


@settings(max_examples=150)
@given(rows=rows, spaced=st.booleans(), ended=st.booleans())
def test_quick_and_close_look_agree(rows, spaced, ended, tmp_path_factory):
    file = tmp_path_factory.mktemp("look") / "rows.jsonl"
    separators = (", ", ": ") if spaced else (",", ":")
    lines = [json.dumps(row, ensure_ascii=False, separators=separators) for row in rows]
    file.write_text("\n".join(lines) + ("\n" if ended else ""), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(look_module, "_SAMPLE", 1)
        quick = infer_types(connect(), JsonFile(str(file), "newline_delimited"))[:2]
        patch.setattr(look_module, "count_lines", lambda *_: None)
        close = infer_types(connect(), JsonFile(str(file), "newline_delimited"))[:2]
    assert quick == close


KINDS = {"a": pa.string(), "b": pa.list_(pa.string()), "n": pa.int64(), "x": pa.float64(), "t": pa.bool_()}
PLAIN = [
    '{"a":"x","b":["y"],"n":1,"x":1.5,"t":true}',
    '{ "a" : null , "t":false}\r',
    '{"b":[],"x":-2e-3}',
    '{"b":null,"n":-7}',
]


@pytest.mark.skipif(not plain.COMPILED, reason="no compiled kernel")
@pytest.mark.parametrize("chunk", [1, 7, 64, 1 << 20])
def test_plain_lines_are_counted_however_they_are_cut(chunk, tmp_path, monkeypatch):
    monkeypatch.setattr(plain, "_CHUNK", chunk)
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(PLAIN * 10), "utf-8", newline="")
    assert plain.count_lines(file, KINDS)[0] == 40


@pytest.mark.skipif(not plain.COMPILED, reason="no compiled kernel")
@pytest.mark.parametrize(
    "line",
    [
        '{"a":1}', '{"b":"x"}', '{"b":[1]}', '{"b":[["x"]]}', '{"n":1.0}', '{"n":1234567890123456789}', '{"n":"1"}',
        '{"x":1234567890123456}', '{"x":1e400}', '{"t":1}', '{"z":1}', '{"b":[],"a":"x"}', '{"a":"x","a":"y"}',
        '{"a":"x"', '{"a":"x"}}', '{"a":"x"},', '["a"]', "", "{}", '{"a":"x\\', '{"a":"x\\"}', '{"a" "x"}', '{"A":"x"}',
    ],
)  # fmt: skip
def test_a_line_that_is_not_plain_is_left_to_the_close_look(line, tmp_path):
    file = tmp_path / "rows.jsonl"
    for place in range(3):
        lines = list(PLAIN[:2])
        lines.insert(place, line)
        file.write_text("\n".join(lines) + "\n", "utf-8")
        assert plain.count_lines(file, KINDS) is None
