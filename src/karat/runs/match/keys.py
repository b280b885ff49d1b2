"""The key by which the rows of several systems are paired: the column that tells them apart in all of them.

A column that only counts the rows says where a row stood when a file was written, and not which row it is. It is the
key where no other column that the systems share tells the rows apart, or where such a column pairs the same rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, takewhile
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import from_numpy, is_text
from karat.core.columns.json_text import RAW
from karat.core.errors import JoinError, RowError
from karat.data.join.join import split_on
from karat.data.json.raw import spell_ids
from karat.data.roles import is_side_of, matches_role
from karat.runs.columns.ids import id_columns, is_index_name
from karat.runs.columns.output import find_reason_column
from karat.runs.match.alignment import Alignment, DifferentRowsError, align_by, align_in_order
from karat.runs.match.contradictions import GOLD
from karat.runs.match.streams import zip_streams
from karat.runs.match.systems import question_column
from karat.runs.store.run import Run

Key: TypeAlias = tuple[str, ...]
"""A column of each run."""
_FIRST = 1000  # rows by which a column is known to count
_COUNTED = re.compile(r"(\D*)(\d{1,18})(\D*)")
_FURTHER_ROLES = ("contexts", "confidence", "question")  # a question is a key by its rule; the others are not one


def align(runs: Sequence[Run], on: str | None = None, *, common: bool = False) -> Alignment:
    """Match the rows of all runs; `common`: those that all of them have, where some runs have more.

    By the column `on`; else by the first of these with a unique value in every row: the id by which the runs were
    joined with their gold, a column with the name of an id, the query, the question, any other column of texts or
    whole numbers that all runs share, one that counts the rows and has the name of an id, the index of a data frame;
    else, where all runs have the same gold in the same order, and for a single run, by position.

    Raises `ColumnError` where a run has no column `on`; `JoinError` for ids that are null, not unique, or missing in
    some of the runs (with `common`: for runs that share none), with a few of them.
    """
    if on is not None:
        return align_by(runs, (on,) * len(runs), common=common)
    keys, problems, different = Keys(runs, common), dict[Key, str](), None
    for key in keys:
        try:
            rows = keys.align(key)
        except DifferentRowsError as error:
            if key in keys.named[: 1 + len(problems)]:  # no more reliable one tells rows apart
                raise
            different = different or (error if key in keys.named else None)
            continue
        except JoinError as error:
            problems[key] = str(error)
            continue
        chosen = key
        if key not in keys.counting:
            chosen = next((each for each in keys.counting if _pairs_alike(runs, each, rows)), key)
            rows = rows if chosen == key else keys.align(chosen)
            problems |= {each: f"{each[0]} only counts the rows" for each in keys.counting if each != chosen}
        better = keys.named[: keys.named.index(chosen)] if chosen in keys.named else keys.named
        agreed = keys.agreed if all(map(rows.in_order, range(1, len(runs)))) else ()
        passed_over = {each: problems[each] for each in better if each in problems}
        return replace(rows, passed_over=passed_over, agreed=agreed)
    if different is not None:
        raise different
    named = {key: problem for key, problem in problems.items() if key in keys.named}
    if alignment := align_in_order(runs):
        return replace(alignment, passed_over=named)
    remedy = "; ".join(["name one that holds an id with on (--on)", *named.values()])
    raise JoinError(f"no column identifies the rows of {' and '.join(run.name for run in runs)}: {remedy}")


@dataclass(frozen=True)
class Keys:
    """The keys by which rows of runs may be paired; with `common` some runs may have more rows.

    Iterating gives the most reliable first, and of further columns those that seem unique. Where a column counts the
    rows, the others come before it, but not those that have the same value in the same row of all runs, which pair the
    same rows.
    """

    runs: Sequence[Run]
    common: bool = False
    agreed: list[Key] = field(default_factory=list)
    """The keys that iterating left out, as they have the same value in the same row of all runs."""
    _aligned: dict[Key, Alignment] = field(default_factory=dict)

    @cached_property
    def named(self) -> list[Key]:
        """The columns that the id of the join with gold, names of ids, the query and the question find in all runs."""
        runs, keys = self.runs, list[Key]()
        for name in (name for run in runs for name in reversed(split_on(run.joined_on))):
            if name and all(name in run.schema.names for run in runs):
                keys.append((name,) * len(runs))
        rules = (id_columns(run.schema, run.manifest.mapping, run.joined_on) for run in runs)
        for candidate in zip(*rules, strict=True):
            columns = tuple(column for column in candidate if column is not None)
            if len(columns) == len(runs):
                keys.append(columns)
        return list(dict.fromkeys(keys))

    @cached_property
    def counting(self) -> dict[Key, bool]:
        """The named columns that only count the rows, and whether all runs begin with the same number.

        Of a single run none: its rows are not paired with others, and a number names one as well as any id.
        """
        starts = {key: _find_starts(self.runs, key) for key in self.named if len(self.runs) > 1}
        return {key: len(set(values)) == 1 for key, values in starts.items() if values}

    def __iter__(self) -> Iterator[Key]:
        runs, several = self.runs, len(self.runs) > 1
        same = next(filter(self._pairs_in_order, self.counting), None)
        known = [key for key in self.named if key not in self.counting]
        for key in chain(known, self._further()):
            if same and _same_in_order(runs, key):
                self.agreed.append(key)
            else:
                yield key
        yield from (key for key in self.counting if not self.common or key == same or _has_witness(runs))
        index = [(name,) * len(runs) for name in _shared_names(runs) if several and is_index_name(name)]
        yield from (key for key in index if not counts_rows(runs, key))

    def align(self, key: Key) -> Alignment:
        """The rows that a key pairs; raises what `align_by` raises."""
        return self._aligned.pop(key, None) or align_by(self.runs, key, common=self.common)

    def _pairs_in_order(self, key: Key) -> bool:
        """Whether a key that only counts the rows pairs them as they come."""
        with suppress(JoinError):
            if self.counting[key]:
                self._aligned[key] = rows = self.align(key)
                return all(map(rows.in_order, range(1, len(self.runs))))
        return False

    def _further(self) -> Iterator[Key]:
        """Other columns of texts and whole numbers that all runs share, which have no value twice in their first rows.

        A single run's are not needed: labels of it name its ids.
        """
        for name in _shared_names(self.runs) if len(self.runs) > 1 else ():
            key = (name,) * len(self.runs)
            if key in self.named or is_index_name(name) or any(_is_of_system(run, name) for run in self.runs):
                continue
            if all(_seems_unique(run, name) for run in self.runs) and not counts_rows(self.runs, key):
                yield key


def counts_rows(runs: Sequence[Run], key: Key) -> bool:
    """Whether a column of each run only counts its rows, as the index of a data frame does: 0, 1, 2 …, or q1, q2 ….

    >>> from karat.runs.match.systems import open_rows
    >>> runs = [open_rows({"id": ["q01", "q02"], "uid": ["b", "a"]}), open_rows({"id": [0, 1], "uid": ["a", "b"]})]
    >>> counts_rows(runs, ("id", "id")), counts_rows(runs, ("uid", "uid"))
    (True, False)
    """
    return bool(_find_starts(runs, key))


def _find_starts(runs: Sequence[Run], key: Key) -> list[str]:
    """The first value of a column of each run, where all of these only count the rows; else none."""
    starts = list(takewhile(bool, (_find_start(run, name) for run, name in zip(runs, key, strict=True))))
    return [start for start in starts if start] if len(starts) == len(runs) else []


def _find_start(run: Run, name: str) -> str | None:
    try:
        batches = run.batches([name], _FIRST)
        ids = next((spell_ids(batch.column(0)[:_FIRST], name) for batch in batches if len(batch)), None)
    except (JoinError, RowError):
        return None
    cells = ids.to_pylist() if ids is not None else []
    parts = [_COUNTED.fullmatch(each or "") for each in cells]
    if len(parts) < 2 or not all(parts):
        return None
    around = {(part[1], part[3]) for part in parts if part}
    numbers = [int(part[2]) for part in parts if part]
    counts = numbers[0] in (0, 1) and numbers == [*range(numbers[0], numbers[0] + len(numbers))]
    return str(cells[0]) if counts and len(around) == 1 else None


def _shared_names(runs: Sequence[Run]) -> list[str]:
    return [name for name in runs[0].schema.names if all(name in run.schema.names for run in runs[1:])]


def _is_of_system(run: Run, name: str) -> bool:
    """Whether a column holds what a system answered, or what scoring added."""
    metrics = run.manifest.metrics
    role = next((role for role, column in run.manifest.mapping.items() if column == name), None)
    return (
        any(name == each.column or name.startswith(f"{each.spec}.") for each in metrics)
        or (bool(metrics) and name == find_reason_column(run.schema.names, {each.column for each in metrics}))
        or (role is not None and not is_side_of(role, "reference"))
        or any(matches_role(each, name) for each in ("prediction", *_FURTHER_ROLES))
    )


def _seems_unique(run: Run, name: str) -> bool:
    """Whether the first rows hold texts or whole numbers, each once; numbers that fill a range are ranks or counts."""
    kind = run.schema.field(name).type
    if not (kind == RAW or is_text(kind) or pa.types.is_integer(kind)):
        return False
    try:
        ids = next((spell_ids(batch.column(0), name) for batch in run.batches([name]) if len(batch)), None)
    except (JoinError, RowError):  # it holds lists or objects
        return False
    if ids is None or ids.null_count or pc.count_distinct(ids).as_py() < len(ids):
        return False
    with suppress(pa.ArrowInvalid):  # text
        numbers = np.asarray(ids.cast(pa.float64()))
        whole = bool((numbers == np.floor(numbers)).all())
        return whole and numbers.max() - numbers.min() + 1 > len(numbers)
    return True


def _has_witness(runs: Sequence[Run]) -> bool:
    """Whether all runs have questions, or all have gold, by which wrong pairs are found."""
    return all(map(question_column, runs)) or any(all(role in run.manifest.mapping for run in runs) for role in GOLD)


def _same_in_order(runs: Sequence[Run], key: Key) -> bool:
    """Whether the columns of all runs have the same values in the same order."""
    try:
        streams = [
            (spell_ids(batch.column(0), name) for batch in run.batches([name]))
            for run, name in zip(runs, key, strict=True)
        ]
        return all(other.equals(first) for first, *others in zip_streams(streams) for other in others)
    except (JoinError, RowError):
        return False


def _pairs_alike(runs: Sequence[Run], key: Key, rows: Alignment) -> bool:
    """Whether all paired rows have the same value of another key."""
    columns = (spell_ids(run.column(name).combine_chunks(), name) for run, name in zip(runs, key, strict=True))
    first, *others = (column.take(from_numpy(order)) for column, order in zip(columns, rows.orders, strict=True))
    return all(other.equals(first) for other in others)
