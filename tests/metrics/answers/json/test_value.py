"""JSON is valid by RFC 8259, and equal where its values are."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.errors import SpecError
from karat.metrics import json_match, valid_json

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@pytest.mark.parametrize("text", ["{}", "[]", " 1e5 ", '"a"', "null", "-0.5", '{"a": [1, {"b": null}]}', "9" * 10_000])
def test_json_is_valid(text):
    assert valid_json([text]).to_pylist() == [1.0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "NaN",
        "-Infinity",
        "{'a': 1}",
        "[1,]",
        "01",
        "True",
        "{} {}",
        "// no\n{}",
        '{"a": 1, "a": 2}',
        '"a\nb"',
        "[" * 100_000,
        "[" * 500 + "]" * 500,
        "1e" + "9" * 30,
        "```json\n{}\n```",
    ],
)
def test_anything_else_is_not(text):
    assert valid_json([text]).to_pylist() == [0.0]


@pytest.mark.parametrize("text", ["```json\n{}\n```", "\n```\n{}\n```\n", "{}"])
def test_a_fence_is_allowed_with_fences(text):
    assert valid_json([text], fences=True).to_pylist() == [1.0]
    assert json_match([text], ["{}"], fences=True).to_pylist() == [1.0]


def test_words_around_a_fence_are_not():
    assert valid_json(["Here:\n```json\n{}\n```"], fences=True).to_pylist() == [0.0]


@pytest.mark.parametrize("settings", [{}, {"lists": "set"}, {"partial": True}, {"lists": "set", "tolerance": 0.5}])
@given(value=VALUES)
def test_a_value_matches_itself_however_it_is_written(value, settings):
    def turn(each):
        if isinstance(each, dict):
            return {name: turn(each[name]) for name in reversed(each)}
        return [turn(item) for item in each] if isinstance(each, list) else each

    written = json.dumps(turn(value), indent=1)
    assert json_match([written], [json.dumps(value)], **settings).to_pylist() == [1.0]


@given(a=VALUES, b=VALUES)
def test_a_full_share_of_leaves_is_a_match_and_the_share_is_symmetric(a, b):
    a, b = json.dumps(a), json.dumps(b)
    share, back = json_match([a, b], [b, a], partial=True).to_pylist()
    assert share == back
    assert (share == 1.0) == (json_match([a], [b]).to_pylist() == [1.0])


@pytest.mark.parametrize(
    ("prediction", "reference", "settings", "score"),
    [
        ("1.0", "1", {}, 1),
        ("1e2", "100", {}, 1),
        ("100000000000000000001", "100000000000000000000", {}, 0),  # as floats they would be one
        ("true", "1", {}, 0),
        ('"1"', "1", {}, 0),
        ("null", "0", {}, 0),
        ("[]", "{}", {}, 0),
        ("1.1", "1.0", {"tolerance": 0.1}, 1),  # in binary their difference is more than 0.1
        ("1.11", "1.0", {"tolerance": 0.1}, 0),
        ("1e999999", "2e999999", {"tolerance": 1.0}, 0),
        ("[1, 2]", "[2, 1]", {}, 0),
        ("[1, 2, 2]", "[2, 1]", {"lists": "set"}, 1),
        ("[[1, 2], [3]]", "[[3], [2, 1]]", {"lists": "set"}, 1),
        ('[{"a": 1, "b": 2}, {"a": 3, "b": 4}]', '[{"a": 1, "b": 4}, {"a": 3, "b": 2}]', {"lists": "set"}, 0),
        ("[1.05, 3]", "[3, 1]", {"lists": "set", "tolerance": 0.1}, 1),
        ("not json", "{}", {}, 0),
        ('{"a": 1}', '{"a": 1, "b": 2}', {"partial": True}, 1 / 2),
        ('{"a": 1, "b": {"c": 1}}', '{"a": 1, "b": {"c": 2, "d": 3}}', {"partial": True}, 1 / 3),
        ("[1, 2, 3]", "[1, 2]", {"partial": True}, 2 / 3),
        ("{}", '{"a": 1}', {"partial": True}, 0),
        ("[[1, 2], [3]]", "[[3], [1, 2, 5]]", {"partial": True, "lists": "set"}, 3 / 4),
        ("[1, 2]", "7", {"partial": True}, 0),
    ],
)
def test_matches(prediction, reference, settings, score):
    assert json_match([prediction], [reference], **settings).to_pylist() == pytest.approx([score])


@pytest.mark.parametrize("tolerance", [-1.0, float("nan"), float("inf")])
def test_a_tolerance_is_0_or_more(tolerance):
    with pytest.raises(SpecError, match="a number from 0 to"):
        json_match.using(tolerance=tolerance)


def test_a_reference_that_is_not_json_leaves_the_row_unscored_with_the_reason():
    result = karat.score({"prediction": ["{}", "{}"], "reference": ["{}", "{'a'}"]}, "json_match")
    assert result.table["json_match"].to_pylist() == [1.0, None]
    assert any("reference is not JSON" in str(cell) for row in result.table.to_pylist() for cell in row.values())
