"""`bfcl_match` by hand; `tests/agree/test_tool_calls.py` compares it with bfcl-eval."""

import json

import pytest

from karat.core.columns.kinds import JSON, MESSAGES, to_arrow
from karat.core.metric.score import score_rows
from karat.metrics import bfcl_match

TOOL = {
    "name": "geo.area",
    "parameters": {
        "type": "dict",
        "properties": {
            "base": {"type": "float"},
            "unit": {"type": "string"},
            "at": {"type": "array", "items": {"type": "integer"}},
            "odd": {"type": "colour"},
        },
        "required": ["base"],
    },
}
ALLOWED = {"base": [5.0, 10], "unit": ["Square meter", ""], "at": [[1, 2], ""], "odd": [1, ""]}


@pytest.mark.parametrize(
    ("arguments", "score"),
    [
        ({"base": 5}, 1),
        ({"base": 10.0, "unit": "square-Meter", "at": [1, 2]}, 1),
        ({"base": "5"}, 0),
        ({"unit": "Square meter"}, 0),
        ({"base": 5, "at": [2, 1]}, 0),
        ({"base": 5, "at": ["1", "2"]}, 0),
        ({"base": 5, "other": 1}, 0),
        ({"base": 5, "odd": 1}, None),
    ],
)
def test_arguments(arguments, score):
    for form in ({"geo.area": arguments}, {"name": "geo.area", "arguments": json.dumps(arguments)}):
        assert bfcl_match([[form]], [[{"geo.area": ALLOWED}]], [[TOOL]]).to_pylist() == [score]


def test_dots_may_be_underscores_and_definitions_those_of_openai():
    tool = {"type": "function", "function": {**TOOL, "parameters": {**TOOL["parameters"], "type": "object"}}}
    columns = [[{"name": "geo_area", "arguments": {"base": 5}}]], [[{"geo.area": ALLOWED}]], [[tool]]
    assert bfcl_match(*columns).to_pylist() == [0]
    assert bfcl_match(*columns, underscores=True).to_pylist() == [1]


@pytest.mark.parametrize(
    ("expected", "tools", "reason"),
    [
        ([{"g": {}}], [TOOL], "tools: no definition of 'g'; there are geo.area"),
        ([{"geo.area": {"base": 5}}], [TOOL], "reference_tool_calls: the allowed values of 'base' are not a list"),
        ("x", [TOOL], "reference_tool_calls: found the text 'x'"),
        ([{"geo.area": {}}], "[", "tools: found text that is not JSON"),
    ],
)
def test_a_row_that_cannot_be_compared_says_why(expected, tools, reason):
    cells = {"tool_calls": [{"geo.area": {"base": 5}}], "reference_tool_calls": expected, "tools": tools}
    kinds = {"tool_calls": MESSAGES, "reference_tool_calls": MESSAGES, "tools": JSON}
    rows = score_rows(bfcl_match, {role: to_arrow([cell], role, kinds[role]) for role, cell in cells.items()})
    assert rows.reasons[0].startswith(reason)
