"""Predictions beside their gold, matched by id."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from karat.core.errors import ColumnError, JoinError, did_you_mean
from karat.data.bench import Bench, work_on
from karat.data.source import Source

Side = Literal["prediction", "reference"]


@dataclass(frozen=True)
class Joined(Source):
    """Every gold row in gold order, with its prediction, or nulls where there is none.

    ``sides`` tells which file a column is from, ``called`` its name there. ``missing`` counts gold rows without a
    prediction, ``unknown`` predictions without a gold row, which are not in the rows; of both there are a few ids.
    """

    sides: dict[str, Side] = field(default_factory=dict)
    called: dict[str, str] = field(default_factory=dict)
    missing: int = 0
    missing_ids: tuple[str, ...] = ()
    unknown: int = 0
    unknown_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Half:
    """One of the two sources: its id and the names its other columns get."""

    side: Side
    source: Source
    key: str
    names: dict[str, str]

    def table(self) -> str:
        return "gold" if self.side == "reference" else "predictions"

    def read(self, text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        return self.source.batches([column for column, name in self.names.items() if name in text])


def join(predictions: Source, gold: Source, on: str) -> Joined:
    """Match predictions to gold by the column ``on``, or ``left=right`` where it has two names.

    Ids are compared as text: 7 is ``"7"`` and not ``"007"``. The id is gold's; a gold column whose name a prediction
    column has too gets ``_gold`` behind its name. Both sources are read twice; what does not fit DuckDB's memory limit
    goes to a temporary folder.

    Raises :class:`~karat.core.errors.ColumnError` where a side has no such column, and
    :class:`~karat.core.errors.JoinError` for ids that are null or not unique.

    >>> from karat.data.frames import open_frame
    >>> joined = join(open_frame({"id": ["7", "9"], "answer": ["a", "b"]}), open_frame({"id": [7, 8]}), "id")
    >>> [batch.to_pylist() for batch in joined.batches()], joined.missing_ids, joined.unknown_ids
    ([[{'id': 7, 'answer': 'a'}, {'id': 8, 'answer': None}]], ('8',), ('9',))
    """
    left, _, right = on.partition("=")
    halves = _name_columns(predictions, left, gold, right or left)
    with work_on() as bench:
        for half in halves:
            bench.load(half.table(), half.source.batches(), half.key, {})
            _check_ids(bench, half)
        missing, missing_ids = bench.unmatched("gold", "predictions")
        unknown, unknown_ids = bench.unmatched("predictions", "gold")
    schema = pa.schema(
        [half.source.schema.field(column).with_name(name) for half in halves for column, name in half.names.items()]
    )

    def read(text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        with work_on() as bench:
            for half in halves:
                bench.load(half.table(), half.read(text), half.key, half.names)
            yield from bench.matched(schema)

    return Joined(
        name=f"{predictions.name} on {gold.name}",
        schema=schema,
        rows=gold.rows,
        read=read,
        respells=predictions.respells or gold.respells,
        sides={name: half.side for half in halves for name in half.names.values()},
        called={name: column for half in halves for column, name in half.names.items()},
        missing=missing,
        missing_ids=missing_ids,
        unknown=unknown,
        unknown_ids=unknown_ids,
    )


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
    return _Half("reference", gold, right, ours), _Half("prediction", predictions, left, named)


def _check_ids(bench: Bench, half: _Half) -> None:
    where = f"{half.table()} ({half.source.name}), column {half.key!r}"
    if nulls := bench.null_rows(half.table()):
        raise JoinError(f"{where}: the id is null in row {', '.join(map(str, nulls))}; expected an id in every row")
    if twice := bench.twice(half.table()):
        found = "; ".join(f"{key!r} in rows {', '.join(map(str, rows))}" for key, rows in twice)
        raise JoinError(f"{where}: expected every id once, found {found}")
