"""Members extracted from JSON objects: the compiled kernel against its definition, and against a JSON parser."""

from __future__ import annotations

import json

import hypothesis
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from karat.data.json import members
from karat.data.json.raw import extract_members

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab"\\{}[],:é\n', max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abé"), inner, max_size=3),
    max_leaves=8,
)
KEYS = ["a", "b", "long key", "é"]


@hypothesis.given(
    st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES), min_size=1, max_size=4), st.sampled_from([None, 1])
)
def test_members_are_cut_as_their_definition_cuts_them(rows, indent):
    texts = [json.dumps(row, ensure_ascii=False, indent=indent) for row in rows]
    defined = [[None if (cell := extract_members(text).get(key)) == "null" else cell for text in texts] for key in KEYS]
    assert [column.to_pylist() for column in members.extract_columns(pa.array(texts), KEYS, KEYS)] == defined


@hypothesis.given(st.lists(VALUES, min_size=1, max_size=4))
def test_members_at_paths_are_what_a_parser_finds(values):
    paths = ["a", "b.a", "é", "é.b.a"]
    found = members.extract_paths(pa.array(["0", *map(json.dumps, values)]).slice(1), paths)
    if found is None:  # json.dumps escapes é
        assert not members.COMPILED or "\\" in json.dumps(values)
        return
    for path in paths:
        expected = [reached(value, path.split(".")) for value in values]
        if any(value is not None for value in expected) or path in found:
            assert [None if cell is None else json.loads(cell) for cell in found[path].to_pylist()] == expected


def reached(value, keys):
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def test_a_key_twice_is_refused():
    with pytest.raises(ValueError, match="twice"):
        members.extract_columns(pa.array(['{"a": 1, "a": 2}']), ["a"], ["a"])
