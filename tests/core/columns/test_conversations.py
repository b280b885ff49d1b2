"""One conversation in the forms of many tools is read as one; what has no known form says so."""

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.core.columns.conversations import (
    Message,
    ToolCall,
    UnreadableConversation,
    conversations,
    read_conversation,
)
from karat.core.columns.kinds import JSON, MESSAGES, to_arrow
from karat.core.errors import ColumnError

ARGUMENTS = {"city": "Paris", "days": 2}
TEXT = json.dumps(ARGUMENTS)
SAID = [
    Message("user", "Weather?"),
    Message("assistant", "I look.", (ToolCall("get_weather", ARGUMENTS, "1"),)),
    Message("tool", "sunny", (), "1"),
    Message("assistant", "Sunny."),
]
OPENAI_CALL = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": TEXT}}
LANGCHAIN_CALL = {"name": "get_weather", "args": ARGUMENTS, "id": "1", "type": "tool_call"}
OPENAI = [
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": "I look.", "tool_calls": [OPENAI_CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "sunny"},
    {"role": "assistant", "content": [{"type": "text", "text": "Sunny."}], "tool_calls": None},
]
ANTHROPIC = [
    {"role": "user", "content": "Weather?"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "1", "name": "get_weather", "input": ARGUMENTS},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "sunny"}]}],
    },
    {"role": "assistant", "content": "Sunny."},
]
LANGCHAIN = [
    {"type": "human", "content": "Weather?"},
    {"type": "ai", "content": "I look.", "tool_calls": [LANGCHAIN_CALL], "invalid_tool_calls": []},
    {"type": "tool", "content": "sunny", "tool_call_id": "1"},
    {"type": "ai", "content": "Sunny.", "tool_calls": []},
]
NAMES = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}
DUMPED = [
    {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", NAMES[m["type"]]], "kwargs": m}
    for m in LANGCHAIN
]
ATIF = {
    "schema_version": "ATIF-v1.7",
    "agent": {"name": "a", "version": "1"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "Weather?"},
        {
            "step_id": 2,
            "source": "agent",
            "message": "I look.",
            "tool_calls": [{"tool_call_id": "1", "function_name": "get_weather", "arguments": ARGUMENTS}],
            "observation": {"results": [{"source_call_id": "1", "content": "sunny"}]},
        },
        {"step_id": 3, "source": "agent", "message": [{"type": "text", "text": "Sunny."}]},
    ],
}
RESPONSES = [
    {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
    {"type": "function_call", "call_id": "1", "name": "get_weather", "arguments": TEXT},
    {"type": "function_call_output", "call_id": "1", "output": "sunny"},
    {"role": "assistant", "content": "Sunny."},
]


@pytest.mark.parametrize(
    "form",
    [
        OPENAI,
        {"messages": OPENAI},
        ANTHROPIC,
        LANGCHAIN,
        [{"type": m["type"], "data": m} for m in LANGCHAIN],
        DUMPED,
        ATIF,
        [json.dumps(message) for message in OPENAI],
    ],
    ids=["OpenAI", "state", "Anthropic", "LangChain", "messages_to_dict", "dumpd", "ATIF", "texts"],
)
def test_every_form_is_the_same_conversation(form):
    assert read_conversation(json.dumps(form)) == SAID


@pytest.mark.parametrize("more", [{"type": "constructor"}, {"kwargs": {"role": "user", "content": "x"}}])
def test_what_is_half_a_dumped_message_is_what_it_says_itself(more):
    said = {"role": "assistant", "content": "Sunny."} | more
    assert read_conversation(json.dumps([said])) == [Message("assistant", "Sunny.")]


def test_a_step_of_a_tool_answers_no_call():
    steps = [*ATIF["steps"][:1], {"step_id": 2, "source": "tool", "message": "sunny"}]
    assert read_conversation(json.dumps(ATIF | {"steps": steps}))[1] == Message("tool", "sunny", (), None)


def test_responses_of_openai_have_calls_as_messages_of_their_own():
    said, call = SAID[1]._replace(calls=()), Message("assistant", "", SAID[1].calls)
    assert read_conversation(json.dumps(RESPONSES)) == [SAID[0], said, call, *SAID[2:]]


@pytest.mark.parametrize(
    "form",
    [
        [OPENAI_CALL],
        OPENAI_CALL,
        {"tool_calls": [OPENAI_CALL]},
        {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [OPENAI_CALL]}}]},
        {"role": "assistant", "content": None, "function_call": {"name": "get_weather", "arguments": TEXT}},
        {"type": "ai", "content": "", "additional_kwargs": {"tool_calls": [OPENAI_CALL]}},
        [{"function": {"name": "get_weather", "arguments": ARGUMENTS}}],
        [LANGCHAIN_CALL],
        [{"type": "tool_use", "name": "get_weather", "input": ARGUMENTS}],
        [{"name": "get_weather", "arguments": ARGUMENTS}],
        [{"name": "get_weather", "input_parameters": ARGUMENTS}],
        f"<tool_call>\n{json.dumps({'name': 'get_weather', 'arguments': ARGUMENTS})}\n</tool_call>",
        [{"role": "assistant", "content": f'<tool_call>{{"name": "get_weather", "arguments": {TEXT}}}</tool_call>'}],
    ],
)
def test_calls_alone_are_a_message_of_the_assistant(form):
    (message,) = read_conversation(form if isinstance(form, str) else json.dumps(form))
    assert (message.role, message.content) == ("assistant", "")
    assert [(call.name, call.arguments) for call in message.calls] == [("get_weather", ARGUMENTS)]


@pytest.mark.parametrize(
    ("arguments", "read"),
    [("", {}), (None, {}), ({}, {}), ("{}", {}), ("[1]", "[1]"), ("{'x': 1}", "{'x': 1}"), ([1], "[1]")],
)
def test_arguments_that_are_no_object_stay_text(arguments, read):
    (message,) = read_conversation(
        json.dumps([{"type": "function", "function": {"name": "f", "arguments": arguments}}])
    )
    assert message.calls == (ToolCall("f", read),)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "an empty text"),
        ("Paris", "the text 'Paris'"),
        ("3", "the text '3'"),
        ("f(x=1)", "a call that is not JSON"),
        ("null", "null"),
        ('{"a": 1}', "an object with 'a'"),
        ("[[]]", "a list"),
        ("[{", "text that is not JSON"),
        ('[{"role": "user", "content": "x"}, 3]', "item 2: found a number"),
        ('{"steps": [{"message": "x"}]}', "step 1: found an object with 'message'"),
        ('{"role": "assistant", "tool_calls": [{"x": 1}]}', "expected a tool call"),
        ('{"name": "f", "parameters": {"type": "object"}}', "an object with 'name', 'parameters'"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_has_no_known_form_says_what_was_found(text, problem):
    (found,) = conversations(pa.array([text]))
    assert isinstance(found, UnreadableConversation)
    assert problem in str(found)


KEYS = "role type content tool_calls function_call additional_kwargs function name arguments input id kwargs data"
KEYS += " steps source message observation results choices messages text tool_call_id x"
HOSTILE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(
        ["assistant", "ai", "tool", "tool_use", "tool_result", "constructor", "function_call", "{", "<tool_call>"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=5),
    max_leaves=25,
)


@settings(max_examples=150)
@given(HOSTILE)
def test_any_json_is_read_or_says_why_not(value):
    (found,) = conversations(pa.array([json.dumps(value)]))
    if isinstance(found, UnreadableConversation):
        assert "expected" in str(found) or "found" in str(found)
    else:
        json.dumps([message.as_json() for message in found])
        assert all(isinstance(part, str) for message in found for part in message[:2])


def test_a_column_is_cast_from_every_layout():
    rows = [[{"name": "f", "arguments": {"x": 1}}], [{"name": "g", "arguments": {"y": [None, {"z": 1}]}}], None, []]
    texts = [None if row is None else json.dumps(row) for row in rows]
    nested = pa.array(rows)
    as_map = pa.array(
        [None if row is None else [{"name": c["name"], "arguments": [("k", "v")]} for c in row] for row in rows],
        pa.list_(pa.struct({"name": pa.string(), "arguments": pa.map_(pa.string(), pa.string())})),
    )
    for column in (nested, pa.array(texts), pa.array(texts, pa.large_string()), pa.array(texts).dictionary_encode()):
        assert [row and json.loads(row) for row in MESSAGES.of(column, "x").to_pylist()] == rows
    assert MESSAGES.of(pa.array([*texts, "null"], pa.string()).cast(pa.json_()), "x").to_pylist() == [*texts, None]
    assert json.loads(MESSAGES.of(as_map, "x")[0].as_py()) == [{"name": "f", "arguments": {"k": "v"}}]
    assert [row and json.loads(row) for row in MESSAGES.of(nested.slice(1, 2), "x").to_pylist()] == rows[1:3]
    assert MESSAGES.of(to_arrow(rows, "x", MESSAGES), "x").to_pylist() == texts


def test_a_column_of_numbers_is_refused_with_what_to_type():
    with pytest.raises(ColumnError, match=r"x holds int64, a conversation or tool calls.* --map ROLE=COLUMN"):
        MESSAGES.of(pa.array([1]), "x")
    with pytest.raises(ColumnError, match="x holds double, JSON: lists or objects is expected"):
        JSON.of(pa.array([1.5]), "x")


def test_a_message_as_a_judge_is_shown_it():
    assert SAID[1].as_json() == {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [{"name": "get_weather", "arguments": ARGUMENTS, "id": "1"}],
    }
    assert SAID[2].as_json() == {"role": "tool", "content": "sunny", "tool_call_id": "1"}
