"""Evaluators for Phoenix's own experiments: `client.experiments.run_experiment(…, evaluators=[…])`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from karat.adapters.phoenix.evaluators.evaluator import Evaluator, bind_evaluator
from karat.adapters.phoenix.evaluators.karat_metric import as_evaluator
from karat.adapters.phoenix.mapping import InputMapping, PathNotFound, extractor
from karat.adapters.phoenix.score import Score
from karat.core.errors import ColumnError
from karat.core.metric.metric import Metric

_UNWRAPPED = ("input", "output", "expected", "reference")


class ExperimentEvaluator:
    """An evaluator as Phoenix's experiments call one, which keeps each of its scores under the score's own name."""

    def __init__(self, evaluator: Evaluator, mapping: InputMapping | None) -> None:
        self._evaluator, self._mapping = evaluator, mapping or evaluator.input_mapping or {}

    @property
    def name(self) -> str:
        """The evaluator's."""
        return self._evaluator.name

    @property
    def kind(self) -> str:
        """`CODE` or `LLM`, as the server has it."""
        return "LLM" if self._evaluator.kind == "llm" else "CODE"

    def evaluate(self, **given: Any) -> list[dict[str, Any]]:
        """What the scores of one run of the task are."""
        with _saying_which(given):
            return [_told(score) for score in self._evaluator.evaluate(*self._asked(given))]

    async def async_evaluate(self, **given: Any) -> list[dict[str, Any]]:
        """The same, awaited."""
        with _saying_which(given):
            return [_told(score) for score in await self._evaluator.async_evaluate(*self._asked(given))]

    def _asked(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], InputMapping]:
        """The record: what is mapped, from what Phoenix gives as it is; all else with dicts of one value unwrapped."""
        mapped = {name: extractor(name, how)(given) for name, how in self._mapping.items()}
        plain = {name: _single(value) if name in _UNWRAPPED else value for name, value in given.items()}
        return plain | mapped, {name: name for name in mapped}


def experiment_evaluator(
    evaluator: str | Metric | Evaluator, mapping: InputMapping | None = None, *, name: str | None = None
) -> ExperimentEvaluator:
    """A karat metric or judge, or an evaluator of this package, for `run_experiment` of Phoenix's client.

    It reads what Phoenix gives: `input`, `output`, `expected` (also as `reference`), `metadata`, `example`. An input,
    output or expected output that is a dict of one value is that value; of several, `mapping` says which:
    `{"reference": "expected.answer", "question": "input.question"}`. Its scores keep their own names, all of them.

    >>> f1 = experiment_evaluator("token_f1")
    >>> f1.evaluate(output="in Paris", expected={"answer": "Paris"}, input={"question": "Capital of France?"})
    [{'name': 'token_f1', 'score': 0.66..., 'metadata': {...}}]
    """
    if isinstance(evaluator, Evaluator):
        return ExperimentEvaluator(bind_evaluator(evaluator, name=name), mapping)
    return ExperimentEvaluator(as_evaluator(evaluator, name=name), mapping)


@contextmanager
def _saying_which(given: Mapping[str, Any]) -> Iterator[None]:
    """Have an error of a column that does not fit name the dicts of several values that it may come from."""
    try:
        yield
    except PathNotFound:
        raise
    except ColumnError as error:
        several = [name for name in _UNWRAPPED if isinstance(value := given.get(name), Mapping) and len(value) > 1]
        if not several:
            raise
        said = f"of several values in {', '.join(several)} a mapping says which, as '{several[0]}.NAME'"
        raise ColumnError(f"{error}; {said}") from error


def _single(value: Any) -> Any:
    return next(iter(value.values())) if isinstance(value, Mapping) and len(value) == 1 else value


def _told(score: Score) -> dict[str, Any]:
    """A score as Phoenix's experiments keep one; a row without a score says why."""
    given = score.to_dict()
    told: dict[str, Any] = {name: given[name] for name in ("name", "score", "label", "explanation") if name in given}
    if "label" in told:
        told["label"] = str(told["label"])
    return {**told, "metadata": {**given["metadata"], "direction": score.direction}}
