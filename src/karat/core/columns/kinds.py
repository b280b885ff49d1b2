"""The kinds of column that a metric may ask for, and what it may return.

A metric annotates its positional parameters with these; each column is checked and cast before the metric is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from karat.core.columns.answers import cast_answers, read_answers
from karat.core.columns.arrow import (
    from_numpy,
    is_bytes,
    is_list,
    is_number,
    is_text,
    keep_nulls,
    lists_of_one,
    plain_column,
    plain_lists,
    to_float64,
    whole_offsets,
)
from karat.core.columns.ids import cast_graded, cast_ids, read_graded, read_ids
from karat.core.columns.json_text import RAW, cast_json, decode_text, load_json, read_json
from karat.core.columns.numbers import read_numbers
from karat.core.columns.python_values import read_rows
from karat.core.columns.subtopics import cast_subtopics, read_subtopics
from karat.core.errors import ColumnError


@dataclass(frozen=True)
class Kind:
    """One kind of column: its name in messages, and the cast of an Arrow array to it.

    `read` turns Python values into an Arrow array where Arrow itself would refuse values of several types.
    `ranked`: the column holds ids, in the order of their ranks or with grades. `numeric`: numbers, which text may
    spell. `json`: it is cast to JSON text, which is spelled as in its file.
    """

    name: str
    cast: Callable[[pa.Array], pa.Array | None]
    read: Callable[[Iterable[Any], Callable[[int], str] | None], pa.Array] | None = None
    ranked: bool = False
    numeric: bool = False
    json: bool = False

    def __reduce__(self) -> str | tuple[Any, ...]:
        """By the name below, where it has one: kinds are told apart by identity."""
        name = next((name for name, kind in globals().items() if kind is self), None)
        return name or (Kind, tuple(vars(self).values()))

    def parse(self, column: pa.Array, where: str, place: Callable[[int], str], *, objects: bool = False) -> pa.Array:
        """The column as `of` takes it, from any spelling: JSON text, or text for numbers.

        `where` names the column in messages, `place` the row at a position. `objects`: text may be an object, which is
        its own text. Raises `RowError`, or `ColumnError` for a type that holds no such values.

        >>> texts = pa.array(['"1"', "[1e3, true]"]).cast(pa.json_(pa.string()))
        >>> TEXT.parse(texts, "column 'a'", "row {}".format).to_pylist()
        [['1'], ['1e3', 'true']]
        >>> NUMBER.parse(texts, "column 'a'", "row {}".format).to_pylist()
        [[1.0], [1000.0, 1.0]]
        >>> GRADED.parse(pa.array(['{"a": 2}', '["b"]']).cast(pa.json_(pa.string())), "b", str).to_pylist()
        [[('a', 2.0)], [('b', 1.0)]]
        """

        def name(at: int) -> str:
            return f"{place(at)}, {where}"

        if self.numeric:
            return read_numbers(column, where, place)
        if self.json or column.type != RAW:
            return cast_json(column) if objects and pt.is_struct(column.type) else column
        if self.read is None:
            return decode_text(column, name, objects=objects)
        return self.read(read_rows(load_json, column.storage.to_pylist(), name), name)

    def of(self, column: pa.Array, where: str) -> pa.Array:
        """The column as this kind; raises `ColumnError`, naming `where`, for types that have no exact conversion."""
        cast = self.cast(column)
        if cast is None:
            if self.json:
                hint = "; --map ROLE=COLUMN (in Python, map=) names another column"
                raise ColumnError(f"{where} holds {column.type}, {self.name} is expected{hint}")
            hint = _hint(column.type, of_text="text" in self.name)
            raise ColumnError(f"{where} holds {column.type}, {self.name} is expected{hint}")
        return cast


def _hint(kind: pa.DataType, *, of_text: bool) -> str:
    """What to do about values that have no exact conversion."""
    if pt.is_struct(kind) and kind.num_fields:
        keys = ", ".join(repr(field.name) for field in kind)
        return f"; --map ROLE=COLUMN.KEY (in Python, map=) selects a part of an object: {keys:.80}"
    if pt.is_floating(kind) or pt.is_decimal(kind):
        return "; a number has many spellings (1e3, 1000.0): store it as text"
    if is_bytes(kind):
        return "; decode the bytes to text"
    if pt.is_temporal(kind) or pt.is_boolean(kind) or pt.is_map(kind) or pt.is_struct(kind):
        return "; store it as text" if of_text else ""
    if is_list(kind) and of_text:
        return "; each row needs one flat list of texts: --map ROLE=COLUMN[*][*] (in Python, map=) makes one"
    return ""


def _text_array(column: pa.Array) -> pa.Array | None:
    kind = column.type
    if pt.is_string(kind) or pt.is_large_string(kind):
        return column
    if pt.is_dictionary(kind) and is_text(kind.value_type):
        texts = _text_array(column.dictionary)
        return None if texts is None else texts.take(column.indices)
    if pt.is_string_view(kind):
        return column.cast(pa.large_string())
    if pt.is_integer(kind) or pt.is_null(kind):  # an integer has exactly one spelling
        return column.cast(pa.string())
    return None


def _texts(column: pa.Array) -> pa.Array | None:
    kind = column.type
    if pt.is_null(kind):
        return column.cast(pa.list_(pa.string()))
    if not is_list(kind):  # one text is a list of one
        return None if (texts := _text_array(column)) is None else lists_of_one(texts)
    column = plain_lists(column)
    if pt.is_string(kind.value_type) or pt.is_large_string(kind.value_type):
        return column
    return _cast_items(column, _text_array)


def _cast_items(lists: pa.Array, cast: Callable[[pa.Array], pa.Array | None]) -> pa.Array | None:
    """The lists with their items cast, of a slice no others; None where these have no cast."""
    offsets = np.asarray(whole_offsets(lists))
    items = cast(lists.values[offsets[0] : offsets[-1]])
    if items is None:
        return None
    layout = pa.LargeListArray if pt.is_large_list(lists.type) else pa.ListArray
    return keep_nulls(layout.from_arrays(from_numpy(offsets - offsets[0]), items), lists)


def _number(column: pa.Array) -> pa.Array | None:
    if pt.is_boolean(column.type) and len(column) and not column.null_count:
        skipped = column.offset % 8
        bits = np.frombuffer(column.buffers()[1], np.uint8)[column.offset // 8 :]
        truths = np.unpackbits(bits, count=skipped + len(column), bitorder="little")[skipped:]
        return from_numpy(truths.astype(np.float64))  # ten times as fast as Arrow's cast
    return to_float64(column) if is_number(column.type) else None


def _numbers(column: pa.Array) -> pa.Array | None:
    if not is_list(column.type):  # one number is a list of one
        return None if (numbers := _number(column)) is None else lists_of_one(numbers)
    return _cast_items(plain_lists(column), _number)


TEXT = Kind("text", _text_array)
TEXTS = Kind("a list of texts", _texts)
ANSWERS = Kind("answers, each a text or a list of texts", partial(cast_answers, cast_texts=_texts), read_answers)
NUMBER = Kind("a number", _number, numeric=True)
NUMBERS = Kind("a list of numbers", _numbers, numeric=True)
IDS = Kind("a list of ids", cast_ids, read_ids, ranked=True)
GRADED = Kind("a list of ids or grades by id", cast_graded, read_graded, ranked=True)
JSON = Kind("JSON: lists or objects", cast_json, read_json, json=True)
MESSAGES = Kind("a conversation or tool calls: lists, objects or JSON text", cast_json, read_json, json=True)
SUBTOPICS = Kind("grades by id and subtopic", cast_subtopics, read_subtopics, ranked=True)

Text: TypeAlias = Annotated[pa.Array, TEXT]  # one text a row; a row may hold several: see `karat.core.metric.score`
Texts: TypeAlias = Annotated[pa.Array, TEXTS]  # a list of texts a row, all at once; one text is a list of one
Answers: TypeAlias = Annotated[pa.Array, ANSWERS]  # several answers a row, each a list of texts; see `Texts`
Number: TypeAlias = Annotated[pa.Array, NUMBER]  # one number a row
Numbers: TypeAlias = Annotated[pa.Array, NUMBERS]  # a list of numbers a row; one number is a list of one
Ids: TypeAlias = Annotated[pa.Array, IDS]  # ids a row, best first: see `karat.core.columns.ids`
Graded: TypeAlias = Annotated[pa.Array, GRADED]  # ids a row, each with a grade; in a plain list every grade is 1
Json: TypeAlias = Annotated[pa.Array, JSON]  # any lists and objects, as JSON text
Messages: TypeAlias = Annotated[pa.Array, MESSAGES]  # JSON text that `karat.core.columns.conversations` reads
Subtopics: TypeAlias = Annotated[pa.Array, SUBTOPICS]  # ids a row, each with a grade by subtopic

Array: TypeAlias = np.ndarray[Any, Any]
Score: TypeAlias = Annotated[Any, "score"]  # returned: one float a row
Counts: TypeAlias = Annotated[Any, "counts"]  # returned: one row of additive counts a row, and a `finish` for totals


def to_arrow(column: Any, role: str, kind: Kind | None = None) -> pa.Array | pa.ChunkedArray:
    """A column of any origin as Arrow in plain layouts; raises `ColumnError` for a value that is not a column."""
    if isinstance(column, pa.Array):
        return plain_column(column)
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array(map(plain_column, column.chunks or [pa.nulls(0, column.type)]))
    if isinstance(column, str | bytes) or not hasattr(column, "__len__"):
        raise ColumnError(f"{role}: a column is expected, such as a list with one value a row; got {column!r:.80}")
    try:
        # Python objects of any type: a list of them, or a pandas column of objects.
        python = str(getattr(column, "dtype", "")) == "object" or not hasattr(column, "__arrow_c_stream__")
        if kind is not None and kind.read is not None and python:
            return kind.read(column, None)
        if hasattr(column, "to_arrow"):  # polars, whose stream of categories fails before 1.33
            return to_arrow(column.to_arrow(), role)
        if hasattr(column, "__arrow_c_stream__"):
            return to_arrow(pa.chunked_array(column), role)
        return pa.array(column, from_pandas=hasattr(column, "dtype"))
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise ColumnError(f"{role}: the values are of more than one kind: {error}") from None
