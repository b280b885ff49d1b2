"""JSON text whose spelling matters: the members of objects, the items of lists, and ids."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_bytes
from karat.core.columns.json_text import decode_text
from karat.core.errors import JoinError, RowError

_SPACE = re.compile(r"[ \t\n\r]*")
_BLANKS = ("", " ", "\t", "\n", "\r")
_DECODER = json.JSONDecoder()


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


def spell_ids(column: pa.Array, where: str, first: int = 1) -> pa.Array:
    """Ids as text, large_string; null where they are missing: null, NaN or an empty text. 7.0 is 7.

    `first` is the number of the first row, for messages. Raises `JoinError`, naming `where`, for lists, objects and
    bytes.

    >>> spell_ids(pa.array([7, None]), "ids").to_pylist(), spell_ids(pa.array(["007"]), "ids").to_pylist()
    (['7', None], ['007'])
    >>> spell_ids(pa.array([7.0, float("nan")]), "ids").to_pylist(), spell_ids(pa.array([""]), "ids").to_pylist()
    (['7', None], [None])
    """
    try:
        column = decode_text(
            column, lambda at: f"{where}, row {first + at}", fraction=lambda text: re.sub(r"\.0+$", "", text)
        )
    except RowError as error:
        raise JoinError(str(error)) from None
    if pa.types.is_nested(column.type) or is_bytes(column.type):
        hint = "; decode the bytes to text" if is_bytes(column.type) else ""
        raise JoinError(f"{where} holds {column.type}; expected ids that are text or numbers{hint}")
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    texts = column.cast(pa.large_string())
    empty = pc.equal(pc.binary_length(texts), 0)
    return pc.if_else(empty, None, texts) if pc.any(empty).as_py() else texts
