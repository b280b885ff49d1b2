"""Join predictions with their gold by id."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import ColumnError, did_you_mean
from karat.data.join.half import Half
from karat.data.join.match import match_ids
from karat.data.roles import Side
from karat.data.source import Source
from karat.data.storage.disk_table import DiskTable


@dataclass(frozen=True)
class Joined(Source):
    """All gold rows in their order, each with its prediction, or nulls if it has none.

    Its `parts` are the gold's, where both sides have parts; `place_predictions` adds where their predictions are.
    `sides` is the file that each column comes from, `original_names` its name there. `missing` counts gold rows without
    a prediction; `unknown` counts predictions without a gold row, which are left out. The first few ids of both are
    kept. `side_notes` are the counts made while reading each file. `halves` are gold and predictions, `partners` has
    the row of the prediction of each gold row, shape (rows,), -1 where there is none.
    """

    sides: dict[str, Side] = field(default_factory=dict)
    original_names: dict[str, str] = field(default_factory=dict)
    missing: int = 0
    missing_ids: tuple[str, ...] = ()
    unknown: int = 0
    unknown_ids: tuple[str, ...] = ()
    side_notes: dict[Side, Mapping[str, int]] = field(default_factory=dict)
    halves: tuple[Half, ...] = ()
    partners: Array = field(default_factory=lambda: np.empty(0, np.int32), repr=False, compare=False)

    def without_rows(self) -> Joined:
        """The join without its rows, which can be sent to other processes."""
        halves = tuple(half.without_rows() for half in self.halves)
        return replace(super().without_rows(), halves=halves, partners=self.partners[:0])


def join(predictions: Source, gold: Source, on: str | tuple[str, str]) -> Joined:
    """Join predictions with gold by the column `on`; `left=right`, or a pair, if its name differs in the two.

    Ids are compared as text: 7 equals `"7"` but not `"007"`. The id column of the result is gold's. A gold column with
    the name of a prediction column gets the suffix `_gold`. Both sources are read twice; the predictions go through a
    temporary file, so that they can be read in gold's order without changing their types.

    Raises `ColumnError` if a source has no such column, `JoinError` for ids that are null or not unique.

    >>> from karat.data.formats.frames import open_frame
    >>> joined = join(open_frame({"id": ["7", "9"], "answer": ["a", "b"]}), open_frame({"id": [7, 8]}), "id")
    >>> [batch.to_pylist() for batch in joined.batches()], joined.missing_ids, joined.unknown_ids
    ([[{'id': 7, 'answer': 'a'}, {'id': 8, 'answer': None}]], ('8',), ('9',))
    """
    left, right = split_on(on) if isinstance(on, str) else on
    golden, predicted = _name_columns(predictions, left, gold, right)
    match = match_ids(golden, predicted)

    def read(text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        return join_batches(golden, predicted, match.partners, text)

    return Joined(
        name=f"{predictions.name} on {gold.name}",
        schema=pa.schema([*golden.schema(), *predicted.schema()]),
        rows=gold.rows,
        read=read,
        lossy_columns=frozenset(name for half in (golden, predicted) for name in half.lossy_columns()),
        sides={name: half.side for half in (golden, predicted) for name in half.names.values()},
        original_names={name: column for half in (golden, predicted) for column, name in half.names.items()},
        missing=match.missing,
        missing_ids=match.missing_ids,
        unknown=match.unknown,
        unknown_ids=match.unknown_ids,
        parts=gold.parts if predictions.parts else (),
        halves=(golden, predicted),
        partners=match.partners,
        side_notes={half.side: half.source.notes for half in (predicted, golden) if half.source.notes},
    )


def join_batches(
    gold: Half, predictions: Half, partners: Array, text: Collection[str] = ()
) -> Iterator[pa.RecordBatch]:
    """The gold rows with their predictions, which go through a temporary file."""
    if not predictions.names:
        yield from gold.batches(text)
        return
    table = DiskTable(predictions.schema(text), predictions.batches(text))
    schema = pa.schema([*gold.schema(text), *predictions.schema(text)])
    row = 0
    for batch in gold.batches(text):
        for start in range(0, batch.num_rows, table.batch_rows):
            part = batch.slice(start, table.batch_rows)
            numbers = partners[row : row + len(part)]
            found = table.take(pa.array(numbers, mask=numbers < 0))
            yield pa.RecordBatch.from_arrays([*part.columns, *found.columns], schema=schema)
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
    for source, column in ((predictions, left), (gold, right)):
        if column not in source.schema.names:
            raise ColumnError(f"{source.name}: no column {column!r}{did_you_mean(column, source.schema.names)}")
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
