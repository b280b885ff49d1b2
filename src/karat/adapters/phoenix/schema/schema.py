"""The input of an evaluator: its fields, the type of each, and which of them are optional."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from karat.adapters.phoenix.schema.types import Reader, WrongType, reader, show
from karat.core.errors import DataError


class InputSchema(Protocol):
    """The fields of an evaluator's input."""

    @property
    def required(self) -> tuple[str, ...]:
        """The fields that a record must have."""

    @property
    def optional(self) -> tuple[str, ...]:
        """The other fields."""

    def validate(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the fields; `ValueError` if one has the wrong type."""

    def describe(self) -> dict[str, Any]:
        """The JSON Schema of the input."""


@dataclass(frozen=True)
class Schema:
    """Fields and their annotated types, without pydantic.

    `defaults`: the optional fields. `rest`: whether values of other fields are kept. Types are never converted by
    guessing: text is not read as a number. NumPy's numbers are numbers, and a whole float is an integer, because
    frames store integers beside NaN as floats.

    >>> schema = Schema({"output": str, "limit": int}, {"limit": 3})
    >>> schema.validate({"output": "Paris", "limit": 4.0, "id": 7})
    {'output': 'Paris', 'limit': 4}
    >>> schema.validate({"output": None})
    Traceback (most recent call last):
        ...
    karat.core.errors.DataError: Input validation failed: output: str is expected, got None
    >>> schema.describe()["properties"]
    {'output': {'type': 'string'}, 'limit': {'type': 'integer', 'default': 3}}
    """

    annotations: Mapping[str, Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    rest: bool = False
    required: tuple[str, ...] = field(init=False)
    optional: tuple[str, ...] = field(init=False)
    _read: Mapping[str, Reader] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        optional = tuple(name for name in self.annotations if name in self.defaults)
        object.__setattr__(self, "optional", optional)
        object.__setattr__(self, "required", tuple(name for name in self.annotations if name not in optional))
        object.__setattr__(self, "_read", {name: reader(each)[0] for name, each in self.annotations.items()})

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Schema:
        """The schema of a function's parameters."""
        try:
            hints = typing.get_type_hints(function, include_extras=True)
        except Exception:  # noqa: BLE001  (annotations may use names that do not exist at run time)
            hints = {}
        parameters = inspect.signature(function).parameters.values()
        named = [each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
        return cls(
            {each.name: hints.get(each.name, Any) for each in named},
            {each.name: each.default for each in named if each.default is not each.empty},
            rest=any(each.kind is each.VAR_KEYWORD for each in parameters),
        )

    def validate(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the fields, and of others if `rest`; `DataError` if one has the wrong type."""
        checked = dict(values) if self.rest else {}
        for name, read in self._read.items():
            if name in values:
                try:
                    checked[name] = read(values[name])
                except WrongType as error:
                    got = show(values[name])
                    raise DataError(f"Input validation failed: {name}: {error} is expected, got {got}") from None
        return checked

    def describe(self) -> dict[str, Any]:
        """The JSON Schema of a record with these fields."""
        properties = {name: reader(each)[1] for name, each in self.annotations.items()}
        for name in self.optional:
            properties[name] = properties[name] | {"default": self.defaults[name]}
        for name, text in self.descriptions.items():
            properties[name] = properties[name] | {"description": text}
        return {"type": "object", "properties": properties, "required": list(self.required)}
