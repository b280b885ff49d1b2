"""Tool calls against lists of allowed values, as the Berkeley Function-Calling Leaderboard (BFCL) compares them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from karat.core.columns.conversations import (
    Prose,
    ToolCall,
    UnreadableConversation,
    parse_json,
    read_call,
    read_conversation,
)
from karat.core.columns.kinds import Json, Messages, Score
from karat.core.metric.decorator import metric
from karat.core.metric.rows import collect_rows
from karat.metrics.tools.calls import NO_CALLS, Null, calls_of, fill_calls, specialise_calls, too_many

_TYPES: dict[str, type] = {
    "string": str,
    "any": str,
    "integer": int,
    "float": float,
    "number": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "object": dict,
}
_IGNORED = re.compile(r"[ ,./\-_*^]")
OPTIONAL = ""  # among the allowed values: the argument may be left out


class _Unscored(ValueError):
    """Why a row cannot be compared."""


@metric(
    source="bfcl-eval 2026.3.23, https://github.com/ShishirPatil/gorilla, ast_checker, language Python",
    version=2,
    keeps_null=NO_CALLS,
    specialise=specialise_calls,
)
def bfcl_match(
    tool_calls: Messages,
    reference_tool_calls: Messages,
    tools: Json,
    *,
    underscores: bool = False,
    null: Null = "no_calls",  # noqa: ARG001  (which nulls the function gets)
) -> Score:
    """1 where each tool call has allowed arguments of the right types and none is missing, else 0, as in BFCL.

    A reference is a list of `{"NAME": {"ARGUMENT": [ALLOWED, …]}}`; among the allowed values `""` says that the
    argument may be left out. `tools` are the definitions, with JSON Schema's or BFCL's names of types. The order of
    calls does not count. Texts are compared without case, spaces and `,./-_*^`. With `underscores=True` a dot in a
    tool's name counts as an underscore, for models whose tools may not have dots.

    A row without calls on either side scores 1. Predicted calls that are null, and text without a call, are an answer
    without calls; with `null="unscored"` a null is a row without an answer. A row is unscored where the reference is
    null, or the reference or the definition of an expected tool cannot be read.

    >>> tools = [{"name": "area", "parameters": {"properties": {"base": {"type": "integer"}}, "required": ["base"]}}]
    >>> bfcl_match([[{"name": "area", "arguments": {"base": 5}}]], [[{"area": {"base": [5, 10]}}]], [tools]).to_pylist()
    [1.0]
    """
    columns = fill_calls(tool_calls), reference_tool_calls, tools
    readers: dict[str, Callable[[str], Any]] = {
        "tool_calls": _read_reply,
        "reference_tool_calls": _read_calls,
        "tools": lru_cache(maxsize=1)(_read_tools),  # most rows have the tools of the row before
    }

    def match(*cells: str) -> float | str:
        row: list[Any] = []
        for (role, read), cell in zip(readers.items(), cells, strict=True):
            try:
                row.append(read(cell))
            except UnreadableConversation as error:
                return f"{role}: {error}"
        calls, expected, known = row
        if problem := too_many(calls, expected):
            return problem
        try:
            return float(_match(calls, expected, known, underscores=underscores))
        except _Unscored as error:
            return str(error)
        except TypeError:
            return "reference_tool_calls: the allowed values of an argument have no form of BFCL"

    return collect_rows(map(match, *(column.to_pylist() for column in columns)))


def _read_reply(text: str) -> list[ToolCall]:
    """The calls of a model, of which a text without a call has none."""
    try:
        return _read_calls(text)
    except Prose:
        return []


def _read_calls(text: str) -> list[ToolCall]:
    """Calls in BFCL's form, `[{"NAME": {"ARGUMENT": …}}]`, or in a conversation's."""
    value = parse_json(text)
    items = value if isinstance(value, list) else [value]
    if items and all(map(_is_named, items)):
        return [ToolCall(name, arguments) for item in items for name, arguments in item.items()]
    return calls_of(read_conversation(text))


def _is_named(item: Any) -> bool:
    """Whether an item is a call in BFCL's form."""
    if not isinstance(item, dict) or len(item) != 1 or not isinstance(next(iter(item.values())), dict):
        return False
    return read_call(item) is None


def _read_tools(text: str) -> dict[str, dict[str, Any]]:
    """The schema of each tool's arguments, by name; the first of each, in the form of BFCL, OpenAI or Anthropic."""
    value = parse_json(text)
    items = [_object(item) for item in (value if isinstance(value, list) else [value])]
    inner = [_object(item.get("function", item)) for item in reversed(items)]  # of several the first is kept
    named = [each for each in inner if isinstance(each.get("name"), str)]
    return {each["name"]: _object(each.get("parameters", each.get("input_schema"))) for each in named}


def _type(schema: dict[str, Any]) -> type | None:
    name = schema.get("type")
    return _TYPES.get(name) if isinstance(name, str) else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _match(
    calls: list[ToolCall], expected: list[ToolCall], tools: dict[str, dict[str, Any]], *, underscores: bool
) -> bool:
    if len(calls) != len(expected):
        return False
    rest = list(calls)
    for allowed in expected:
        if allowed.name not in tools:
            raise _Unscored(f"tools: no definition of {allowed.name!r}; there are {', '.join(tools) or 'none'}")
        if isinstance(allowed.arguments, str):
            raise _Unscored(f"reference_tool_calls: the arguments of {allowed.name!r} are not a JSON object")
        name = allowed.name.replace(".", "_") if underscores else allowed.name
        schema, values = tools[allowed.name], allowed.arguments
        fitting = (at for at, call in enumerate(rest) if call.name == name and _is_allowed(call, values, schema))
        if (at := next(fitting, None)) is None:
            return False
        rest.pop(at)
    return True


def _is_allowed(call: ToolCall, allowed: dict[str, Any], schema: dict[str, Any]) -> bool:
    """Whether each argument is declared and allowed, and none that is needed is missing."""
    values = call.arguments
    required, properties = schema.get("required"), _object(schema.get("properties"))
    if isinstance(values, str) or (isinstance(required, list) and any(name not in values for name in required)):
        return False
    for name, value in values.items():
        if name not in properties or name not in allowed:
            return False
        declared, choices = _object(properties[name]), allowed[name]
        kind, inner = _type(declared) or object, _type(_object(declared.get("items")))
        if not isinstance(choices, list):
            raise _Unscored(f"reference_tool_calls: the allowed values of {name!r} are not a list")
        if kind is object or (kind is list and inner is None):
            raise _Unscored(f"tools: the type of {name!r} is none of {', '.join(_TYPES)}, or its items have none")
        if not _is_value(float(value) if kind is float and type(value) is int else value, choices, kind, inner):
            return False
    return all(name in values or OPTIONAL in choices for name, choices in allowed.items())


def _is_value(value: Any, choices: list[Any], kind: type, inner: type | None) -> bool:
    """Whether a value has the type, or an allowed value's (a variable's name), and is one of the allowed values."""
    if not _has_type(value, choices, kind, inner if kind is list else None):
        return False
    actual = type(value)
    if actual is kind and _type_of(choices) in (None, kind):
        if kind is dict:
            return any(_is_object(value, choice) for choice in choices if choice != OPTIONAL)
        if kind is list and inner is dict:
            return any(len(value) == len(choice) and all(map(_is_object, value, choice)) for choice in choices)
        if kind is list:
            return [*map(_normalized, value)] in [[*map(_normalized, choice)] for choice in choices]
        if kind is str:
            return _normalized(value) in [_normalized(choice) for choice in choices if isinstance(choice, str)]
    return value in choices


def _has_type(value: Any, choices: list[Any], kind: type | None, inner: type | None) -> bool:
    actual = type(value)
    if actual is not kind:
        return actual is _type_of(choices)
    if inner is None:
        return True
    return any(
        not isinstance(choice, list) or all(_has_type(item, choice, inner, None) for item in value)
        for choice in choices
    )


def _type_of(choices: list[Any]) -> type | None:
    return next((type(choice) for choice in choices if choice != OPTIONAL), None)


def _is_object(value: Any, allowed: Any) -> bool:
    """Whether the object has allowed values alone, and lacks none that is needed."""
    if not isinstance(value, dict) or not isinstance(allowed, dict):
        return False
    known = all(
        key in allowed and _normalized(item) in [*map(_normalized, allowed[key])] for key, item in value.items()
    )
    return known and all(key in value or OPTIONAL in choices for key, choices in allowed.items())


def _normalized(value: Any) -> Any:
    """A text without what does not count; another value as it is."""
    return _IGNORED.sub("", value).lower().replace("'", '"') if isinstance(value, str) else value
