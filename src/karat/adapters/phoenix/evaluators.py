"""The names of `phoenix.evals.evaluators`, so that an import of Phoenix's needs only another package before it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from karat.adapters.phoenix.code.evaluator import Evaluator, bind_evaluator
from karat.adapters.phoenix.code.function import create_evaluator
from karat.adapters.phoenix.frame.evaluate import async_evaluate_dataframe, evaluate_dataframe
from karat.adapters.phoenix.llm.classifier import ClassificationEvaluator, create_classifier
from karat.adapters.phoenix.llm.evaluator import LLMEvaluator
from karat.adapters.phoenix.mapping import InputMapping
from karat.adapters.phoenix.schema.text import EnforcedString, SmartString
from karat.adapters.phoenix.score import DirectionType, KindType, Score

__all__ = [
    "ClassificationEvaluator",
    "DirectionType",
    "EnforcedString",
    "EvalInput",
    "Evaluator",
    "InputMappingType",
    "KindType",
    "LLMEvaluator",
    "Score",
    "SmartString",
    "ToolSchema",
    "async_evaluate_dataframe",
    "bind_evaluator",
    "create_classifier",
    "create_evaluator",
    "evaluate_dataframe",
    "to_thread",
]

EvalInput: TypeAlias = dict[str, Any]
"""A record: the values of an evaluator's fields."""
ToolSchema: TypeAlias = Mapping[str, Any] | None
"""The JSON Schema of a model's reply."""
InputMappingType: TypeAlias = InputMapping | None
"""For each field a key of the record, a path or a function."""


def to_thread(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """The function as an async one, which runs in a thread."""

    async def call(*args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(function, *args, **kwargs)

    return call
