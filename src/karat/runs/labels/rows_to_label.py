"""Rows that people label: their ids and what is shown of them, without scores and names of systems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.json_text import decode_text
from karat.core.errors import DataError, JoinError, RowError, SpecError
from karat.data.filter import filter_rows
from karat.data.json.raw import spell_ids
from karat.data.open import open_source
from karat.data.roles import matches_role, singular
from karat.data.source import Source
from karat.data.storage.batches import DiskTable
from karat.data.storage.file_names import name_row
from karat.runs.columns.ids import find_id
from karat.runs.labels.layout import LABELS, PROBABILITY
from karat.runs.labels.shown import (
    ROLES,
    assign_roles,
    check_columns,
    check_shown,
    find_role,
    run_columns,
    title_columns,
)
from karat.runs.labels.systems import SYSTEM
from karat.runs.store.folders import find_run
from karat.runs.store.run import Run, open_run

BESIDE = ("label", "annotator", PROBABILITY, SYSTEM)
"""The columns that a file of `karat label --next` has beside the id and what a person sees."""


@dataclass(frozen=True)
class RowToLabel:
    """One row to label; `system` and `probability` are None where the rows have none."""

    id: str
    system: str | None
    probability: float | None


@dataclass(frozen=True)
class RowsToLabel:
    """The rows of one or several systems. `shown` are the titles of the columns that an annotator sees, in order."""

    rows: Sequence[RowToLabel]
    shown: tuple[str, ...]
    tables: Sequence[DiskTable]

    def read(self, at: int) -> dict[str, Any]:
        """What is shown of the row at this position, by title."""
        for table in self.tables:
            if at < len(table):
                batch = table.take(pa.array([at]))
                return {name: _show(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}
            at -= len(table)
        raise IndexError(at)


def open_rows_to_label(sources: Sequence[Any], on: str | None = None, show: Sequence[str] = ()) -> RowsToLabel:
    """Open rows to label: runs by name, or what `karat.score` reads; several are several systems.

    `on` is the column of the ids, by default one that tells rows apart. `show` names the columns to show, by default
    those that are known as question, contexts, reference and prediction; of a run those that were scored. A column
    whose name is the user's own, which may be a system's, is shown as "answer", "gold" or "question". A column
    `probability` is kept for the labels; beside it, rows that have a `label` already are left out, and a column
    `system` says whose answer a row has, as in a file of `karat label --next`.

    Raises `ColumnError` where a column does not exist, and where question, answer and gold are not all known, unless
    `show` names what is shown or the rows are of a run or of `karat label --next`, which need one of question, contexts
    and gold beside the answer; `JoinError` for ids that are missing or
    not unique.

    >>> rows = [{"id": 7, "question": "?", "answer": "Paris", "gold": "Paris", "exact_match": 1.0}]
    >>> opened = open_rows_to_label([rows])
    >>> opened.rows[0].id, opened.read(0)
    ('7', {'question': '?', 'gold': 'Paris', 'answer': 'Paris'})
    """
    opened = [_open(each) for each in sources]
    systems = [name for name, _, _ in opened]
    rows, tables, shown = list[RowToLabel](), [], dict[str, None]()
    for name, source, known in opened:
        ids, columns = _find(source, name, on, show, known)
        own = list(_read_rows(source, ids, name if len(sources) > 1 else None))
        titles = title_columns(columns, [*systems, *{row.system for row in own if row.system is not None}])
        rows += own
        kept = (batch.rename_columns(list(titles.values())) for batch in source.batches(columns))
        tables.append(
            DiskTable(pa.schema([source.schema.field(column).with_name(titles[column]) for column in columns]), kept)
        )
        shown |= dict.fromkeys(titles.values())
    return RowsToLabel(rows, tuple(shown), tables)


def check_whole(rows: Sequence[RowToLabel]) -> None:
    """Raise `SpecError` for rows of which an interval over all rows would not be valid."""
    if any(row.probability is not None for row in rows):
        problem = "these rows were drawn with probabilities, and are a part of a table"
        raise SpecError(f"{problem}: a rule for labels (--until-width) needs the table itself")
    if len({row.system for row in rows}) > 1:
        raise SpecError("a rule for labels (--until-width) is about the rows of one system, found several")


def _open(source: Any) -> tuple[str, Source, Run | None]:
    """The name of a system, its rows, and the run that they are of."""
    if isinstance(source, str) and find_run(source) is not None:
        run = open_run(source)
        return run.name, open_source(run.rows), run
    opened = open_source(source)
    if _is_proposed(opened):
        opened = filter_rows(opened, "label IS NULL OR CAST(label AS VARCHAR) = ''", None)
    return opened.name, opened, None


def _find(
    source: Source, name: str, on: str | None, show: Sequence[str], run: Run | None
) -> tuple[str, dict[str, str | None]]:
    """The column of ids, and those that are shown, each with its role."""
    names, proposed = source.schema.names, _is_proposed(source)
    key = on or (names[0] if proposed else find_id(source))
    check_columns((key, *show), names, name)
    if show:
        return key, {column: find_role(column) for column in show}
    if run is not None:
        roles = run_columns(run)
        check_shown(roles, names, name, every="prediction" not in run.manifest.mapping)
        return key, {column: role for role, column in roles.items()}
    if proposed:
        others = (column for column in names if column not in (key, *BESIDE) or find_role(column) == "question")
        seen = {column: find_role(column) for column in others}
        check_shown([role for role in seen.values() if role], names, name, every=False)
        return key, seen
    roles = assign_roles(names, {})
    check_shown(roles, names, name, every=True)
    more = (
        (column, role)
        for role in ROLES
        for column in names
        if matches_role(role, column) and singular(column) not in LABELS
    )
    return key, dict(sorted({**dict(more), **{column: role for role, column in roles.items()}}.items(), key=_place))


def _place(column: tuple[str, str | None]) -> int:
    """The place of a column among those that are shown."""
    return list(ROLES).index(column[1]) if column[1] else len(ROLES)


def _is_proposed(source: Source) -> bool:
    """Whether rows come from `karat label --next`, which writes their ids first."""
    return {PROBABILITY, "label"} <= set(source.schema.names)


def _read_rows(source: Source, on: str, system: str | None) -> Iterator[RowToLabel]:
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
            yield RowToLabel(row, of, chance)


def _show(column: pa.Array) -> Any:
    """The first value of a column; numbers in JSON text as they are spelled there, objects as JSON text."""
    with suppress(RowError):
        return decode_text(column)[0].as_py()
    return column.storage[0].as_py()
