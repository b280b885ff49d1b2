"""Columns of JSON values: objects and lists of any shape, as JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from karat.core.columns.arrow import is_list, is_text
from karat.core.columns.python_values import to_python
from karat.core.errors import ColumnError

RAW = pa.json_(pa.string())
"""The type of a column of JSON text, spelled exactly as in its file."""


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
    rows = [None if row is None else _dump(_drop_nulls(row)) for row in to_python(column)]
    return pa.array(rows, pa.large_string())


def read_json(rows: Iterable[Any]) -> pa.Array:
    """JSON text from Python values, one a row, or None; a text stays as it is.

    >>> read_json([[{"name": "f"}], "[]", None]).to_pylist()
    ['[{"name": "f"}]', '[]', None]
    """
    return pa.array([row if row is None or isinstance(row, str) else _dump(row) for row in rows], pa.large_string())


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
    raise ColumnError(f"JSON cannot hold {value!r:.80}; lists, dicts, texts and numbers are expected")
