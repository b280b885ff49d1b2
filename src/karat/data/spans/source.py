"""Spans as rows that can be scored: their own columns and the fields extracted from their attributes."""

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

from karat.core.columns.arrow import is_text
from karat.core.errors import DataError
from karat.core.parallel import map_ordered
from karat.data.filter import filter_batch
from karat.data.source import Source
from karat.data.spans.fields import CONTENT_FIELDS, FIELDS, extract_fields, make_lists, null_if_blank, null_if_no_id
from karat.data.spans.retrievals import Retrievals, find_retrievals
from karat.data.storage.batches import DiskTable
from karat.data.storage.duckdb import connect

_ORIGINS = [("context_spans", pa.list_(pa.string())), ("context_positions", pa.list_(pa.int32()))]
ADDED_COLUMNS = pa.schema([*FIELDS, *_ORIGINS])
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True)
class SpanTable:
    """The fields of all spans, in a temporary file, and in memory the relations between spans.

    If the source is slow to read, the file holds its own columns too, before the fields.
    """

    base: Source
    table: DiskTable
    own: int  # the number of the source's own columns in the file
    kinds: np.ndarray
    started: np.ndarray
    retrievals: Retrievals

    def read(self) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch, np.ndarray]]:
        """The own columns of spans, their fields, and their row numbers, batch by batch."""
        first = 0
        in_file = self.own > 0
        for batch in self.table.batches() if in_file else self.base.read():
            rows = np.arange(first, first + batch.num_rows)
            first += batch.num_rows
            own = batch.select(range(self.own)) if in_file else batch
            yield own, batch.select(self.fields) if in_file else self.take(rows), rows

    def take(self, rows: np.ndarray) -> pa.RecordBatch:
        """The fields of these rows."""
        return self.table.take(pa.array(rows), self.fields)

    @property
    def fields(self) -> list[int]:
        return list(range(self.own, self.own + len(FIELDS)))


@dataclass(frozen=True)
class Spans(Source):
    """Spans with `question`, `prediction`, `contexts`, `retrieved` and other fields after their own columns."""

    table: SpanTable | None = None
    kinds: Mapping[str, int] = field(default_factory=dict)
    """The number of spans of each kind."""

    def filter(self, kind: str | None = None, since: str | datetime | None = None) -> Spans:
        """The spans of one kind, and those that started at or after a time: see `karat.spans`."""
        if self.table is None or (kind is None and since is None):
            return self
        kept = np.ones(len(self.table.kinds), bool)
        if kind is not None:
            if kind.upper() not in self.kinds:
                there = ", ".join(f"{name} ({count})" for name, count in self.kinds.items()) or "none"
                raise DataError(f"{self.name}: no span is of kind {kind!r}; its kinds are: {there}")
            kept &= self.table.kinds == kind.upper()
        if since is not None:
            kept &= self.table.started >= (parse_time(since) - _EPOCH) // timedelta(microseconds=1)
        return _assemble(self.table, self.kinds, kept)


def open_spans(source: Source) -> Spans:
    """Spans from a source with columns of spans; reads all of it once.

    If the source has a column with the name of a field, that column stays and the field is not added; there is a
    warning if it is one of `CONTENT_FIELDS`. In its own `parent_id`, `None` and the like become null.
    """
    clash = [name for name in CONTENT_FIELDS if name in source.schema.names]
    if clash and len(clash) < len(CONTENT_FIELDS):  # spans that karat read and wrote before have all of them
        kept = f"its own columns {', '.join(map(repr, clash))} are kept"
        warnings.warn(f"{source.name}: {kept}; the values in the attributes are not added", stacklevel=2)
    return _assemble(*_scan(source), None)


def _scan(source: Source) -> tuple[SpanTable, dict[str, int]]:
    connection, unreadable = connect(threads="1"), list[int]()
    ids, started, kinds = [np.empty((0, 3), np.uint64)], [np.empty(0, np.int64)], [np.empty(0, object)]
    slow = source.is_json or all(is_text(kind) for kind in source.schema.types)

    def extract(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch, np.ndarray]:
        return batch, *extract_fields(batch, connection, unreadable)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch, fields, hashes in map_ordered(extract, source.batches()):
            ids.append(hashes)
            started.append(fields.column("start_time").cast(pa.int64()).fill_null(_NO_TIME).to_numpy())
            each = fields.column("span_kind").fill_null("").dictionary_encode()
            kinds.append(each.dictionary.to_numpy(zero_copy_only=False)[each.indices.to_numpy()])
            columns = [*(batch.columns if slow else ()), *fields.columns]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    schema = pa.schema([*(source.schema if slow else ()), *FIELDS])
    table = DiskTable(schema, batches())
    if sum(unreadable):
        problem = "cells of attributes are neither JSON nor the repr of a Python dict; their values are missing"
        warnings.warn(f"{source.name}: {sum(unreadable)} {problem}", stacklevel=3)
    kind, start, keys = np.concatenate(kinds), np.concatenate(started), np.concatenate(ids)
    takes_contexts = (kind == "CHAIN") | (kind == "AGENT")
    retrievals = find_retrievals(keys, start, keys[:, 1] == 0, kind == "RETRIEVER", takes_contexts)
    counted = Counter(kind[kind != ""].tolist())
    own = len(source.schema) if slow else 0
    return SpanTable(source, table, own, kind, start, retrievals), dict(counted.most_common())


def _assemble(spans: SpanTable, kinds: Mapping[str, int], kept: np.ndarray | None) -> Spans:
    base = spans.base
    added = [name for name in ADDED_COLUMNS.names if name not in base.schema.names]

    def read() -> Iterator[pa.RecordBatch]:
        schema = pa.schema([*base.schema, *(ADDED_COLUMNS.field(name) for name in added)])
        parents = [each.name == "parent_id" and is_text(each.type) for each in base.schema]
        for own, fields, rows in spans.read():
            whole = _with_retrievals(spans, fields, rows)
            parts = (
                null_if_no_id(part) if is_parent else part for part, is_parent in zip(own.columns, parents, strict=True)
            )
            columns = [*parts, *(whole.column(name) for name in added)]
            batch = pa.RecordBatch.from_arrays(columns, schema=schema)
            chosen = batch if kept is None or kept[rows].all() else filter_batch(batch, pa.array(kept[rows]))
            if chosen.num_rows:
                yield chosen

    rows = len(spans.kinds) if kept is None else int(kept.sum())
    schema = pa.schema([*base.schema, *(ADDED_COLUMNS.field(name) for name in added)])
    about = (base.is_json, base.notes)
    return Spans(base.name, schema, rows, read, *about, table=spans, kinds=kinds)


def _with_retrievals(spans: SpanTable, fields: pa.RecordBatch, rows: np.ndarray) -> pa.RecordBatch:
    """The fields of these rows; roots have the contexts of the retrievers below them."""
    columns = list(_with_origins(fields).columns)
    root, retrievers = spans.retrievals.below(rows)
    theirs = _with_origins(spans.take(retrievers))
    for at in [at for at, kind in enumerate(ADDED_COLUMNS.types) if pa.types.is_list(kind)]:
        column = theirs.column(at)
        row = root[pc.list_parent_indices(column).to_numpy()]
        there = np.isin(np.arange(len(rows)), root[column.is_valid().to_numpy(zero_copy_only=False)])
        columns[at] = pc.coalesce(columns[at], make_lists(pc.list_flatten(column), row, there))
    columns[2:5] = map(null_if_blank, columns[2:5])
    return pa.RecordBatch.from_arrays(columns, schema=ADDED_COLUMNS)


def _with_origins(fields: pa.RecordBatch) -> pa.RecordBatch:
    """The fields, and for each context the span that retrieved it and its position there."""
    contexts = fields.column("contexts")
    row, there = pc.list_parent_indices(contexts).to_numpy(), contexts.is_valid().to_numpy(zero_copy_only=False)
    spans = fields.column("span_id").take(pa.array(row))
    places = np.arange(len(row)) - np.searchsorted(row, row)
    origins = [make_lists(each, row, there) for each in (spans, pa.array(places, pa.int32()))]
    return pa.RecordBatch.from_arrays([*fields.columns, *origins], schema=ADDED_COLUMNS)


def parse_time(since: str | datetime) -> datetime:
    """A time with a time zone, from a `datetime`, ISO text (UTC if it names no zone), or a duration before now: `2h`.

    Raises `DataError` for other text.

    >>> parse_time("2026-11-21T10:00").isoformat()
    '2026-11-21T10:00:00+00:00'
    """
    if isinstance(since, str):
        if ago := re.fullmatch(r"(\d+)([smhdw])", since):
            return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        try:
            since = datetime.fromisoformat(since)
        except ValueError:
            expected = "a time such as 2026-11-21T10:00, or a duration such as 30m, 2h, 3d"
            raise DataError(f"since={since!r}: expected {expected}") from None
    return since if since.tzinfo else since.replace(tzinfo=UTC)
