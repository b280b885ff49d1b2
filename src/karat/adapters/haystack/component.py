"""What karat's components share beyond Haystack's: an output `details`, and dicts that change sides."""

# No `from __future__ import annotations`: a class of Haystack's reads types at run time.

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from haystack import default_from_dict, default_to_dict
from haystack.core.component.sockets import Sockets
from haystack.core.component.types import OutputSocket
from haystack.core.errors import DeserializationError
from haystack.dataclasses import ChatMessage, ExtractedAnswer, GeneratedAnswer

from karat.core.errors import RowError
from karat.stats.intervals.interval import interval
from karat.stats.sums.units import Units

INTEGRATION = "haystack_integrations.components.evaluators.karat"
"""The module of all components, as Haystack stores it. `Pipeline.loads` trusts modules of `haystack_integrations`."""


class Detailed:
    """A mixin before a class of Haystack's: init parameters that only karat has, one of which is `details`.

    They are stored where they are set, so that Haystack's component reads the dict of one without them.
    """

    own: ClassVar[tuple[str, ...]] = ("details",)
    details: bool

    def configure(self, **own: Any) -> None:
        """Set the parameters that only karat has; with `details`, declare that output."""
        vars(self).update(own)
        if self.details:
            run: Any = self.run  # type: ignore[attr-defined]
            sockets = {**run._output_types_cache, "details": OutputSocket("details", dict[str, Any])}  # noqa: SLF001
            self.__haystack_output__ = Sockets(self, sockets, OutputSocket)

    def detail(self, outputs: dict[str, Any], low: float = 0.0) -> dict[str, Any]:
        """The outputs and, with `details`, the 95 % confidence interval of the mean of scores from `low` to 1."""
        return (
            outputs | {"details": {"interval": interval_of(outputs["individual_scores"], low)}}
            if self.details
            else outputs
        )

    def to_dict(self) -> dict[str, Any]:
        """The component as a dict, as Haystack stores it."""
        data: dict[str, Any] = getattr(super(), "to_dict", partial(default_to_dict, self))()
        data["init_parameters"] |= {name: value for name in self.own if (value := getattr(self, name))}
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The component from a dict of `to_dict`, its own or of Haystack's component with the same name.

        Raises Haystack's `DeserializationError` for a dict of another component, or without a required parameter.
        """
        data = {"init_parameters": {}} | deepcopy(data)
        *module, name = str(data.get("type")).split(".")
        if module[:3] == ["haystack", "components", "evaluators"] and name == cls.__name__:
            data["type"] = f"{cls.__module__}.{name}"
        try:
            restored: Self = getattr(super(), "from_dict", partial(default_from_dict, cls))(data)
        except KeyError as error:
            raise DeserializationError(f"{cls.__name__}: {error} is missing in init_parameters") from None
        return restored


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


def interval_of(scores: Sequence[float], low: float = 0.0) -> list[float | None]:
    """The 95 % confidence interval of the mean of scores from `low` to 1."""
    units = Units(width=1)
    units.add(np.asarray(scores, np.float64)[:, None])
    return list(interval(units, bounds=(low, 1.0)))
