"""karat's metrics and judges as evaluators of Phoenix's kind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from karat.adapters.phoenix.evaluators.evaluator import Evaluator
from karat.adapters.phoenix.mapping import InputMapping, extractor, is_missing
from karat.adapters.phoenix.score import Column, Direction, Kind, Read, Score
from karat.core.columns.kinds import IDS, NUMBER, TEXT, TEXTS, to_arrow
from karat.core.errors import ColumnError
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.core.metric.score import score_columns
from karat.core.metric.spec import parse_all
from karat.data.roles import UnmappedRoleError, map_columns, matches_role
from karat.judges.judge import collect_model_errors

WAITING = 64  # judges awaited at a time; how many ask at a time is the governor's to say
_SCHEMAS: dict[Any, dict[str, Any]] = {
    TEXT: {"type": "string"},
    TEXTS: {"type": "array", "items": {"type": "string"}},
    NUMBER: {"type": "number"},
    IDS: {"type": "array"},
}


def as_evaluator(metric: str | Metric | Iterable[str | Metric], *, name: str | None = None) -> Evaluator:
    """Any of karat's metrics or judges as an evaluator; of several metrics, one evaluator with a score of each.

    Its fields are the metric's columns: `prediction`, `reference`, `question`, `contexts`, … A record may call them as
    other tools do (`output`, `expected`, `input`, `context`), and a mapping too. `name` is the evaluator's, and that of
    a single score; else it is the metric's spec.

    The explanation is a judge's, or says why a record has no score. The metadata hold the metric's signature and what
    a judge's answer took. A judge of several fields gives a score of each beside the whole. How many calls a judge
    makes at a time, and what it may cost, its governor says: `karat.Judge(…, governor=…)`, or `karat.judges.asking`.

    Raises `karat.SpecError`, a `ValueError`, where there is no such metric.

    >>> evaluator = as_evaluator("token_f1", name="f1")
    >>> (score,) = evaluator.evaluate({"output": "the city of Paris", "expected": ["Paris", "City of Paris"]})
    >>> score.name, score.score, score.kind
    ('f1', 1.0, 'code')
    >>> as_evaluator("token_f1").evaluate({"output": "Paris", "expected": None})[0].explanation
    'reference is null'
    """
    return MetricEvaluator(parse_all(metric), name)


class MetricEvaluator(Evaluator):
    """One or more of karat's metrics as an evaluator."""

    def __init__(self, metrics: Sequence[Metric], name: str | None) -> None:
        self.metrics = tuple(metrics)
        kinds = {_kind(metric) for metric in metrics}
        directions: set[Direction] = {metric.definition.direction for metric in metrics}
        super().__init__(
            name=name or " + ".join(metric.spec for metric in metrics),
            kind="llm" if "llm" in kinds else "code",
            direction=directions.pop() if len(directions) == 1 else "neutral",
        )
        self._kinds = {role: kind for metric in metrics for role, kind in metric.definition.columns.items()}
        self._schema = self._input_schema = Roles(self._kinds)
        self.traces_itself = kinds == {"llm"}  # a judge's rows are spans of its own

    def score_columns(self, read: Read) -> list[Column] | None:
        """The scores of all rows at once: computed by every core, or asked by one governor."""
        try:
            mapped = self._mapped(self._mapping or {})
            found = self._found(tuple(read.names), tuple(mapped))
            columns = {role: read(mapped.get(role) or found[role]) for role in self._kinds}
            with collect_model_errors() as stopped:
                named = self._columns(columns)
        except ColumnError:  # one by one each row says what it lacks
            return None
        why = [str(error) for error in stopped]
        return [replace(each, name=self._called(each.name), reason=_not_asked(each, why)) for each in named]

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        values = {role: None if is_missing(value) else value for role, value in eval_input.items()}
        columns = {role: to_arrow([value], role, self._kinds[role]) for role, value in values.items()}
        return [column.at(0) for column in self._columns(columns)]

    async def _async_evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        if not any(metric.definition.remote for metric in self.metrics):
            return self._evaluate(eval_input)
        work = copy_context().run
        return await asyncio.get_running_loop().run_in_executor(_threads(), work, self._evaluate, eval_input)

    def _own_names(self) -> Sequence[str]:
        named = zip(self.metrics, self._called_by_metric(), strict=True)
        return [each for metric, name in named for each in (name, *_fields(metric, name).values())]

    def _given(self, record: Any, mapping: InputMapping | None) -> dict[str, Any]:
        """The value of each role, by the mapping or by the names that other tools have for it."""
        if not isinstance(record, Mapping):
            return super()._given(record, mapping)
        given = mapping or self._mapping or {}
        mapped = self._mapped(given)
        values = {role: extractor(field, given[field])(record) for role, field in mapped.items()}
        found = self._found(tuple(key for key in record if isinstance(key, str)), tuple(mapped))
        return {role: values[role] if role in values else record[found[role]] for role in self._kinds}

    def _mapped(self, mapping: InputMapping) -> dict[str, str]:
        """The mapping's field of each role that it has."""
        found: dict[str, str] = {}
        for field in mapping:
            if role := self._role(field):
                if role in found:
                    raise ColumnError(
                        f"{self.name}: {found[role]!r} and {field!r} are both mapped, and both are {role}"
                    )
                found[role] = field
        return found

    def _role(self, field: str) -> str | None:
        """The role that a mapping's field is: of that name, or the one that other tools call so."""
        if field in self._kinds:
            return field
        return next((role for role in self._kinds if matches_role(role, field)), None)

    def _found(self, names: tuple[str, ...], mapped: tuple[str, ...]) -> dict[str, str]:
        """The key of each role that is not mapped."""
        try:
            return _find(names, tuple(role for role in self._kinds if role not in mapped))
        except UnmappedRoleError as error:
            remedy = f"Say which: input_mapping={{{error.role!r}: {error.column!r}}}"
            raise ColumnError(f"{self.name}: {error.problem}. {remedy}") from None
        except ColumnError as error:
            raise ColumnError(f"{self.name}: {error}") from None

    def _columns(self, columns: Mapping[str, pa.Array]) -> list[Column]:
        scored = zip(self.metrics, score_columns(self.metrics, columns), self._called_by_metric(), strict=True)
        return [column for metric, rows, name in scored for column in _told(metric, rows, name)]

    def _called_by_metric(self) -> list[str]:
        """What each metric's score is called, before the evaluator was renamed."""
        return [metric.spec for metric in self.metrics] if len(self.metrics) > 1 else [self._was or self._name]


@dataclass(frozen=True)
class Roles:
    """The columns of metrics as fields: all of them required, and cast by the metrics themselves."""

    kinds: Mapping[str, Any]
    optional: tuple[str, ...] = ()

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(self.kinds)

    def validate(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return dict(values)

    def describe(self) -> dict[str, Any]:
        properties = {role: {**_SCHEMAS.get(kind, {}), "description": kind.name} for role, kind in self.kinds.items()}
        return {"type": "object", "properties": properties, "required": list(self.required)}


def _kind(metric: Metric) -> Kind:
    return "llm" if metric.definition.judge else "code"


def _not_asked(column: Column, why: Sequence[str]) -> pa.Array | None:
    """Why the rows failed that a judge's model could no longer be asked."""
    said = column.explanation
    if not why or not isinstance(said, pa.Array):
        return None
    return pc.if_else(pc.is_in(said, pa.array(why, said.type)), said, None)


_find = lru_cache(maxsize=256)(map_columns)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(WAITING, thread_name_prefix="karat judges")


def _told(metric: Metric, rows: Rows, name: str) -> Iterator[Column]:
    """A metric's scores as columns: the whole, and each of a judge's fields."""
    details = dict(zip(metric.details, rows.detail_columns(metric), strict=True))
    scores, reasons = rows.score_column(metric), rows.reason_column()
    fields = {field: details.pop(field) for field in _fields(metric, name)}
    label = details.pop("label", None)
    said = details.pop("explanation", details.pop("statements", None))
    kind, direction, metadata = _kind(metric), metric.definition.direction, {"signature": metric.signature}
    yield Column(
        name=name,
        score=scores,
        label=label,
        explanation=reasons if said is None else pc.coalesce(reasons, said),
        metadata=metadata,
        row_metadata=details,
        kind=kind,
        direction=direction,
    )
    for field, values in fields.items():
        yield Column(
            name=_fields(metric, name)[field],
            score=values,
            explanation=reasons,
            metadata=metadata,
            kind=kind,
            direction=direction,
        )


def _fields(metric: Metric, name: str) -> dict[str, str]:
    """The fields that a judge scores one by one, and the names of their scores."""
    return {field: f"{name}.{field}" for field in metric.definition.fields}
