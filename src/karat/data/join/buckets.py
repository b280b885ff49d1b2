"""A join in buckets, for gold of any size: rows of both sides whose ids have the same hash modulo a number.

Each bucket is joined on its own. Rows carry their ids as text and their numbers in the whole side.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.atomic import replacing
from karat.core.columns.arrow import from_numpy
from karat.core.columns.hashes.texts import hash_texts
from karat.core.columns.kinds import Array
from karat.core.errors import JoinError
from karat.data.formats.columnar import open_part
from karat.data.join.half import Half
from karat.data.join.join import Joined
from karat.data.join.match import EXAMPLES, Unmatched
from karat.data.json.raw import spell_ids
from karat.data.roles import Side
from karat.data.source import Part, Source
from karat.data.storage.batches import BATCH_ROWS, collect_chunks

BUCKET_BYTES = 64 << 20
"""The share of a bucket in the files of both sides, where rows are alike; in memory it is a few times as large."""
MOST_BUCKETS = 1 << 16
CHUNK_BYTES = 64 << 20  # of rows that are divided at a time
_KEY, _ROW = pa.field("karat_key", pa.large_string()), pa.field("karat_row", pa.uint64())  # the last columns


@dataclass(frozen=True)
class HalfPart(Part):
    """Rows of one side that are to be divided into `buckets`; into files in `folder` where it is not empty."""

    side: Side = "reference"
    buckets: int = 1
    folder: str = ""


@dataclass(frozen=True)
class Bucket(Part):
    """The bucket `groups[0]` in the files of the folder `file`; `rows` is about how many rows of gold it has."""

    def __str__(self) -> str:
        return f"bucket {self.groups[0]} of ids"

    def read(self, side: Side) -> Iterator[pa.RecordBatch]:
        """The rows of one side, in their order."""
        for path in sorted(Path(self.file).glob(f"{side}-*")):
            with pa.memory_map(str(path)) as mapped, pa.ipc.open_file(mapped) as file:
                yield file.get_batch(self.groups[0])


def write_buckets(
    joined: Joined, part: HalfPart, columns: Collection[str] | None, task: int, advance: Callable[[int], None] | None
) -> None:
    """Write the rows of a part to files that hold a record batch for each bucket.

    `advance` is called with 0 before each file, so that it may raise where the work is to stop.
    """
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    for at, batches in enumerate(divide(joined, part, columns)):
        if advance is not None:
            advance(0)
        path = Path(part.folder) / f"{part.side}-{task:06}-{at:06}"
        with (
            replacing(path, durable=False) as temporary,
            pa.ipc.new_file(str(temporary), batches[0].schema, options=options) as file,
        ):
            for batch in batches:
                file.write_batch(batch)


def divide(joined: Joined, part: HalfPart, columns: Collection[str] | None) -> Iterator[list[pa.RecordBatch]]:
    """The rows of a part, about `CHUNK_BYTES` at a time, in a record batch for each bucket.

    Columns are those in `columns`, or all. Raises `JoinError` for ids that are lists or objects.
    """
    (half,) = (each for each in joined.halves if each.side == part.side)
    for chunk in collect_chunks(_read_numbered(half, part, columns), CHUNK_BYTES):
        keys = chunk.column(-2).combine_chunks().fill_null("")  # null ids are found in their bucket
        buckets = (hash_texts(keys) % np.uint64(part.buckets)).astype(np.uint16)
        ordered = chunk.take(from_numpy(np.argsort(buckets, kind="stable"))).combine_chunks()
        (whole,) = ordered.to_batches()
        ends = np.cumsum(np.bincount(buckets, minlength=part.buckets)).tolist()
        yield [whole.slice(low, high - low) for low, high in pairwise([0, *ends])]


def join_bucket(
    joined: Joined,
    gold: Iterable[pa.RecordBatch],
    predictions: Iterable[pa.RecordBatch],
    columns: Collection[str] | None,
) -> tuple[Source, Unmatched, Unmatched]:
    """The join of a bucket, numbered as gold is, and the rows of gold and of predictions that have no partner.

    Rows are in memory. Raises `JoinError` for ids that are null or not unique; `joined.match` names them.
    """
    golden, predicted = (
        pa.Table.from_batches(batches, _schema(half, columns)).combine_chunks()
        for half, batches in zip(joined.halves, (gold, predictions), strict=True)
    )
    partners = pc.index_in(_unique_keys(golden), value_set=_unique_keys(predicted))
    others = predicted.select(range(predicted.num_columns - 2))
    schema = pa.schema([*list(golden.schema)[:-2], *others.schema])

    def read_numbered() -> Iterator[tuple[Array, pa.RecordBatch]]:
        for start in range(0, len(golden), BATCH_ROWS):
            rows = golden.slice(start, BATCH_ROWS)
            matched = others.take(partners.slice(start, BATCH_ROWS))
            columns = [column.combine_chunks() for column in (*rows.columns[:-2], *matched.columns)]
            yield rows.column(-1).to_numpy(), pa.RecordBatch.from_arrays(columns, schema=schema)

    def read() -> Iterator[pa.RecordBatch]:
        return (batch for _, batch in read_numbered())

    used = np.zeros(len(predicted), bool)
    used[partners.drop_null().to_numpy()] = True
    alone = golden.column(-1).filter(partners.is_null()).to_numpy()

    def unmatched(numbers: Array) -> Array:
        return np.isin(numbers, alone)

    source = Source(joined.name, schema, len(golden), read, numbered=read_numbered, unmatched=unmatched)
    return source, _find_unmatched(golden, np.asarray(partners.is_valid())), _find_unmatched(predicted, used)


def _read_numbered(half: Half, part: HalfPart, columns: Collection[str] | None) -> Iterator[pa.RecordBatch]:
    """The chosen columns of a part by their names in the join, with the ids as text and the numbers of the rows."""
    names, schema = half.choose(columns), _schema(half, columns)
    source = open_part(part, half.source.name, half.source.schema, {*names, half.key})
    first = part.first
    for batch in source.batches():
        keys = spell_ids(batch.column(half.key), str(half), first + 1)
        rows = from_numpy(np.arange(first, first + len(batch), dtype=np.uint64))
        yield pa.RecordBatch.from_arrays([*(batch.column(name) for name in names), keys, rows], schema=schema)
        first += len(batch)


def _schema(half: Half, columns: Collection[str] | None) -> pa.Schema:
    whole = half.source.schema
    return pa.schema([*(whole.field(name).with_name(new) for name, new in half.choose(columns).items()), _KEY, _ROW])


def _unique_keys(table: pa.Table) -> pa.Array:
    keys = table.column(-2).combine_chunks()
    if keys.null_count or pc.count_distinct(keys).as_py() < len(keys):
        raise JoinError("ids are null or not unique")
    return keys


def _find_unmatched(table: pa.Table, matched: Array) -> Unmatched:
    left = np.flatnonzero(~matched)
    rows = table.column(-1).to_numpy()[left]
    first = np.argsort(rows)[:EXAMPLES]
    ids = table.column(-2).take(from_numpy(left[first])).to_pylist()
    return Unmatched(len(left), tuple(zip(rows[first].tolist(), ids, strict=True)))
