"""Slices and clusters of matched rows, by the values of a column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.runs.columns.groups import check_group_column, cluster_keys, encode_groups
from karat.runs.match.alignment import Alignment
from karat.runs.scoring.clusters import Clusters, find_clusters, name_clusters
from karat.runs.store.run import Run


@dataclass(frozen=True)
class Slices:
    """The labels of slices, and for each matched row the number of its label, shape (n,)."""

    labels: Sequence[str]
    codes: Array

    def split(self, rows: slice | Array) -> Iterator[tuple[str, Array]]:
        """The rows of each slice among these."""
        codes = self.codes[rows]
        ends = np.cumsum(np.bincount(codes, minlength=len(self.labels)))[:-1]
        for label, part in zip(self.labels, np.split(np.argsort(codes, kind="stable"), ends), strict=True):
            if len(part):
                yield label, part


def read_column(runs: Sequence[Run], rows: Alignment, name: str) -> Iterator[pa.Array]:
    """A column of the first run that has it, in the order in which the matched rows are read, in parts."""
    at = next((at for at, run in enumerate(runs) if name in run.schema.names), 0)
    check_group_column(runs[at].schema, name, runs[at].name)
    if rows.in_step:
        return (batch.column(0) for batch in runs[at].batches([name]))
    return iter([runs[at].column(name).combine_chunks().take(pa.array(rows.orders[at]))])


@dataclass(frozen=True, eq=False)
class RowClusters:
    """The key of each matched row's cluster, shape (n,), and what they are."""

    keys: Array
    about: Clusters


def read_clusters(runs: Sequence[Run], rows: Alignment, named: str | None) -> RowClusters | None:
    """The clusters of the matched rows, by the column that is `named`, else as `find_clusters` finds it.

    None where there are none, and where each row has another value of a column that nobody named.
    """
    if (name := find_clusters(runs, named, rows.columns)) is None:
        return None
    keys, first = np.empty(len(rows), np.uint64), 0
    for part in read_column(runs, rows, name):
        here = slice(first, first + len(part))
        keys[here] = cluster_keys(part, rows.numbers[here])
        first = here.stop
    count = len(np.unique(keys))
    known = name_clusters(runs, named) is not None
    return RowClusters(keys, Clusters(name, count, len(keys), known)) if known or count < len(keys) else None


def read_slices(runs: Sequence[Run], rows: Alignment, name: str) -> Slices:
    """The slice of each matched row."""
    codes, first = np.empty(len(rows), np.int16), 0
    seen, numbers = set[str](), dict[str, int]()
    for part in read_column(runs, rows, name):
        own, labels = encode_groups(part, seen, name)
        there = np.array([numbers.setdefault(label, len(numbers)) for label in labels], np.int16)
        codes[first : first + len(part)] = there[own]
        first += len(part)
    return Slices(list(numbers), codes)
