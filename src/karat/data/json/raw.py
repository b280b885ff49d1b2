"""JSON text whose spelling matters: extract the members of objects, decode text and ids."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_bytes
from karat.core.columns.ids import read_graded
from karat.core.columns.json_text import RAW
from karat.core.errors import JoinError, RowError

_SPACE = re.compile(r"[ \t\n\r]*")
_BLANKS = ("", " ", "\t", "\n", "\r")
_DECODER = json.JSONDecoder()
_SPELLED = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


def extract_members(document: str) -> dict[str, str]:
    """The members of a JSON object, each value as the exact text that it has there.

    Raises `ValueError` for text that is not a JSON object, or has a key twice.

    >>> extract_members('{"a": 1.10, "b": [1e3,  "x"]}')
    {'a': '1.10', 'b': '[1e3,  "x"]'}
    """
    members: dict[str, str] = {}
    at = _skip(document, 0)
    if document[at : at + 1] != "{":
        raise ValueError("expected an object {…}")
    at = _skip(document, at + 1)
    while document[at : at + 1] == '"':
        key, at = _DECODER.raw_decode(document, at)
        at = _skip(document, at)
        if document[at : at + 1] != ":":
            raise ValueError(f"expected ':' at character {at + 1}")
        start = _skip(document, at + 1)
        _, at = _DECODER.raw_decode(document, start)
        if key in members:
            raise ValueError(f"key {key!r} occurs twice")
        members[key] = document[start:at]
        at = _skip(document, at)
        if document[at : at + 1] == ",":
            at = _skip(document, at + 1)
    if document[at : at + 1] != "}" or _skip(document, at + 1) != len(document):
        raise ValueError(f"unexpected content at character {at + 1}")
    return members


def extract_items(document: str) -> Iterator[str]:
    """The items of a JSON list, each as the exact text that it has there.

    Raises `ValueError` for text that is not a JSON list, once the items before the fault have been yielded.

    >>> list(extract_items('[1.10, {"a": 1e3}]'))
    ['1.10', '{"a": 1e3}']
    """
    at = _skip(document, 0)
    if document[at : at + 1] != "[":
        raise ValueError("expected a list […]")
    at = _skip(document, at + 1)
    while document[at : at + 1] != "]":
        _, end = _DECODER.raw_decode(document, at)
        yield document[at:end]
        at = _skip(document, end)
        if document[at : at + 1] == ",":
            at = _skip(document, at + 1)


def _skip(document: str, at: int) -> int:
    if document[at : at + 1] not in _BLANKS:
        return at
    match = _SPACE.match(document, at)
    return match.end() if match else at


def from_python(text: str) -> str | None:
    """The `repr` of a Python list or dict as JSON; None for other text.

    NumPy's `['a' 'b']` is another text: Python would join its items.

    >>> print(from_python("{'gold': ['Paris', None]}"), from_python("['a' 'b']"))
    {"gold": ["Paris", null]} None
    """
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        value = ast.literal_eval(text)
        if repr(value) == text or not _joins_texts(text):
            with suppress(UnicodeEncodeError):  # of half a character pair
                return json.dumps(value, default=str, ensure_ascii=False).encode().decode()
            return json.dumps(value, default=str)
    return None


def _joins_texts(text: str) -> bool:
    """Whether Python's source has two texts side by side, which it joins."""
    tokens = (token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.string.strip())
    return any(one.type == other.type == tokenize.STRING for one, other in pairwise(tokens))


def decode_text(column: pa.Array, first: int = 1, *, objects: bool = False) -> pa.Array:
    """Turn a column of JSON text into text: `string`, or `list<string>` if any row is a list.

    Numbers keep their spelling, booleans become `true` and `false`, null stays null. `first` is the number of the first
    row, for messages. With `objects` the text of an object is its JSON; else it raises `RowError`.

    >>> from karat.core.columns.json_text import RAW
    >>> decode_text(pa.array(['1.10', '"a"', 'null'], pa.string()).cast(RAW)).to_pylist()
    ['1.10', 'a', None]
    >>> decode_text(pa.array(['"a"', '[1e3, true]'], pa.string()).cast(RAW)).to_pylist()
    [['a'], ['1e3', 'true']]
    >>> decode_text(pa.array(['{"a": 1.0}'], pa.string()).cast(RAW), objects=True).to_pylist()
    ['{"a": 1.0}']
    """
    if objects:
        texts = column.cast(pa.string()) if isinstance(column, pa.ChunkedArray) else column.storage
        quoted = [json.dumps(each) if each and each.lstrip().startswith("{") else each for each in texts.to_pylist()]
        column = pa.array(quoted, pa.string()).cast(RAW)
    values = enumerate(_decode(column, first, _SPELLED.decode, "text"), first)
    cells = [[_spell(item, at) for item in v] if isinstance(v, list) else _spell(v, at) for at, v in values]
    if any(isinstance(cell, list) for cell in cells):
        lists = [cell if cell is None or isinstance(cell, list) else [cell] for cell in cells]
        return pa.array(lists, pa.list_(pa.string()))
    return pa.array(cells, pa.string())


def decode_ids(column: pa.Array, first: int = 1, read: Callable[[Iterable[Any]], pa.Array] = read_graded) -> pa.Array:
    """Turn a column of JSON text into ids: lists of them, or grades by id (`map`) if any row has grades.

    `read` turns the values of the rows into a column; pass `read_ids` if they must be lists. `first` is the number of
    the first row, for messages. Raises `RowError` for a row without ids.

    >>> from karat.core.columns.ids import read_ids
    >>> from karat.core.columns.json_text import RAW
    >>> decode_ids(pa.array(['["a", 7]', '["007"]', 'null'], pa.string()).cast(RAW), read=read_ids).to_pylist()
    [['a', '7'], ['007'], None]
    >>> decode_ids(pa.array(['{"a": 2}', '["b"]'], pa.string()).cast(RAW)).to_pylist()
    [[('a', 2.0)], [('b', 1.0)]]
    """
    cells = list(_decode(column, first, json.loads, "ids"))
    try:
        return read(cells)
    except RowError:
        for at, cell in enumerate(cells, first):
            try:
                read([cell])
            except RowError as error:
                raise RowError(str(error).replace("row 1", f"row {at}", 1)) from None
        raise


def spell_ids(column: pa.Array, where: str, first: int = 1) -> pa.Array:
    """Ids as text, large_string; null where they are missing: null, NaN or an empty text.

    `first` is the number of the first row, for messages. Raises `JoinError`, naming `where`, for lists, objects and
    bytes.

    >>> spell_ids(pa.array([7, None]), "ids").to_pylist(), spell_ids(pa.array(["007"]), "ids").to_pylist()
    (['7', None], ['007'])
    >>> spell_ids(pa.array([7.0, float("nan")]), "ids").to_pylist(), spell_ids(pa.array([""]), "ids").to_pylist()
    (['7', None], [None])
    """
    if column.type == RAW:
        try:
            column = decode_text(column, first)
        except RowError as error:
            raise JoinError(f"{where}, {error}") from None
    if pa.types.is_nested(column.type) or is_bytes(column.type):
        hint = "; decode the bytes to text" if is_bytes(column.type) else ""
        raise JoinError(f"{where} holds {column.type}; expected ids that are text or numbers{hint}")
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    texts = column.cast(pa.large_string())
    empty = pc.equal(pc.binary_length(texts), 0)
    return pc.if_else(empty, None, texts) if pc.any(empty).as_py() else texts


def _decode(column: pa.Array, first: int, decode: Callable[[str], Any], expected: str) -> Iterator[Any]:
    storage = column.cast(pa.string()) if isinstance(column, pa.ChunkedArray) else column.storage
    for row, cell in enumerate(storage.to_pylist(), first):
        try:
            yield None if cell is None else decode(cell)
        except RecursionError as error:
            raise RowError(f"row {row}: expected {expected}, found lists that are nested too deeply") from error


def _spell(value: Any, row: int) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        return value
    keys = ", ".join(map(repr, value)) if isinstance(value, dict) else ""
    found = f"an object with the keys {keys:.80}" if keys else "an object" if value == {} else "a list of lists"
    raise RowError(f"row {row}: expected text, a number, true, false, null or a list of these, found {found}")
