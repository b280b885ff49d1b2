"""Evaluators made from a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from karat.adapters.phoenix.code.evaluator import Evaluator
from karat.adapters.phoenix.code.return_values import to_parts
from karat.adapters.phoenix.schema.schema import Schema
from karat.adapters.phoenix.score import DirectionType, KindType, Score, current_kind


def create_evaluator(
    name: str, source: KindType | None = None, direction: DirectionType = "maximize", kind: KindType | None = None
) -> Callable[[Callable[..., Any]], Created]:
    """Decorate a function to make it an evaluator; calling the result still calls the function.

    The function's parameters are the fields; those with a default are optional; annotations are checked. The function
    may be async. It returns a number, a bool, a text (a label, or with more than two spaces an explanation), a dict of
    `score`, `label`, `explanation` and metadata, a tuple of numbers, bools and texts, or a `Score`. The score gets the
    name, kind and direction of the evaluator.

    >>> @create_evaluator(name="short", kind="code")
    ... def short(output: str, limit: int = 5) -> tuple[bool, str]:
    ...     return len(output) <= limit, f"{len(output)} characters, and not too many"
    >>> (score,) = short.evaluate({"output": "Paris"})
    >>> score.score, score.label, score.explanation
    (1.0, 'True', '5 characters, and not too many')
    >>> short("Berlin")
    (False, '6 characters, and not too many')
    """
    checked = current_kind(kind, source) or "code"

    def make(function: Callable[..., Any]) -> Created:
        return (AsyncCreated if _is_async(function) else Created)(function, name, checked, direction)

    return make


class Created(Evaluator):
    """An evaluator made from a function."""

    def __init__(self, function: Callable[..., Any], name: str, kind: KindType, direction: DirectionType) -> None:
        super().__init__(name=name, kind=kind, direction=direction, input_schema=Schema.of(function))
        self._function = function
        update_wrapper(self, function, updated=())  # the function keeps its attributes

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return self._score(self._function(**eval_input))

    def _score(self, returned: Any) -> list[Score]:
        parts = to_parts(returned, self.name)
        return [Score(name=self.name, kind=self.kind, direction=self.direction, **parts)]


class AsyncCreated(Created):
    """An evaluator made from an async function."""

    _evaluate = Evaluator._evaluate  # noqa: SLF001  (it runs `_async_evaluate` in karat's own event loop)

    async def _async_evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return self._score(await self._function(**eval_input))


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
