"""Evaluators bound to a mapping, and under another name."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cache
from typing import Any

from phoenix import evals
from phoenix.evals import Evaluator, Score

from karat.adapters.phoenix.column import Column, Read


def bind_evaluator(evaluator: Evaluator, input_mapping: Any = None, *, name: str | None = None) -> Evaluator:
    """A copy of an evaluator bound to this mapping; with a `name` of its own it can be used beside the original.

    >>> from karat.adapters.phoenix import exact_match
    >>> easy = bind_evaluator(exact_match, {"expected": "gold[0]"}, name="first_gold")
    >>> (score,) = easy.evaluate({"output": "Paris", "gold": ["Paris", "City of Paris"]})
    >>> score.name, score.score
    ('first_gold', 1.0)
    """
    mapped = input_mapping is not None
    bound = evals.bind_evaluator(evaluator=evaluator, input_mapping=input_mapping) if mapped else copy(evaluator)
    return bound if name is None else _rename(bound, name)


def _rename(bound: Evaluator, name: str) -> Evaluator:
    """Give a copy of an evaluator another name, and its scores too; several scores get the name as a prefix."""
    renamed: Any = bound
    if not isinstance(bound, Renamed):
        renamed.original_name, renamed.__class__ = bound.name, _renamed(type(bound))
    renamed.new_name = name
    return bound


@cache
def _renamed(kind: type[Evaluator]) -> type[Evaluator]:
    return type(kind.__name__, (Renamed, kind), {})


class Renamed(Evaluator):
    """An evaluator with a name that its class does not give it."""

    original_name: str
    new_name: str

    @property
    def name(self) -> str:
        """The new name."""
        return self.new_name

    @property
    def score_names(self) -> Sequence[str]:
        """The new names of its scores, as far as they are known before it has run."""
        return [self._rename(each) for each in getattr(super(), "score_names", [self.name])]

    def score_columns(self, read: Read) -> list[Column] | None:
        """The columns of the evaluator that is renamed, under their new names."""
        columns = getattr(super(), "score_columns", lambda _: None)(read)
        return columns and [replace(each, name=self._rename(each.name)) for each in columns]

    def evaluate(self, eval_input: dict[str, Any], input_mapping: Any = None) -> list[Score]:
        """The scores of one record, under their new names."""
        return self._named(super().evaluate(eval_input, input_mapping))

    async def async_evaluate(self, eval_input: dict[str, Any], input_mapping: Any = None) -> list[Score]:
        """The same, awaited."""
        return self._named(await super().async_evaluate(eval_input, input_mapping))

    def _named(self, scores: list[Score]) -> list[Score]:
        return [replace(each, name=self._rename(each.name)) for each in scores]

    def _rename(self, name: str | None) -> str:
        if name is None or name == self.name:
            return self.name
        if f"{name}.".startswith(f"{self.original_name}."):  # the score of that name, or of one of its fields
            return self.name + name.removeprefix(self.original_name)
        return f"{self.name}_{name}"
