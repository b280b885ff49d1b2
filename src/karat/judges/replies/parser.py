"""Parse a model's reply: the whole text must be one JSON value that matches a schema. Nothing is guessed.

The messages of `ReplyError` are sent to the model when it is asked again. Changing one changes the key under which the
second reply is cached.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from karat.core.errors import DataError

_FENCED = re.compile(r"\A```(?:json|JSON)?[ \t]*\r?\n(.*?)\r?\n?```\Z", re.DOTALL)
_TYPES = {"object": "an object", "array": "a list", "string": "a text", "number": "a number"}
_TYPES["integer"] = "a whole number"


class ReplyError(DataError):
    """A reply that does not match the requested form."""


def read_reply(text: str, schema: Mapping[str, Any]) -> Any:
    """The JSON value of a reply, checked against a schema.

    The whole reply is one JSON value, alone or in one Markdown fence. Raises `ReplyError` for anything else.

    >>> yes_or_no = {"type": "string", "enum": ["yes", "no"]}
    >>> read_reply('"yes"', yes_or_no)
    'yes'
    >>> read_reply('I would say "yes"', yes_or_no)
    Traceback (most recent call last):
        ...
    karat.judges.replies.parser.ReplyError: the reply is not one JSON value: Expecting value at character 1
    """
    value = read_json(text)
    check(value, schema)
    return value


def read_json(text: str) -> Any:
    r"""The JSON value of a reply, alone or in one Markdown fence; `ReplyError` for anything else.

    >>> read_json('```json\n{"score": 1}\n```')
    {'score': 1}
    """
    if not text.strip():
        raise ReplyError("the reply is empty")
    fenced = _FENCED.match(text.strip())
    return decode(fenced[1] if fenced else text, strict=True)


def decode(text: str, *, strict: bool = False) -> Any:
    """The JSON value of a text, `strict` or with line breaks in its texts; `ReplyError` where there is none."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse, strict=strict)
    except json.JSONDecodeError as error:
        raise ReplyError(f"the reply is not one JSON value: {error.msg} at character {error.pos + 1}") from None
    except (RecursionError, ValueError) as error:
        raise ReplyError(f"the reply is not one JSON value: {str(error) or 'lists in lists too deep'}") from None


def check(value: Any, schema: Mapping[str, Any], at: str = "the reply") -> None:
    """Raise `ReplyError` unless the value matches the schema. Only the parts of JSON Schema that judges use are known.

    >>> check({"a": 1, "b": 2}, strict_object({"a": {"type": "integer"}}))
    Traceback (most recent call last):
        ...
    karat.judges.replies.parser.ReplyError: the reply has the key 'b', which was not asked for
    """
    if not _is(value, schema["type"]):
        raise ReplyError(f"{at} is {_show(value)}; {_TYPES[schema['type']]} is expected")
    if "enum" in schema and value not in schema["enum"]:
        choices = ", ".join(map(_show, schema["enum"]))
        raise ReplyError(f"{at} is {_show(value)}, which is not one of {choices}")
    if isinstance(value, str) and value.encode(errors="replace").decode() != value:
        raise ReplyError(f"{at} holds half of a character (an unpaired surrogate)")
    if isinstance(value, dict):
        for key in schema["required"]:
            if key not in value:
                raise ReplyError(f"{at} has no key {key!r}")
        for key, item in value.items():
            if key not in schema["properties"]:
                raise ReplyError(f"{at} has the key {_show(key)}, which was not asked for".replace('"', "'"))
            check(item, schema["properties"][key], f"{at}'s {key!r}")
    if isinstance(value, list):
        for place, item in enumerate(value, 1):
            check(item, schema["items"], f"{at}[{place}]")


def strict_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with exactly these keys."""
    closed = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": dict(properties), **closed}


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return False
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    types: dict[str, type | tuple[type, ...]] = {"object": dict, "array": list, "string": str, "number": (int, float)}
    return isinstance(value, types[kind])


def _show(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False).encode(errors="replace").decode()
    return shown if len(shown) <= 60 else f"{shown[:59]}…"


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key is there twice")
    return value


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not valid JSON")
