"""Columns of answers that are lists of texts: several answers a row, as in DROP."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from karat.core.columns.arrow import is_list, keep_nulls, lists_of_one, plain_lists, whole_offsets
from karat.core.columns.python_values import read_rows


def cast_answers(column: pa.Array, cast_texts: Callable[[pa.Array], pa.Array | None]) -> pa.Array | None:
    """A column of texts, of lists of them, or of lists of these as one of lists of lists; None for other values.

    `cast_texts` casts the column of lists of texts.

    >>> cast_answers(pa.array([["14", "15"], None]), lambda column: column).to_pylist()
    [[['14'], ['15']], None]
    """
    if not is_list(column.type) or not is_list(column.type.value_type):
        texts = cast_texts(column)
        return None if texts is None else _relisted(texts, lists_of_one(texts.values))
    column = plain_lists(column)
    answers = cast_texts(column.values)
    return None if answers is None else _relisted(column, answers)


def read_answers(rows: Iterable[Any], place: Callable[[int], str] | None = None) -> pa.Array:
    """Answers from Python: a text, a list of them, or a list of lists of them; or None.

    >>> read_answers(["14", ["14", ["a", "b"]], None]).to_pylist()
    [[['14']], [['14'], ['a', 'b']], None]
    """
    listed = read_rows(lambda row: list(map(_spans, _items(row))), rows, place)
    return pa.array(listed, pa.large_list(pa.large_list(pa.large_string())))


def _spans(answer: Any) -> list[str | None] | None:
    return None if answer is None else list(map(_answer_text, _items(answer)))


def _items(value: Any) -> Iterable[Any]:
    return [value] if isinstance(value, str | bytes | dict) or not hasattr(value, "__iter__") else value


def _answer_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"answers are texts, lists of texts, or lists of these; found {value!r:.80}")


def _relisted(column: pa.Array, values: pa.Array) -> pa.Array:
    layout = pa.LargeListArray if pt.is_large_list(column.type) else pa.ListArray
    return keep_nulls(layout.from_arrays(whole_offsets(column), values), column)
