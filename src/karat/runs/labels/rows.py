"""Rows that people label: their ids and what is shown of them, without scores and names of systems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.errors import ColumnError, DataError, JoinError, RowError, did_you_mean
from karat.data.filter import filter_rows
from karat.data.json.raw import decode_text, spell_ids
from karat.data.open import open_source
from karat.data.roles import matches_role, singular
from karat.data.source import RAW, Source
from karat.data.storage.disk_table import DiskTable
from karat.data.storage.file_names import name_row
from karat.runs.columns.ids import find_id
from karat.runs.labels.layout import LABELS, PROBABILITY
from karat.runs.labels.systems import SYSTEM
from karat.runs.store.run import Run, find_run, open_run

_ROLES = ("question", "contexts", "reference", "prediction")


@dataclass(frozen=True)
class Row:
    """One row to label; `system` and `probability` are None where the rows have none."""

    id: str
    system: str | None
    probability: float | None


@dataclass(frozen=True)
class LabelRows:
    """The rows of one or several systems. `shown` names the columns that an annotator sees, in order."""

    rows: Sequence[Row]
    shown: tuple[str, ...]
    tables: Sequence[DiskTable]
    name: str

    def read(self, at: int) -> dict[str, Any]:
        """What is shown of the row at this position, by column."""
        for table in self.tables:
            if at < len(table):
                batch = table.take(pa.array([at]))
                return {name: _show(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}
            at -= len(table)
        raise IndexError(at)


def open_rows(sources: Sequence[Any], on: str | None = None, show: Sequence[str] = ()) -> LabelRows:
    """Open rows to label: runs by name, or what `karat.score` reads; several are several systems.

    `on` is the column of the ids, by default one that tells rows apart. `show` names the columns to show, by default
    those whose names are known as question, contexts, reference and prediction. A column `probability` is kept for the
    labels; beside it, rows that have a `label` already are left out, and a column `system` says whose answer a row has,
    as in a file of `karat label-next`.

    Raises `ColumnError` where a column does not exist or none is recognised, `JoinError` for ids that are missing or
    not unique.

    >>> opened = open_rows([[{"id": 7, "question": "?", "answer": "Paris", "exact_match": 1.0}]])
    >>> opened.rows[0].id, opened.read(0)
    ('7', {'question': '?', 'answer': 'Paris'})
    """
    rows, tables, shown = list[Row](), [], dict[str, None]()
    for each in sources:
        name, source, mapping = _open(each)
        ids, columns = _find(source, name, on, list(show) or [mapping[role] for role in _ROLES if role in mapping])
        rows += _read_rows(source, ids, name if len(sources) > 1 else None)
        schema = source.schema_as(columns)
        kept = (batch.select(columns) for batch in source.batches(columns))
        tables.append(DiskTable(pa.schema([schema.field(column) for column in columns]), kept))
        shown |= dict.fromkeys(columns)
    return LabelRows(rows, tuple(shown), tables, ", ".join(map(str, sources)) if sources else "")


def _open(source: Any) -> tuple[str, Source, dict[str, str]]:
    """The name of a system, its rows, and the columns of roles that are known of a run."""
    if isinstance(source, str) and find_run(source) is not None:
        run = open_run(source)
        return run.name, open_source(run.rows), shown_columns(run)
    opened = open_source(source)
    if _is_proposed(opened):
        opened = filter_rows(opened, "label IS NULL OR CAST(label AS VARCHAR) = ''", None)
    return opened.name, opened, {}


def _find(source: Source, name: str, on: str | None, shown: list[str]) -> tuple[str, list[str]]:
    """The column of ids, and those that are shown."""
    names = source.schema.names
    found = on or (names[0] if _is_proposed(source) else find_id(source))
    for column in (found, *shown):
        if column not in names:
            raise ColumnError(f"{name}: there is no column {column!r}{did_you_mean(column, names)}")
    seen = shown or [
        column for role in _ROLES for column in names if matches_role(role, column) and singular(column) not in LABELS
    ]
    if not seen:
        columns = f"its columns are {', '.join(names)}"
        raise ColumnError(f"{name}: no column to show has a known name; {columns}. Say which: --show COLUMN")
    return found, list(dict.fromkeys(seen))


def _is_proposed(source: Source) -> bool:
    """Whether rows are those of `karat label-next`, which writes their ids first."""
    return {PROBABILITY, "label"} <= set(source.schema.names)


def shown_columns(run: Run) -> dict[str, str]:
    """The column of each role that a person needs to see: as the run was scored, else by its name.

    Where a name fits several roles, as many roles as can be get a column.
    """
    mapping = {role: name for role, name in run.manifest.mapping.items() if role in _ROLES}
    taken = {*mapping.values(), *(metric.column for metric in run.manifest.metrics)}
    free = [name for name in run.schema.names if name not in taken and singular(name) not in LABELS]
    roles = [role for role in _ROLES if role not in mapping]
    fitting = [[*(name for name in free if matches_role(role, name)), None] for role in roles]
    ways = (way for way in product(*fitting) if len({*filter(None, way)}) == len(way) - way.count(None))
    best = min(ways, key=lambda way: way.count(None))
    found = mapping | {role: name for role, name in zip(roles, best, strict=True) if name is not None}
    return {role: found[role] for role in _ROLES if role in found}


def _read_rows(source: Source, on: str, system: str | None) -> Iterator[Row]:
    seen: dict[tuple[str | None, str], int] = {}
    beside = [
        name for name in (PROBABILITY, *([SYSTEM] if _is_proposed(source) else ())) if name in source.schema.names
    ]
    for batch in source.batches([on, *beside]):
        where = f"{source.name}: column {on!r}"
        ids = spell_ids(batch.column(on), where, len(seen) + 1).to_pylist()
        texts = {name: batch.column(name).cast(pa.string()) for name in beside}
        systems = texts[SYSTEM].to_pylist() if SYSTEM in texts else [system] * len(batch)
        chances: list[float | None] = [None] * len(batch)
        if PROBABILITY in texts:
            filled = pc.if_else(pc.equal(texts[PROBABILITY], ""), None, texts[PROBABILITY])
            chances = np.asarray(filled.cast(pa.float64())).tolist()
        for row, of, chance in zip(ids, systems, chances, strict=True):
            if (key := (of, row)) in seen or not row:
                problem = f"has {row!r} in row {seen[key] + 1} too" if key in seen else "is empty"
                place = name_row(source.name, len(seen) + 1)
                raise JoinError(f"{place}: column {on!r} {problem}; expected an id of its own in every row")
            seen[key] = len(seen)
            if chance is not None and not 0 < chance <= 1:
                expected = "expected a number above 0 and up to 1"
                raise DataError(f"{name_row(source.name, len(seen))}: the probability is {chance:g}; {expected}")
            yield Row(row, of, chance)


def _show(column: pa.Array) -> Any:
    """The first value of a column; numbers in JSON text as they are spelled there, objects as JSON text."""
    with suppress(RowError):
        return (decode_text(column) if column.type == RAW else column)[0].as_py()
    return column.storage[0].as_py()
