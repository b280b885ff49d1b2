"""Conversations and tool calls in the forms of other tools, read into one form.

Read are messages and tool calls of OpenAI (Chat Completions, Responses), Anthropic, the chat templates of Hugging Face,
LangChain (dumped by `model_dump`, `messages_to_dict` or `dumpd`), DeepEval and Hermes (calls in `<tool_call>` tags),
and trajectories of ATIF, up to version 1.7. Tool calls alone are a message of the assistant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from karat.core.columns.column_cache import once
from karat.core.errors import KaratError

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "agent": "assistant"}
_RESULTS = ("tool", "function")  # the roles of messages that answer a call
_TYPES = ("human", "ai", "system", "tool", "function")  # of LangChain's messages
_ARGUMENTS = ("arguments", "args", "input", "input_parameters")
_IDS = ("id", "tool_call_id", "call_id", "tool_use_id", "source_call_id")
_TAG = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)  # the end may be cut off
_CALL = re.compile(r"\w+(?:\.\w+)*\(.*\)", re.DOTALL)  # in the syntax of Python, which is not read
_BLOCKS = ("text", "output_text", "refusal", "thinking", "redacted_thinking", "reasoning")
_EXPECTED = 'expected: messages with a "role", or tool calls such as {"name": "f", "arguments": {"x": 1}}'


class UnreadableConversation(KaratError):
    """Why a row holds no conversation: what was found, and what was expected."""


class Prose(UnreadableConversation):
    """A text without a tool call: a model's answer, but no gold, which says `[]` where it expects no call."""

    def __init__(self, text: str) -> None:
        problem = f"found the text {text[:40]!r}" if text else "found an empty text"
        super().__init__(f"{problem}; {_EXPECTED}; [] stands for no calls")
        self.text = text


class ToolCall(NamedTuple):
    """A call of a tool; its arguments are text where they are not a JSON object, its name empty where none is read."""

    name: str
    arguments: dict[str, Any] | str
    id: str | None = None


class Message(NamedTuple):
    """A message: who wrote it, its text, its tool calls; for a tool's result the id of the call."""

    role: str
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The message as a judge is shown it, without what it does not have.

        >>> Message("assistant", "", (ToolCall("f", {"x": 1}),)).as_json()
        {'role': 'assistant', 'tool_calls': [{'name': 'f', 'arguments': {'x': 1}}]}
        """
        calls = [{key: value for key, value in call._asdict().items() if value is not None} for call in self.calls]
        parts = {"role": self.role, "content": self.content, "tool_calls": calls, "tool_call_id": self.call_id}
        return {key: value for key, value in parts.items() if value or (key == "content" and not calls)}


def conversations(column: pa.Array) -> list[list[Message] | UnreadableConversation]:
    """The conversation of each row of JSON text, or why there is none; read once for all metrics of a batch."""
    return once("conversations", (column,), lambda: [_read_or_error(text) for text in column.to_pylist()])


def replies(column: pa.Array) -> list[list[Message] | UnreadableConversation]:
    """As `conversations`, of what a model replied: a text without a tool call is a message of the assistant."""
    return [[Message("assistant", read.text)] if isinstance(read, Prose) else read for read in conversations(column)]


def _read_or_error(text: str) -> list[Message] | UnreadableConversation:
    try:
        return read_conversation(text)
    except UnreadableConversation as error:
        return error
    except RecursionError:
        return UnreadableConversation("it is nested too deeply")


def read_conversation(text: str) -> list[Message]:
    """The messages of a conversation in any of the known forms; raises `UnreadableConversation`.

    >>> read_conversation('[{"type": "function", "function": {"name": "f", "arguments": "{}"}}]')
    [Message(role='assistant', content='', calls=(ToolCall(name='f', arguments={}, id=None),), call_id=None)]
    >>> read_conversation('{"a": 1}')
    Traceback (most recent call last):
        ...
    karat.core.columns.conversations.UnreadableConversation: found an object with 'a'; expected: messages with a
    "role", or tool calls such as {"name": "f", "arguments": {"x": 1}}
    """
    value = parse_json(text)
    if isinstance(value, list | dict):
        return list(_messages(value))
    content = value if isinstance(value, str) else text
    if _CALL.fullmatch(content.strip()):
        raise UnreadableConversation(f"found {content[:40]!r}, a call that is not JSON; {_EXPECTED}")
    if "<tool_call>" not in content:
        raise Prose(content)
    return [_message("assistant", content)]


def parse_json(text: str) -> Any:
    """The value of a JSON text; other text as it is, unless it starts like an object or a list."""
    try:
        return json.loads(text)
    except ValueError as error:
        if text.lstrip()[:1] in ("[", "{"):
            raise UnreadableConversation(f"found text that is not JSON: {error}; {_EXPECTED}") from None
        return text


def _messages(value: Any) -> Iterator[Message]:
    if isinstance(value, list):
        yield from _of_list(value)
        return
    for key in ("messages", "steps") if isinstance(value, dict) else ():
        if isinstance(value.get(key), list):
            yield from _of_steps(value[key]) if key == "steps" else _of_list(value[key])
            return
    yield from _of_list([value])


def _of_list(items: list[Any]) -> Iterator[Message]:
    """Messages, calls and blocks of content: calls and blocks that follow one another are the assistant's message."""
    calls: list[ToolCall] = []
    blocks: list[Any] = []
    for number, item in enumerate([*items, _END], 1):
        each = parse_json(item) if isinstance(item, str) else item
        if (call := read_call(each)) is not None:
            calls.append(call)
        elif isinstance(each, dict) and each.get("type") in _BLOCKS and "role" not in each:
            blocks.append(each)
        else:
            if (calls or blocks) and ((text := _content_text(blocks)) or calls):
                yield _message("assistant", text, calls)
            calls, blocks = [], []
            if item is not _END:
                yield from _of_message(each, f"item {number}: " if len(items) > 1 else "")


def _of_message(value: Any, where: str) -> Iterator[Message]:
    if not isinstance(value, dict):
        raise UnreadableConversation(f"{where}found {_name_type(value)}; {_EXPECTED}")
    if choices := _inner(value, "choices", list):
        choice = choices[0]
        yield from _of_message(choice.get("message") if isinstance(choice, dict) else choice, where)
        return
    if "type" in value:
        value = _unwrap(value)
    kind, content = value.get("type"), value.get("content")
    role = value.get("role", kind if kind in _TYPES else None)
    if role is None and (not value or any(key in value for key in _SAID)):
        role = "assistant"
    if not isinstance(role, str):
        raise UnreadableConversation(f"{where}found {_name_type(value)}; {_EXPECTED}")
    blocks, author = content if isinstance(content, list) else [], _ROLES.get(role, role)
    for block in blocks:
        if _is(block, "tool_result"):
            yield Message("tool", _content_text(block.get("content")), (), _id(block))
    rest = [block for block in blocks if not _is(block, "tool_result")]
    if blocks and not rest:
        return
    calls = _inner(value, "tool_calls", list) or _inner(_inner(value, "additional_kwargs", dict), "tool_calls", list)
    calls = [*calls, *filter(None, [value.get("function_call")])] or [each for each in rest if _is(each, "tool_use")]
    answered = _id(value) if author in _RESULTS else None
    yield _message(author, _content_text(rest if blocks else content), [_call(each, where) for each in calls], answered)


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, dict) and block.get("type") == kind


def _unwrap(value: dict[str, Any]) -> dict[str, Any]:
    """The message in LangChain's objects, and in the result of a call of Responses."""
    kind = value["type"]
    if kind == "constructor" and isinstance(value.get("kwargs"), dict):
        kind = str(["", *_inner(value, "id", list)][-1]).removesuffix("Chunk").removesuffix("Message").lower()
        value = {"type": kind, **value["kwargs"]}
    elif isinstance(value.get("data"), dict) and kind in _TYPES:
        value = {**value["data"], "type": kind}
    if value.get("type") == "function_call_output":
        return {"role": "tool", "content": value.get("output"), "call_id": value.get("call_id")}
    return value


def _of_steps(steps: list[Any]) -> Iterator[Message]:
    """The messages of an ATIF trajectory: each step, then the results of its calls."""
    for number, step in enumerate(steps, 1):
        if not isinstance(step, dict) or not isinstance(step.get("source"), str):
            raise UnreadableConversation(f"step {number}: found {_name_type(step)}; expected a step with a source")
        calls = [_call(each, f"step {number}: ") for each in _inner(step, "tool_calls", list)]
        yield _message(_ROLES.get(step["source"], str(step["source"])), _content_text(step.get("message")), calls)
        for result in _inner(_inner(step, "observation", dict), "results", list):
            if not isinstance(result, dict):
                raise UnreadableConversation(f"step {number}: found {_name_type(result)} among its results")
            yield Message("tool", _content_text(result.get("content")), (), _id(result))


def _message(role: str, content: str, calls: Iterable[ToolCall] = (), call_id: str | None = None) -> Message:
    """A message; of an assistant's text without calls those that are in tags."""
    calls = tuple(calls)
    if role == "assistant" and not calls and "<tool_call>" in content:
        calls = tuple(map(_tagged, _TAG.findall(content)))
        content = _TAG.sub("", content).strip()
    return Message(role, content, calls, call_id)


def _tagged(text: str) -> ToolCall:
    """The call between tags; one without a name, which equals no other, where the model wrote none that can be read."""
    try:
        call = read_call(json.loads(text))
    except ValueError:
        call = None
    return call or ToolCall("", text.strip())


def _call(value: Any, where: str) -> ToolCall:
    if (call := read_call(value)) is None:
        raise UnreadableConversation(
            f'{where}found {_name_type(value)}; expected a tool call such as {{"name": "f", "arguments": {{"x": 1}}}}'
        )
    return call


def read_call(value: Any) -> ToolCall | None:
    """A tool call in any of the known forms; None for anything else.

    >>> read_call({"type": "tool_use", "id": "1", "name": "f", "input": {"x": 1}})
    ToolCall(name='f', arguments={'x': 1}, id='1')
    """
    if not isinstance(value, dict) or "role" in value:
        return None
    inner = value["function"] if isinstance(value.get("function"), dict) else value
    name = inner.get("name", inner.get("function_name"))
    key = next((key for key in _ARGUMENTS if key in inner), None)
    if not isinstance(name, str) or (key is None and inner is value and value.get("type") not in _CALL_TYPES):
        return None
    arguments = {} if key is None else inner[key]
    if isinstance(arguments, str) and arguments.strip():
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return ToolCall(name, arguments, _id(value))
    if not isinstance(arguments, dict):
        arguments = json.dumps(arguments) if arguments else {}
    return ToolCall(name, arguments, _id(value))


_END = object()
_SAID = ("content", "tool_calls", "function_call", "refusal")  # of a message without a role
_CALL_TYPES = ("tool_call", "tool_use", "function_call", "function")


def _inner(value: dict[str, Any], key: str, kind: type) -> Any:
    """What is at a key, empty where nothing is; `UnreadableConversation` for a value of another type."""
    if (inner := value.get(key)) is None or inner == "":
        return kind()
    if not isinstance(inner, kind):
        raise UnreadableConversation(f"found {_name_type(inner)} as {key!r}; {_EXPECTED}")
    return inner


def _id(value: dict[str, Any]) -> str | None:
    for key in _IDS:
        if isinstance(call_id := value.get(key), str) and call_id:
            return call_id
    return None


def _content_text(content: Any) -> str:
    """The text of a message: of its parts those that are text, and the names of the others, such as `[image_url]`."""
    if isinstance(content, list):
        return "\n".join(filter(None, map(_part, content)))
    return content if isinstance(content, str) else "" if content is None else json.dumps(content, ensure_ascii=False)


def _part(part: Any) -> str:
    if not isinstance(part, dict):
        return _content_text(part)
    if part.get("type") in ("tool_use", "thinking", "redacted_thinking", "reasoning"):
        return ""
    text = part.get("text")
    return text if isinstance(text, str) else f"[{part.get('type', 'part')}]"


def _name_type(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object with {', '.join(map(repr, value)):.80}" if value else "an empty object"
    names = {list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
