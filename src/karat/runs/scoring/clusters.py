"""Which rows belong together: by the column that the user names, else by an id or a question that repeats.

Rows that share an id, or a question and its gold, are answers to one question, and not independent. Whether a column
repeats is known at the end, from a sample of its values that is the same whatever the batches and parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from karat.core.columns.arrow import from_numpy, is_bytes
from karat.core.columns.hashes.cells import hash_cells
from karat.core.columns.ids import QUERY_IDS, ROW_IDS
from karat.core.columns.kinds import Array
from karat.data.join.gather import Gathered
from karat.data.json.values import value_type
from karat.data.roles import matches_role, singular
from karat.data.source import Source
from karat.runs.columns.groups import cluster_keys
from karat.runs.columns.ids import TASK_IDS, item_columns
from karat.runs.scoring.arguments import NONE, Selection

if TYPE_CHECKING:
    from karat.runs.store.run import Run

SAMPLE = 1 << 12  # values whose rows are counted; of more, a sample
_PLACES = {"sample_id", "row_id", *TASK_IDS}
"""Ids that may number something within a question, such as its answers: they count where gold tells them apart."""
_ITEMS = {*ROW_IDS, *QUERY_IDS} - _PLACES
"""Ids that say by themselves which rows belong together."""


@dataclass(frozen=True)
class Clusters:
    """The column by whose values rows belong together, the number of its values, and the number of rows.

    `count` is an estimate above 4,096. `named`: the user named the column.
    """

    column: str
    count: int
    rows: int
    named: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        if self.named:
            return f"rows that share {self.column} are taken together"
        about = "about " if self.count > SAMPLE else ""
        values = f"{about}{self.count:,} value{'s' * (self.count != 1)} of {self.column}"
        return f"{self.rows:,} rows have {values}: intervals and tests go by {self.column}, not by row (--cluster none)"


def plan_clusters(selection: Selection, base: Source, schema: pa.Schema, mapping: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that may say which rows belong together; none where one is named, or each row is a question."""
    if selection.cluster is not None or any(isinstance(file, Gathered) for _, file, _ in base.files):
        return ()
    return tuple(name for name in _candidates(schema, mapping, selection.joins_gold) if name != selection.id)


def _candidates(schema: pa.Schema, mapping: Mapping[str, str], joined: str | None) -> list[str]:
    """The columns that may say which rows belong together, the most reliable first."""
    other = {name for role, name in mapping.items() if role != "question"}
    names = [name for name in item_columns(schema, mapping, joined or "") if name in schema.names and name not in other]
    return [name for name in names if not _is_nested(value_type(schema.field(name)))]


def _is_nested(kind: pa.DataType) -> bool:
    return bool(pt.is_nested(kind) or is_bytes(kind) or pt.is_null(kind))


class Repeats:
    """How often the values of a column occur, and whether rows with one value have one gold; by hashes of both.

    Up to 4,096 different values are counted, of more a sample: those with the smallest hashes, with all their rows.
    Parts of a table, merged in any order, are what the whole table is.
    """

    def __init__(self) -> None:
        self.rows = 0
        self._kept: Array = np.empty((4, 0), np.uint64)  # the hashes, ascending; rows; the least and greatest gold
        self._more = False  # there are more values
        self._new: list[Array] = []

    def add(self, keys: Array, gold: Callable[[Array], Array]) -> None:
        """Add rows: the hashes of their values, and what gives the hashes of their gold for some of them."""
        self.rows += len(keys)
        first, size = 0, SAMPLE
        while first < len(keys):  # few at a time first, for then most of the others are beyond the sample
            part = keys[first : first + size]
            at = np.flatnonzero(part <= self._kept[0, -1]) if self._more else np.arange(len(part))
            if len(at):
                of_gold = gold(at + first)
                self._new.append(np.stack([part[at], np.ones(len(at), np.uint64), of_gold, of_gold]))
            if not self._more or sum(each.shape[1] for each in self._new) > SAMPLE:
                self._sort()
            first, size = first + size, 2 * size

    def merge(self, rows: int, more: bool, kept: Array) -> None:
        """Add the `state` of other rows."""
        self.rows += rows
        self._more = self._more or more
        self._new.append(kept)
        self._sort()

    def state(self) -> tuple[int, bool, Array]:
        """What `merge` needs; the same rows have the same state."""
        self._sort()
        return self.rows, self._more, self._kept

    @property
    def count(self) -> int:
        """The number of different values; an estimate above 4,096."""
        self._sort()
        kept = self._kept[0]
        return round(len(kept) * (2.0**64 / (float(kept[-1]) + 1))) if self._more else len(kept)

    @property
    def repeated(self) -> bool:
        """Whether a value occurs twice, and another value occurs."""
        self._sort()
        return self._kept.shape[1] > 1 and bool((self._kept[1] > 1).any())

    def one_gold(self, *, several: bool = False) -> bool:
        """Whether all rows with one value have one gold; `several`: and there is more than one gold."""
        self._sort()
        _, _, least, most = self._kept
        return bool((least == most).all()) and not (several and (least == least[:1]).all())

    def _sort(self) -> None:
        if not self._new:
            return
        both = np.concatenate([self._kept, *self._new], axis=1)
        self._new = []
        if not both.size:  # parts without rows
            return
        both = both[:, np.argsort(both[0], kind="stable")]
        first = np.flatnonzero(np.concatenate([[True], both[0, 1:] != both[0, :-1]]))
        rows, least, most = (
            each.reduceat(both[at], first) for at, each in enumerate((np.add, np.minimum, np.maximum), 1)
        )
        self._more = self._more or len(first) > SAMPLE
        self._kept = np.stack([both[0, first], rows, least, most])[:, :SAMPLE]


class ClusterFinder:
    """The clusters of rows by candidates, or by one column that is `named`; rows come in batches in any order."""

    def __init__(self, columns: Sequence[str], gold: str | None, named: str | None = None) -> None:
        self.columns, self.named = tuple(columns) if named is None else (named,), named
        self._gold = gold
        self._repeats = [Repeats() for _ in self.columns]

    def add(self, batch: pa.RecordBatch, numbers: Array) -> list[Array]:
        """Add a batch with the numbers of its rows, and return `find_keys` of them."""
        keys = self.find_keys(batch, numbers)
        column = None if self._gold is None or self.named else batch.column(self._gold)
        for repeats, each in zip(self._repeats, keys if self.named else keys[1:], strict=True):
            repeats.add(each, lambda at: _hash_gold(column, at))
        return keys

    def find_keys(self, batch: pa.RecordBatch, numbers: Array) -> list[Array]:
        """The keys of rows: their numbers or, where columns are named, the keys of each column."""
        keys = [cluster_keys(batch.column(name), numbers) for name in self.columns]
        return keys if self.named else [numbers, *keys]

    @property
    def reads(self) -> list[str]:
        """The columns that batches must have."""
        return list(dict.fromkeys([*self.columns, *filter(None, [self._gold])]))

    @property
    def repeated(self) -> bool:
        """Whether a value of a column occurs twice, and another value occurs."""
        return any(each.repeated for each in self._repeats)

    @property
    def clustered(self) -> tuple[bool, ...]:
        """Whether rows that have one key belong together, by each of the keys."""
        return (True,) if self.named else (False, *(True for _ in self.columns))

    def find(self) -> tuple[int, Clusters | None]:
        """The clusters that the rows have, None where each row is by itself, and the place of their keys."""
        for at, (name, repeats) in enumerate(zip(self.columns, self._repeats, strict=True)):
            if self.named or (repeats.repeated and self._is_item(name, repeats)):
                return at + (not self.named), Clusters(name, repeats.count, repeats.rows, self.named is not None)
        return 0, None

    def merge(self, other: ClusterFinder) -> None:
        """Add what was found in other rows."""
        for ours, theirs in zip(self._repeats, other._repeats, strict=True):
            ours.merge(*theirs.state())

    def state(self, stored: list[bytes]) -> list[tuple[int, bool]]:
        """What `restore` needs, as JSON values; arrays are appended to `stored`."""
        states = [each.state() for each in self._repeats]
        stored += [kept.astype("<u8").tobytes() for _, _, kept in states]
        return [(rows, more) for rows, more, _ in states]

    def restore(self, about: Iterable[tuple[int, bool]], stored: Iterator[bytes]) -> None:
        """Take over a `state`, before any row is added."""
        for repeats, (rows, more) in zip(self._repeats, about, strict=True):
            repeats.merge(rows, more, np.frombuffer(next(stored), "<u8").reshape(4, -1))

    def _is_item(self, name: str, repeats: Repeats) -> bool:
        """Whether rows that share a value of the column are answers to one question."""
        kind = singular(name)
        return kind in _ITEMS or repeats.one_gold(several=kind in _PLACES)


def _hash_gold(column: pa.Array | None, rows: Array) -> Array:
    """A hash of the gold of some rows, uint64; equal for all rows where there is none that can be compared."""
    keys = None
    if column is not None and len(rows):
        keys = hash_cells(column if len(rows) == len(column) else column.take(from_numpy(rows)))
    return np.zeros(len(rows), np.uint64) if keys is None else keys


def find_clusters(runs: Sequence[Run], named: str | None = None, apart: Sequence[str] = ()) -> str | None:
    """The column by which rows of runs belong together; None where each row is by itself.

    It is the column that is `named`, else the one that the runs were scored with, else the one that their rows say.
    `apart`: a column of each run that is known to have another value in each row.
    """
    if (known := name_clusters(runs, named)) is not None:
        return None if known == NONE else known
    return next(filter(None, map(_find_in, runs, apart or [""] * len(runs))), None)


def name_clusters(runs: Sequence[Run], named: str | None = None) -> str | None:
    """The `cluster` that is named, else the one that all runs with a cluster were scored with; else None."""
    known = {run.manifest.settings.get("cluster") for run in runs} - {None}
    return next(iter(known)) if named is None and len(known) == 1 else named


def _find_in(run: Run, apart: str) -> str | None:
    """The column that is stored with a run, or that its rows say where it was not looked for when they were scored."""
    if (stored := run.values.get("clusters")) is not None:
        return str(stored["column"])
    mapping = run.manifest.mapping
    looked = {apart, *(run.manifest.clusters_in or ())}
    columns = [name for name in _candidates(run.schema, mapping, run.manifest.settings.get("on")) if name not in looked]
    return next((name for name in columns if _has_clusters(run, name)), None)


def _has_clusters(run: Run, name: str) -> bool:
    """Whether rows that share a value of a column belong together; gold is read only where the answer rests on it."""
    gold = None if singular(name) in _ITEMS else gold_column(run.schema, run.manifest.mapping)
    finders = [ClusterFinder([name], each) for each in dict.fromkeys([None, gold])]
    for finder in finders:
        first = 0
        for batch in run.batches(finder.reads):
            finder.add(batch, np.arange(first, first := first + len(batch), dtype=np.uint64))
        if not finder.repeated:
            return False
    return finders[-1].find()[1] is not None


def gold_column(schema: pa.Schema, mapping: Mapping[str, str]) -> str | None:
    """The column of the gold, where there is one that tells questions apart."""
    column = mapping.get("reference") or mapping.get("relevant")
    if column is None:
        column = next((name for name in schema.names if matches_role("reference", name)), None)
    return column if column in schema.names else None
