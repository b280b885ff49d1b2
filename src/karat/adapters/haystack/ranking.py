"""Convert lists of documents to the columns of ids that karat's metrics of rankings read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from haystack import Document, logging
from numpy.typing import NDArray

from karat.adapters.haystack.field import Field, path_of, reader
from karat.core.errors import RowError

try:
    from karat.adapters.haystack import kernel

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False

logger = logging.getLogger(__name__)

Lists: TypeAlias = Sequence[Sequence[Document]]
Numbers: TypeAlias = NDArray[np.int64]

NONE = -1
"""The number of a document that is not relevant or has no value to compare."""


def to_columns(retrieved: Lists, relevant: Lists, field: Field, *, first: bool = False) -> tuple[pa.Array, pa.Array]:
    """Retrieved and relevant documents as lists of ids; in a question, equal ids stand for equal values.

    A relevant document without a value is null; a retrieved document that is not relevant is `NONE`. With `first`, the
    documents after a question's first relevant one are not read.
    """
    ends = _ends(retrieved, "retrieved_documents"), _ends(relevant, "ground_truth_documents")
    retrieved_ids, relevant_ids = np.empty(ends[0][-1], np.int64), np.empty(ends[1][-1], np.int64)
    try:
        if COMPILED:
            read = path_of(field), reader(field)
            kernel.number(retrieved, relevant, *read, retrieved_ids, relevant_ids, first)
        else:
            number(retrieved, relevant, reader(field), retrieved_ids, relevant_ids, first)
    except AttributeError:
        _check_documents(retrieved, "retrieved_documents")
        _check_documents(relevant, "ground_truth_documents")
        raise
    _warn(int((_count(relevant_ids, ends[1]) == 0).sum()), len(relevant), "ground truth")
    ids = pa.array(retrieved_ids), pa.array(relevant_ids, mask=relevant_ids == NONE)
    return pa.LargeListArray.from_arrays(ends[0], ids[0]), pa.LargeListArray.from_arrays(ends[1], ids[1])


def number(
    retrieved: Lists, relevant: Lists, read: Callable[[Document], Any], ranks: Numbers, wanted: Numbers, first: bool
) -> None:
    """Number each document, in place: the index of its value among the different values of the relevant documents.

    `ranks` receives the numbers of the retrieved documents, `wanted` the relevant ones'. With `first`, all
    retrieved documents but the first relevant one are `NONE`.
    """
    at = known_at = 0
    for documents, golds in zip(retrieved, relevant, strict=True):
        places: dict[Any, int] = {}
        wanted[known_at : known_at + len(golds)] = [
            NONE if value is None else places.setdefault(value, len(places)) for value in map(read, golds)
        ]
        numbers = (places.get(value, NONE) for value in map(read, documents))
        if first:
            ranks[at : at + len(documents)] = NONE
            for rank, place in enumerate(numbers):
                if place != NONE:
                    ranks[at + rank] = place
                    break
        else:
            ranks[at : at + len(documents)] = list(numbers)
        at, known_at = at + len(documents), known_at + len(golds)


def grade(relevant: pa.Array, grades: Sequence[float | None]) -> pa.Array:
    """A column of ids with their grades, 1 for a missing grade; ids that are null are left out."""
    graded = pa.array(grades, pa.float64()).fill_null(1.0)
    valid = relevant.values.is_valid()
    ends = np.concatenate([[0], np.cumsum(valid)])[np.asarray(relevant.offsets)]
    return pa.MapArray.from_arrays(pa.array(ends, pa.int32()), relevant.values.filter(valid), graded.filter(valid))


def _ends(lists: Lists, name: str) -> Numbers:
    """The offsets of the questions' lists; `RowError` for anything that is not a list of lists of documents."""
    try:
        first: Any = next(chain.from_iterable(lists), None)
        if first is None or isinstance(first, Document):
            return np.cumsum([0, *map(len, lists)])
    except TypeError:
        first = lists
    raise RowError(f"{name}: a list of Documents for each question is expected, found {first!r:.80}")


def _check_documents(lists: Lists, name: str) -> None:
    for question, documents in enumerate(lists, 1):
        for document in documents:
            if not isinstance(document, Document):
                raise RowError(f"{name}, question {question}: a Document is expected, found {document!r:.80}")


def warn_of_missing_retrievals(retrieved: Lists, places: pa.Array, field: Field) -> None:
    """Log how many questions score 0 because none of their retrieved documents can be compared.

    `places` is the column of the retrieved documents: where one of them is relevant, the others are not read.
    """
    read = reader(field)
    hits = _count(np.asarray(places.values), np.asarray(places.offsets))
    unmatched = (retrieved[question] for question in np.flatnonzero(hits == 0).tolist())
    _warn(sum(all(read(each) is None for each in documents) for documents in unmatched), len(hits), "retrieved")


def _count(numbers: Numbers, ends: Numbers) -> Numbers:
    """How many documents of each question have a number."""
    return np.diff(np.concatenate([[0], np.cumsum(numbers != NONE)])[ends])


def _warn(missing: int, questions: int, kind: str) -> None:
    if missing:
        logger.warning(
            "There are no {kind} documents or none of them contain a valid comparison value in {n} of {all} "
            "questions. Score will be set to 0.",
            kind=kind,
            n=missing,
            all=questions,
        )
