"""A column as numbers: from numbers, yes and no, and text that spells them, as in a CSV file."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import (
    is_list,
    is_number,
    is_text,
    keep_nulls,
    plain_lists,
    to_float64,
    whole_offsets,
)
from karat.core.columns.json_text import RAW, decode_text
from karat.core.errors import ColumnError, RowError

TRUTHS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
_COMMA = re.compile(r"[-+]?\d+,\d+")


def read_numbers(column: pa.Array, where: str, place: Callable[[int], str]) -> pa.Array:
    """The column as float64, or lists of it; null for null, NaN and a text without a letter or digit in it.

    JSON text may hold any of these. `where` names the column in messages, `place` the row at a position. Raises
    `ColumnError` for objects, `RowError` for a text that is not a number, and for a number that is infinite.

    >>> read_numbers(pa.array(["0.5", "", "Yes", "1e-3"]), "column 'a'", "row {}".format).to_pylist()
    [0.5, None, 1.0, 0.001]
    >>> read_numbers(pa.array(["1", "0,5"]), "column 'a'", "row {}".format)
    Traceback (most recent call last):
        ...
    karat.core.errors.RowError: row 1, column 'a': expected a number, yes or no, found '0,5'; write a decimal point
    """
    if column.type == RAW:
        try:
            column = column.storage.cast(pa.float64())
        except pa.ArrowInvalid:  # not of numbers alone
            column = decode_text(column, lambda at: f"{place(at)}, {where}")
    kind = column.type
    if is_list(kind) and not is_list(kind.value_type):
        lists = plain_lists(column)
        starts = np.asarray(whole_offsets(lists))
        first, last = starts[0], starts[-1]
        numbers = read_numbers(
            lists.values[first:last], where, lambda at: place(int(np.searchsorted(starts, first + at, "right")) - 1)
        )
        layout = pa.LargeListArray if pa.types.is_large_list(lists.type) else pa.ListArray
        return keep_nulls(layout.from_arrays(pa.array(starts - first), numbers), lists)
    if not (is_number(kind) or is_text(kind)):
        path = "COLUMN.KEY" if pa.types.is_struct(kind) else "COLUMN[0]" if is_list(kind) else ""
        hint = f"; a path such as {path} names a part of it" if path else ""
        raise ColumnError(f"{where} holds {kind}; expected a number, yes or no in each row{hint}")
    numbers = to_float64(column) if is_number(kind) else _parse(column, where, place)
    if not numbers.null_count and np.isfinite(numbers.to_numpy()).all():
        return numbers
    numbers = pc.if_else(pc.is_nan(numbers), None, numbers)
    if pc.any(pc.is_inf(numbers)).as_py():
        at = pc.index(pc.is_inf(numbers), value=True).as_py()
        raise RowError(f"{place(at)}, {where}: expected a finite number, found {numbers[at].as_py():g}")
    return numbers


def are_truths(column: pa.Array) -> bool | None:
    """Whether a column holds yes and no, by its type or its first text; None where it holds nothing."""
    if pa.types.is_boolean(column.type):
        return True
    if not is_text(column.type):
        return None if pa.types.is_null(column.type) else False
    first = next((text.strip() for text in column.to_pylist() if text is not None and text.strip()), None)
    return None if first is None else first.lower() in TRUTHS


def _parse(column: pa.Array, where: str, place: Callable[[int], str]) -> pa.Array:
    column = column.cast(pa.large_string())
    column = pc.if_else(pc.equal(pc.utf8_trim_whitespace(column), ""), None, column)
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    encoded = pc.dictionary_encode(column)
    words = encoded.dictionary.to_pylist()
    values = [_number(word) for word in words]
    if None in values:
        wrong = values.index(None)
        hint = "; write a decimal point" if _COMMA.fullmatch(words[wrong].strip()) else ""
        at = pc.index(encoded.indices, pa.scalar(wrong, encoded.indices.type)).as_py()
        raise RowError(f"{place(at)}, {where}: expected a number, yes or no, found {words[wrong]!r:.60}{hint}")
    return pa.array(values, pa.float64()).take(encoded.indices)


def _number(word: str) -> float | None:
    """The number that a text spells; None where it spells none."""
    word = word.strip().lower()
    try:
        return TRUTHS[word] if word in TRUTHS else None if "_" in word else float(word)
    except ValueError:
        return None
