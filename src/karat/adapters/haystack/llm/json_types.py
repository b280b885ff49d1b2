"""Convert values to JSON for prompts, read JSON replies, and derive the JSON Schema of replies from examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from karat.judges.reply_parser import ReplyError, read_json, strict_object

_PLAIN = (str, int, float, bool, type(None))
_KINDS: dict[str, set[type]] = {"boolean": {bool}, "integer": {int}, "number": {int, float}, "string": {str}}


def plain(value: Any) -> Any:
    """A value as JSON can hold it; other values become their text.

    >>> plain({"page": 4, "source": (b"a", None)})
    {'page': 4, 'source': ["b'a'", None]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    return value if isinstance(value, _PLAIN) else str(value)


def read_keys(keys: Sequence[str], reply: str) -> dict[str, Any]:
    r"""The JSON object in a reply; `ReplyError` for anything else and for a missing key.

    >>> read_keys(["score"], '```json\n{"score": 1}\n```')
    {'score': 1}
    """
    value = read_json(reply)
    if not isinstance(value, dict):
        raise ReplyError(f"Expected a JSON object containing a dictionary but got {type(value).__name__}")
    if missing := [key for key in keys if key not in value]:
        raise ReplyError(f"Missing expected keys in JSON: {missing}. Got keys: {list(value)}")
    return value


def schema_of(outputs: Sequence[str], examples: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The JSON Schema of replies like those of the examples; None if the examples do not show an output's type.

    >>> schema_of(["score"], [{"outputs": {"score": 1}}])["properties"]
    {'score': {'type': 'integer'}}
    """
    shown = {name: _kind([each["outputs"].get(name) for each in examples]) for name in outputs}
    return None if None in shown.values() else strict_object(shown)


def _kind(values: Sequence[Any]) -> dict[str, Any] | None:
    types = set(map(type, values))
    if types == {list}:
        items = _kind(list(chain.from_iterable(values)))
        return items and {"type": "array", "items": items}
    return next(({"type": kind} for kind, known in _KINDS.items() if types and types <= known), None)
