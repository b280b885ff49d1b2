"""Extracts a value from a reply that is JSON, or that ends with JSON in a fence."""

from __future__ import annotations

import json
import re
from typing import Any

from karat.core.columns.json_text import value_at

_FENCE = re.compile(r"^[ \t]*```[ \t]*\w*[ \t]*\r?$", re.MULTILINE)


def find_in_json(text: str, path: str) -> str | None:
    """The value at a path of a reply that is JSON, or of the last fenced block in it (``json:path``).

    Text is returned as it is, a number as it is spelled, a list or object as JSON; null and a missing value are None.

    >>> find_in_json('{"answer": {"value": 1.10}}', "answer.value"), find_in_json('[{"a": [1, 2]}]', "[0].a")
    ('1.10', '[1, 2]')
    """
    for document in (text, _last_fenced(text)):
        try:
            value = json.loads(document, parse_float=_Spelled, parse_int=_Spelled)
        except (ValueError, RecursionError):
            continue
        value = value_at(value, path)
        return value if value is None or isinstance(value, str) else _dump(value)
    return None


def _last_fenced(text: str) -> str:
    fences = list(_FENCE.finditer(text))
    return text[fences[-2].end() : fences[-1].start()] if len(fences) > 1 else ""


class _Spelled(str):
    """A number with the spelling that it has in a JSON text."""

    __slots__ = ()


def _dump(value: Any) -> str:
    """The JSON text of a value, with numbers as they were spelled."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_dump(key)}: {_dump(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_dump, value)) + "]"
    return str(value) if isinstance(value, _Spelled) else json.dumps(value, ensure_ascii=False)
