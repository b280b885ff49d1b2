"""Evaluators for Phoenix's own experiments: `client.experiments.run_experiment(…, evaluators=[…])`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from phoenix.evals import Evaluator, Score
from phoenix.evals.utils import remap_eval_input

from karat.adapters.phoenix.bind import bind_evaluator
from karat.adapters.phoenix.metric_evaluator import as_evaluator
from karat.core.errors import ColumnError
from karat.core.metric.metric import Metric

_UNWRAPPED = ("input", "output", "expected", "reference")


class ExperimentEvaluator:
    """An evaluator with the interface of Phoenix's experiments; each score keeps its own name."""

    def __init__(self, evaluator: Evaluator, mapping: Mapping[str, Any] | None) -> None:
        self._evaluator, self._mapping = evaluator, mapping or evaluator._input_mapping or {}  # noqa: SLF001

    @property
    def name(self) -> str:
        """The evaluator's name."""
        return self._evaluator.name

    @property
    def kind(self) -> str:
        """`CODE` or `LLM`, the values that Phoenix's server knows."""
        return "LLM" if self._evaluator.kind == "llm" else "CODE"

    def evaluate(self, **run: Any) -> list[dict[str, Any]]:
        """The scores of one run of the task."""
        with _explain_column_errors(run):
            return [_to_dict(score) for score in self._evaluator.evaluate(*self._to_record(run))]

    async def async_evaluate(self, **run: Any) -> list[dict[str, Any]]:
        """The same, awaited."""
        with _explain_column_errors(run):
            return [_to_dict(score) for score in await self._evaluator.async_evaluate(*self._to_record(run))]

    def _to_record(self, run: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """The record and its mapping; dicts of one value are unwrapped, except for mapped fields."""
        mapping = self._mapping
        fields = (
            remap_eval_input(eval_input=run, required_fields=set(mapping), input_mapping=mapping) if mapping else {}
        )
        mapped = {name: fields[name] for name in mapping}
        unwrapped = {name: _unwrap(value) if name in _UNWRAPPED else value for name, value in run.items()}
        return unwrapped | mapped, {name: name for name in mapped}


def experiment_evaluator(
    evaluator: str | Metric | Evaluator, mapping: Mapping[str, Any] | None = None, *, name: str | None = None
) -> ExperimentEvaluator:
    """A karat metric or judge, or any evaluator of Phoenix's, for `run_experiment` of Phoenix's client.

    It reads the arguments that Phoenix passes: `input`, `output`, `expected` (also as `reference`), `metadata`,
    `example`. An input, output or expected output that is a dict of one value stands for that value; if it has several
    values, `mapping` selects one: `{"reference": "expected.answer", "question": "input.question"}`.

    >>> f1 = experiment_evaluator("token_f1")
    >>> f1.evaluate(output="in Paris", expected={"answer": "Paris"}, input={"question": "Capital of France?"})
    [{'name': 'token_f1', 'score': 0.66..., 'metadata': {...}}]
    """
    if isinstance(evaluator, Evaluator):
        return ExperimentEvaluator(bind_evaluator(evaluator, name=name), mapping)
    return ExperimentEvaluator(as_evaluator(evaluator, name=name), mapping)


@contextmanager
def _explain_column_errors(run: Mapping[str, Any]) -> Iterator[None]:
    """Add to a `ColumnError` the names of the dicts of several values, from which a mapping would have to select."""
    try:
        yield
    except ColumnError as error:
        several = [name for name in _UNWRAPPED if isinstance(value := run.get(name), Mapping) and len(value) > 1]
        if not several:
            raise
        hint = f"{', '.join(several)} holds several values: select one by a mapping, such as '{several[0]}.NAME'"
        raise ColumnError(f"{error}; {hint}") from error


def _unwrap(value: Any) -> Any:
    return next(iter(value.values())) if isinstance(value, Mapping) and len(value) == 1 else value


def _to_dict(score: Score) -> dict[str, Any]:
    """A score in the form of Phoenix's experiments; the explanation says why a row has no score."""
    fields = {name: value for name, value in score.to_dict().items() if name not in ("kind", "direction")}
    if "label" in fields:
        fields["label"] = str(fields["label"])
    return {**fields, "metadata": {**fields["metadata"], "direction": score.direction}}
