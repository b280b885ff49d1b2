"""Check the parameters, inputs and replies of evaluators that ask a model, with Haystack's messages."""

from __future__ import annotations

from typing import Any

from haystack import logging

from karat.adapters.haystack.llm.json_types import read_keys
from karat.core.errors import RowError, SpecError
from karat.judges.replies.parser import ReplyError

logger = logging.getLogger(__name__)

Inputs = list[tuple[str, Any]]
Examples = list[dict[str, Any]]

_NO_LISTS = (list, str, bytes, bool, int, float, dict)
"""Types that no input has: `list` does not say of what, and the others are no lists."""


def check_parameters(inputs: Inputs, outputs: list[str], examples: Examples) -> None:
    """Raise `SpecError`, a `ValueError`, for invalid inputs, outputs or examples."""
    if not inputs or not isinstance(inputs, list) or not all(map(_is_input, inputs)):
        raise SpecError(
            "LLM evaluator expects inputs to be a list of tuples. Each tuple must contain an input name and type of "
            f"list but received {inputs}."
        )
    if not isinstance(outputs, list) or not all(isinstance(output, str) for output in outputs):
        raise SpecError(f"LLM evaluator expects outputs to be a list of str but received {outputs}.")
    if not isinstance(examples, list) or not all(isinstance(example, dict) for example in examples):
        raise SpecError(f"LLM evaluator expects examples to be a list of dictionaries but received {examples}.")
    for example in examples:
        if example.keys() != {"inputs", "outputs"} or not all(map(_is_record, example.values())):
            raise SpecError(
                "LLM evaluator expects each example to have keys `inputs` and `outputs` with values that are "
                f"dictionaries with str keys but received {example}."
            )


def check_inputs(expected: dict[str, Any], received: dict[str, Any]) -> None:
    """Raise `RowError`, a `ValueError`, for inputs that are missing, not lists, or of unequal length."""
    for name in expected:
        if name not in received:
            raise RowError(f"LLM evaluator expected input parameter '{name}' but received only {received.keys()}.")
    if not all(isinstance(values, list) for values in received.values()):
        kinds = [type(values) for values in received.values()]
        raise RowError(f"LLM evaluator expects all input values to be lists but received {kinds}.")
    lengths = {name: len(values) for name, values in received.items()}
    if len(set(lengths.values())) > 1:
        raise RowError(
            f"LLM evaluator expects all input lists to have the same length but received {list(lengths)} with lengths "
            f"{list(lengths.values())}."
        )


def has_keys(expected: list[str], received: str, raise_on_failure: bool = True) -> bool:
    """Whether a reply is a JSON object, alone or in one Markdown fence, that has the keys.

    If it is not: `ReplyError`, a `ValueError`; without `raise_on_failure` a warning in the log, and False. The method
    of an evaluator uses the evaluator's `raise_on_failure`.

    >>> has_keys(["score"], '{"score": 1}')
    True
    """
    try:
        read_keys(expected, received)
    except ReplyError as error:
        if raise_on_failure:
            raise
        logger.warning("A reply with the keys {keys} was expected: {error}", keys=expected, error=error)
        return False
    return True


def _is_input(pair: Any) -> bool:
    return isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) and pair[1] not in _NO_LISTS


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)
