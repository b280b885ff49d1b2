"""A gold patch applied to a table: checked against all of its rows, then put in place batch by batch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import from_numpy, is_list, is_text, lists_of_one
from karat.core.columns.json_text import ITEMS, RAW
from karat.core.columns.kinds import Array
from karat.core.columns.python_values import to_python
from karat.core.errors import ColumnError, DataError, JoinError, did_you_mean
from karat.core.metric.rows import Rows
from karat.data.json.raw import spell_ids
from karat.data.json.texts import list_golds, read_json
from karat.data.json.values import value_type
from karat.data.paths.listed import read_references
from karat.data.source import Source
from karat.data.storage.file_names import name_row
from karat.runs.columns.gold_patch import GoldChange, GoldPatch
from karat.runs.columns.ids import id_columns

_NO_GOLD = "reference is null"  # the engine's reason for a row without gold


@dataclass(frozen=True)
class PatchedGold:
    """A patch of the gold in a column of a table, whose rows are told apart by the column `id`.

    `schema` is the table's with the patch: its gold becomes lists where rows get several.
    """

    patch: GoldPatch
    id: str
    gold: str
    schema: pa.Schema

    def apply(self, source: Source) -> Source:
        """The source with the patched gold; rows that are not to be scored have none."""
        schema = pa.schema([self.schema.field(name) for name in source.schema.names])

        def patch(batch: pa.RecordBatch) -> pa.RecordBatch:
            at = batch.schema.get_field_index(self.gold)
            columns = [*batch.columns]
            columns[at] = self._put(batch)
            return pa.RecordBatch.from_arrays(columns, schema=schema)

        def read() -> Iterator[pa.RecordBatch]:
            return map(patch, source.batches())

        def read_numbered() -> Iterator[tuple[Array, pa.RecordBatch]]:
            return ((numbers, patch(batch)) for numbers, batch in source.numbered_batches())

        return replace(source, schema=schema, read=read, numbered=read_numbered)

    def explain(self, scored: Sequence[Rows], batch: pa.RecordBatch) -> list[Rows]:
        """The scored rows of a batch; those without gold because of the patch say so."""
        unscored = {at: change.reason for at, change in self.changes_in(batch).items() if change.reason}
        rows = np.array(sorted(unscored), int)
        return [
            each if each.reasons is None or not unscored else self._explain(each, rows, unscored) for each in scored
        ]

    def _explain(self, scored: Rows, rows: Array, unscored: Mapping[int, str]) -> Rows:
        reasons = [None] * len(scored.statistics) if scored.reasons is None else scored.reasons.tolist()
        for at in rows.tolist():
            reasons[at] = unscored[at] if reasons[at] == _NO_GOLD else reasons[at]
        return replace(scored, reasons=np.array(reasons, object))

    @cached_property
    def _ids(self) -> pa.Array:
        return pa.array(self.patch.changes, pa.large_string())

    def changes_in(self, batch: pa.RecordBatch) -> dict[int, GoldChange]:
        """The changes in a batch, by the number of their row in it."""
        ids = spell_ids(batch.column(self.id), f"column {self.id!r}")
        places = np.flatnonzero(np.asarray(pc.is_in(ids, self._ids)))
        return {int(at): self.patch.changes[ids[at].as_py()] for at in places}

    def _put(self, batch: pa.RecordBatch) -> pa.Array:
        """The column of gold with the changes in it."""
        column, kind = batch.column(self.gold), self.schema.field(self.gold).type
        if is_list(kind) and is_text(column.type):
            column = lists_of_one(column.cast(kind.value_type))
        changed = {at: each for at, each in self.changes_in(batch).items() if each.verdict != "right"}
        if not changed:
            return column
        field = self.schema.field(self.gold)
        cells = [None if each.reason else make_cell(each.gold, field) for each in changed.values()]
        storage = column.storage if kind == RAW else column
        new = pa.array(cells, storage.type)
        places = np.arange(len(column))
        places[list(changed)] = len(column) + np.arange(len(changed))
        whole = pa.concat_arrays([storage, new]).take(from_numpy(places))
        return whole.cast(RAW) if kind == RAW else whole


def patch_gold(source: Source, patch: GoldPatch, mapping: Mapping[str, str], joined: str = "") -> PatchedGold:
    """A patch for the gold of a table, after all of its rows were checked.

    `mapping` has the columns of roles, `joined` the id by which rows were joined with their gold, or are told apart, ID
    or ID=OTHER; by default it is the column of ids that holds the patch's.

    Raises `ColumnError` where no metric reads gold, or it is of a type that is not patched; `JoinError`, with the
    nearest id, for an id that no row has; `DataError` for a row whose gold is not what the patch says that it was.
    """
    if (gold := mapping.get("reference")) is None:
        raise ColumnError(f"{patch.name} changes gold, but no metric reads any from {source.name}")
    field = source.schema.field(gold)
    several = any(len(each.gold) > 1 for each in patch.changes.values() if not each.reason)
    _check_kind(field, f"{source.name}: column {gold!r}")
    if several and is_text(field.type):
        field = pa.field(field.name, pa.large_list(pa.large_string()))
    schema = source.schema.set(source.schema.get_field_index(gold), field)
    patched = PatchedGold(patch, _find_ids(source, patch, mapping, joined), gold, schema)
    _check_rows(source, patched, lists=several)
    return patched


def _find_ids(source: Source, patch: GoldPatch, mapping: Mapping[str, str], joined: str) -> str:
    """The column of ids that has all ids of a patch."""
    columns = list(dict.fromkeys(filter(None, id_columns(source.schema, mapping, joined))))
    if joined:
        left, _, right = joined.partition("=")
        columns = [name for name in (right, left) if name in source.schema.names][:1]
        if not columns:
            raise ColumnError(f"{source.name}: no column {left!r}{did_you_mean(left, source.schema.names)}")
    ids_of = dict[str, set[str]]()
    for name in columns:
        there, first = set[str](), 1
        try:
            for batch in source.batches([name]):
                ids = spell_ids(batch.column(name), f"{source.name}: column {name!r}", first).drop_null()
                there.update(ids.to_pylist())
                first += len(batch)
        except JoinError:  # it holds lists or objects
            continue
        if there.issuperset(patch.changes):
            return name
        ids_of[name] = there
    if not ids_of:
        problem = f"a gold patch names rows by their id, but no column of {source.name} has the name of one"
        raise JoinError(f"{patch.name}: {problem}: say which, --on COLUMN (in Python, on=)")
    name, there = min(ids_of.items(), key=lambda each: len(patch.changes.keys() - each[1]))
    unknown = [row for row in patch.changes if row not in there]
    near = did_you_mean(unknown[0], there, total=len(there))
    more = f" ({len(unknown)} such ids)" if len(unknown) > 1 else ""
    raise JoinError(f"{patch.place(unknown[0])}: no row of {source.name} has the {name} {unknown[0]!r}{more}{near}")


def _check_rows(source: Source, patched: PatchedGold, *, lists: bool) -> None:
    """Raise `DataError` for the first row whose gold is not as it was when people looked at it."""
    first, patch = 0, patched.patch
    for batch in source.batches():
        column, changes = batch.column(patched.gold), patched.changes_in(batch)
        if lists and is_text(column.type):  # the last time that a list in one text is noticed
            numbers = np.arange(first, first + len(batch))
            read_references(column, batch, patched.gold, f"{source.name}: column {patched.gold!r}", numbers)
        for at, cell in zip(changes, read_golds(batch, patched.gold, list(changes)), strict=True):
            change = changes[at]
            if cell != change.old:
                where = f"{name_row(source.name, first + at + 1)}, column {patched.gold!r}"
                problem = f"the gold of {change.id!r} was {_show(change.old)}, but is {_show(cell)} in {where}"
                remedy = "look at this row again, and write the gold that it has as its old one"
                raise DataError(f"{patch.place(change.id)}, column 'old': {problem}: {remedy}")
        first += len(batch)


def read_golds(batch: pa.RecordBatch, name: str, rows: Sequence[int]) -> list[tuple[str, ...]]:
    """The golds of some rows of a batch, from the column at this name, which may be a path to the items of lists."""
    at = pa.array(rows, pa.int64())
    column = batch.column(name).take(at)
    cells = list(map(read_json, column.storage.to_pylist())) if column.type == RAW else to_python(column)
    base = name.removesuffix(ITEMS)
    if base != name and base in batch.schema.names and is_text(batch.schema.field(base).type):
        whole = batch.column(base).take(at).to_pylist()  # a text beside lists in text is a list of its own
        cells = [text if cell is None else cell for cell, text in zip(cells, whole, strict=True)]
    return [tuple(list_golds(cell)) for cell in cells]


def _check_kind(field: pa.Field, where: str) -> None:
    kind = value_type(field)
    inner = kind.value_type if is_list(kind) else kind
    if pa.types.is_nested(inner) and inner != RAW:
        raise ColumnError(f"{where} holds {kind}; a gold patch is for gold that is text, a number, or a list of texts")


def make_cell(golds: tuple[str, ...], field: pa.Field) -> Any:
    """Golds as a value of a column: a text, a list, a number, or JSON text.

    Raises `DataError` where the column cannot hold them.
    """
    kind = value_type(field)
    single = golds[0] if len(golds) == 1 else None
    if field.type == RAW and (kind == RAW or is_list(kind)):
        return json.dumps(single if single is not None and not is_list(kind) else list(golds), ensure_ascii=False)
    if is_list(kind) or is_text(kind):
        return list(golds) if is_list(kind) else single
    try:
        number = pa.array([single]).cast(kind)[0].as_py()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        number = None
    if number is None:
        raise DataError(f"column {field.name!r} holds {kind}, and cannot hold the new gold {_show(golds)}")
    return single if field.type == RAW else number


def _show(golds: tuple[str, ...]) -> str:
    return f"{golds[0] if len(golds) == 1 else list(golds)!r:.200}" if golds else "missing"
