"""The base class of evaluators: from a record to a list of scores, with its fields mapped by name, path or function."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from karat.adapters.phoenix.mapping import (
    Extract,
    InputMapping,
    PathNotFound,
    extract_with_jsonpath,
    extractor,
    remap_eval_input,
)
from karat.adapters.phoenix.schema.models import to_pydantic, to_schema
from karat.adapters.phoenix.schema.schema import InputSchema
from karat.adapters.phoenix.score import Column, DirectionType, KindType, Read, Score, current_kind
from karat.core import telemetry as tracing
from karat.core.errors import ColumnError, SpecError, did_you_mean
from karat.models.event_loop import run_coroutine


class Evaluator:
    """Returns a list of scores for a record. A subclass defines `_evaluate(eval_input)`, `_async_evaluate`, or both.

    `input_schema`: the fields of a record, as a pydantic model class or a `Schema`. Without one, the keys of the
    mapping are the fields. Raises `SpecError` for an unknown direction.

    >>> from karat.adapters.phoenix import Schema
    >>> class Brevity(Evaluator):
    ...     def _evaluate(self, eval_input):
    ...         return [Score(name=self.name, score=1 / len(eval_input["output"]), kind=self.kind)]
    >>> brevity = Brevity(name="brevity", kind="code", input_schema=Schema({"output": str}))
    >>> brevity.evaluate({"answer": {"text": "Paris"}}, {"output": "answer.text"})
    [Score(name='brevity', score=0.2, kind='code', direction='maximize')]
    """

    traces_itself = False
    """Whether the evaluator itself creates a span for each record if OpenTelemetry is configured."""
    _schema: InputSchema | None

    def __init__(
        self,
        *,
        name: str,
        kind: KindType | None = None,
        direction: DirectionType = "maximize",
        input_schema: Any = None,
        source: KindType | None = None,
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise SpecError(f"name={name!r:.80}: the evaluator's name is expected, a text")
        self._kind = current_kind(kind, source)
        if self._kind is None:
            raise SpecError("kind: who scores is expected: code, llm or human")
        Score(direction=direction)  # raises if it is unknown
        self._name, self._direction = name, direction
        self._input_schema, self._schema = input_schema, to_schema(input_schema)
        self._mapping: InputMapping | None = None
        self._extractors = self._make_extractors({})
        self._original_name: str | None = None

    @property
    def name(self) -> str:
        """The name of the evaluator, and of its score if it gives one."""
        return self._name

    @property
    def kind(self) -> KindType:
        """Who scores: code, llm or human."""
        return self._kind  # type: ignore[return-value]

    @property
    def source(self) -> KindType:
        """The kind, under the name that Phoenix's experiments read.

        They keep one score of an evaluator, so one with several scores does not have this attribute;
        `karat.adapters.phoenix.experiment_evaluator` keeps all.
        """
        if len(self.score_names) > 1:
            raise AttributeError(f"{self.name} gives several scores: use experiment_evaluator(…) in experiments")
        return self.kind

    @property
    def direction(self) -> DirectionType:
        """Whether a higher score is better."""
        return self._direction

    @property
    def input_schema(self) -> Any:
        """The argument `input_schema`; without one, the fields as a pydantic model class if pydantic is installed."""
        return to_pydantic(self._input_schema, self.name)

    @property
    def input_mapping(self) -> InputMapping | None:
        """The mapping to which the evaluator is bound."""
        return self._mapping

    @property
    def score_names(self) -> tuple[str, ...]:
        """The names of its scores, as far as they are known before it has run."""
        return tuple(map(self._rename_score, self._original_score_names()))

    def evaluate(self, eval_input: Mapping[str, Any], input_mapping: InputMapping | None = None) -> list[Score]:
        """The scores of one record.

        `input_mapping` replaces the bound one: it maps each field to a key of the record, a JSONPath or a function. An
        async evaluator runs in karat's own event loop, even if another one is running in this thread.

        Raises `DataError`, a `ValueError`, if a field is missing in the record or has the wrong type.
        """
        fields = self._read_fields(eval_input, input_mapping)
        if self.traces_itself or not tracing.on():
            return self._check_scores(self._evaluate(fields))
        with self._span(fields, "evaluate") as span:
            return _record_scores(span, self._check_scores(self._evaluate(fields)))

    async def async_evaluate(
        self, eval_input: Mapping[str, Any], input_mapping: InputMapping | None = None
    ) -> list[Score]:
        """The same, awaited; an evaluator that is not async runs in a thread."""
        fields = self._read_fields(eval_input, input_mapping)
        if self.traces_itself or not tracing.on():
            return self._check_scores(await self._async_evaluate(fields))
        with self._span(fields, "async_evaluate") as span:
            return _record_scores(span, self._check_scores(await self._async_evaluate(fields)))

    def score_columns(self, read: Read) -> list[Column] | None:  # noqa: ARG002  (subclasses read)
        """The scores of all rows of a frame; None if they must be scored one by one, and so must they on a KeyError."""
        return None

    def bind(self, input_mapping: InputMapping | None) -> None:
        """Use this mapping for all records that are evaluated without one of their own."""
        mapping = None if not input_mapping else dict(input_mapping)
        self._extractors, self._mapping = self._make_extractors(mapping or {}), mapping

    def unbind(self) -> None:
        """Remove the mapping."""
        self.bind(None)

    def rename(self, name: str) -> None:
        """Change the name of the evaluator and of its score; several scores get the name as a prefix."""
        if name != self._name:
            self._original_name, self._name = self._original_name or self._name, name

    def describe(self) -> dict[str, Any]:
        """The name, the kind, the direction, and the JSON Schema of the input."""
        unknown = {"unspecified": {"type": "any", "required": False}}
        schema = unknown if self._schema is None else self._schema.describe()
        return {"name": self.name, "kind": self.kind, "direction": self.direction, "input_schema": schema}

    def _span(self, fields: dict[str, Any], method: str) -> Any:
        return tracing.evaluation(self.name, fields, kind=self.kind, how=method, cls=type(self).__name__)

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        if type(self)._async_evaluate is Evaluator._async_evaluate:  # noqa: SLF001
            raise NotImplementedError(f"{type(self).__name__} defines neither _evaluate nor _async_evaluate")
        return run_coroutine(self._async_evaluate(eval_input), drain=lambda: None)

    async def _async_evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return await asyncio.to_thread(self._evaluate_in_thread, eval_input)

    def _evaluate_in_thread(self, eval_input: dict[str, Any]) -> list[Score]:
        try:
            return self._evaluate(eval_input)
        except StopIteration as error:  # a future cannot hold one: whoever awaits it would never be woken
            raise RuntimeError(f"{self.name} raised StopIteration") from error

    def _original_score_names(self) -> Sequence[str]:
        return (self._original_name or self._name,)

    def _rename_score(self, name: str | None) -> str:
        if self._original_name is None or name is None or name == self._name:
            return name or self._name
        if f"{name}.".startswith(f"{self._original_name}."):  # the score of that name, or of one of its fields
            return self._name + name.removeprefix(self._original_name)
        return f"{self._name}_{name}"

    def _check_scores(self, scores: list[Score]) -> list[Score]:
        """The scores after `rename`, with the evaluator's kind if they have none, and labels as text.

        `TypeError` for anything else. Phoenix's server takes no label but text.
        """
        if not isinstance(scores, list) or not all(isinstance(score, Score) for score in scores):
            whose = f"{self.name}: {type(self).__name__}"
            raise TypeError(f"{whose} must return a list of Scores, it returned {scores!r:.80}")
        scores = [score if score.kind else replace(score, kind=self.kind) for score in scores]
        typed = (str, type(None))
        scores = [each if isinstance(each.label, typed) else replace(each, label=str(each.label)) for each in scores]
        if self._original_name is None:
            return scores
        return [replace(score, name=self._rename_score(score.name)) for score in scores]

    def _read_fields(self, record: Any, mapping: InputMapping | None) -> dict[str, Any]:
        if not isinstance(record, Mapping):
            raise TypeError(f"{self.name}: a record is expected, a dict of its fields; got {record!r:.80}")
        schema = self._schema
        if schema is None or getattr(schema, "rest", False):
            mapping = mapping or self._mapping
            fields = remap_eval_input(record, self._get_required_fields(mapping), mapping)
            return fields if schema is None else schema.validate(fields)
        values = {}
        for name, extract, required in self._make_extractors(mapping) if mapping else self._extractors:
            if extract is None and name in record:
                values[name] = record[name]
            elif extract is not None:
                try:
                    values[name] = extract(record)
                except PathNotFound:
                    if required:
                        raise
            elif required:
                values[name] = self._look_up(name, record, mapping or self._mapping)
        return schema.validate(values)

    def _make_extractors(self, mapping: InputMapping) -> list[tuple[str, Extract | None, bool]]:
        """For each field: its name, its extractor if it is mapped, and whether it is required."""
        schema = self._schema
        required, optional = ((), ()) if schema is None else (schema.required, schema.optional)
        extractors = {name: extractor(name, source) for name, source in mapping.items()}
        return [(name, extractors.get(name), name in required) for name in (*required, *optional)]

    def _get_required_fields(self, input_mapping: InputMapping | None) -> set[str]:
        """The fields that a record must have: those that the schema requires, without a schema those of the mapping."""
        if self._schema is not None:
            return set(self._schema.required)
        if mapping := input_mapping or self._mapping:
            return set(mapping)
        raise SpecError(
            f"Cannot determine input fields for evaluator '{self.name}': an input_schema is expected, or an "
            "input_mapping whose keys are the fields"
        )

    def _look_up(self, name: str, record: Mapping[str, Any], mapping: InputMapping | None) -> Any:
        """The value of a required field that is not a key of the record: its name may be a path."""
        if "." in name:
            return extract_with_jsonpath(record, name)
        fields = [field for field, *_ in self._extractors]
        unknown = [key for key in mapping or () if key not in fields]
        hint = did_you_mean(name, map(str, record))
        if unknown:
            hint = f"; {unknown[0]!r} is not a field of {self.name}{did_you_mean(unknown[0], [name])}"
        raise ColumnError(f"Path not found: {name}{hint}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lstrip('_')} {self.name}>"


def _record_scores(span: Any, scores: list[Score]) -> list[Score]:
    """Record the scores in the span; return them with its trace id."""
    if span is None:
        return scores
    for score in scores:
        span.result(score.name, score.score, score.label, score.explanation)
    return [replace(score, metadata={**score.metadata, "trace_id": span.trace_id}) for score in scores]


def bind_evaluator(
    evaluator: Evaluator, input_mapping: InputMapping | None = None, *, name: str | None = None
) -> Evaluator:
    """A copy of an evaluator bound to this mapping; with a `name` of its own it can be used beside the original.

    >>> from karat.adapters.phoenix import exact_match
    >>> easy = bind_evaluator(exact_match, {"expected": "gold[0]"}, name="first_gold")
    >>> easy.evaluate({"output": "Paris", "gold": ["Paris", "City of Paris"]})
    [Score(name='first_gold', score=1.0, kind='code', direction='maximize')]
    """
    bound = copy(evaluator)
    if input_mapping is not None:
        bound.bind(input_mapping)
    if name is not None:
        bound.rename(name)
    return bound
