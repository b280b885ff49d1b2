"""A join in parts: rows of gold with the predictions that belong to them, each of which can be read on its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from glob import escape
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from karat.core.columns.kinds import Array
from karat.data.formats.columnar import open_part
from karat.data.join.half import Half
from karat.data.join.join import Joined, join_batches
from karat.data.open import open_source
from karat.data.source import Part, Source, group_parts
from karat.data.storage.addresses import join_path
from karat.data.storage.batches import BATCH_ROWS, collect_chunks
from karat.data.storage.whole_files import make_folder, remove_folder, whole_file

CHUNK_BYTES = 256 << 20  # of predictions, ordered in memory


@dataclass(frozen=True)
class JoinedPart(Part):
    """Rows of gold, and the parts of files that hold their predictions.

    `partners` has for each row the number of its prediction among the rows of `predictions`, -1 where there is none.
    """

    predictions: tuple[Part, ...] = ()
    partners: Array = field(default_factory=lambda: np.empty(0, np.int32), repr=False, compare=False)


def open_joined(joined: Joined, part: JoinedPart, columns: Collection[str] | None = None) -> Source:
    """Open a part of a join, with all columns, or those in `columns`; the join itself needs no rows."""
    gold, predictions = joined.halves
    golden, predicted = _select(gold, [part], columns), _select(predictions, part.predictions, columns)

    def read() -> Iterator[pa.RecordBatch]:
        return join_batches(golden, predicted, part.partners)

    schema = pa.schema([*golden.schema(), *predicted.schema()])

    def unmatched(numbers: Array) -> Array:
        alone: Array = part.partners[numbers - np.uint64(part.first)] < 0
        return alone

    return Source(joined.name, schema, part.rows, read, parts=(part,), unmatched=unmatched)


def place_predictions(
    joined: Joined, parts: Sequence[Part], columns: Collection[str] | None, folder: str | Path | None
) -> list[JoinedPart]:
    """Where the predictions of each of these parts of the gold are.

    Where they are spread over so many row groups that these would be read more than twice, the predictions are first
    written to `folder` (no further than this machine or the workers see it; None: never), ordered by part.
    """
    _, predictions = joined.halves
    stored: Sequence[Part] = predictions.source.parts
    partners = joined.match().partners
    placed = [_place(part, stored, partners) for part in parts]
    read = sum(each.rows for part in placed for each in part.predictions)
    if (
        folder is None
        or not predictions.names
        or read <= 2 * sum(part.rows for part in stored) + len(parts) * BATCH_ROWS
    ):
        return placed
    whole = _select(predictions, group_parts(stored, predictions.source.rows or 0), columns)
    stored, partners = _order_by_part(whole, parts, partners, folder)
    return [_place(part, stored, partners) for part in parts]


def _select(half: Half, parts: Sequence[Part], columns: Collection[str] | None) -> Half:
    """The rows of some parts of a half, with the columns that have these names in the join, or all."""
    names, whole = half.choose(columns), half.source

    def read() -> Iterator[pa.RecordBatch]:
        for part in parts:
            yield from open_part(part, whole.name, whole.schema, names.keys()).batches()

    schema = pa.schema([field for field in whole.schema if field.name in names])
    return replace(half, source=Source(whole.name, schema, sum(part.rows for part in parts), read), names=names)


def _place(part: Part, stored: Sequence[Part], partners: Array) -> JoinedPart:
    """Where the predictions of a part are; `partners` are numbers of rows in all of the `stored` parts."""
    own = partners[part.first : part.first + part.rows]
    there = own >= 0
    starts = np.array([each.first for each in stored], own.dtype)
    group = np.searchsorted(starts, own[there], side="right") - 1
    used = np.flatnonzero(np.bincount(group, minlength=len(stored))).tolist()
    moved = np.zeros(len(stored), own.dtype)  # from the number of a row among all to that among those used
    moved[used] = np.cumsum([0, *(stored[at].rows for at in used)])[:-1] - starts[used]
    local = np.full_like(own, -1)
    local[there] = own[there] + moved[group]
    grouped = group_parts((stored[at] for at in used), len(partners) + sum(each.rows for each in stored))
    return JoinedPart(**vars(part), predictions=tuple(grouped), partners=local)


def _order_by_part(
    predictions: Half, parts: Sequence[Part], partners: Array, folder: str | Path
) -> tuple[Sequence[Part], Array]:
    """Write the predictions, a file for as many as fit into memory, each with a row group for each part of the gold.

    Returns the row groups, and for each gold row the number of its prediction in them.
    """
    rows = predictions.source.rows or 0
    owner = np.full(rows, len(parts), np.int32)
    for at, part in enumerate(parts):
        own = partners[part.first : part.first + part.rows]
        owner[own[own >= 0]] = at
    numbers = np.full(rows, -1, partners.dtype)
    first = written = 0
    remove_folder(folder)  # of a run that was stopped
    make_folder(folder)
    for at, chunk in enumerate(collect_chunks(predictions.source.batches(), CHUNK_BYTES)):
        here = owner[first : first + len(chunk)]
        order = np.argsort(here, kind="stable")
        ends = np.searchsorted(here[order], np.arange(len(parts)), side="right").tolist()
        order = order[: ends[-1]]  # the rest belongs to no part
        ordered = chunk.take(pa.array(order))
        with (
            whole_file(join_path(folder, f"part-{at:06}.parquet")) as temporary,
            pq.ParquetWriter(temporary, chunk.schema, compression="lz4", use_dictionary=False) as writer,
        ):
            for low, high in pairwise([0, *ends]):
                if low < high:
                    writer.write_table(ordered.slice(low, high - low), row_group_size=high - low)
        numbers[first + order] = np.arange(written, written + len(order), dtype=numbers.dtype)
        first, written = first + len(chunk), written + len(order)
    stored = open_source(join_path(escape(str(folder)), "part-*.parquet")).parts
    return stored, np.where(partners < 0, partners, numbers[partners])
