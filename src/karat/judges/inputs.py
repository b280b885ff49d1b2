"""Convert columns to the material of each row: the values that a judge's prompt shows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import isfinite
from typing import Any

import pyarrow as pa

from karat.core.columns.arrow import is_text
from karat.core.columns.conversations import UnreadableConversation, conversations
from karat.core.columns.json_text import RAW
from karat.core.columns.kinds import MESSAGES, TEXT, TEXTS, Kind
from karat.core.columns.python_values import read_rows, to_python


def _to_json(rows: Iterable[Any], place: Callable[[int], str] | None = None) -> pa.Array:
    return pa.array(read_rows(partial(json.dumps, ensure_ascii=False), rows, place), pa.string()).cast(RAW)


KINDS = {
    "text": TEXT,
    "texts": TEXTS,
    "json": Kind("anything that JSON can hold", lambda column: column, _to_json),
    "messages": MESSAGES,
    "criteria": Kind("a list of criteria with points", lambda column: column, _to_json),
    "nuggets": Kind("a list of nuggets with their importance", lambda column: column, _to_json),
}


IMPORTANCE = ("vital", "okay", "failed")
"""Of a nugget; nuggetizer writes `failed` where its model gave none, and counts it as it counts `okay`."""


class Unreadable(str):
    """Why the input of a row cannot be shown to a judge."""

    __slots__ = ()


def to_materials(inputs: Mapping[str, str], columns: Sequence[pa.Array]) -> list[dict[str, Any]]:
    """The material of each row: its inputs by name, as texts, lists of texts, messages, or any other JSON value."""
    read: dict[str, Callable[[pa.Array], list[Any]]] = {
        "messages": _messages,
        "criteria": _criteria,
        "nuggets": _nuggets,
    }
    cells = [read.get(kind, _values)(column) for kind, column in zip(inputs.values(), columns, strict=True)]
    return [dict(zip(inputs, row, strict=True)) for row in zip(*cells, strict=True)]


def _messages(column: pa.Array) -> list[list[dict[str, Any]] | Unreadable]:
    """The messages of each row in one form, whichever tool wrote them."""
    return [
        Unreadable(conversation)
        if isinstance(conversation, UnreadableConversation)
        else [message.as_json() for message in conversation]
        for conversation in conversations(column)
    ]


def _criteria(column: pa.Array) -> list[list[dict[str, Any]] | Unreadable]:
    """The criteria of each row, with their points and tags."""
    return [_read_criteria(_decoded(value)) for value in _values(column)]


def _nuggets(column: pa.Array) -> list[list[dict[str, Any]] | Unreadable]:
    """The nuggets of each row, with their importance, as the files of nuggetizer have them; there may be none."""
    return [read_nuggets(_decoded(value)) for value in _values(column)]


def _decoded(value: Any) -> Any:
    if isinstance(value, str):
        with suppress(ValueError):
            return json.loads(value)
    return value


def read_nuggets(value: Any) -> list[dict[str, Any]] | Unreadable:
    """A list of nuggets as a judge reads it, or why it is none."""
    if not isinstance(value, list):
        return Unreadable(f'a list such as [{{"text": "…", "importance": "vital"}}] is expected, found {value!r:.60}')
    nuggets = []
    for place, each in enumerate(value, 1):
        item = each if isinstance(each, dict) else {}
        text, importance = item.get("text"), item.get("importance")
        if not isinstance(text, str) or not text.strip():
            return Unreadable(f"item {place} has no text 'text': {each!r:.60}")
        if importance not in IMPORTANCE:
            return Unreadable(f"item {place} has importance {importance!r}; vital or okay is expected: {each!r:.60}")
        nuggets.append({"nugget": text, "importance": importance})
    return nuggets


def _read_criteria(value: Any) -> list[dict[str, Any]] | Unreadable:
    if not isinstance(value, list) or not value:
        return Unreadable(f'a list such as [{{"criterion": "…", "points": 5}}] is expected, found {value!r:.60}')
    criteria = []
    for place, each in enumerate(value, 1):
        item = each if isinstance(each, dict) else {}
        text, points, tags = item.get("criterion"), item.get("points"), item.get("tags") or []
        if not isinstance(text, str) or not text.strip():
            return Unreadable(f"item {place} has no text 'criterion': {each!r:.60}")
        if isinstance(points, bool) or not isinstance(points, int | float) or not isfinite(points):
            return Unreadable(f"item {place} has no number 'points': {each!r:.60}")
        criteria.append({"criterion": text, "points": points, "tags": list(tags)})
    return criteria


def _values(column: pa.Array) -> list[Any]:
    if is_text(column.type) or column.type == RAW:
        return to_python(column, json.loads)
    return list(map(_json_value, to_python(column)))


def _json_value(value: Any) -> Any:
    """A value as JSON can hold it; other values become their text.

    Keys that are null are dropped: Arrow adds to each row's object the keys that only other rows have.
    """
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)
