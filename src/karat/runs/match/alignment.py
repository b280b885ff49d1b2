"""Matching the rows of several runs: by an id, by the question, or by their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import from_numpy
from karat.core.columns.hashes.texts import hash_texts
from karat.core.columns.kinds import Array
from karat.core.errors import JoinError
from karat.core.parallel import map_ordered
from karat.data.json.raw import spell_ids
from karat.runs.columns.ids import show_column
from karat.runs.match.streams import zip_streams
from karat.runs.match.systems import gold_column
from karat.runs.match.text_order import find_twice, sort_texts
from karat.runs.store.run import Run, ScoredFile
from karat.stats.aggregate import LIMIT

ORDER = "order"
"""The `by` of an alignment without a column: rows are matched by their position."""
_EXAMPLES = 3  # ids in a message
_SLICE = 65_536  # ids compared at a time
_MANY = 2_000_000  # ids that are read again, which takes longer, rather than held


class DifferentRowsError(JoinError):
    """Ids tell the rows of each run apart, and are not the same in all runs."""


@dataclass(frozen=True)
class Alignment:
    """The matched rows of several runs.

    `by` is the column of the ids in the first run, or "order" where rows are matched by position; `columns` has the
    column of each run. `read_ids` gives the ids of all rows of the first run, in its order; `sort` gives for each run
    the row numbers in the order of the ids as text. `in_step`: all runs have the same ids in the same order, so that
    rows can be read from the files as they come; those of a single run always can. `left_out` counts for each run the
    rows that not all of the runs have; () where all have the same. `passed_over`: why columns of the runs that come
    before it do not tell rows apart. `agreed`: further columns of each run that are known to be the same in paired
    rows. `hashes`: of the ids of the first run, where they are known.
    """

    by: str
    rows: int
    read_ids: Callable[[], Iterable[pa.Array]]
    sort: Callable[[], tuple[Array, ...]]
    left_out: tuple[int, ...] = ()
    passed_over: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    in_step: bool = False
    hashes: Array | None = field(default=None, repr=False)
    columns: tuple[str, ...] = ()
    agreed: Sequence[tuple[str, ...]] = ()

    def __len__(self) -> int:
        return self.rows

    @property
    def key(self) -> str:
        """What matches the rows, for people: never blank, also where the column has no name."""
        return show_column(self.by)

    @cached_property
    def orders(self) -> tuple[Array, ...]:
        """For each run the row numbers in the order of the ids as text, shape (n,)."""
        return self.sort()

    @property
    def all_ids(self) -> pa.Array:
        """The ids of all rows of the first run, in its order."""
        parts = list(self.read_ids())
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)

    @cached_property
    def ids(self) -> pa.Array:
        """The ids of the matched rows in the order of `read`, shape (n,), which are seldom needed, and then kept."""
        return self.all_ids if self.in_step else self.all_ids.take(from_numpy(self.orders[0]))

    @cached_property
    def numbers(self) -> Array:
        """A number of each row that does not depend on the rows' order, uint64, in the order of `read`.

        Up to 16,384 rows these are their places in the order of the ids, of more rows hashes of the ids; the rows of a
        single run are numbered as they come.
        """
        if self.rows <= LIMIT or len(self.columns) == 1:
            return np.arange(self.rows, dtype=np.uint64)
        parts = (part[at : at + _SLICE] for part in self.read_ids() for at in range(0, len(part), _SLICE))
        hashes = np.concatenate(list(map_ordered(hash_texts, parts))) if self.hashes is None else self.hashes
        return hashes if self.in_step else hashes[self.orders[0]]

    def in_order(self, run: int) -> bool:
        """Whether all rows of the first run and of another one belong together as they come."""
        return self.in_step or (not any(self.left_out) and np.array_equal(self.orders[0], self.orders[run]))

    def agrees(self, run: int, ours: str, theirs: str) -> bool:
        """Whether paired rows are known to have the same in a column of the first run and in one of another run."""
        return any((key[0], key[run]) == (ours, theirs) for key in (self.columns, *self.agreed) if key)

    def in_first(self, run: int) -> Array:
        """The row numbers of a run in the order of the first one's matched rows, shape (n,)."""
        if self.in_step:
            return np.arange(self.rows)
        return self.orders[run][np.argsort(self.orders[0], kind="stable")]

    def read(self, streams: Sequence[Iterable[Array]]) -> Iterator[list[Array]]:
        """Arrays of the runs, which come in the order of their rows, in pieces of the same matched rows.

        Runs in step are read as they come, others are held, and taken in the order of the ids.
        """
        if self.in_step or not self.rows:
            yield from zip_streams(streams)
            return
        held = [np.concatenate(list(stream)) for stream in streams]
        for start in range(0, self.rows, _SLICE):
            rows = slice(start, start + _SLICE)
            yield [array[order[rows]] for array, order in zip(held, self.orders, strict=True)]

    def place(self, run: int, rows: Array) -> Array:
        """The row numbers in a run of matched rows, which are numbered in the order of `read`."""
        return rows if self.in_step else self.orders[run][rows]

    def order(self, run: int) -> Array:
        """The row numbers in a run of all matched rows, in the order of `read`, shape (n,)."""
        return self.place(run, np.arange(self.rows))


def align_numbers(rows: int, runs: int = 1) -> Alignment:
    """Rows that are matched by their position; their ids are their numbers, from 1."""
    order = np.arange(rows)
    orders = tuple(order for _ in range(runs))
    return Alignment(ORDER, rows, lambda: [from_numpy(order + 1).cast(pa.large_string())], lambda: orders)


def align_by(runs: Sequence[Run], columns: Sequence[str], *, common: bool = False) -> Alignment:
    """Match the rows of all runs by a column of each; `common`: those that all of them have, where some have more.

    Ids are compared as text: 7 is "7". Raises `ColumnError` where a run has no such column; `JoinError` for ids that
    are null, not unique, or missing in some of the runs (with `common`: for runs that share none), with a few of them.
    """
    alignment = _align_streams(runs, columns) or _match(runs, columns[0], _rank_all(runs, columns), common=common)
    return replace(alignment, columns=tuple(columns))


@dataclass(frozen=True)
class _SortedIds:
    """The ids of a run as text, in its order, and the row numbers in the order of the ids; both have shape (n,)."""

    keys: pa.Array
    order: Array

    def matches(self, first: _SortedIds) -> bool:
        """Whether the ids are the first run's."""
        if self is first or len(self.keys) != len(first.keys):
            return self is first
        there = _place(first.order, self.order)

        def equal(start: int) -> bool:
            part = slice(start, start + _SLICE)
            return bool(self.keys.take(from_numpy(there[part])).equals(first.keys[part]))

        return all(map_ordered(equal, range(0, len(there), _SLICE)))

    @cached_property
    def ids(self) -> pa.Array:
        return self.keys.take(from_numpy(self.order))


def _match(runs: Sequence[Run], by: str, ranked: Sequence[_SortedIds], *, common: bool) -> Alignment:
    """The rows with the same ids; `JoinError` where a run lacks some, unless they share some and these are enough."""
    first, *others = ranked
    for run, other in zip(runs[1:], others, strict=True):
        if not other.matches(first):
            shared = _intersect(by, ranked)
            if common and len(shared):
                return shared
            raise DifferentRowsError(_describe_difference(runs[0], first.ids, run, other.ids, by, len(shared)))
    return _aligned(by, first, tuple(each.order for each in ranked))


def _place(first: Array, order: Array) -> Array:
    """The row numbers of a run, as an order has them, in the order of the rows whose numbers are in `first`."""
    there = np.empty(len(first), np.int64)
    there[first] = order
    return there


def _rank_all(runs: Sequence[Run], columns: Sequence[str]) -> list[_SortedIds]:
    """The ids of each run; the first run's own object where a run has the same ids in the same order."""
    places = [f"{run.name}: column {column!r}" for run, column in zip(runs, columns, strict=True)]
    parts = list(zip(runs, columns, places, strict=True))
    keys = list(map_ordered(lambda part: spell_ids(part[0].column(part[1]).combine_chunks(), part[2]), parts))
    apart = [at for at, own in enumerate(keys) if at == 0 or not own.equals(keys[0])]
    ranked = dict(zip(apart, map_ordered(lambda at: _rank(keys[at], places[at]), apart), strict=True))
    return [ranked.get(at, ranked[0]) for at in range(len(runs))]


def _rank(keys: pa.Array, where: str) -> _SortedIds:
    """The order of the ids of a run; `JoinError` for null and duplicate ones."""
    if keys.null_count:
        raise JoinError(f"{where} is null or empty in row {pc.index(keys.is_null(), value=True).as_py() + 1}")
    order, twice = sort_texts(lambda: [keys])
    if twice is not None:
        raise _repeated(where, twice, len(keys) - pc.count_distinct(keys).as_py(), len(keys))
    return _SortedIds(keys, order)


def _repeated(where: str, twice: str, repeats: int, rows: int) -> JoinError:
    """The error for a column in which a value is there twice; `repeats` rows have the value of an earlier one."""
    return JoinError(f"{where} has {twice!r} more than once; {repeats} of {rows} rows repeat an earlier one")


def _aligned(by: str, first: _SortedIds, orders: tuple[Array, ...], left_out: tuple[int, ...] = ()) -> Alignment:
    return Alignment(by, len(orders[0]), lambda: [first.keys], lambda: orders, left_out)


def _align_streams(runs: Sequence[Run], columns: Sequence[str]) -> Alignment | None:
    """Rows with the same ids in the same order, which are not held in memory: rows of a single run, or of large stored
    ones; else None.
    """
    large = (not isinstance(run, ScoredFile) and run.starts[-1] >= max(_MANY, LIMIT + 1) for run in runs)
    if len(runs) > 1 and not all(large):
        return None
    places = [f"{run.name}: column {column!r}" for run, column in zip(runs, columns, strict=True)]

    def read(run: Run, column: str, where: str) -> Iterator[pa.Array]:
        return (spell_ids(batch.column(0), where) for batch in run.batches([column]))

    sources = list(zip(runs, columns, places, strict=True))
    parts = [np.empty(0, np.uint64)]
    for first, *others in zip_streams([read(*source) for source in sources]):
        if first.null_count or not all(other.equals(first) for other in others):
            return None
        parts.append(hash_texts(first))
    hashes = np.concatenate(parts)

    def read_first() -> Iterator[pa.Array]:
        return read(*sources[0])

    if (twice := find_twice(hashes, read_first)) is not None:
        raise _repeated(places[0], twice, len(hashes) - len(np.unique(hashes)), len(hashes))

    def sort() -> tuple[Array, ...]:
        order, _ = sort_texts(read_first)
        return tuple(order for _ in runs)

    return Alignment(columns[0], len(hashes), read_first, sort, in_step=True, hashes=hashes)


def _intersect(by: str, ranked: Sequence[_SortedIds]) -> Alignment:
    """The rows that all runs have."""
    ids = ranked[0].ids
    for each in ranked[1:]:
        ids = ids.filter(pc.is_in(ids, each.keys))
    orders = tuple(each.order[np.asarray(pc.is_in(each.ids, ids))] for each in ranked)
    return _aligned(by, ranked[0], orders, tuple(len(each.keys) - len(ids) for each in ranked))


def _describe_difference(first: Run, ours: pa.Array, other: Run, theirs: pa.Array, column: str, shared: int) -> str:
    """A message with the ids that only one of two runs has; `shared` counts those that all runs have."""
    parts = []
    for run, keys, rest in ((first, ours, theirs), (other, theirs, ours)):
        only = keys.filter(pc.invert(pc.is_in(keys, rest)))
        few = ", ".join(only[:_EXAMPLES].to_pylist())
        parts.append(f"{len(only)} of {len(keys)} rows only in {run.name}" + (f" (such as {few})" if few else ""))
    return (
        f"{first.name} and {other.name} do not have the same rows, by column {column!r}: {'; '.join(parts)}. "
        + (f"Take the {shared} rows that all have with --common (in Python, common=True), score" if shared else "Score")
        + " both on the same rows, or name the column of ids with on (--on)"
    )


def align_in_order(runs: Sequence[Run]) -> Alignment | None:
    """The rows matched by position, where all runs have the same gold in the same order; a single run needs none."""
    if len(runs) == 1:
        rows = sum(len(batch) for batch in runs[0].batches(runs[0].schema.names[:1]))
        return replace(align_numbers(rows), in_step=True)
    golds = [run.column(column) for run in runs if (column := gold_column(run))]
    if len(golds) < len(runs) or not all(gold.equals(golds[0]) for gold in golds[1:]):
        return None
    return align_numbers(len(golds[0]), len(runs))
