"""What contradicts a pairing of rows: paired rows with another question, or with other gold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import from_numpy, is_text, lists_text
from karat.core.columns.hashes.cells import hash_cells
from karat.core.columns.kinds import Array
from karat.core.columns.python_values import to_python, to_text
from karat.core.parallel import map_ordered
from karat.data.roles import matches_role, singular
from karat.runs.match.alignment import Alignment
from karat.runs.match.streams import zip_streams
from karat.runs.match.systems import question_column
from karat.runs.store.run import Run

_SLICE = 65_536  # rows compared at a time
GOLD = ("reference", "relevant", "subtopics", "reference_messages", "reference_tool_calls", "criteria")
_AMBIGUOUS = ("label", "answer")  # a label may be a person's verdict, an answer a prediction


@dataclass(frozen=True)
class Contradiction:
    """Paired rows of the first run and of another one that are not the same.

    `remedy` says what to do where that is an error; "" where it is a note. `most`: whether most rows differ. `asked`:
    whether it is the question that differs.
    """

    problem: str
    remedy: str
    most: bool
    asked: bool


def find_contradictions(runs: Sequence[Run], rows: Alignment) -> Iterator[Contradiction]:
    """The gold and the questions that differ in paired rows, of each run and the first."""
    for at, run in enumerate(runs[1:], 1):
        yield from _compare_gold(runs[0], run, at, rows)
        yield from _compare_questions(runs[0], run, at, rows)


def _compare_gold(first: Run, run: Run, at: int, rows: Alignment) -> Iterator[Contradiction]:
    """Each role of gold that differs, where both runs have it."""
    for role, column, other in _shared_gold(first, run):
        digests = [each.manifest.digests.get(role) for each in (first, run)]
        if rows.agrees(at, column, other) or (digests[0] and digests[0] == digests[1] and rows.in_order(at)):
            continue
        count, where = _count_different((first, run), (column, other), at, rows, _same_gold)
        if count:
            problem = f"{first.name} and {run.name} were scored against different gold: it differs in {where}"
            yield Contradiction(problem, "Score both against the same", 2 * count > len(rows), asked=False)


def _shared_gold(first: Run, run: Run) -> list[tuple[str, str, str]]:
    """The roles of gold that both runs were scored with, and the column of each run."""
    ours, theirs = first.manifest.mapping, run.manifest.mapping
    return [(role, ours[role], theirs[role]) for role in GOLD if role in ours and role in theirs]


def _compare_questions(first: Run, run: Run, at: int, rows: Alignment) -> Iterator[Contradiction]:
    """Whether rows that were matched have another question, or another reference that was not scored with."""
    unscored = not _shared_gold(first, run)
    for find in (question_column, _find_reference) if unscored else (question_column,):
        ours, theirs = find(first), find(run)
        if ours is None or theirs is None or rows.agrees(at, ours, theirs):
            continue
        by_question = find is question_column
        count, where = _count_different((first, run), (ours, theirs), at, rows, _same_text)
        problem, most = f"{first.name} and {run.name} have another {ours} in {where}", 2 * count > len(rows)
        if unscored and most:
            remedy = "Name the column of ids with on (--on)"
            yield Contradiction(f"{problem}, and no gold says that these rows are the same", remedy, most, by_question)
        elif count:
            yield Contradiction(
                f"{problem}; if these are other questions, score both on the same", "", most, by_question
            )


def _find_reference(run: Run) -> str | None:
    """The column that has the name of a reference and no other role, where there is exactly one."""
    used = {*run.manifest.mapping.values(), *(metric.column for metric in run.manifest.metrics)}
    free = [name for name in run.schema.names if name not in used and singular(name) not in _AMBIGUOUS]
    references = [name for name in free if matches_role("reference", name)]
    return references[0] if len(references) == 1 else None


def _count_different(
    runs: Sequence[Run], columns: Sequence[str], at: int, rows: Alignment, same: Callable[[Any, Any], bool]
) -> tuple[int, str]:
    """How many rows have another cell in the run at this position, for computing and for messages."""
    count, first = 0, -1
    for part in _find_different(list(zip(runs, columns, strict=True)), at, rows, same):
        first = int(part[0]) if len(part) and not count else first
        count += len(part)
    where = f", first in the row with {rows.key} {rows.all_ids[first].as_py()}" if count else ""
    return count, f"{count} of {len(rows)} rows{where}"


def _find_different(
    cells: Sequence[tuple[Run, str]], at: int, rows: Alignment, same: Callable[[Any, Any], bool]
) -> Iterator[Array]:
    """The rows of the first run, by number and in parts, in which the columns of two runs differ."""
    if rows.in_order(at):
        start = 0
        for left, right in zip_streams([(batch.column(0) for batch in run.batches([name])) for run, name in cells]):
            yield start + _differences(left, right, same)
            start += len(left)
        return
    ours, theirs = (rows.place(each, np.arange(len(rows))) for each in (0, at))
    order = np.argsort(ours)  # the first row that differs is the first of the first run
    ours, theirs = ours[order], theirs[order]
    kinds = [run.schema.field(name).type for run, name in cells]
    if all(map(is_text, kinds)) or all(map(lists_text, kinds)):
        one, other = map_ordered(_hash_column, cells)
        apart = one[ours] != other[theirs]
        ours, theirs = ours[apart], theirs[apart]
    if not len(ours):
        return
    left, right = map_ordered(lambda each: each[0].column(each[1]).combine_chunks(), cells)

    def compare(start: int) -> Array:
        mine, yours = ours[start : start + _SLICE], theirs[start : start + _SLICE]
        return mine[_differences(left.take(from_numpy(mine)), right.take(from_numpy(yours)), same)]

    yield from map_ordered(compare, range(0, len(ours), _SLICE))


def _hash_column(cells: tuple[Run, str]) -> Array:
    """The hashes of all cells of a column of texts or of lists of texts, shape (n,)."""
    run, name = cells
    return np.concatenate([np.empty(0, np.uint64), *(hash_cells(batch.column(0)) for batch in run.batches([name]))])


def _differences(left: pa.Array, right: pa.Array, same: Callable[[Any, Any], bool]) -> Array:
    """The rows, by number, in which two arrays differ: of texts only those that do are compared as values."""
    rows = np.arange(0 if left.equals(right) else len(left))
    if not len(rows):
        return rows
    if is_text(left.type) and is_text(right.type):
        left, right = left.cast(pa.large_string()), right.cast(pa.large_string())
        equal = pc.or_(pc.equal(left, right).fill_null(False), pc.and_(left.is_null(), right.is_null()))
        rows = np.flatnonzero(~np.asarray(equal))
        left, right = left.take(from_numpy(rows)), right.take(from_numpy(rows))
    cells = zip(to_python(left), to_python(right), strict=True)
    different: Array = rows[np.array([not same(one, other) for one, other in cells], bool)]
    return different


def _same_text(one: Any, other: Any) -> bool:
    """Whether two cells are equal, or one is missing, which contradicts nothing."""
    return one is None or other is None or to_text(one) == to_text(other)


def _same_gold(one: Any, other: Any) -> bool:
    return bool(_as_list(one) == _as_list(other))


def _as_list(gold: Any) -> Any:
    """Gold as a list, from a list, its JSON in a CSV, or a single text."""
    if isinstance(gold, str) and gold.startswith(("[", "{")):
        with suppress(ValueError):
            gold = json.loads(gold)
    return gold if gold is None or isinstance(gold, list) else [gold]
