"""Applies normalisers and tokenisers to Arrow columns.

A tokenised column holds the tokens of each row joined by single spaces. The compiled kernel, if built (`COMPILED`),
returns the same as the definitions, which map the rows that it delegates, and all rows without it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Literal
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import keep_nulls
from karat.core.columns.column_cache import once
from karat.core.errors import RowError
from karat.text.answers.marks import MARKS, strip_marks
from karat.text.normalise import SQUEEZED, normalise_drop, normalizer
from karat.text.tokenise import tokenizer

try:
    from karat.text.kernel import transform

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False

INTERPRETED = {
    *("drop", "gsm8k", "math", "mlqa:ar", "mlqa:zh", "cmrc", "korquad", "jsquad", "fquad"),
    *("intl", "characters", "cmrc_words"),
}
"""Normalisers and tokenisers that have no kernel."""

Normalizer = Literal[
    "none",
    "squad",
    "unicode",
    "plain",
    "triviaqa",
    "drop",
    "gsm8k",
    "math",
    "cmrc",
    "korquad",
    "jsquad",
    "fquad",
    "mlqa",
    "mlqa:en",
    "mlqa:es",
    "mlqa:hi",
    "mlqa:vi",
    "mlqa:de",
    "mlqa:ar",
    "mlqa:zh",
]
Tokenizer = Literal["whitespace", "13a", "intl", "words", "chars", "characters", "rouge", "cmrc_words"]

__all__ = ["Normalizer", "Tokenizer", "normalise", "tokenise"]

# columns whose words are already joined by single spaces
_squeezed: WeakValueDictionary[int, pa.Array] = WeakValueDictionary()


def normalise(column: pa.Array, name: str) -> pa.Array:
    """The column with every text normalised; nulls stay null.

    Takes an Array of string or large_string, or a DictionaryArray of them, of which only the dictionary is normalised.
    Returns large_string (or a dictionary of it); "none" returns the column itself. Raises SpecError for an unknown
    name and RowError for a row that is not UTF-8.

    >>> normalise(pa.array(["The Cat!", None]), "squad").to_pylist()
    ['cat', None]
    """
    define = normalizer(name)
    if name == "none":
        return column
    normal = _mapped(column, name, define)
    if name in SQUEEZED:
        _squeezed[id(normal)] = normal
    return normal


def tokenise(column: pa.Array, name: str) -> pa.Array:
    """The tokens of every text, joined by single spaces; nulls stay null.

    Takes, returns and raises the same as `normalise`. With "whitespace" a column from `normalise` is returned as it
    is, if its words are already joined by single spaces.

    >>> tokenise(pa.array(["Well, well."]), "13a").to_pylist()
    ['Well , well .']
    """
    split = tokenizer(name)
    if name == "whitespace" and _squeezed.get(id(column)) is column:
        return column
    return _mapped(column, name, lambda text: " ".join(split(text)))


def distinct_words(column: pa.Array) -> pa.Array:
    """Each word of a text, which ends at a space, once, joined by single spaces.

    >>> distinct_words(pa.array(["a b a", None])).to_pylist()
    ['a b', None]
    """
    return _mapped(column, "distinct", lambda text: " ".join(dict.fromkeys(filter(None, text.split(" ")))))


def has_marks(column: pa.Array) -> pa.Array:
    """Which texts may have marks that `drop_marks` drops; takes the same columns as `normalise`.

    >>> has_marks(pa.array(["Paris", "Paris¹"])).to_pylist()
    [False, True]
    """
    if pa.types.is_dictionary(column.type):
        return has_marks(column.dictionary).take(column.indices)
    data = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    if not (data >= 128).any() and not (data == ord("[")).any():  # no mark is ASCII but the bracket
        return pa.array(np.zeros(len(column), bool))
    return pc.match_substring_regex(column, MARKS)


def drop_marks(column: pa.Array) -> pa.Array:
    """The column without citations, trade marks and invisible characters; takes the same as `normalise`.

    >>> drop_marks(pa.array(["Paris", "Paris¹."])).to_pylist()
    ['Paris', 'Paris .']
    """
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, drop_marks(column.dictionary))
    marked = has_marks(column)
    texts = [strip_marks(text) for text in column.filter(marked).to_pylist()]
    return pc.replace_with_mask(column, marked, pa.array(texts, column.type)) if texts else column


def _mapped(column: pa.Array, name: str, define: Callable[[str], str]) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, _mapped(column.dictionary, name, define))
    return once(name, (column,), lambda: map_texts(column, name, define))


def map_texts(column: pa.Array, name: str, define: Callable[[str], str]) -> pa.Array:
    """Each text as `define` maps it, by the kernel's map of that name.

    Takes a string or large_string Array and returns large_string. Raises RowError for a row that is not UTF-8.
    """
    rows = len(column)
    if name == "drop":
        with suppress(UnicodeDecodeError):  # the row is named below
            return _map_drop(pc.replace_substring(column.cast(pa.large_string()), "-", " "))
    if not COMPILED or name in INTERPRETED or not rows:
        return map_by_definition(column, define)
    column = column.cast(pa.large_string())
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int64)[column.offset : column.offset + rows + 1]
    out_offsets = pa.allocate_buffer(bounds.nbytes)
    out = pa.allocate_buffer(2 * int(bounds[-1] - bounds[0]) + 16 * rows + 32)
    delegated = np.zeros(rows, np.uint8)
    texts, mapped_texts = (np.frombuffer(buffer, np.uint8) for buffer in (data or b"\0", out))
    left = transform(name, bounds, texts, np.frombuffer(out_offsets, np.int64), mapped_texts, delegated)
    valid = pa.py_buffer(np.packbits(column.is_valid(), bitorder="little")) if column.null_count else None
    mapped = pa.Array.from_buffers(pa.large_string(), rows, [valid, out_offsets, out])
    if not left:
        return mapped
    rest = pa.array([_apply(define, column, row) for row in np.flatnonzero(delegated).tolist()], pa.large_string())
    return pc.replace_with_mask(mapped, pa.array(delegated == 1), rest)


def _map_drop(column: pa.Array) -> pa.Array:
    """Texts without a number are normalised as by `squad`."""
    mapped = normalise(column, "squad")
    others = pc.or_(pc.match_substring_regex(column, r"[0-9[:^ascii:]]"), pc.match_substring(mapped, "infinity"))
    rest = tokenise(map_words(column.filter(others), normalise_drop), "whitespace")
    return pc.replace_with_mask(mapped, others.fill_null(False), rest)


def map_words(column: pa.Array, change: Callable[[str], str]) -> pa.Array:
    """The column with each word, which ends at a space, changed; each distinct word is changed once.

    >>> map_words(pa.array(["a b  a", None]), str.upper).to_pylist()
    ['A B  A', None]
    """
    words = pc.split_pattern(column.cast(pa.large_string()), " ")
    distinct = words.flatten().dictionary_encode()
    changed = pa.array(map(change, distinct.dictionary.to_pylist()), pa.large_string()).take(distinct.indices)
    bounds = np.concatenate([[0], np.cumsum(pc.list_value_length(words).fill_null(0))])
    lists = keep_nulls(pa.LargeListArray.from_arrays(bounds, changed), words)
    return pc.binary_join(lists, pa.scalar(" ", pa.large_string()))


def map_by_definition(column: pa.Array, define: Callable[[str], str | None]) -> pa.Array:
    """What `define` makes of each text; null for null. Takes and raises the same as `map_texts`."""
    try:
        mapped = [None if text is None else define(text) for text in column.to_pylist()]
    except UnicodeDecodeError:  # the row is named
        mapped = [_apply(define, column, row) for row in range(len(column))]
    return pa.array(mapped, pa.large_string())


def _apply(define: Callable[[str], str | None], column: pa.Array, row: int) -> str | None:
    try:
        text: str | None = column[row].as_py()
    except UnicodeDecodeError as error:
        raise RowError(f"row {row}: the text is not UTF-8 ({error.reason} at byte {error.start})") from error
    return None if text is None else define(text)
