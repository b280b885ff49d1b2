"""Columns of documents that are judged by subtopic: for each document of a row, its grade for each of the subtopics.

A column becomes map<string, map<string, double>>, from document to subtopic to grade. Ids are spelled as in `ids`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isnan
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from karat.core.columns.arrow import is_list, is_number
from karat.core.columns.ids import DOCUMENT_IDS, GRADES, spell_id
from karat.core.columns.python_values import read_rows, to_python

SUBTOPICS = ("subtopic", "subtopic_id", "intent", "aspect", "iteration")
"""Names of columns, and of keys in objects, that hold a subtopic; TREC's qrels call their second column iteration."""
JUDGED = pa.map_(pa.string(), pa.map_(pa.string(), pa.float64()))

_EXPECTED = "grades by document and subtopic are expected, such as {'a': {'1': 2}} or [['a', '1', 2]]"


def cast_subtopics(column: pa.Array) -> pa.Array | None:
    """A column of documents judged by subtopic; None where the values cannot be such."""
    kind = column.type
    if kind == JUDGED:
        return column
    if pt.is_null(kind):
        return column.cast(JUDGED)
    if pt.is_map(kind) or pt.is_struct(kind) or is_list(kind):
        inner = [kind.item_type] if pt.is_map(kind) else [field.type for field in kind] if pt.is_struct(kind) else []
        if not any(map(is_number, inner)) or all(map(pt.is_null, inner)):
            return read_subtopics(to_python(column))
    return None


def read_subtopics(rows: Iterable[Any], place: Callable[[int], str] | None = None) -> pa.Array:
    """Documents judged by subtopic, from Python: grades by subtopic by document, or a list of judgements; or None.

    A list of subtopics in the place of their grades, or a judgement without a grade, means grade 1.

    >>> read_subtopics([{"a": {"1": 2, "2": 0}, 7: ["1"]}, [["a", "1", 1], ["a", 2]], None]).to_pylist()
    [[('a', [('1', 2.0), ('2', 0.0)]), ('7', [('1', 1.0)])], [('a', [('1', 1.0), ('2', 1.0)])], None]
    """
    return pa.array(read_rows(_judged, rows, place), JUDGED)


def _judged(row: Any) -> dict[str, dict[str, float]]:
    """The grades of one row by document and subtopic, the largest where there are several."""
    judged: dict[str, dict[str, float]] = {}
    try:
        for document, subtopic, grade in _judgements(row):
            names = spell_id(document), spell_id(subtopic)
            number = float("nan") if grade is None else float(grade)
            if None not in names and not isnan(number):
                grades = judged.setdefault(str(names[0]), {})
                grades[str(names[1])] = max(number, grades.get(str(names[1]), number))
    except (TypeError, ValueError, KeyError):
        raise ValueError(f"{_EXPECTED}; found {row!r:.80}") from None
    return judged


def _judgements(row: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Documents, subtopics and grades; raises `TypeError`, `ValueError` or `KeyError` for anything else."""
    if isinstance(row, Mapping):
        for document, subtopics in row.items():
            if isinstance(subtopics, Mapping):
                yield from ((document, *each) for each in subtopics.items())
            elif isinstance(subtopics, list | tuple):
                yield from ((document, *(each if isinstance(each, tuple) else (each, 1.0))) for each in subtopics)
            elif subtopics is not None:
                raise TypeError
    elif isinstance(row, str | bytes):
        raise TypeError
    else:
        for each in row:
            if isinstance(each, Mapping):
                document, subtopic = (each[_first(names, each)] for names in (DOCUMENT_IDS, SUBTOPICS))
                yield document, subtopic, next((each[name] for name in GRADES if name in each), 1.0)
            elif isinstance(each, str | bytes):
                raise TypeError
            else:
                document, subtopic, *grade = each
                (grade,) = grade or (1.0,)
                yield document, subtopic, grade


def _first(names: Iterable[str], each: Mapping[str, Any]) -> str:
    return next((name for name in names if name in each), "")
