"""Columns of JSON values: objects and lists of any shape, as JSON text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from karat.core.columns.arrow import is_list, is_text
from karat.core.columns.python_values import read_rows, to_python, to_text

RAW = pa.json_(pa.string())
"""The type of a column of JSON text, spelled exactly as in its file."""
ITEMS, AS_TEXT = "[*]", "::text"
"""The parts of a path that lead to all items of a list, and to what is there as one text."""
STEP = re.compile(r"\[(?:(?P<all>\*)|(?P<number>-?[0-9]{1,18})|(?P<key>[^][=]+)=(?P<value>[^][]*))\]\.?")
"""A step into a list: all items, the number of one, or the first in which a key has a value."""


def after_key(path: str, key: str) -> str | None:
    """What follows a key at the start of a path: empty at its end, None where the path starts with another key.

    >>> after_key("meta.gold[0]", "meta"), after_key("meta[0]", "meta"), after_key("meta", "meta"), after_key("ab", "a")
    ('gold[0]', '[0]', '', None)
    """
    rest = path[len(key) :]
    if not path.startswith(key) or (rest[:1] not in ("", ".", "[") and rest != AS_TEXT):
        return None
    return rest.removeprefix(".")


def value_at(value: Any, path: str) -> Any:
    """The value at a path in Python's dicts and lists, None where there is none; `docs/how-to/data.md` has the steps.

    >>> reply = {"choices": [{"role": "user", "text": "a"}, {"role": "model", "text": "b"}], "model.id": 7}
    >>> [value_at(reply, path) for path in ("choices[-1].text", "choices[role=user].text", "model.id", "choices.text")]
    ['b', 'a', 7, None]
    >>> value_at(reply, "choices[*].text")
    ['a', 'b']
    """
    if isinstance(value, Mapping):
        if path in value:
            return value[path]
        inside = (value_at(each, rest) for key, each in value.items() if (rest := after_key(path, str(key))))
        return next((each for each in inside if each is not None), None)
    step = STEP.match(path) if isinstance(value, list) else None
    if step is None:
        return None
    rest = path[step.end() :]
    if step["key"]:
        value = [each for each in value if to_text(value_at(each, step["key"])) == step["value"]][:1]
    elif step["number"]:
        at = int(step["number"]) + (len(value) if step["number"].startswith("-") else 0)
        value = value[at : at + 1] if at >= 0 else []
    values = [value_at(each, rest) if rest else each for each in value]
    if not step["all"]:
        return values[0] if values else None
    return [item for each in values for item in each or ()] if ITEMS in rest else values


def cast_json(column: pa.Array) -> pa.Array | None:
    """Objects and lists of Arrow, or JSON text, as JSON text; None for numbers and other plain values.

    Keys that are null are dropped: Arrow adds to each row's object the keys that only other rows have.

    >>> cast_json(pa.array([[{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {"y": 2}}]])).to_pylist()
    ['[{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {"y": 2}}]']
    """
    kind = column.type
    if isinstance(kind, pa.JsonType):
        return _without_null(column.storage)
    if is_text(kind):
        texts = column.dictionary_decode() if pt.is_dictionary(kind) else column
        return _without_null(texts.cast(pa.large_string()) if pt.is_string_view(texts.type) else texts)
    if pt.is_null(kind):
        return column.cast(pa.string())
    if not (pt.is_struct(kind) or pt.is_map(kind) or is_list(kind)):
        return None
    return read_json(map(_drop_nulls, to_python(column)))


def read_json(rows: Iterable[Any], place: Callable[[int], str] | None = None) -> pa.Array:
    """JSON text from Python values, one a row, or None; a text stays as it is.

    >>> read_json([[{"name": "f"}], "[]", None]).to_pylist()
    ['[{"name": "f"}]', '[]', None]
    """
    return pa.array(read_rows(lambda row: row if isinstance(row, str) else _dump(row), rows, place), pa.large_string())


def decode_text(
    column: pa.Array,
    place: Callable[[int], str] | None = None,
    *,
    objects: bool = False,
    fraction: Callable[[str], str | None] = str,
) -> pa.Array:
    """A column of JSON text as text: `string`, or `list<string>` if any row is a list; any other column as it is.

    Numbers keep their spelling, booleans become `true` and `false`, null stays null. With `objects` the text of an
    object is its JSON; else it raises `RowError`. `fraction` spells numbers with a fraction or an exponent. `place` as
    in `read_rows`.

    >>> decode_text(pa.array(['1.10', '"a"', 'null'], pa.string()).cast(RAW)).to_pylist()
    ['1.10', 'a', None]
    >>> decode_text(pa.array(['"a"', '[1e3, true]'], pa.string()).cast(RAW)).to_pylist()
    [['a'], ['1e3', 'true']]
    >>> decode_text(pa.array(['{"a": 1.0}'], pa.string()).cast(RAW), objects=True).to_pylist()
    ['{"a": 1.0}']
    """
    if column.type != RAW:
        return column

    decode = json.JSONDecoder(parse_float=fraction, parse_int=str, parse_constant=str).decode

    def read(text: str) -> str | list[str | None] | None:
        if objects and text.lstrip().startswith("{"):
            return text
        value = load_json(text, decode)
        return list(map(_spell, value)) if isinstance(value, list) else _spell(value)

    cells = read_rows(read, column.storage.to_pylist(), place)
    if any(isinstance(cell, list) for cell in cells):
        lists = [cell if cell is None or isinstance(cell, list) else [cell] for cell in cells]
        return pa.array(lists, pa.list_(pa.string()))
    return pa.array(cells, pa.string())


def load_json(text: str, decode: Callable[[str], Any] = json.loads) -> Any:
    """The value of JSON text; `ValueError` where it is nested too deeply for Python."""
    try:
        return decode(text)
    except RecursionError:
        raise ValueError("lists or objects are nested too deeply") from None


def _spell(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        return value
    keys = ", ".join(map(repr, value)) if isinstance(value, dict) else ""
    described = f"an object with the keys {keys:.80}" if keys else "an object" if value == {} else "a list of lists"
    raise ValueError(f"expected text, a number, true, false, null or a list of these, found {described}")


def _without_null(texts: pa.Array) -> pa.Array:
    """The texts without those that are JSON's null."""
    null = pa.compute.equal(texts, pa.scalar("null", texts.type))
    return pa.compute.if_else(null, pa.scalar(None, texts.type), texts) if pa.compute.any(null).as_py() else texts


def _drop_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _drop_nulls(item) for key, item in value.items() if item is not None}
    return [_drop_nulls(item) for item in value] if isinstance(value, list | tuple) else value


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_json_default)


def _json_default(value: Any) -> Any:
    """What JSON can hold of a model of pydantic, a data class, or a value of NumPy or Arrow."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise ValueError(f"JSON cannot hold {value!r:.80}; lists, dicts, texts and numbers are expected")
