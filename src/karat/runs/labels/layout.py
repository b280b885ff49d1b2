"""The layout of a table of labels: which columns hold ids, annotators, labels and probabilities."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_number, is_text
from karat.core.errors import ColumnError, DataError, JoinError, did_you_mean
from karat.data.json.raw import decode_text, spell_ids
from karat.data.open import open_source
from karat.data.roles import singular
from karat.data.source import RAW, Source
from karat.runs.labels.journal import ACTIONS, live_rows

PROBABILITY = "probability"
"""The column of the probability with which a row was proposed for labelling."""
SYSTEM = "system"
ANNOTATORS = (
    "annotator",
    "annotator_id",
    "rater",
    "rater_id",
    "worker",
    "worker_id",
    "labeler",
    "labeller",
    "reviewer",
)
LABELS = (
    "label",
    "score",
    "rating",
    "grade",
    "verdict",
    "human",
    "human_label",
    "human_score",
    "judgement",
    "judgment",
)
_ASIDE = (PROBABILITY, SYSTEM, "action", "note", "time", "comment")
_ONE_OF_SEVERAL = re.compile(rf"(?:{'|'.join((*ANNOTATORS, *LABELS))})(?:_?\d+|_[a-z])")


def read_entries(
    source: Any, on: str | None, columns: Sequence[str], system: str | None, where: str
) -> tuple[pa.Table, str, int]:
    """One row for each label of each annotator: `row` (from 1), `id`, `annotator`, `label`, and the probability.

    Also the name of the source and the number of its rows. All columns but `row` and the probability are texts.

    Raises `ColumnError` and `JoinError` as `read_labels` does.
    """
    opened = open_source(source)
    name = opened.name if isinstance(source, str | PathLike | Source) else where
    who, labelled = _find_columns(opened.schema, on, columns, name)
    names = opened.schema.names
    aside = [column for column in (PROBABILITY, SYSTEM, "action") if column in names and column not in labelled]
    wanted = list(dict.fromkeys([*([on] if on else []), *([who] if who else []), *labelled, *aside]))
    schema = opened.schema_as(wanted)
    batches = (batch.select(wanted) for batch in opened.batches(wanted))
    table = pa.Table.from_batches(batches, pa.schema([schema.field(column) for column in wanted])).combine_chunks()
    rows, kept = len(table), np.arange(len(table))
    texts = {column: _to_text(table, column, name) for column in (*labelled, *([who] if who else []))}
    ids = pa.array(kept + 1).cast(pa.large_string())
    if on is not None:
        ids = pc.if_else(pc.equal(spelled := spell_ids(_one(table, on), f"{name}: column {on!r}"), ""), None, spelled)
    if SYSTEM in aside:
        kept = kept[_of_system(_to_text(table, SYSTEM, name), system, name)]
    if "action" in aside and who is not None:
        actions = _to_text(table, "action", name)
        if set(pc.unique(actions).to_pylist()) <= ACTIONS:
            kept = kept[live_rows(*(column.take(pa.array(kept)).to_pylist() for column in (ids, texts[who], actions)))]
    parts = []
    for column in labelled:
        there = kept[np.asarray(texts[column].is_valid())[kept]]
        people = (
            texts[who].take(pa.array(there)) if who else pa.repeat(pa.scalar(column, pa.large_string()), len(there))
        )
        part = {"row": pa.array(there + 1), "id": ids.take(pa.array(there)), "annotator": people,
                "label": texts[column].take(pa.array(there))}  # fmt: skip
        if PROBABILITY in aside:
            part[PROBABILITY] = _to_numbers(table, name).take(pa.array(there))
        parts.append(pa.table(part))
    entries = pa.concat_tables(parts).sort_by("row")
    for column, error, title in (("id", JoinError, on), ("annotator", DataError, who)):
        if entries[column].null_count:
            row = entries["row"][pc.index(entries[column].is_null(), value=True).as_py()].as_py()
            raise error(f"{name}, row {row}: column {title!r} is empty beside a label; expected a value")
    return entries, name, rows


def _find_columns(schema: pa.Schema, on: str | None, chosen: Sequence[str], where: str) -> tuple[str | None, list[str]]:
    """The column of annotators, where there is one, and the columns of labels."""
    for column in (*([on] if on else []), *chosen):
        if column not in schema.names:
            raise ColumnError(f"{where}: there is no column {column!r}{did_you_mean(column, schema.names)}")
    free = [name for name in schema.names if name != on]
    people = [name for name in free if singular(name) in ANNOTATORS and name not in chosen]
    if len(people) > 1:
        raise _several(where, "annotators", people)
    who = people[0] if people else None
    if chosen:
        return who, list(chosen)
    free = [name for name in free if name != who and singular(name) not in _ASIDE]
    plain = [name for name in free if singular(name) in LABELS]
    numbered = [name for name in free if _ONE_OF_SEVERAL.fullmatch(singular(name))]
    if len(plain) > 1 or (plain and numbered):
        raise _several(where, "labels", [*plain, *numbered])
    if found := plain or numbered or (free if len(free) == 1 else []):
        return who, found
    shown = f"; its columns are {', '.join(schema.names)}"
    raise ColumnError(f"{where}: no column holds labels by its name, such as label or annotator1{shown}. {_REMEDY}")


_REMEDY = "Say which: --label-column COLUMN (in Python, read_labels(columns=[…]))"


def _several(where: str, kind: str, names: Sequence[str]) -> ColumnError:
    return ColumnError(f"{where}: {' and '.join(map(repr, names))} could hold the {kind}. {_REMEDY}")


def _one(table: pa.Table, name: str) -> pa.Array:
    return table.column(name).combine_chunks()


def _to_text(table: pa.Table, name: str, where: str) -> pa.Array:
    """A column as text, large_string; null for null, NaN and a cell without characters but spaces."""
    column = _one(table, name)
    try:
        column = decode_text(column) if column.type == RAW else column
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), None, column)
        if not (is_text(column.type) or is_number(column.type)):
            raise ColumnError(f"{where}: column {name!r} holds {column.type}; expected one text or number a row")
        column = column.cast(pa.large_string())
    except DataError as error:
        raise ColumnError(f"{where}: column {name!r}, {error}") from None
    return pc.if_else(pc.equal(pc.utf8_trim_whitespace(column), ""), None, column)


def _to_numbers(table: pa.Table, where: str) -> pa.Array:
    """The column of probabilities as numbers, NaN where it is empty."""
    texts = _to_text(table, PROBABILITY, where)
    try:
        return texts.cast(pa.float64()).fill_null(np.nan)
    except pa.ArrowInvalid as error:
        raise ColumnError(f"{where}: column {PROBABILITY!r}: expected numbers: {error}") from None


def _of_system(systems: pa.Array, system: str | None, where: str) -> np.ndarray[Any, Any]:
    """Which rows are of a system; `DataError` where it is not said which of several."""
    names = pc.unique(systems).to_pylist()
    if system in names:
        return np.asarray(pc.equal(systems, system).fill_null(False))
    if system is not None or len(names) > 1:
        wanted = "one system" if system is None else repr(system)
        shown = did_you_mean(system or "", filter(None, names))
        raise DataError(f"{where}: its column {SYSTEM!r} names {len(names)} systems, {wanted} is expected{shown}")
    return np.ones(len(systems), bool)
