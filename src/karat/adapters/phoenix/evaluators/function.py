"""An evaluator made of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from karat.adapters.phoenix.evaluators.evaluator import Evaluator
from karat.adapters.phoenix.evaluators.return_values import to_parts
from karat.adapters.phoenix.schema import Schema
from karat.adapters.phoenix.score import Direction, Kind, Score, known_kind


def create_evaluator(
    name: str, source: Kind | None = None, direction: Direction = "maximize", kind: Kind | None = None
) -> Callable[[Callable[..., Any]], Created]:
    """Make a function an evaluator, which can still be called as the function.

    The function's parameters are the fields; one with a default may be missing; annotations are checked. It is plain or
    async and returns a number, a truth value, a text (a label, or an explanation where it has more than two spaces), a
    dict of `score`, `label`, `explanation` and metadata, a tuple of numbers, truth values and texts, or a `Score`; its
    name, kind and direction are the evaluator's.

    >>> @create_evaluator(name="short", kind="code")
    ... def short(output: str, limit: int = 5) -> tuple[bool, str]:
    ...     return len(output) <= limit, f"{len(output)} characters, and not too many"
    >>> (score,) = short.evaluate({"output": "Paris"})
    >>> score.score, score.label, score.explanation
    (1.0, 'True', '5 characters, and not too many')
    >>> short("Berlin")
    (False, '6 characters, and not too many')
    """
    known: Kind = known_kind(kind, source) if kind or source else "code"

    def make(function: Callable[..., Any]) -> Created:
        return (AsyncCreated if _is_async(function) else Created)(function, name, known, direction)

    return make


class Created(Evaluator):
    """An evaluator made of a function."""

    def __init__(self, function: Callable[..., Any], name: str, kind: Kind, direction: Direction) -> None:
        super().__init__(name=name, kind=kind, direction=direction, input_schema=Schema.of(function))
        self._function = function
        update_wrapper(self, function, updated=())  # attributes of the function stay its own

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self._function(*args, **kwargs)

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return self._score(self._function(**eval_input))

    def _score(self, given: Any) -> list[Score]:
        parts = to_parts(given, self.name)
        return [Score(name=self.name, kind=self.kind, direction=self.direction, **parts)]


class AsyncCreated(Created):
    """An evaluator made of an async function."""

    _evaluate = Evaluator._evaluate  # noqa: SLF001  (in karat's own event loop)

    async def _async_evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return self._score(await self._function(**eval_input))


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
