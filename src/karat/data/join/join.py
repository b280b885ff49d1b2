"""Join predictions with their gold by id."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import ColumnError, did_you_mean, nearest_name
from karat.data.join.half import Half
from karat.data.join.match import Match, Unmatched, match_ids
from karat.data.roles import Side
from karat.data.source import Source
from karat.data.storage.batches import DiskTable

GOLD_BYTES = 1 << 30
"""The size of the files of gold beyond which both sides are joined in buckets where that is possible."""


@dataclass(frozen=True)
class Joined(Source):
    """All gold rows in their order, each with its prediction, or nulls if it has none.

    Its `parts` are the gold's, where both sides have parts; `place_predictions` adds where their predictions are.
    `sides` is the file that each column comes from, `original_names` its name there. `halves` are gold and predictions;
    `match` finds which prediction belongs to each gold row, once, and which rows have no partner: predictions without a
    gold row are left out. `side_notes` are the counts made while reading each file.
    """

    sides: dict[str, Side] = field(default_factory=dict)
    original_names: dict[str, str] = field(default_factory=dict)
    side_notes: dict[Side, Mapping[str, int]] = field(default_factory=dict)
    halves: tuple[Half, ...] = ()
    match: Callable[[], Match] = field(kw_only=True, repr=False, compare=False)

    @property
    def files(self) -> list[tuple[str | None, Source, Mapping[str, str]]]:
        """Predictions and gold, each with the names that its columns have in the join."""
        return [(half.side, half.source, half.names) for half in reversed(self.halves)]

    def without_rows(self) -> Joined:
        """The join without its rows, which can be sent to other processes."""
        halves = tuple(half.without_rows() for half in self.halves)
        return replace(super().without_rows(), halves=halves, match=_match_nothing)

    @property
    def is_large(self) -> bool:
        """Whether it may be joined in buckets, as gold is in parts and larger than `GOLD_BYTES`."""
        return bool(self.parts) and self.halves[0].size > GOLD_BYTES


def _match_nothing() -> Match:
    return Match(np.empty(0, np.int32), Unmatched(), Unmatched())


def join(predictions: Source, gold: Source, on: str | tuple[str, str]) -> Joined:
    """Join predictions with gold by the column `on`; `left=right`, or a pair, if its name differs in the two.

    Ids are compared as text: 7 equals `"7"` but not `"007"`. The id column of the result is gold's. A gold column with
    the name of a prediction column gets the suffix `_gold`. Both sources are read twice; the predictions go through a
    temporary file, so that they can be read in gold's order without changing their types.

    Raises `ColumnError` if a source has no such column, `JoinError` for ids that are null or not unique; for these
    `match` raises it where the join is large.

    >>> from karat.data.formats.frames import open_frame
    >>> joined = join(open_frame({"id": ["7", "9"], "answer": ["a", "b"]}), open_frame({"id": [7, 8]}), "id")
    >>> [batch.to_pylist() for batch in joined.batches()], joined.match().missing.ids, joined.match().unknown.ids
    ([[{'id': 7, 'answer': 'a'}, {'id': 8, 'answer': None}]], ['8'], ['9'])
    """
    left, right = split_on(on) if isinstance(on, str) else on
    golden, predicted = _name_columns(predictions, left, gold, right)
    match = cache(partial(match_ids, golden, predicted))

    def read() -> Iterator[pa.RecordBatch]:
        yield from join_batches(golden, predicted, match().partners)

    notes = dict[Side, Mapping[str, int]]()
    joined = Joined(
        name=f"{predictions.name} on {gold.name}",
        schema=pa.schema([*golden.schema(), *predicted.schema()]),
        rows=gold.rows,
        read=read,
        sides={name: half.side for half in (golden, predicted) for name in half.names.values()},
        original_names={name: column for half in (golden, predicted) for column, name in half.names.items()},
        parts=gold.parts if predictions.parts else (),
        unmatched=lambda numbers: match().partners[numbers] < 0,
        halves=(golden, predicted),
        match=match,
        side_notes=notes,
    )
    if not joined.is_large:
        match()
        notes.update({half.side: half.source.notes for half in (predicted, golden) if half.source.notes})
    return joined


def join_batches(gold: Half, predictions: Half, partners: Array) -> Iterator[pa.RecordBatch]:
    """The gold rows with their predictions, which go through a temporary file."""
    if not predictions.names:
        yield from gold.batches()
        return
    table = DiskTable(predictions.schema(), predictions.batches())
    schema = pa.schema([*gold.schema(), *predictions.schema()])
    row = 0
    for batch in gold.batches():
        for start in range(0, batch.num_rows, table.batch_rows):
            part = batch.slice(start, table.batch_rows)
            numbers = partners[row : row + len(part)]
            matched = table.take(pa.array(numbers, mask=numbers < 0))
            yield pa.RecordBatch.from_arrays([*part.columns, *matched.columns], schema=schema)
            row += len(part)


def split_on(on: str) -> tuple[str, str]:
    """The names of the id column in the predictions and in the gold.

    >>> split_on("id"), split_on("qid=query_id")
    (('id', 'id'), ('qid', 'query_id'))
    """
    left, _, right = on.partition("=")
    return left, right or left


def _name_columns(predictions: Source, left: str, gold: Source, right: str) -> tuple[Half, Half]:
    """Both halves, gold first, with column names that are unique in the join."""
    for source, column, other in ((predictions, left, gold), (gold, right, predictions)):
        if column not in (there := source.schema.names):
            here = nearest_name(column, there) or "COLUMN"
            pair = f"{left}={here}" if source is gold else f"{here}={right}"
            remedy = f" (--on {pair} joins ids that have two names)" if column in other.schema.names else ""
            raise ColumnError(f"{source.name}: no column {column!r}{did_you_mean(column, there)}{remedy}")
    others = [name for name in predictions.schema.names if name != left]
    taken = {right, *others}
    gold_names = {}
    for name in gold.schema.names:
        new = name
        while name != right and new in taken:
            new += "_gold"
        gold_names[name] = new
        taken.add(new)
    # a prediction column with the name of gold's id column is not the id
    names = {name: f"{name}_prediction" if name == right else name for name in others}
    return Half("reference", gold, right, gold_names), Half("prediction", predictions, left, names)
