"""Matches retrieved ids with judged ones: which ranks have which grades, computed once for all metrics of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from karat.core.columns.arrow import whole_offsets
from karat.core.columns.column_cache import once
from karat.core.columns.ids import spell_id
from karat.core.columns.kinds import Graded, Ids

try:
    from karat.metrics._kernels import alignment as kernel

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False


Matches: TypeAlias = list[tuple[int, float]]
"""Ranks from 1, each with the grade of the judged id at that rank."""


@dataclass(frozen=True)
class Aligned:
    """All that metrics need of n rankings: ranks and grades, without the ids.

    Row i retrieved `sizes[i]` ids. `ranks[match_ends[i]:match_ends[i + 1]]` are the ranks, from 1, of those that are
    judged, each id at its first rank, and `grades[…]` their grades. `judged[judged_ends[i]:judged_ends[i + 1]]` are the
    grades of all ids judged for the row, the largest first.
    """

    ranks: NDArray[np.int64]
    grades: NDArray[np.float64]
    match_ends: NDArray[np.int64]
    sizes: NDArray[np.int64]
    judged: NDArray[np.float64]
    judged_ends: NDArray[np.int64]

    def rows(self) -> Iterator[tuple[Matches, list[float]]]:
        """For each row the ranks and grades of the retrieved ids that are judged, and the grades of all judged ids."""
        for at in range(len(self.sizes)):
            place = slice(self.match_ends[at], self.match_ends[at + 1])
            judged = self.judged[self.judged_ends[at] : self.judged_ends[at + 1]]
            yield list(zip(self.ranks[place].tolist(), self.grades[place].tolist(), strict=True)), judged.tolist()

    def best(self) -> NDArray[np.float64]:
        """The largest grade of each row; minus infinity where nothing is judged."""
        starts, ends = self.judged_ends[:-1], self.judged_ends[1:]
        padded = np.append(self.judged, -np.inf)
        return np.where(ends > starts, padded[starts], -np.inf)


def align(retrieved: Ids, relevant: Graded) -> Aligned:
    """The ranks and grades of the judged ids that each row retrieves; computed once within a `column_cache`.

    >>> aligned = align(pa.array([["a", "x", "b", "a"]]), pa.array([["b", "c", "a"]]))
    >>> aligned.ranks, aligned.grades, aligned.judged
    (array([1, 3]), array([1., 1.]), array([1., 1., 1.]))
    """
    return once("align", (retrieved, relevant), lambda: _align(retrieved, relevant))


def align_row(retrieved: list[Any], relevant: list[Any]) -> tuple[Matches, list[float]]:
    """The definition of `align` for one row: a list of ids, and a list of ids or of pairs of an id and its grade.

    >>> align_row(["a", None, "b", "a"], [("a", 2.0), ("b", 0.0), ("c", 3.0), ("b", 1.0)])
    ([(1, 2.0), (3, 1.0)], [3.0, 2.0, 1.0])
    """
    grades: dict[str, float] = {}
    for each in relevant:
        identifier, grade = each if isinstance(each, tuple) else (each, 1.0)
        name = spell_id(identifier)
        if name is not None and grade is not None and not np.isnan(grade):
            grades[name] = max(grade, grades.get(name, grade))
    judged = sorted(grades.values(), reverse=True)
    spelled = enumerate(map(spell_id, retrieved), 1)
    return [(rank, grades.pop(name)) for rank, name in spelled if name in grades], judged


def _align(retrieved: pa.Array, relevant: pa.Array) -> Aligned:
    if not COMPILED:
        return _define(retrieved.to_pylist(), relevant.to_pylist())
    graded = pt.is_map(relevant.type)
    ids, gold = retrieved.values, relevant.keys if graded else relevant.values
    if pt.is_int64(ids.type) != pt.is_int64(gold.type):  # one side is text: compare as text
        ids, gold = (each.cast(pa.string()) if pt.is_int64(each.type) else each for each in (ids, gold))
    grades_of_gold = relevant.items.to_numpy(zero_copy_only=False) if graded else None
    starts, golds = (np.asarray(whole_offsets(column)) for column in (retrieved, relevant))
    judged = np.empty(golds[-1] - golds[0] + 1)
    most = min(len(judged), starts[-1] - starts[0] + 1)  # there are no more matches than judged ids
    ranks, grades = np.empty(most, np.int64), np.empty(most)
    match_ends, judged_ends = np.empty(len(starts), np.int64), np.empty(len(starts), np.int64)
    columns = _parts(retrieved, ids), _parts(relevant, gold)
    kernel.align(*columns, grades_of_gold, ranks, grades, match_ends, judged, judged_ends)
    count, sizes = int(match_ends[-1]), np.diff(starts).astype(np.int64)
    return Aligned(ranks[:count], grades[:count], match_ends, sizes, judged[: judged_ends[-1]], judged_ends)


def _define(retrieved: list[list[Any]], relevant: list[list[Any]]) -> Aligned:
    rows = list(map(align_row, retrieved, relevant))
    pairs, ends = _flatten([matches for matches, _ in rows])
    ranks, grades = pairs.reshape(-1, 2).T
    sizes = np.array(list(map(len, retrieved)), np.int64)
    return Aligned(ranks.astype(np.int64), grades, ends, sizes, *_flatten([judged for _, judged in rows]))


def _flatten(lists: Sequence[Sequence[Any]]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return np.array([value for each in lists for value in each], float), np.cumsum([0, *map(len, lists)])


@dataclass(frozen=True)
class _Parts:
    """The buffers of a list column as the kernel takes them; `ids` are the offsets of texts, None for numbers."""

    rows: NDArray[np.uint8]
    rows_wide: bool
    first_row: int
    ids: NDArray[np.uint8] | None
    ids_wide: bool
    first_id: int
    data: NDArray[np.uint8]
    valid: NDArray[np.uint8] | None


def _parts(lists: pa.Array, ids: pa.Array) -> _Parts:
    valid, *offsets, data = ids.buffers()
    return _Parts(
        rows=_bytes(lists.offsets.buffers()[1]),
        rows_wide=pt.is_large_list(lists.type),
        first_row=lists.offset,
        ids=_bytes(offsets[0]) if offsets else None,
        ids_wide=pt.is_large_string(ids.type),
        first_id=ids.offset,
        data=_bytes(data),
        valid=None if valid is None else _bytes(valid),
    )


def _bytes(buffer: pa.Buffer | None) -> NDArray[np.uint8]:
    return np.frombuffer(buffer or bytes(8), np.uint8)
