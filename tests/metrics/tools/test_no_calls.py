"""An answer without a tool call, in every form that is read: wrong where a call is expected, right where none is."""

import json

import pyarrow as pa
import pytest

import karat
from karat.core.columns.kinds import MESSAGES, to_arrow
from karat.core.metric.score import score_rows
from karat.metrics import bfcl_match, tool_call_f1, tool_call_match, trajectory_match

CALL = {"name": "f", "arguments": {"x": 1}}
TEXT = "It is sunny."
NONE_CALLED = {  # as logged: whole messages, their calls alone, blocks of content, text
    "null": None,
    "JSON null": "null",
    "no calls": [],
    "no calls as JSON": "[]",
    "empty text": "",
    "prose": TEXT,
    "a number": "42",
    "prose after thoughts": f"<think>2 < 3</think> {TEXT}",
    "OpenAI, null": {"role": "assistant", "content": TEXT, "tool_calls": None},
    "OpenAI, empty": {"role": "assistant", "content": None, "tool_calls": []},
    "OpenAI, empty text": {"role": "assistant", "content": TEXT, "tool_calls": ""},
    "OpenAI, no key": {"role": "assistant", "content": TEXT},
    "OpenAI, no role": {"content": TEXT, "tool_calls": None},
    "OpenAI, nothing else": {"tool_calls": None},
    "OpenAI, refusal": {"role": "assistant", "content": None, "refusal": TEXT},
    "OpenAI, function": {"role": "assistant", "content": TEXT, "function_call": None},
    "OpenAI, response": {"choices": [{"message": {"role": "assistant", "content": TEXT, "tool_calls": None}}]},
    "OpenAI, items": [{"type": "reasoning", "summary": []}, {"type": "message", "role": "assistant", "content": TEXT}],
    "messages": {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": TEXT}]},
    "Anthropic, message": {"role": "assistant", "content": [{"type": "text", "text": TEXT}]},
    "Anthropic, blocks": [{"type": "thinking", "thinking": "f?"}, {"type": "text", "text": TEXT}],
    "LangChain": {"type": "ai", "data": {"content": TEXT, "tool_calls": [], "invalid_tool_calls": []}},
    "ATIF": {"steps": [{"source": "agent", "message": TEXT, "tool_calls": None}]},
}
CALLED = {
    "calls": [CALL],
    "OpenAI": {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": '{"x": 1}'}}]},
    "OpenAI, items": [{"type": "reasoning"}, {"type": "function_call", "name": "f", "arguments": '{"x": 1}'}],
    "Anthropic": [{"type": "text", "text": TEXT}, {"type": "tool_use", "name": "f", "input": {"x": 1}}],
    "Hermes": f"{TEXT}<tool_call>{json.dumps(CALL)}</tool_call>",
    "Hermes, cut off after the call": f"<tool_call>{json.dumps(CALL)}",
}
BROKEN = {"cut off": '<tool_call>{"name": "f", "argu', "no JSON": "<tool_call>f(x=1)</tool_call>"}
METRICS = {
    **{f"tool_call_{name}": None for name in ("precision", "recall", "f1", "match")},
    "tool_call_match(mode='ordered')": None,
    "tool_call_f1(by_tool={'f': ['x']})": None,
    "tool_call_f1(by_argument={'x': 'exact_match'})": None,
    "tool_call_f1(order='kept')": None,
    "bfcl_match": {"name": "f", "parameters": {"properties": {"x": {"type": "integer"}}}},
    "bfcl_match(underscores=True)": {"name": "f", "parameters": {"properties": {"x": {"type": "integer"}}}},
}


def scores(metric, predicted, expected, columns=("tool_calls", "reference_tool_calls")):
    rows = [dict(zip(columns, pair, strict=True)) for pair in zip(predicted, expected, strict=True)]
    tools = METRICS.get(metric)
    result = karat.score([{**row, "tools": [tools]} if tools else row for row in rows], metric)
    return result.table[metric].to_pylist()


@pytest.mark.parametrize("metric", METRICS)
def test_an_answer_without_a_call_is_scored_alike_in_every_form(metric):
    wanted = [{"f": {"x": [1]}}] if METRICS[metric] else [CALL]
    for forms, score in ((NONE_CALLED, [0, 1]), (CALLED, [1, 0]), (BROKEN, [0, 0])):
        for name, cell in forms.items():
            assert scores(metric, [cell] * 2, [wanted, []]) == score, name


def test_the_common_failure_of_openai_counts_in_both_forms():
    calls = [[CALL], None, [CALL]]
    messages = [{"role": "assistant", "content": TEXT, "tool_calls": each} for each in calls]
    for answers in (calls, messages):
        rows = {"tool_calls": answers, "reference_tool_calls": [[CALL]] * 3}
        assert karat.score(rows, "tool_call_match").values["tool_call_match"].value == pytest.approx(2 / 3)


def test_gold_says_that_it_expects_no_call():
    for cell in NONE_CALLED.values():
        if isinstance(cell, dict | list):
            assert scores("tool_call_match", [[], [CALL]], [cell] * 2) == [1, 0], cell
    for cell in (None, "", TEXT, "f(x=1)", BROKEN["cut off"]):
        assert scores("tool_call_match", [[CALL], []], [cell] * 2) == [None, None]


def test_a_null_may_be_a_row_without_an_answer():
    unscored = tool_call_match.using(null="unscored")
    assert unscored([None, [], TEXT], [[CALL]] * 3).to_pylist() == [None, 0, 0]
    assert bfcl_match([None], [[]], [[]], null="unscored").to_pylist() == [None]


@pytest.mark.parametrize("metric", METRICS)
def test_gold_without_a_prediction_is_unscored_and_not_an_answer_without_a_call(metric):
    wanted = [{"f": {"x": [1]}}] if METRICS[metric] else [CALL]
    gold = [{"id": at, "reference_tool_calls": wanted, "tools": [METRICS[metric]]} for at in range(3)]
    answers = [{"id": 2, "tool_calls": None}, {"id": 0, "tool_calls": [CALL]}]
    table = karat.score(answers, metric, gold=gold, on="id").table
    assert table[metric].to_pylist() == [1, None, 0]
    assert table["reason"].to_pylist() == [None, "tool_calls is null", None]
    unknown = [{"id": "none", "tool_calls": [CALL]}]
    assert karat.score(unknown, metric, gold=gold, on="id").table[metric].to_pylist() == [None] * 3


def test_calls_in_another_form_are_unscored_and_not_wrong():
    cells = ["f(x=1)", "[f(x=1)]", "[{'name': 'f', 'arguments': {}}]", [{"foo": 1}], ["f"], {"error": "HTTP 500"}]
    columns = {"tool_calls": to_arrow(cells, "a", MESSAGES), "reference_tool_calls": pa.array(["[]"] * len(cells))}
    for metric in (tool_call_f1, tool_call_match):
        assert all(reason.startswith("tool_calls: found") for reason in score_rows(metric, columns).reasons)


def test_conversations_that_end_without_a_call_are_wrong():
    asked = {"role": "user", "content": "?"}
    called = [asked, {"role": "assistant", "content": None, "tool_calls": [CALL]}]
    without = [[asked, {"role": "assistant", "content": TEXT, **more}] for more in ({}, {"tool_calls": None})]
    for mode in ("strict", "unordered", "superset"):
        assert trajectory_match([*without, TEXT, ""], [called] * 4, mode=mode).to_pylist() == [0] * 4
    assert trajectory_match([None], [called]).to_pylist() == [None]
