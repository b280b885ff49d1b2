"""What is decided before the first row is read: which columns serve as what, and what the scored rows will hold."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from karat.core.columns.kinds import NUMBER, Kind, is_text
from karat.core.errors import ColumnError, did_you_mean
from karat.core.metric.metric import Metric
from karat.core.metric.score import cast_columns
from karat.core.metric.setting import SEVERAL
from karat.core.metric.spec import parse_all
from karat.data.filter import filter_rows
from karat.data.join import Joined
from karat.data.json.raw import decode_ids, decode_text
from karat.data.nested import extract_nested
from karat.data.roles import map_columns
from karat.data.source import RAW, Source
from karat.runs.output_columns import score_fields
from karat.runs.scoring.sources import open_sources
from karat.runs.scoring.totals import Grouped


@dataclass(frozen=True)
class Plan:
    """All that is decided before the first row is read, and the sums that grow as rows go by."""

    source: Source
    joined: Joined | None
    metrics: list[Metric]
    kinds: dict[str, Kind]
    mapping: dict[str, str]
    text: set[str]  # the columns that are read as text
    by: str | None
    cluster: str | None
    schema: pa.Schema
    tallies: list[Grouped]
    counted: Counter[str] = field(default_factory=Counter)  # of retrieved documents
    errors: str | None = None  # the column that says why a row has no answer

    def columns(self, batch: pa.RecordBatch, first: int = 1) -> dict[str, pa.Array]:
        """What the metrics get of a batch, by role; `first` is the number of its first row."""
        found = {role: batch.column(name) for role, name in self.mapping.items()}
        return {role: self._decode(role, column, first) for role, column in found.items()}

    def _decode(self, role: str, column: pa.Array, first: int) -> pa.Array:
        """JSON text as what the role's kind reads: ids, or text."""
        if column.type != RAW:
            return column
        read = self.kinds[role].read
        return decode_text(column, first) if read is None else decode_ids(column, first, read)

    @property
    def named(self) -> dict[str, str]:
        """What error messages call each role's column."""
        return {role: f"{self.source.name}: column {name!r} ({role})" for role, name in self.mapping.items()}


def plan(
    data: Any,
    metrics: str | Metric | Iterable[str | Metric],
    given: Mapping[str, str],
    gold: Any,
    on: str | None,
    by: str | None,
    cluster: str | None,
    where: str | None,
    limit: int | None,
    seed: int,
) -> Plan:
    chosen = parse_all(metrics)
    kinds = {role: kind for metric in chosen for role, kind in metric.definition.columns.items()}
    source = open_sources(data, gold, on, ranked=any(metric.definition.reads_rankings for metric in chosen))
    joined = source if isinstance(source, Joined) else None
    source = extract_nested(source, [name for name in (by, cluster) if name is not None], spelled=False)
    source = extract_nested(source, given.values())
    if where is not None or limit is not None:
        source = filter_rows(source, where, limit)
    names = source.schema.names
    sides, names_there = ({}, {}) if joined is None else (joined.sides, joined.original_names)
    mapping = map_columns(names, list(kinds), given, sides=sides, original_names=names_there, where=source.name)
    text = {mapping[role] for role, kind in kinds.items() if kind is not NUMBER and not kind.ranked}
    for name in (by, cluster):
        if name is not None and name not in names:
            raise ColumnError(f"{source.name}: there is no column {name!r}{did_you_mean(name, names)}")
        if name is not None and pa.types.is_nested(kind := source.schema.field(name).type):
            raise ColumnError(
                f"{source.name}: column {name!r} holds {kind}; values such as text or numbers make groups"
            )
    planned = Plan(
        source=source,
        joined=joined,
        metrics=chosen,
        kinds=kinds,
        mapping=mapping,
        by=by,
        cluster=cluster,
        text=text,
        schema=_extend(source.schema_as(text), chosen),
        tallies=[Grouped(metric, cluster is not None, seed) for metric in chosen],
    )
    schema = source.schema_as(text)
    nothing = pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)
    for metric in chosen:  # a column that does not fit is found before the first row is read
        cast_columns(metric, planned.columns(nothing), planned.named)
    return planned


def _extend(schema: pa.Schema, metrics: list[Metric]) -> pa.Schema:
    """The user's columns, those of each metric, and `reason`; a name that is taken gets a number."""
    added = [field for metric in metrics for field in score_fields(metric)]
    for name, kind in [*added, ("reason", pa.string())]:
        free = name
        while free in schema.names:
            stem, _, number = free.rpartition("_")
            free = f"{stem}_{int(number) + 1}" if stem == name and number.isdecimal() else f"{name}_2"
        schema = schema.append(pa.field(free, kind))
    return schema


def warn_of_lists_in_text(run: Plan, batch: pa.RecordBatch) -> None:
    """CSV has no lists: references that came from a list would each be scored as one long text."""
    for role in SEVERAL.keys() & run.mapping.keys():
        column = batch.column(run.mapping[role])
        texts = list(filter(None, column.slice(0, 100).to_pylist())) if is_text(column.type) else []
        if texts and all(text.startswith("[") and text.endswith("]") for text in texts):
            warnings.warn(
                f"{run.named[role]} looks like JSON lists but is text, and each is scored as one; "
                "JSON Lines and Parquet hold lists",
                stacklevel=2,
            )
