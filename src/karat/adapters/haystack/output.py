"""What the evaluators share: the checks of their inputs, their outputs, and how they are stored."""

# No `from __future__ import annotations`: a class of Haystack's reads types at run time.

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from haystack import default_from_dict
from haystack.core.component.sockets import Sockets
from haystack.core.component.types import OutputSocket
from haystack.dataclasses import ChatMessage, ExtractedAnswer, GeneratedAnswer

from karat.core.errors import RowError
from karat.stats.intervals.interval import interval
from karat.stats.sums.units import Units

Evaluator = TypeVar("Evaluator")

INTEGRATION = "haystack_integrations.components.evaluators.karat"
"""The module of all components, as Haystack stores it. `Pipeline.loads` trusts modules of `haystack_integrations`."""


def check_lengths(**columns: Any) -> None:
    """Raise `RowError` unless all columns are lists of the same length, and not empty."""
    names = " and ".join(columns)
    for name, column in columns.items():
        if isinstance(column, str | bytes | Mapping | set | frozenset) or not hasattr(column, "__len__"):
            raise RowError(f"{name}: a list with one entry for each question is expected, found {column!r:.80}")
    lengths = {len(column) for column in columns.values()}
    if 0 in lengths:
        raise RowError(f"{names} must be provided: an empty list has no score.")
    if len(lengths) > 1:
        raise RowError(f"The length of {names} must be the same.")


def text_of(answer: Any) -> Any:
    """The text of Haystack's answers and messages; anything else unchanged.

    >>> text_of(GeneratedAnswer(data="Paris", query="Capital?", documents=[])), text_of("Paris")
    ('Paris', 'Paris')
    """
    if isinstance(answer, GeneratedAnswer | ExtractedAnswer):
        return answer.data
    return answer.text if isinstance(answer, ChatMessage) else answer


def mean_of(scores: Sequence[float], total: float) -> dict[str, Any]:
    """The outputs of an evaluator: the scores and their mean, of which `total` is the sum of the scores."""
    return {"individual_scores": scores, "score": total / len(scores)}


def interval_of(scores: Sequence[float], low: float = 0.0) -> list[float | None]:
    """The 95 % confidence interval of the mean of scores from `low` to 1."""
    units = Units(width=1)
    units.add(np.asarray(scores, np.float64)[:, None])
    return list(interval(units, bounds=(low, 1.0)))


def declare_details(evaluator: Any) -> None:
    """Add the output `details` to those that `run` declares, if the component returns it."""
    if evaluator.details:
        sockets = {**evaluator.run._output_types_cache, "details": OutputSocket("details", dict[str, Any])}  # noqa: SLF001
        evaluator.__haystack_output__ = Sockets(evaluator, sockets, OutputSocket)


def restore(kind: type[Evaluator], data: Mapping[str, Any], **settings: Any) -> Evaluator:
    """A component from a dict of `to_dict`, its own or that of Haystack's component of the same name.

    `settings` replace init parameters of the dict. Raises Haystack's `DeserializationError` for a dict of another
    component.
    """
    *module, name = str(data.get("type")).split(".")
    if module[:3] == ["haystack", "components", "evaluators"] and name == kind.__name__:
        data = {**data, "type": f"{kind.__module__}.{name}"}
    component: Evaluator = default_from_dict(
        kind, {**data, "init_parameters": {**data.get("init_parameters", {}), **settings}}
    )
    return component
