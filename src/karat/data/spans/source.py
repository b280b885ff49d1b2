"""Spans as rows that can be scored: what was asked, said and retrieved beside the columns they have."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import is_text
from karat.core.errors import DataError
from karat.core.parallel import map_ordered
from karat.data.filter import filter_batch
from karat.data.source import Source
from karat.data.spans.fields import ANSWERS, FIELDS, Derived, derive, listed, without_blank
from karat.data.spans.retrievals import Retrievals, find_retrievals
from karat.data.storage.disk_table import DiskTable
from karat.data.storage.duckdb import connect

ADDED = pa.schema([*FIELDS, ("context_spans", pa.list_(pa.string())), ("context_positions", pa.list_(pa.int32()))])
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Found:
    """What was found in all spans: in a temporary file their fields, in memory what relates them.

    Sources that are dear to read have their own columns in that file too, before the fields.
    """

    base: Source
    shelf: DiskTable
    own: int  # columns of the base in the file
    kinds: np.ndarray
    started: np.ndarray
    retrievals: Retrievals

    def pairs(self, text: frozenset[str]) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch, np.ndarray]]:
        """The spans' own columns and their fields, with the numbers of the rows."""
        first = 0
        held = self.own > 0 and not text
        for batch in self.shelf.batches() if held else self.base.read(text):
            rows = np.arange(first, first + batch.num_rows)
            first += batch.num_rows
            own = batch.select(range(self.own)) if held else batch
            yield own, batch.select(self.fields) if held else self.take(rows), rows

    def take(self, rows: np.ndarray) -> pa.RecordBatch:
        """The fields of these rows."""
        return self.shelf.take(pa.array(rows), self.fields)

    @property
    def fields(self) -> list[int]:
        return list(range(self.own, self.own + len(FIELDS)))


@dataclass(frozen=True)
class Spans(Source):
    """Spans, with `question`, `prediction`, `contexts`, `retrieved` and the like beside their own columns."""

    found: Found | None = None
    kinds: Mapping[str, int] = field(default_factory=dict)
    """How many spans of each kind there are."""

    def only(self, kind: str | None = None, since: str | datetime | None = None) -> Spans:
        """The spans of a kind, and those that started at or after a time: see `karat.spans`."""
        if self.found is None or (kind is None and since is None):
            return self
        kept = np.ones(len(self.found.kinds), bool)
        if kind is not None:
            if kind.upper() not in self.kinds:
                there = ", ".join(f"{name} ({count})" for name, count in self.kinds.items()) or "none"
                raise DataError(f"{self.name}: no span is of kind {kind!r}; the kinds there are: {there}")
            kept &= self.found.kinds == kind.upper()
        if since is not None:
            kept &= self.found.started >= (parse_time(since) - _EPOCH) // timedelta(microseconds=1)
        return _assemble(self.found, self.kinds, kept)


def open_spans(source: Source) -> Spans:
    """Spans from a source of them, all of which are looked at first.

    A column of the source that is called as one of ours stays, and ours is not added: with a warning where it is one
    of `ANSWERS`.
    """
    clash = [name for name in ANSWERS if name in source.schema.names]
    if clash and len(clash) < len(ANSWERS):  # with all of them these are spans that karat has read before
        said = f"{source.name}: {', '.join(map(repr, clash))} stay as they are there"
        warnings.warn(f"{said}; what the spans say of these is not added", stacklevel=2)
    return _assemble(*_find(source), None)


def _find(source: Source) -> tuple[Found, dict[str, int]]:
    run, lost = connect(threads="1"), list[int]()
    ids, started, kinds = [np.empty((0, 3), np.uint64)], [np.empty(0, np.int64)], [np.empty(0, object)]
    dear = source.spelled or all(is_text(kind) for kind in source.schema.types)

    def look(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Derived]:
        return batch, derive(batch, run, lost)

    def note() -> Iterator[pa.RecordBatch]:
        for batch, derived in map_ordered(look, source.batches()):
            ids.append(derived.ids)
            started.append(derived.fields.column("start_time").cast(pa.int64()).fill_null(_NEVER).to_numpy())
            each = derived.fields.column("span_kind").fill_null("").dictionary_encode()
            kinds.append(each.dictionary.to_numpy(zero_copy_only=False)[each.indices.to_numpy()])
            columns = [*(batch.columns if dear else ()), *derived.fields.columns]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    schema = pa.schema([*(source.schema if dear else ()), *FIELDS])
    shelf = DiskTable(schema, note())
    if sum(lost):
        warnings.warn(
            f"{source.name}: {sum(lost)} cells should hold attributes but are neither JSON nor Python's text: "
            "what they say is missing",
            stacklevel=3,
        )
    kind, at, each = np.concatenate(kinds), np.concatenate(started), np.concatenate(ids)
    tops = (kind == "CHAIN") | (kind == "AGENT")
    retrievals = find_retrievals(each, at, each[:, 1] == 0, kind == "RETRIEVER", tops)
    counted = Counter(kind[kind != ""].tolist())
    own = len(source.schema) if dear else 0
    return Found(source, shelf, own, kind, at, retrievals), dict(counted.most_common())


def _assemble(found: Found, kinds: Mapping[str, int], kept: np.ndarray | None) -> Spans:
    base = found.base
    added = [name for name in ADDED.names if name not in base.schema.names]

    def read(text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([*base.schema_as(text), *(ADDED.field(name) for name in added)])
        for own, fields, rows in found.pairs(text):
            whole = _with_retrievals(found, fields, rows)
            columns = [*own.columns, *(whole.column(name) for name in added)]
            batch = pa.RecordBatch.from_arrays(columns, schema=schema)
            chosen = batch if kept is None or kept[rows].all() else filter_batch(batch, pa.array(kept[rows]))
            if chosen.num_rows:
                yield chosen

    rows = len(found.kinds) if kept is None else int(kept.sum())
    schema = pa.schema([*base.schema, *(ADDED.field(name) for name in added)])
    return Spans(base.name, schema, rows, read, base.lossy_columns, base.spelled, base.notes, found=found, kinds=kinds)


def _with_retrievals(found: Found, fields: pa.RecordBatch, rows: np.ndarray) -> pa.RecordBatch:
    """The fields of these rows; roots have what the retrievers below them have."""
    columns = list(_with_origins(fields).columns)
    root, retrievers = found.retrievals.of(rows)
    theirs = _with_origins(found.take(retrievers))
    for at in [at for at, kind in enumerate(ADDED.types) if pa.types.is_list(kind)]:
        column = theirs.column(at)
        row = root[pc.list_parent_indices(column).to_numpy()]
        there = np.isin(np.arange(len(rows)), root[column.is_valid().to_numpy(zero_copy_only=False)])
        columns[at] = pc.coalesce(columns[at], listed(pc.list_flatten(column), row, there))
    columns[2:5] = map(without_blank, columns[2:5])
    return pa.RecordBatch.from_arrays(columns, schema=ADDED)


def _with_origins(fields: pa.RecordBatch) -> pa.RecordBatch:
    """The fields, and for each context the span that has it among its documents and its place there."""
    contexts = fields.column("contexts")
    row, there = pc.list_parent_indices(contexts).to_numpy(), contexts.is_valid().to_numpy(zero_copy_only=False)
    spans = fields.column("span_id").take(pa.array(row))
    places = np.arange(len(row)) - np.searchsorted(row, row)
    origins = [listed(each, row, there) for each in (spans, pa.array(places, pa.int32()))]
    return pa.RecordBatch.from_arrays([*fields.columns, *origins], schema=ADDED)


def parse_time(since: str | datetime) -> datetime:
    """A time that names its zone, from one, from ISO text (UTC where it names none), or from so long ago: `2h`, `3d`.

    Raises `DataError` for text that is none.

    >>> parse_time("2026-11-21T10:00").isoformat()
    '2026-11-21T10:00:00+00:00'
    """
    if isinstance(since, str):
        if ago := re.fullmatch(r"(\d+)([smhdw])", since):
            return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        try:
            since = datetime.fromisoformat(since)
        except ValueError:
            raise DataError(f"since={since!r}: a time such as 2026-11-21T10:00, or 30m, 2h, 3d is expected") from None
    return since if since.tzinfo else since.replace(tzinfo=UTC)
