"""What the columns of a run hold: its texts, what its judges said, and values that name groups of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from karat.core.columns.arrow import is_number, is_text, plain_column
from karat.core.columns.json_text import RAW
from karat.data.roles import matches_role
from karat.data.storage.file_names import split_name
from karat.data.storage.stores import name_errors
from karat.runs.columns.groups import encode_groups
from karat.runs.columns.output import find_reason_column
from karat.runs.match.systems import gold_column, question_column
from karat.runs.store.run import Run

_NULL = "(null)"  # among the labels of a comparison
_SAMPLE = 2_000  # rows that show whether a column names groups
_MANY, _LONG = 200, 100  # values among them, and characters of one


@dataclass(frozen=True)
class RunColumns:
    """Which columns of a run hold what; `details` has, by spec, the columns of a judge beside its score, by detail.

    `others`: whether columns without a role are shown beside a row.
    """

    question: str | None
    prediction: str | None
    reference: str | None
    contexts: str | None
    reason: str | None
    details: Mapping[str, Mapping[str, str]]
    others: bool = True

    @classmethod
    def of(cls, run: Run) -> RunColumns:
        """The columns of a run, by its manifest and by their places: a judge's columns are behind its score."""
        names, mapping = run.schema.names, run.manifest.mapping
        scores = {metric.column: metric.spec for metric in run.manifest.metrics}
        reason = find_reason_column(names, scores)
        details: dict[str, dict[str, str]] = {spec: {} for spec in scores.values()}
        spec = None
        for name in names:
            if name in scores or name == reason:
                spec = scores.get(name)
            elif spec is not None:
                details[spec][name.removeprefix(f"{spec}.")] = name
        prediction = mapping.get("prediction", mapping.get("retrieved"))
        named = (name for name in names if matches_role("contexts", name))  # no metric may have read them
        contexts = mapping.get("contexts", next(named, None))
        return cls(question_column(run), prediction, gold_column(run), contexts, reason, details)

    @property
    def roles(self) -> dict[str, str]:
        """The role of each column that has one, by its name."""
        named = {self.contexts: "contexts", self.question: "question", self.reference: "reference"}
        named[self.prediction] = "prediction"
        return {column: role for column, role in named.items() if column is not None}

    @property
    def added(self) -> frozenset[str]:
        """The columns that scoring added, but for the scores."""
        names = (name for each in self.details.values() for name in each.values())
        return frozenset(name for name in (self.reason, *names) if name is not None)


def own_columns(run: Run, columns: RunColumns) -> list[str]:
    """The columns of a run that were there before it was scored."""
    scores = {metric.column for metric in run.manifest.metrics}
    return [name for name in run.schema.names if name not in scores | columns.added]


def find_facets(run: Run, columns: RunColumns) -> list[str]:
    """The columns whose values name groups: those with few and short values in the first rows."""
    free = [name for name in own_columns(run, columns) if name not in columns.roles]
    sample = _read_sample(run, free)
    return [] if sample is None else [name for name in sample.schema.names if _is_facet(sample.column(name))]


def _read_sample(run: Run, columns: list[str]) -> pa.RecordBatch | None:
    """The first rows of those columns that may name groups."""
    if split_name(run.rows) != ("parquet", None):
        names = _may_be_facets(run.schema, columns)
        first = next(run.batches(names), None) if names else None
        return first and first.slice(0, _SAMPLE)
    path = run.files[int(np.argmax(np.minimum(np.diff(run.starts), _SAMPLE)))]  # the first with rows enough
    with name_errors(str(path)), pq.ParquetFile(path) as file:
        names = _may_be_facets(file.schema_arrow, columns)
        return next(file.iter_batches(_SAMPLE, columns=names), None) if names else None


def encode(run: Run, name: str) -> pa.DictionaryArray:
    """The values of a column, labelled as the slices of a comparison; `DataError` where they are too many."""
    seen, labels, parts = set[str](), dict[str, int](), [np.empty(0, np.int16)]
    for chunk in run.column(name).chunks:
        codes, new = encode_groups(plain_column(chunk), seen, name)
        numbers = [labels.setdefault(label, len(labels)) for label in new]
        parts.append(np.array(numbers, np.int16)[codes])
    named = pa.array([None if label == _NULL else label for label in labels], pa.string())
    return pa.DictionaryArray.from_arrays(np.concatenate(parts), named)


def name_type(kind: pa.DataType) -> str:
    """The type of a column in one plain word.

    >>> [name_type(kind) for kind in (pa.string(), pa.int8(), pa.bool_(), pa.list_(pa.string()), pa.date32())]
    ['text', 'number', 'boolean', 'list', 'other']
    """
    if pa.types.is_boolean(kind):
        return "boolean"
    if is_text(kind) or kind == RAW:
        return "text"
    return "number" if is_number(kind) else "list" if pa.types.is_nested(kind) else "other"


def _may_be_facets(schema: pa.Schema, columns: list[str]) -> list[str]:
    return [name for name in columns if _may_be_facet(schema.field(name).type)]


def _may_be_facet(kind: pa.DataType) -> bool:
    """Whether values have a text that can name a group: binary ones, whatever they stand for, have none."""
    while isinstance(kind, pa.BaseExtensionType | pa.DictionaryType):
        kind = kind.value_type if isinstance(kind, pa.DictionaryType) else kind.storage_type
    tests = (is_text, pa.types.is_boolean, pa.types.is_integer, pa.types.is_temporal)
    return any(test(kind) for test in tests)


def _is_facet(column: pa.Array) -> bool:
    column = plain_column(column)
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    values = pc.unique(column.cast(pa.large_string())).drop_null()
    longest = pc.max(pc.utf8_length(values)).as_py() or 0
    return longest <= _LONG and 0 < len(values) <= min(_MANY, len(column) // 2)
