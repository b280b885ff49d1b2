"""An evaluator: from a record to its scores, whatever the record's fields are called."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from karat.adapters.phoenix.mapping import Extract, InputMapping, PathNotFound, extractor, remap_eval_input
from karat.adapters.phoenix.schema import Asking, asking
from karat.adapters.phoenix.score import Column, Direction, Kind, Read, Score, known_kind
from karat.core import telemetry as tracing
from karat.core.errors import ColumnError, DataError, SpecError, did_you_mean
from karat.models import event_loop as loop


class Evaluator:
    """From a record to a list of scores. A subclass writes `_evaluate(eval_input)`, or `_async_evaluate`, or both.

    `input_schema` is a pydantic model class, or a `Schema`: the fields that it asks for. Without one, the keys of the
    mapping are the fields. Raises `karat.SpecError` for a kind or direction that there is not.

    >>> from karat.adapters.phoenix import Schema
    >>> class Brevity(Evaluator):
    ...     def _evaluate(self, eval_input):
    ...         return [Score(name=self.name, score=1 / len(eval_input["output"]), kind=self.kind)]
    >>> brevity = Brevity(name="brevity", kind="code", input_schema=Schema({"output": str}))
    >>> brevity.evaluate({"answer": {"text": "Paris"}}, {"output": "answer.text"})
    [Score(name='brevity', score=0.2, kind='code', direction='maximize')]
    """

    traces_itself = False
    """Whether it makes its own spans where OpenTelemetry is configured."""
    _schema: Asking | None

    def __init__(
        self,
        *,
        name: str,
        kind: Kind | None = None,
        direction: Direction = "maximize",
        input_schema: Any = None,
        source: Kind | None = None,
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise SpecError(f"name={name!r:.80}: the evaluator's name is expected, a text")
        given = Score(name=name, kind=known_kind(kind, source), direction=direction)
        self._name, self._kind, self._direction = name, given.kind, direction
        self._input_schema, self._schema = input_schema, asking(input_schema)
        self._mapping: InputMapping | None = None
        self._plan = self._planned({})
        self._was: str | None = None

    @property
    def name(self) -> str:
        """What it is called, and its scores where it gives one."""
        return self._name

    @property
    def kind(self) -> Kind:
        """Who judges: code, llm or human."""
        return self._kind  # type: ignore[return-value]

    @property
    def source(self) -> Kind:
        """The kind, where Phoenix's experiments look for it; they keep one score, so several have none.

        `karat.adapters.phoenix.experiment_evaluator` keeps all.
        """
        if len(self.score_names) > 1:
            raise AttributeError(f"{self.name} gives several scores: use experiment_evaluator(…) in experiments")
        return self.kind

    @property
    def direction(self) -> Direction:
        """Whether more is better."""
        return self._direction

    @property
    def input_schema(self) -> Any:
        """What it was told of its input."""
        return self._input_schema

    @property
    def input_mapping(self) -> InputMapping | None:
        """What it is bound to."""
        return self._mapping

    @property
    def score_names(self) -> tuple[str, ...]:
        """The names of the scores it gives, as far as they are known before it ran."""
        return tuple(map(self._called, self._own_names()))

    def evaluate(self, eval_input: Mapping[str, Any], input_mapping: InputMapping | None = None) -> list[Score]:
        """The scores of one record.

        `input_mapping` replaces the one it is bound to: from each field to a key of the record, a JSONPath or a
        function. An evaluator that is async runs in karat's own event loop, also where one is running here.

        Raises `karat.DataError`, a `ValueError`, where the record lacks a field or has one that does not fit.
        """
        given = self._given(eval_input, input_mapping)
        if self.traces_itself or not tracing.on():
            return self._renamed(self._evaluate(given))
        with self._span(given, "evaluate") as span:
            return _told(span, self._renamed(self._evaluate(given)))

    async def async_evaluate(
        self, eval_input: Mapping[str, Any], input_mapping: InputMapping | None = None
    ) -> list[Score]:
        """The same, awaited; an evaluator that is not async runs in a thread."""
        given = self._given(eval_input, input_mapping)
        if self.traces_itself or not tracing.on():
            return self._renamed(await self._async_evaluate(given))
        with self._span(given, "async_evaluate") as span:
            return _told(span, self._renamed(await self._async_evaluate(given)))

    def score_columns(self, read: Read) -> list[Column] | None:  # noqa: ARG002  (subclasses read)
        """The scores of all rows of a frame at once, or None: one by one, please. Lets `read`'s KeyError pass."""
        return None

    def bind(self, input_mapping: InputMapping | None) -> None:
        """Let records be read by this mapping, where none is given with them."""
        mapping = None if not input_mapping else dict(input_mapping)
        self._plan, self._mapping = self._planned(mapping or {}), mapping

    def unbind(self) -> None:
        """Forget the mapping."""
        self.bind(None)

    def rename(self, name: str) -> None:
        """Call it, and its score, by another name; of several scores each has it in front."""
        if name != self._name:
            self._was, self._name = self._was or self._name, name

    def describe(self) -> dict[str, Any]:
        """Name, kind, direction, and the JSON Schema of its input."""
        unknown = {"unspecified": {"type": "any", "required": False}}
        schema = unknown if self._schema is None else self._schema.describe()
        return {"name": self.name, "kind": self.kind, "direction": self.direction, "input_schema": schema}

    def _span(self, given: dict[str, Any], how: str) -> Any:
        return tracing.evaluation(self.name, given, kind=self.kind, how=how, cls=type(self).__name__)

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        if type(self)._async_evaluate is Evaluator._async_evaluate:  # noqa: SLF001
            raise NotImplementedError(f"{type(self).__name__} has neither _evaluate nor _async_evaluate")
        return loop.run(self._async_evaluate(eval_input), drain=lambda: None)

    async def _async_evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return await asyncio.to_thread(self._evaluate_in_thread, eval_input)

    def _evaluate_in_thread(self, eval_input: dict[str, Any]) -> list[Score]:
        try:
            return self._evaluate(eval_input)
        except StopIteration as error:  # a future cannot hold one, and would be awaited for ever
            raise RuntimeError(f"{self.name} raised StopIteration") from error

    def _own_names(self) -> Sequence[str]:
        return (self._was or self._name,)

    def _called(self, name: str | None) -> str:
        """What a score is called after `rename`."""
        if self._was is None or name is None or name == self._name:
            return name or self._name
        if f"{name}.".startswith(f"{self._was}."):  # itself, or a field of it
            return self._name + name.removeprefix(self._was)
        return f"{self._name}_{name}"

    def _renamed(self, scores: list[Score]) -> list[Score]:
        """The scores, checked, with the evaluator's kind where they say none."""
        if not isinstance(scores, list) or not all(isinstance(score, Score) for score in scores):
            raise TypeError(f"{self.name}: {type(self).__name__} is to give a list of Scores, it gave {scores!r:.80}")
        scores = [score if score.kind else replace(score, kind=self.kind) for score in scores]
        if self._was is None:
            return scores
        return [replace(score, name=self._called(score.name)) for score in scores]

    def _given(self, record: Any, mapping: InputMapping | None) -> dict[str, Any]:
        """The fields of a record, checked."""
        if not isinstance(record, Mapping):
            raise TypeError(f"{self.name}: a record is expected, a dict of its fields; got {record!r:.80}")
        schema = self._schema
        if schema is None or getattr(schema, "rest", False):
            return self._all_of(record, mapping or self._mapping)
        values = {}
        for name, extract, required in self._planned(mapping) if mapping else self._plan:
            if extract is None and name in record:
                values[name] = record[name]
            elif extract is not None:
                try:
                    values[name] = extract(record)
                except PathNotFound:
                    if required:
                        raise
            elif required:
                raise self._missing(name, record, mapping or self._mapping)
        return schema.validate(values)

    def _planned(self, mapping: InputMapping) -> list[tuple[str, Extract | None, bool]]:
        """For each field: what gets it, where it is mapped, and whether it must be there."""
        schema = self._schema
        required, optional = ((), ()) if schema is None else (schema.required, schema.optional)
        found = {name: extractor(name, how) for name, how in mapping.items()}
        return [(name, found.get(name), name in required) for name in (*required, *optional)]

    def _all_of(self, record: Mapping[str, Any], mapping: InputMapping | None) -> dict[str, Any]:
        if self._schema is not None:
            return self._schema.validate(remap_eval_input(record, self._schema.required, mapping))
        if not mapping:
            raise SpecError(f"{self.name} does not say what it reads: give it an input_schema, or map its fields")
        return remap_eval_input(record, mapping.keys(), mapping)

    def _missing(self, name: str, record: Mapping[str, Any], mapping: InputMapping | None) -> DataError:
        fields = [field for field, *_ in self._plan]
        strange = [key for key in mapping or () if key not in fields]
        hint = did_you_mean(name, map(str, record))
        if strange:
            hint = f"; {strange[0]!r} is none of the fields of {self.name}{did_you_mean(strange[0], [name])}"
        return ColumnError(f"Path not found: {name}{hint}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lstrip('_')} {self.name}>"


def _told(span: Any, scores: list[Score]) -> list[Score]:
    """The scores with the trace that they are told in."""
    if span is None:
        return scores
    for score in scores:
        span.result(score.name, score.score, score.label, score.explanation)
    return [replace(score, metadata={**score.metadata, "trace_id": span.trace_id}) for score in scores]


def bind_evaluator(
    evaluator: Evaluator, input_mapping: InputMapping | None = None, *, name: str | None = None
) -> Evaluator:
    """A copy of an evaluator that reads records by this mapping; `name` lets one stand twice beside itself.

    >>> from karat.adapters.phoenix import exact_match
    >>> easy = bind_evaluator(exact_match, {"expected": "gold[0]"}, name="first_gold")
    >>> easy.evaluate({"output": "Paris", "gold": ["Paris", "City of Paris"]})
    [Score(name='first_gold', score=1.0, label=True, kind='code', direction='maximize')]
    """
    bound = copy(evaluator)
    if input_mapping is not None:
        bound.bind(input_mapping)
    if name is not None:
        bound.rename(name)
    return bound
