"""Make a JSON value match a schema where it has exactly one reading: keys and labels in other letters, and the like."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from karat.judges.replies.parser import ReplyError

REASONS = ("explanation", "reason")  # keys of texts that may be missing
_VERDICTS = {"label", "score", "verdict", "grade", "rating", "decision", "judgement", "judgment", "result"}
_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?")


def mend(value: Any, schema: Mapping[str, Any], at: str = "the reply") -> Any:
    """The value with what the schema asks for; what cannot be mended stays, for `check` to refuse.

    Raises `ReplyError` where it has two readings.

    >>> label = {"type": "object", "properties": {"label": {"type": "string", "enum": ["yes", "no"]}}}
    >>> mend({"Label": "Yes.", "confidence": 0.9}, label)
    {'label': 'yes'}
    """
    kind = schema["type"]
    if kind == "object":
        return _mend_object(value, schema["properties"], at) if isinstance(value, dict) else value
    if kind == "array":
        items = [value] if isinstance(value, dict) else value
        return [mend(each, schema["items"], at) for each in items] if isinstance(items, list) else items
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if kind == "string":
        return find_choice(value, schema["enum"]) if "enum" in schema else _valid_text(value)
    if isinstance(value, bool) and schema.get("enum") == [0, 1]:
        return int(value)
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        number = float(value)
        return int(number) if number.is_integer() else number
    return value


def find_choice(value: Any, choices: Sequence[str]) -> Any:
    """The only choice that a value spells in another way; else the value.

    >>> find_choice("**Not attempted**.", ["correct", "not_attempted"]), find_choice("a", ["A", "a "])
    ('not_attempted', 'a')
    """
    text = str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, int) else value
    if not isinstance(text, str) or text in choices:
        return text
    for plain in (str.casefold, _normalized):
        fitting = [each for each in choices if plain(each.strip()) == plain(text.strip()) != ""]
        if len(fitting) == 1:
            return fitting[0]
    return value


def _normalized(text: str) -> str:
    """A text in small letters, without what is around it, and with one sign for spaces, hyphens and underscores."""
    return re.sub(r"[\s_-]+", "_", re.sub(r"\A[\W_]+|[\W_]+\Z", "", text.casefold()))


def _valid_text(value: Any) -> str:
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode(errors="replace").decode()  # half of a character


def _mend_object(value: Mapping[str, Any], properties: Mapping[str, Any], at: str) -> dict[str, Any]:
    keys = {name: name for name in properties if name in value}
    for key in value:
        if key not in properties and (name := find_choice(key, list(properties))) in properties:
            if name in keys:
                raise ReplyError(f"{at} has the key {name!r} twice, as {keys[name]!r} and {key!r}")
            keys[name] = key
    mended = {name: mend(value[key], properties[name], f"{at}'s {name!r}") for name, key in keys.items()}
    mended |= {name: "" for name in REASONS if name in properties and name not in keys}
    extra = value.keys() - set(keys.values()) if mended.keys() == properties.keys() else ()
    for key in sorted(extra):
        _check_extra(key, value[key], mended, properties, at)
    return mended


def _check_extra(key: str, value: Any, mended: Mapping[str, Any], properties: Mapping[str, Any], at: str) -> None:
    """Raise `ReplyError` for a key that was not asked for and speaks against the others, or counts on."""
    if _normalized(key) in _VERDICTS or (key.isdecimal() and all(name.isdecimal() for name in properties)):
        raise ReplyError(f"{at} has the key {key!r}, which was not asked for")
    for name, schema in properties.items():
        if "enum" not in schema or schema["type"] != "string":
            continue
        if (other := find_choice(value, schema["enum"])) in schema["enum"] and other != mended.get(name):
            raise ReplyError(f"{at} has two verdicts: {name!r} is {mended.get(name)!r}, {key!r} is {value!r}")
