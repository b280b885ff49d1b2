"""karat's metrics and judges as Phoenix's evaluators."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from functools import cache, lru_cache
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
from phoenix.evals import Evaluator, Score
from pydantic import Field, WithJsonSchema, create_model

from karat.adapters.phoenix.column import Column, Direction, Kind, Read
from karat.core.columns.kinds import ANSWERS, IDS, NUMBER, NUMBERS, TEXT, TEXTS, to_arrow
from karat.core.columns.python_values import is_missing
from karat.core.errors import ColumnError, DataError
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.core.metric.score import score_columns
from karat.core.metric.spec import parse_all
from karat.data.roles import UnmappedRoleError, map_columns, matches_role
from karat.judges.judge import collect_model_errors
from karat.judges.votes import NotJudged

MOST_THREADS = 64  # that wait for judges at a time; the governor limits how many requests are sent at a time
_SCHEMAS: dict[Any, dict[str, Any]] = {
    TEXT: {"type": "string"},
    TEXTS: {"type": "array", "items": {"type": "string"}},
    ANSWERS: {"type": "array"},
    NUMBER: {"type": "number"},
    NUMBERS: {"type": "array", "items": {"type": "number"}},
    IDS: {"type": "array"},
}


def as_evaluator(metric: str | Metric | Iterable[str | Metric], *, name: str | None = None) -> MetricEvaluator:
    """Any of karat's metrics or judges as an evaluator of Phoenix's; of several metrics, one with a score for each.

    Its fields are the metric's columns: `prediction`, `reference`, `question`, `contexts`, … Records and mappings may
    use the names of other tools (`output`, `expected`, `input`, `context`). `name`: the name of the evaluator and of
    its only score; by default the metric's spec.

    The explanation is the judge's, or the reason why a record has no score, such as a null. If a judge gets no verdict
    from its model, the record fails: `evaluate` raises a `DataError`. The metadata hold the metric's signature,
    and for a judge its tokens, cost and latency. A judge that scores several fields also gives a score for each field.
    `karat.Judge(…, governor=…)`, or `karat.judges.use_governor` for a block, limits calls and costs.

    Raises `SpecError`, a `ValueError`, for an unknown metric.

    >>> evaluator = as_evaluator("token_f1", name="f1")
    >>> (score,) = evaluator.evaluate({"output": "the city of Paris", "expected": ["Paris", "City of Paris"]})
    >>> score.name, score.score, score.kind
    ('f1', 1.0, 'code')
    >>> as_evaluator("token_f1").evaluate({"output": "Paris", "expected": None})[0].explanation
    'reference is null'
    """
    return MetricEvaluator(parse_all(metric), name)


class MetricEvaluator(Evaluator):
    """An evaluator with one score, or several, for each of its metrics."""

    def __init__(self, metrics: Sequence[Metric], name: str | None) -> None:
        self.metrics = tuple(metrics)
        kinds = {_kind(metric) for metric in metrics}
        directions: set[Direction] = {metric.definition.direction for metric in metrics}
        self._kinds = {role: kind for metric in metrics for role, kind in metric.definition.columns.items()}
        fields: dict[str, Any] = {
            role: (Annotated[Any, WithJsonSchema(_SCHEMAS.get(kind, {}))], Field(description=kind.name))
            for role, kind in self._kinds.items()
        }
        super().__init__(
            name=name or " + ".join(metric.spec for metric in metrics),
            kind="llm" if "llm" in kinds else "code",
            direction=directions.pop() if len(directions) == 1 else "neutral",
            input_schema=create_model("Columns", **fields),
        )
        self.traces_itself = kinds == {"llm"}  # a judge creates a span for each row of a frame
        self._names = [metric.spec for metric in metrics] if len(metrics) > 1 else [self.name]

    @property
    def source(self) -> Kind:
        """The kind, under the name that Phoenix's experiments read.

        They keep one score of an evaluator, so one with several scores does not have this attribute;
        `karat.adapters.phoenix.experiment_evaluator` keeps all.
        """
        if len(self.score_names) > 1:
            raise AttributeError(f"{self.name} gives several scores: use experiment_evaluator(…) in experiments")
        return "llm" if self.kind == "llm" else "code"

    @property
    def score_names(self) -> Sequence[str]:
        """The names of its scores."""
        named = zip(self.metrics, self._names, strict=True)
        return [each for metric, name in named for each in (name, *_field_names(metric, name).values())]

    def evaluate(self, eval_input: dict[str, Any], input_mapping: Any = None) -> list[Score]:
        """The scores of one record; raises `ColumnError`, a `ValueError`, if it lacks a column of the metric."""
        return super().evaluate(eval_input, self._map(eval_input, input_mapping))

    async def async_evaluate(self, eval_input: dict[str, Any], input_mapping: Any = None) -> list[Score]:
        """The same, awaited; judges are waited for in threads."""
        return await super().async_evaluate(eval_input, self._map(eval_input, input_mapping))

    def score_columns(self, read: Read) -> list[Column] | None:
        """The scores of all rows: computed by all cores, or asked for through one governor."""
        try:
            mapped = self._fields_by_role(self._input_mapping or {})
            names = self._names_by_role(tuple(read.names), tuple(mapped))
            columns = {role: read(mapped.get(role) or names[role]) for role in self._kinds}
            with collect_model_errors():
                return self._score(columns)
        except ColumnError:  # if rows are scored one by one, each error says what that row lacks
            return None

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        values = {role: None if is_missing(value) else value for role, value in eval_input.items()}
        columns = {role: to_arrow([value], role, self._kinds[role]) for role, value in values.items()}
        scored = self._score(columns)
        failed = [column.reason for column in scored if column.reason is not None]
        if len(failed) == len(scored):
            raise DataError(f"{self.name}: {failed[0][0]}")
        return [column.at(0) for column in scored]

    async def _async_evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        if not any(metric.definition.remote for metric in self.metrics):
            return self._evaluate(eval_input)
        in_context = copy_context().run
        return await asyncio.get_running_loop().run_in_executor(threads(), in_context, self._evaluate, eval_input)

    def _map(self, record: Any, mapping: Any) -> dict[str, Any]:
        """For each role what the mapping says, else the key of the record that other tools use for it."""
        if not isinstance(record, Mapping):
            raise TypeError(f"{self.name}: a record is expected, a dict of its fields; got {record!r:.80}")
        sources = mapping or self._input_mapping or {}
        fields = self._fields_by_role(sources)
        names = self._names_by_role(tuple(key for key in record if isinstance(key, str)), tuple(fields))
        return names | {role: sources[field] or field for role, field in fields.items()}

    def _fields_by_role(self, mapping: Mapping[str, Any]) -> dict[str, str]:
        fields: dict[str, str] = {}
        for field in mapping:
            if role := self._role(field):
                if role in fields:
                    both = f"{fields[role]!r} and {field!r}"
                    raise ColumnError(f"{self.name}: {both} are both mapped, and both are {role}")
                fields[role] = field
        return fields

    def _role(self, field: str) -> str | None:
        """The role that a mapping's field means: the one of that name, or the one that other tools call so."""
        if field in self._kinds:
            return field
        return next((role for role in self._kinds if matches_role(role, field)), None)

    def _names_by_role(self, names: tuple[str, ...], mapped: tuple[str, ...]) -> dict[str, str]:
        try:
            return _map_names(names, tuple(role for role in self._kinds if role not in mapped))
        except UnmappedRoleError as error:
            example = {error.role: error.column}
            raise ColumnError(f"{self.name}: {error.problem}. Say which: input_mapping={example}") from None
        except ColumnError as error:
            raise ColumnError(f"{self.name}: {error}") from None

    def _score(self, columns: Mapping[str, pa.Array]) -> list[Column]:
        scored = zip(self.metrics, score_columns(self.metrics, columns), self._names, strict=True)
        return [column for metric, rows, name in scored for column in _to_columns(metric, rows, name)]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


_map_names = lru_cache(maxsize=256)(map_columns)


@cache
def threads() -> ThreadPoolExecutor:
    """The threads that wait for judges, and for models that are asked synchronously."""
    return ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="karat judges")


def _kind(metric: Metric) -> Kind:
    return "llm" if metric.judge else "code"


def _to_columns(metric: Metric, rows: Rows, name: str) -> Iterator[Column]:
    """A metric's scores as columns: one for the metric, and one for each field that a judge scores."""
    details = dict(zip(metric.details, rows.detail_columns(metric), strict=True))
    reasons = rows.reason_column()
    column = Column(
        name=name,
        score=rows.score_column(metric),
        explanation=reasons,
        metadata={"signature": metric.signature},
        kind=_kind(metric),
        direction=metric.definition.direction,
        reason=_failures(rows, details) if metric.judge else None,
    )
    names = _field_names(metric, name).items()
    fields = [replace(column, name=field_name, score=details.pop(field)) for field, field_name in names]
    label = details.pop("label", None)
    explanation = details.pop("explanation", details.pop("statements", None))
    explanation = reasons if explanation is None else pc.coalesce(reasons, explanation)
    yield replace(column, label=label, explanation=explanation, row_metadata=details)
    yield from fields


def _failures(rows: Rows, details: Mapping[str, pa.Array]) -> Sequence[str | None] | None:
    """For each row the error for which the judge gave no verdict; None if there was no error."""
    if rows.reasons is None:
        return None
    reasons = [reason if isinstance(reason, NotJudged) else None for reason in rows.reasons.tolist()]
    errors = details["error"].to_pylist() if "error" in details else reasons
    failures = [reason or error for reason, error in zip(reasons, errors, strict=True)]
    return failures if any(failures) else None


def _field_names(metric: Metric, name: str) -> dict[str, str]:
    remote = metric.definition.remote
    return {field: f"{name}.{field}" for field in remote.fields} if remote else {}
