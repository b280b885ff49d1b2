"""The layout of a table of labels: which columns hold ids, annotators, labels and probabilities."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_number, is_text
from karat.core.columns.json_text import decode_text
from karat.core.columns.kinds import Array
from karat.core.errors import ColumnError, DataError, JoinError, RowError, did_you_mean
from karat.data.json.raw import spell_ids
from karat.data.open import open_source
from karat.data.roles import singular
from karat.data.source import Source
from karat.data.storage.file_names import name_row
from karat.runs.labels.journal import ACTIONS, ASIDES, live_rows
from karat.runs.labels.systems import SYSTEM, find_system

PROBABILITY = "probability"
"""The column beside labels that says with which probability a row was proposed for labelling."""
_JOURNAL = frozenset({"id", "annotator", "action"})  # columns of what a session of labelling writes
ANNOTATORS = frozenset(
    {"annotator", "annotator_id", "rater", "rater_id", "worker", "worker_id", "labeler", "labeller", "reviewer"}
)
LABELS = frozenset(
    {"label", "score", "rating", "grade", "verdict", "human", "human_label", "human_score", "judgement", "judgment"}
)
_ASIDE = (PROBABILITY, SYSTEM, "action", "note", "comment", "time")
_ONE_OF_SEVERAL = re.compile(rf"(?:{'|'.join(sorted(ANNOTATORS | LABELS))})(?:_?\d+|_[a-z])")


@dataclass(frozen=True)
class _LabelColumns:
    """The columns of a table of labels: one of annotators and one of the labels' scores, where there are such.

    Without `on` the labels are columns of scored rows: the columns beside them are not about the labels.
    """

    on: str | None
    annotator: str | None
    labels: tuple[str, ...]
    score: str | None

    def select(self, source: Source) -> pa.Table:
        """These columns, and those that may stand beside labels."""
        beside = (name for name in (PROBABILITY, SYSTEM, "action", "note") if name in source.schema.names and self.on)
        wanted = list(dict.fromkeys(filter(None, (self.on, self.annotator, self.score, *self.labels, *beside))))
        schema = pa.schema([source.schema.field(column) for column in wanted])
        return pa.Table.from_batches(source.batches(wanted), schema).combine_chunks()


def read_entries(
    source: Any, on: str | None, columns: Sequence[str], system: str | None
) -> tuple[pa.Table, str, int, bool, list[str]]:
    """One row for each label of each annotator: `row` (from 1), `id`, `annotator`, `label`, `score`, `probability`.

    Also the name of the source, the number of its rows, whether it names the annotators, and who of them was stopped by
    a rule, and how. The ids, annotators and
    labels are texts; the last two columns are there where the table has them.

    Raises `ColumnError` and `JoinError` as `read_labels` does.
    """
    opened = open_source(source)
    name = opened.name if isinstance(source, str | PathLike | Source) else "labels"
    if on is not None and on not in opened.schema.names and _JOURNAL.issubset(opened.schema.names):
        on = "id"  # whatever the rows call theirs
    layout = _find_layout(opened.schema, on, columns, name)
    table = layout.select(opened)
    texts = {column: _to_text(table, column, name) for column in filter(None, (layout.annotator, *layout.labels))}
    row = pa.array(np.arange(1, len(table) + 1))
    ids = row.cast(pa.large_string()) if on is None else _to_ids(table, on, name)
    kept, stops = np.arange(len(table)), list[str]()
    if SYSTEM in table.column_names:
        kept = kept[_of_system(_to_text(table, SYSTEM, name), system, name)]
    if "action" in table.column_names and layout.annotator is not None:
        actions = _to_text(table, "action", name)
        if set(pc.unique(actions).to_pylist()) <= ACTIONS:
            stops = _find_stops(table, texts[layout.annotator], actions, name)
            lines = (column.take(pa.array(kept)).to_pylist() for column in (ids, texts[layout.annotator], actions))
            kept = kept[live_rows(*lines)]
    titled = {PROBABILITY: PROBABILITY}
    are_names = "action" in table.column_names or not all(_are_numbers(texts[column]) for column in layout.labels)
    if layout.score is not None and are_names:
        titled[layout.score] = "score"  # beside numbers it is another score, such as the judge's
    numbers = {titled[column]: _to_numbers(table, column, name) for column in table.column_names if column in titled}
    parts = []
    for column in layout.labels:
        labels, nobody = texts[column], pa.repeat(pa.scalar(column, pa.large_string()), len(table))
        people = texts[layout.annotator] if layout.annotator else nobody
        part = pa.table({"row": row, "id": ids, "annotator": people, "label": labels, **numbers})
        parts.append(part.take(pa.array(kept[np.asarray(labels.is_valid())[kept]])))
    entries = pa.concat_tables(parts).sort_by("row")
    for column, error, title in (("id", JoinError, on), ("annotator", DataError, layout.annotator)):
        if entries[column].null_count:
            at = entries["row"][pc.index(entries[column].is_null(), value=True).as_py()].as_py()
            raise error(f"{name_row(name, at)}: column {title!r} is empty beside a label; expected a value")
    return entries, name, len(table), layout.annotator is not None, stops


def _find_stops(table: pa.Table, annotators: pa.Array, actions: pa.Array, where: str) -> list[str]:
    """How a rule ended the labelling of annotators, who have labelled nothing since."""
    if "note" not in table.column_names or "stop" not in (every := actions.to_pylist()):
        return []
    stops = dict[str, str]()
    for who, action, note in zip(
        annotators.to_pylist(), every, _to_text(table, "note", where).to_pylist(), strict=True
    ):
        if action == "stop":
            stops[who] = note
        elif action not in ASIDES:
            stops.pop(who, None)
    return [f"{who} {note}" for who, note in stops.items()]


def _are_numbers(labels: pa.Array) -> bool:
    try:
        labels.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _find_layout(schema: pa.Schema, on: str | None, chosen: Sequence[str], where: str) -> _LabelColumns:
    """Which column holds what; `ColumnError` where that is not known."""
    for column in (*([on] if on else []), *chosen):
        if column not in schema.names:
            remedy = ". If the ids have another name there: --on LEFT=RIGHT (rows=labels)" if column == on else ""
            raise ColumnError(f"{where}: there is no column {column!r}{did_you_mean(column, schema.names)}{remedy}")
    free = [name for name in schema.names if name != on and name not in chosen and singular(name) not in _ASIDE]
    people = [name for name in free if singular(name) in ANNOTATORS]
    if len(people) > 1:
        raise _several(where, "annotators", people)
    annotator = people[0] if people else None
    named = {singular(name): name for name in free if singular(name) in LABELS}
    score = named.pop("score") if "label" in named and "score" in named and not chosen else None
    if chosen:
        return _LabelColumns(on, annotator, tuple(chosen), None)
    numbered = [name for name in free if _ONE_OF_SEVERAL.fullmatch(singular(name))]
    if len(named) > 1 or (named and numbered):
        raise _several(where, "labels", [*named.values(), *numbered])
    alone = [name for name in free if name != annotator]
    if columns := [*named.values()] or numbered or (alone if len(alone) == 1 else []):
        return _LabelColumns(on, annotator, tuple(columns), score)
    shown = f"; its columns are {', '.join(schema.names)}"
    raise ColumnError(f"{where}: no column holds labels by its name, such as label or annotator1{shown}. {_REMEDY}")


_REMEDY = "Say which: --label-column COLUMN (in Python, karat.Labels(…, columns=[…]))"


def _several(where: str, kind: str, names: Sequence[str]) -> ColumnError:
    return ColumnError(f"{where}: {' and '.join(map(repr, names))} could hold the {kind}. {_REMEDY}")


def _to_ids(table: pa.Table, name: str, where: str) -> pa.Array:
    """A column of ids as text, null where it is empty."""
    return spell_ids(table.column(name).combine_chunks(), f"{where}: column {name!r}")


def _to_text(table: pa.Table, name: str, where: str) -> pa.Array:
    """A column as text, large_string; null for null, NaN and a cell of spaces alone."""
    column = table.column(name).combine_chunks()
    try:
        column = decode_text(column)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), None, column)
        if not (is_text(column.type) or is_number(column.type)):
            raise ColumnError(f"{where}: column {name!r} holds {column.type}; expected one text or number a row")
        column = column.cast(pa.large_string())
    except RowError as error:
        raise ColumnError(f"{where}: column {name!r}, {error}") from None
    return pc.if_else(pc.equal(pc.utf8_trim_whitespace(column), ""), None, column)


def _to_numbers(table: pa.Table, name: str, where: str) -> pa.Array:
    """A column as numbers, NaN where it is empty."""
    try:
        return _to_text(table, name, where).cast(pa.float64()).fill_null(np.nan)
    except pa.ArrowInvalid as error:
        raise ColumnError(f"{where}: column {name!r}: expected numbers: {error}") from None


def _of_system(systems: pa.Array, system: str | None, where: str) -> Array:
    """Which rows are of a system, or all where none is named; `DataError` where the table names several then."""
    names = pc.unique(systems).to_pylist()
    if system is not None:
        known = find_system(system, filter(None, names))
        return np.asarray(pc.equal(systems, known or system).fill_null(False))
    if len(names) > 1:
        shown = did_you_mean("", filter(None, names))
        raise DataError(f"{where}: its column {SYSTEM!r} names {len(names)} systems, one system is expected{shown}")
    return np.ones(len(systems), bool)
