"""A small file of JSON Lines, read by Python alone: DuckDB takes longer to load than its rows take to read."""

from __future__ import annotations

import json
import re
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa

from karat.core.columns.ids import is_spans
from karat.core.columns.json_text import RAW
from karat.data.json.arrow_types import make_list, make_struct, replace_null_types, same_but_case, unify_types
from karat.data.json.raw import extract_members
from karat.data.json.values import spell_field
from karat.data.roles import find_layout

_MOST_BYTES = 256 << 10
_DEEPEST = 16
_UNUSUAL = re.compile(r"\\u(0000|[dD][89a-fA-F])")  # zero bytes, and characters in two halves
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})")
_REAL = re.compile(r"-?(0|[1-9][0-9]{0,14})([.][0-9]{1,15})?(e-?[0-9]{1,2})?")
_LITERALS = {"null": pa.null(), "true": pa.bool_(), "false": pa.bool_()}


def read_few(path: Path) -> pa.RecordBatch | None:
    r"""The rows of a small file, as DuckDB reads them, in which all have the same keys in the same order.

    None for any other file, and where one value is not plainly the same to Python and to DuckDB.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "a.jsonl")
    ...     _ = file.write_text('{"a": 7, "b": 1.10}\n{"a": null, "b": 2e3}\n')
    ...     read_few(file).to_pylist()
    [{'a': 7, 'b': '1.10'}, {'a': None, 'b': '2e3'}]
    """
    if path.stat().st_size > _MOST_BYTES:
        return None
    try:
        text = path.read_bytes().decode()
        if _UNUSUAL.search(text):
            return None
        lines = [line for line in text.split("\n") if line.strip(" \t\r")]
        rows = [extract_members(line) for line in lines if json.loads(line)]  # which takes members of valid JSON alone
        if len(rows) < max(1, len(lines)) or any([*row] != [*rows[0]] for row in rows):
            return None
        columns = {key: [row[key] for row in rows] for key in rows[0]}
        kinds = {key: reduce(unify_types, map(_find_type, texts)) for key, texts in columns.items()}
        layout = find_layout(kinds)
        if "" in kinds or same_but_case([*kinds]) or is_spans(kinds) or (layout is not None and layout.is_log):
            return None
        fields = [spell_field(key, replace_null_types(kind)) for key, kind in kinds.items()]
        read = [_read(texts, field.type) for texts, field in zip(columns.values(), fields, strict=True)]
        return pa.RecordBatch.from_arrays(read, schema=pa.schema(fields))
    except (ValueError, RecursionError, pa.ArrowInvalid):  # DuckDB's reader says what is wrong
        return None


def _find_type(text: str) -> pa.DataType:
    """The type of a value, given its text; `ValueError` where DuckDB may see another."""
    if text[0] == '"':
        return pa.string()
    if text[0] in "[{":
        return _type_of(json.loads(text, parse_float=_parse_number, parse_int=_parse_number), _DEEPEST)
    return _LITERALS.get(text) or _type_of(_parse_number(text), 0)


class _Real(float):
    """A number that is not whole, or not spelled so."""


def _parse_number(text: str) -> int | _Real:
    if _WHOLE.fullmatch(text):
        return int(text)
    if _REAL.fullmatch(text):
        return _Real(text)
    raise ValueError(text)


def _type_of(value: Any, depth: int) -> pa.DataType:
    if isinstance(value, list | dict) and not depth:
        raise ValueError("it is nested deeply")
    match value:
        case None:
            return pa.null()
        case bool():
            return pa.bool_()
        case str():
            return pa.string()
        case int():
            return pa.int64()
        case _Real():
            return pa.float64()
        case list():
            return make_list(reduce(unify_types, (_type_of(each, depth - 1) for each in value), pa.null()))
        case dict():
            return make_struct({key: _type_of(each, depth - 1) for key, each in value.items()})
    raise ValueError(value)  # NaN, infinity


def _read(texts: list[str], kind: pa.DataType) -> pa.Array:
    """Values that keep their spelling as such, all others as the text that they are."""
    if kind == RAW:
        return pa.array([None if text == "null" else text for text in texts], pa.string()).cast(RAW)
    values = [json.loads(text) for text in texts]
    return pa.array(values, kind)
