"""The plan of a run, made before the first row is read: which columns the metrics get, and which are added."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

import karat.judges
import karat.metrics  # noqa: F401  (importing these two registers the names of metrics)
from karat.core.columns.arrow import is_text
from karat.core.columns.kinds import NUMBER, Kind
from karat.core.metric.metric import Metric
from karat.core.metric.score import cast_columns
from karat.core.metric.setting import SEVERAL
from karat.core.metric.spec import parse_all
from karat.data.join import Joined
from karat.data.json.raw import decode_ids, decode_text
from karat.data.nested import extract_nested
from karat.data.roles import map_columns
from karat.data.source import RAW, Source
from karat.runs.output_columns import OutputColumns
from karat.runs.scoring.arguments import Selection
from karat.runs.scoring.groups import check_group_column
from karat.runs.scoring.sources import open_sources
from karat.stats.inference import Inference


@dataclass(frozen=True)
class Plan:
    """All that is decided before the first row is read.

    `joined` is the join of data and gold, where there is one, before rows were filtered. `kinds` and `mapping` are the
    kind and the column of each role, `text` the columns that are read as text. `errors` is the column, if any, that
    says why a row has no prediction.
    """

    selection: Selection
    inference: Inference
    metrics: list[Metric]
    source: Source
    joined: Joined | None
    kinds: dict[str, Kind]
    mapping: dict[str, str]
    text: set[str]
    output: OutputColumns
    errors: str | None = None

    def role_columns(self, batch: pa.RecordBatch, first: int = 1) -> dict[str, pa.Array]:
        """The columns of a batch that the metrics get, by role; `first` is the number of its first row."""
        return {role: self._decode(role, batch.column(name), first) for role, name in self.mapping.items()}

    def _decode(self, role: str, column: pa.Array, first: int) -> pa.Array:
        """JSON text as the kind of the role: ids, or text."""
        if column.type != RAW:
            return column
        read = self.kinds[role].read
        return decode_text(column, first) if read is None else decode_ids(column, first, read)

    @property
    def labels(self) -> dict[str, str]:
        """The name of each role's column in error messages."""
        return {role: f"{self.source.name}: column {name!r} ({role})" for role, name in self.mapping.items()}


def plan_run(
    selection: Selection,
    metrics: str | Metric | Iterable[str | Metric],
    inference: Inference,
    errors: str | None = None,
) -> Plan:
    """Open what is read, and find the columns.

    Raises `ColumnError` where a column is missing or does not fit a metric, and what opening and joining raise.
    """
    chosen = parse_all(metrics)
    kinds = {role: kind for metric in chosen for role, kind in metric.definition.columns.items()}
    ranked = any(metric.definition.reads_rankings for metric in chosen)
    source = open_sources(selection.data, selection.gold, selection.on, ranked=ranked)
    joined = source if isinstance(source, Joined) else None
    by_value = [name for name in (selection.by, selection.cluster) if name is not None]
    source = extract_nested(extract_nested(source, by_value, keep_json=False), selection.map.values())
    if selection.where is not None or selection.limit is not None:
        from karat.data.filter import filter_rows  # noqa: PLC0415  (seldom needed)

        source = filter_rows(source, selection.where, selection.limit)
    sides, original = ({}, {}) if joined is None else (joined.sides, joined.original_names)
    mapping = map_columns(
        source.schema.names, list(kinds), selection.map, sides=sides, original_names=original, where=source.name
    )
    text = {mapping[role] for role, kind in kinds.items() if kind is not NUMBER and not kind.ranked}
    for name in by_value:
        check_group_column(source.schema, name, source.name)
    schema = source.schema_as(text)
    output = OutputColumns.beside(schema, chosen)
    plan = Plan(selection, inference, chosen, source, joined, kinds, mapping, text, output, errors)
    empty = pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)
    for metric in chosen:  # finds a column that does not fit before the first row is read
        cast_columns(metric, plan.role_columns(empty), plan.labels)
    return plan


def warn_of_lists_in_text(plan: Plan, batch: pa.RecordBatch) -> None:
    """Warn where text looks like JSON lists: CSV has no lists, so each would be scored as one long text."""
    for role in SEVERAL.keys() & plan.mapping.keys():
        column = batch.column(plan.mapping[role])
        texts = list(filter(None, column.slice(0, 100).to_pylist())) if is_text(column.type) else []
        if texts and all(text.startswith("[") and text.endswith("]") for text in texts):
            problem = "looks like JSON lists but is text, and each is scored as one"
            warnings.warn(f"{plan.labels[role]} {problem}; JSON Lines and Parquet hold lists", stacklevel=2)
