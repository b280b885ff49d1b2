"""Predictions beside their gold, matched by id."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from karat.core.errors import ColumnError, did_you_mean
from karat.data.match import Ids, match_ids
from karat.data.source import Source
from karat.data.storage.disk_table import Shelf

Side = Literal["prediction", "reference"]


@dataclass(frozen=True)
class Joined(Source):
    """Every gold row in gold order, with its prediction, or nulls where there is none.

    `sides` tells which file a column is from, `called` its name there. `missing` counts gold rows without a
    prediction, `unknown` predictions without a gold row, which are not in the rows; of both there are a few ids.
    `noted` has what reading each side counted.
    """

    sides: dict[str, Side] = field(default_factory=dict)
    called: dict[str, str] = field(default_factory=dict)
    missing: int = 0
    missing_ids: tuple[str, ...] = ()
    unknown: int = 0
    unknown_ids: tuple[str, ...] = ()
    noted: dict[Side, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Half:
    """One of the two sources, and the names its columns get."""

    side: Side
    source: Source
    names: dict[str, str]

    def kinds(self, text: Collection[str] = ()) -> pa.Schema:
        """The columns that are in the join, under their new names."""
        schema = self.source.schema_as(self._text(text))
        return pa.schema([schema.field(column).with_name(name) for column, name in self.names.items()])

    def batches(self, text: Collection[str]) -> Iterator[pa.RecordBatch]:
        """The rows of these columns."""
        schema = self.kinds(text)
        for batch in self.source.batches(self._text(text)):
            yield pa.RecordBatch.from_arrays([batch.column(column) for column in self.names], schema=schema)

    def respelled(self) -> list[str]:
        """The columns, by their new names, that keep their numbers' spelling only as text."""
        return [name for column, name in self.names.items() if column in self.source.respelled]

    def _text(self, text: Collection[str]) -> list[str]:
        return [column for column, name in self.names.items() if name in text]


def join(predictions: Source, gold: Source, on: str | tuple[str, str]) -> Joined:
    """Match predictions to gold by the column `on`, or `left=right` (or a pair) where it has two names.

    Ids are compared as text: 7 is `"7"` and not `"007"`. The id is gold's; a gold column whose name a prediction
    column has too gets `_gold` behind its name. Both sources are read twice, and the
    predictions go through a temporary file, from which they are taken in gold's order in exactly the types they had.

    Raises `ColumnError` where a side has no such column, and
    `JoinError` for ids that are null or not unique.

    >>> from karat.data.formats.frames import open_frame
    >>> joined = join(open_frame({"id": ["7", "9"], "answer": ["a", "b"]}), open_frame({"id": [7, 8]}), "id")
    >>> [batch.to_pylist() for batch in joined.batches()], joined.missing_ids, joined.unknown_ids
    ([[{'id': 7, 'answer': 'a'}, {'id': 8, 'answer': None}]], ('8',), ('9',))
    """
    left, right = split_on(on) if isinstance(on, str) else on
    ours, theirs = _name_columns(predictions, left, gold, right)
    match = match_ids(Ids("gold", gold, right), Ids("predictions", predictions, left))

    def read(text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        shelf = Shelf(theirs.kinds(text), theirs.batches(text))
        schema = pa.schema([*ours.kinds(text), *theirs.kinds(text)])
        row = 0
        for batch in ours.batches(text):
            for start in range(0, batch.num_rows, shelf.at_once):
                part = batch.slice(start, shelf.at_once)
                found = shelf.take(match.rows.slice(row, part.num_rows))
                yield pa.RecordBatch.from_arrays([*part.columns, *found.columns], schema=schema)
                row += part.num_rows

    return Joined(
        name=f"{predictions.name} on {gold.name}",
        schema=pa.schema([*ours.kinds(), *theirs.kinds()]),
        rows=gold.rows,
        read=read,
        respelled=frozenset(name for half in (ours, theirs) for name in half.respelled()),
        sides={name: half.side for half in (ours, theirs) for name in half.names.values()},
        called={name: column for half in (ours, theirs) for column, name in half.names.items()},
        missing=match.missing,
        missing_ids=match.missing_ids,
        unknown=match.unknown,
        unknown_ids=match.unknown_ids,
        noted={half.side: half.source.notes for half in (theirs, ours) if half.source.notes},
    )


def split_on(on: str) -> tuple[str, str]:
    """The id column's names in the predictions and in the gold.

    >>> split_on("id"), split_on("qid=query_id")
    (('id', 'id'), ('qid', 'query_id'))
    """
    left, _, right = on.partition("=")
    return left, right or left


def _name_columns(predictions: Source, left: str, gold: Source, right: str) -> tuple[_Half, _Half]:
    """Both halves, gold first, with names that are unique over the two."""
    for source, column in ((predictions, left), (gold, right)):
        if column not in source.schema.names:
            raise ColumnError(f"{source.name}: no column {column!r}{did_you_mean(column, source.schema.names)}")
    theirs = [name for name in predictions.schema.names if name != left]
    taken = {right, *theirs}
    ours = {}
    for name in gold.schema.names:
        new = name
        while name != right and new in taken:
            new += "_gold"
        ours[name] = new
        taken.add(new)
    # a prediction column called as gold's id is not the id
    named = {name: f"{name}_prediction" if name == right else name for name in theirs}
    return _Half("reference", gold, ours), _Half("prediction", predictions, named)
