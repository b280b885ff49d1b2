"""Matches retrieved ids with those judged by subtopic: which ranks cover which subtopics, once for all metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from karat.core.columns.arrow import whole_offsets
from karat.core.columns.column_cache import once
from karat.core.columns.kinds import Ids, Subtopics
from karat.metrics.retrieval.alignment import align

Covered: TypeAlias = list[int]
"""The numbers of the subtopics that a document is relevant to, ascending."""


class CoveredRow(NamedTuple):
    """The relevant documents of one row: those retrieved with their ranks, and all, the larger id first."""

    matches: list[tuple[int, Covered]]
    documents: list[Covered]
    subtopics: int
    size: int  # how many ids are retrieved


@dataclass(frozen=True)
class Coverage:
    """Which subtopics the documents of n rows are relevant to.

    Row i retrieved `sizes[i]` ids; at `ranks[match_ends[i]:match_ends[i + 1]]` are the documents with the numbers
    `documents[…]`. Its relevant documents are those from `document_ends[i]` to before `document_ends[i + 1]`, those
    with the larger id first, and `covered[covered_ends[j]:covered_ends[j + 1]]` the subtopics of document j, of
    which row i has `subtopics[i]`.
    """

    ranks: NDArray[np.int64]
    documents: NDArray[np.int64]
    match_ends: NDArray[np.int64]
    sizes: NDArray[np.int64]
    document_ends: NDArray[np.int64]
    covered: NDArray[np.int64]
    covered_ends: NDArray[np.int64]
    subtopics: NDArray[np.int64]

    def rows(self) -> Iterator[CoveredRow]:
        covered = [self.covered[start:end].tolist() for start, end in pairwise(self.covered_ends)]
        for at, (start, end) in enumerate(pairwise(self.match_ends)):
            ranks, documents = self.ranks[start:end].tolist(), self.documents[start:end].tolist()
            yield CoveredRow(
                [(rank, covered[document]) for rank, document in zip(ranks, documents, strict=True)],
                covered[self.document_ends[at] : self.document_ends[at + 1]],
                int(self.subtopics[at]),
                int(self.sizes[at]),
            )


def cover(retrieved: Ids, subtopics: Subtopics, rel: float) -> Coverage:
    """Which subtopics documents are relevant to, with a grade of `rel`; computed once within a `column_cache`."""
    return once(("cover", rel), (retrieved, subtopics), lambda: _cover(retrieved, subtopics, rel))


def _cover(retrieved: pa.Array, subtopics: pa.Array, rel: float) -> Coverage:
    ends, names, inner = _opened(subtopics)
    inner_ends, topics, grades = _opened(inner)
    rows = np.repeat(np.arange(len(retrieved)), np.diff(ends))
    relevant = np.asarray(grades) >= rel  # judgements, each of a document and a subtopic
    documents = np.repeat(np.arange(len(names)), np.diff(inner_ends))[relevant]
    numbers = _numbers(topics.filter(pa.array(relevant)))
    rows_of_topics, local = _local(rows[documents], numbers)

    kept = np.flatnonzero(np.bincount(documents))  # a document that is relevant to no subtopic plays no part
    table = pa.table({"row": rows[kept], "name": names.take(pa.array(kept))})
    order = np.asarray(pc.sort_indices(table, [("row", "ascending"), ("name", "descending")]))
    place = np.empty(len(names), np.int64)
    place[kept[order]] = np.arange(len(kept))

    at = place[documents]
    by_document = np.lexsort((local, at))
    document_ends = np.searchsorted(rows[kept[order]], np.arange(len(retrieved) + 1))
    column = pa.MapArray.from_arrays(
        pa.array(document_ends, pa.int32()),
        table["name"].combine_chunks().take(pa.array(order)),
        pa.array(np.arange(float(len(kept)))),
    )
    aligned = align(retrieved, column)
    return Coverage(
        aligned.ranks,
        aligned.grades.astype(np.int64),
        aligned.match_ends,
        aligned.sizes,
        document_ends,
        local[by_document],
        np.searchsorted(at[by_document], np.arange(len(kept) + 1)),
        np.bincount(rows_of_topics, minlength=len(retrieved)),
    )


def _opened(column: pa.MapArray) -> tuple[NDArray[np.int64], pa.Array, pa.Array]:
    """The offsets of a map column from 0, its keys and its items, without other rows'."""
    offsets = np.asarray(whole_offsets(column)).astype(np.int64)
    first, count = int(offsets[0]), int(offsets[-1] - offsets[0])
    return offsets - first, column.keys.slice(first, count), column.items.slice(first, count)


def _numbers(topics: pa.Array) -> NDArray[np.int64]:
    """Subtopics as numbers in an order that their neighbours do not change: shorter names first, as of numbers."""
    encoded = topics.dictionary_encode()
    names = pa.table({"length": pc.binary_length(encoded.dictionary), "name": encoded.dictionary})
    order = pc.sort_indices(names, [("length", "ascending"), ("name", "ascending")])
    numbers: NDArray[np.int64] = np.argsort(np.asarray(order))[np.asarray(encoded.indices)]
    return numbers


def _local(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The row of each different pair of a row and a number, and for each pair the number's place in its row."""
    different, at = np.unique(rows << 32 | numbers, return_inverse=True)
    rows_of_different = different >> 32
    return rows_of_different, at - np.searchsorted(rows_of_different, rows)
