"""Conversations as LangChain and ATIF's models write them, where these packages are installed."""

import json

import pytest

from karat.core.columns.conversations import Message, ToolCall, read_conversation
from karat.metrics import tool_call_f1

ARGUMENTS = {"city": "Zürich", "days": [1, 2.5], "at": {"hour": None}}
SAID = [
    Message("system", "Be brief."),
    Message("user", "Weather?"),
    Message("assistant", "I look.", (ToolCall("get_weather", ARGUMENTS, "1"), ToolCall("get_time", {}, "2"))),
    Message("tool", "sunny", (), "1"),
    Message("tool", "noon", (), "2"),
    Message("assistant", "Sunny."),
]


def langchain_messages():
    messages = pytest.importorskip("langchain_core.messages")
    called = [{"name": call.name, "args": call.arguments, "id": call.id} for call in SAID[2].calls]
    return [
        messages.SystemMessage("Be brief."),
        messages.HumanMessage("Weather?"),
        messages.AIMessage("I look.", tool_calls=called),
        messages.ToolMessage("sunny", tool_call_id="1"),
        messages.ToolMessage("noon", tool_call_id="2"),
        messages.AIMessage([{"type": "text", "text": "Sunny."}]),
    ]


@pytest.mark.parametrize("way", ["objects", "model_dump", "messages_to_dict", "dumpd", "OpenAI"])
def test_messages_of_langchain_are_read_however_they_are_stored(way):
    messages = langchain_messages()
    from langchain_core.load import dumpd
    from langchain_core.messages import convert_to_openai_messages, messages_to_dict

    stored = {
        "objects": lambda: messages,
        "model_dump": lambda: [message.model_dump() for message in messages],
        "messages_to_dict": lambda: messages_to_dict(messages),
        "dumpd": lambda: dumpd(messages),
        "OpenAI": lambda: convert_to_openai_messages(messages),
    }[way]()
    assert tool_call_f1(
        [stored], [[{"name": call.name, "args": call.arguments} for call in SAID[2].calls]]
    ).to_pylist() == [1]
    if way != "objects":
        assert read_conversation(json.dumps(stored)) == SAID


def test_a_trajectory_of_atif_is_read():
    atif = pytest.importorskip("atif")
    calls = [
        {"tool_call_id": call.id, "function_name": call.name, "arguments": call.arguments} for call in SAID[2].calls
    ]
    results = [{"source_call_id": "1", "content": "sunny"}, {"source_call_id": "2", "content": "noon"}]
    trajectory = atif.Trajectory.model_validate(
        {
            "schema_version": "ATIF-v1.7",
            "agent": {"name": "a", "version": "1"},
            "steps": [
                {"step_id": 1, "source": "system", "message": "Be brief."},
                {"step_id": 2, "source": "user", "message": "Weather?"},
                {
                    "step_id": 3,
                    "source": "agent",
                    "message": "I look.",
                    "tool_calls": calls,
                    "observation": {"results": results},
                },
                {"step_id": 4, "source": "agent", "message": [{"type": "text", "text": "Sunny."}]},
            ],
        }
    )
    assert read_conversation(json.dumps(trajectory.to_json_dict())) == SAID
    assert read_conversation(trajectory.model_dump_json()) == SAID
