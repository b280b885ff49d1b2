"""Values at a path in JSON text, or in Python's `repr`: each as the exact text that it has there."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.json_text import STEP, after_key
from karat.data.json.members import extract_paths, unquote
from karat.data.json.raw import extract_items, extract_members, from_python


def read_json(texts: pa.Array, path: str, *, is_json: bool) -> pa.Array:
    """The JSON text of the values at a path in JSON text, null where there is none or it is `null`."""
    step = re.search(STEP, path)
    keys = path[: step.start()] if step else path
    if keys:
        texts = _read_member(texts, keys, is_json=is_json)
    if step is None:
        return texts
    below = path[step.end() :]
    items = [_items(text, step) for text in texts.to_pylist()]
    if step["key"]:
        items = _first_with(items, step["key"], step["value"])
    flat = pa.array([item for row in items for item in row or ()], pa.string())
    inside = iter((read_json(flat, below, is_json=True) if below else flat).to_pylist())
    cells = [None if row is None else [next(inside) for _ in row] for row in items]
    if not step["all"]:
        return pa.array([cell[0] if cell else None for cell in cells], pa.string())
    if "[*]" in below:
        cells = [None if row is None else [item for one in row if one for item in extract_items(one)] for row in cells]
    return pa.array([None if row is None else f"[{', '.join(item or 'null' for item in row)}]" for row in cells])


def _items(text: str | None, step: re.Match[str]) -> list[str] | None:
    """The items of a JSON list that a step may lead to, all or one; None where there are none."""
    text = _decode(text or "")
    try:
        items = extract_items(text)
        if not step["number"]:
            return list(items)
        number = int(step["number"])
        return list(islice(items, number, number + 1)) if number >= 0 else [list(items)[number]]
    except (ValueError, IndexError):
        again = from_python(text) if text.startswith("[") else None
        return None if again is None or again == text else _items(again, step)


def _first_with(rows: list[list[str] | None], key: str, value: str) -> list[list[str] | None]:
    """Of each row's items, the first object that has a value, compared as plain text, under a key."""
    flat = pa.array([item for row in rows for item in row or ()], pa.string())
    has_value = iter(pc.equal(unquote(_read_member(flat, key, is_json=True)), value).to_pylist())
    return [None if row is None else [item for item in row if next(has_value)][:1] for row in rows]


def _read_member(texts: pa.Array, keys: str, *, is_json: bool) -> pa.Array:
    """The JSON text of the values under keys, joined by dots, in objects that are JSON text."""
    members = extract_paths(texts, [keys]) if is_json else None
    if members is None:
        cells = (None if text is None else _extract_text(text, keys) for text in texts.to_pylist())
        return pa.array(cells, pa.string())
    values = members.get(keys, pa.nulls(len(texts), pa.string()))
    named = pc.fill_null(pc.match_substring(texts, keys.partition(".")[0]), False)
    missed = np.flatnonzero(pc.and_(pc.is_null(values), named))
    if not len(missed):
        return values
    cells = values.to_pylist()
    for row in missed:  # a string on the way may itself hold JSON
        cells[row] = _extract_text(texts[row].as_py(), keys)
    return pa.array(cells, pa.string())


def _extract_text(text: str, path: str) -> str | None:
    """The JSON text of the value at a path in an object; a string on the way may itself hold JSON."""
    text = _decode(text)
    try:
        members = extract_members(text)
    except ValueError:
        again = from_python(text) if text.startswith("{") else None
        return None if again is None or again == text else _extract_text(again, path)
    for key, value in members.items():
        if (rest := after_key(path, key)) == "":
            return None if value == "null" else value
        if rest and (inside := _extract_text(value, rest)) is not None:
            return inside
    return None


def _decode(text: str) -> str:
    """What a JSON string holds, which may itself be JSON; other text as it is."""
    try:
        return str(json.loads(text)) if text.startswith('"') else text
    except ValueError:
        return text


def parse_cell(cell: Any) -> Any:
    """The value of a cell; objects and lists that are JSON, or Python's `repr`, as text."""
    if not isinstance(cell, str) or cell.lstrip()[:1] not in ("{", "["):
        return cell
    with suppress(ValueError, RecursionError):
        return json.loads(cell)
    text = from_python(cell)
    return cell if text is None else json.loads(text)
