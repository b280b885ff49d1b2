"""The input of an evaluator: its fields, the type of each, and which of them are optional."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal, Protocol, TypeAlias, Union

from karat.core.errors import DataError

Reader: TypeAlias = Callable[[Any], Any]
"""Returns a value of the annotated type as it is, or an equal number as that type; raises `_WrongType` otherwise."""


class _WrongType(Exception):
    """A value does not have the annotated type; the message is the type expected."""


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
        object.__setattr__(self, "_read", {name: _reader(each)[0] for name, each in self.annotations.items()})

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Schema:
        """The schema of a function's parameters."""
        try:
            hints = typing.get_type_hints(function)
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
        """The values of the fields, and of others if `rest`; `karat.DataError` if one has the wrong type."""
        checked = dict(values) if self.rest else {}
        for name, read in self._read.items():
            if name in values:
                try:
                    checked[name] = read(values[name])
                except _WrongType as error:
                    got = _describe(values[name])
                    raise DataError(f"Input validation failed: {name}: {error} is expected, got {got}") from None
        return checked

    def describe(self) -> dict[str, Any]:
        """The JSON Schema of a record with these fields."""
        properties = {name: _reader(each)[1] for name, each in self.annotations.items()}
        for name in self.optional:
            properties[name] = properties[name] | {"default": self.defaults[name]}
        for name, text in self.descriptions.items():
            properties[name] = properties[name] | {"description": text}
        return {"type": "object", "properties": properties, "required": list(self.required)}


@dataclass(frozen=True)
class Pydantic:
    """A pydantic model class as a schema; karat itself never imports pydantic."""

    model: Any

    @property
    def required(self) -> tuple[str, ...]:
        """The fields without a default."""
        return tuple(name for name, each in self.model.model_fields.items() if each.is_required())

    @property
    def optional(self) -> tuple[str, ...]:
        """The fields with a default."""
        return tuple(name for name, each in self.model.model_fields.items() if not each.is_required())

    def validate(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values as the model validates them."""
        try:
            return dict(self.model.model_validate(dict(values)).model_dump())
        except ValueError as error:
            raise DataError(f"Input validation failed: {error}") from None

    def describe(self) -> dict[str, Any]:
        """The model's own JSON Schema."""
        return dict(self.model.model_json_schema())


def to_schema(schema: Any) -> InputSchema | None:
    """An `input_schema` argument as a schema: from a `Schema`, a pydantic model class, or None."""
    if schema is None or isinstance(schema, Schema):
        return schema
    if hasattr(schema, "model_fields") and hasattr(schema, "model_validate"):
        return Pydantic(schema)
    raise TypeError(f"input_schema: a pydantic model class or a Schema is expected, got {schema!r:.80}")


def _reader(annotation: Any) -> tuple[Reader, dict[str, Any]]:
    """The reader of an annotation's values, and its JSON Schema; an unknown annotation accepts any value."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    origin, inner = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin is Literal:
        return _literal(inner)
    if origin in (Union, types.UnionType):
        return _union([_reader(each) for each in inner])
    if origin in (list, Sequence, Iterable):
        return _list(_reader(inner[0] if inner else Any))
    if origin in (dict, Mapping):
        return _dict(_reader(inner[1] if inner else Any))
    return _as_it_is, {}


def _as_it_is(value: Any) -> Any:
    return value


def _text(value: Any) -> Any:
    if isinstance(value, str):
        return value
    raise _WrongType("str")


def _integer(value: Any) -> Any:
    if type(value) is int:
        return value
    if isinstance(value, Integral) or _is_bool(value):
        return int(value)
    if isinstance(value, Real) and float(value).is_integer():
        return int(float(value))
    raise _WrongType("int")


def _float(value: Any) -> Any:
    if type(value) is float:
        return value
    if isinstance(value, Real) or _is_bool(value):
        return float(value)
    raise _WrongType("float")


def _bool(value: Any) -> Any:
    if _is_bool(value):
        return bool(value)
    raise _WrongType("bool")


def _none(value: Any) -> Any:
    if value is None:
        return value
    raise _WrongType("None")


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")  # NumPy's, in its versions 1 and 2


def _literal(values: tuple[Any, ...]) -> tuple[Reader, dict[str, Any]]:
    def read(value: Any) -> Any:
        if any(value == each and type(value) is type(each) for each in values):
            return value
        raise _WrongType(f"one of {', '.join(map(repr, values))}")

    return read, {"enum": list(values)} if len(values) > 1 else {"const": values[0]}


def _union(members: list[tuple[Reader, dict[str, Any]]]) -> tuple[Reader, dict[str, Any]]:
    def read(value: Any) -> Any:
        expected = []
        for member, _ in members:
            try:
                return member(value)
            except _WrongType as error:
                expected.append(str(error))
        raise _WrongType(" or ".join(expected))

    return read, {"anyOf": [schema for _, schema in members]}


def _list(item: tuple[Reader, dict[str, Any]]) -> tuple[Reader, dict[str, Any]]:
    def read(value: Any) -> Any:
        if getattr(value, "ndim", 0) > 0:
            value = value.tolist()
        if not isinstance(value, list | tuple):
            raise _WrongType("a list")
        return _each(value, item[0], "a list of")

    return read, {"type": "array", "items": item[1]}


def _dict(item: tuple[Reader, dict[str, Any]]) -> tuple[Reader, dict[str, Any]]:
    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _WrongType("a dict")
        return dict(zip(value, _each(value.values(), item[0], "a dict of"), strict=True))

    return read, {"type": "object", "additionalProperties": item[1] or True}


def _each(values: Iterable[Any], read: Reader, what: str) -> list[Any]:
    try:
        return [read(value) for value in values]
    except _WrongType as error:
        raise _WrongType(f"{what} {error}") from None


def _describe(value: Any) -> str:
    text = repr(value) if value is None else f"{value!r:.60} ({type(value).__name__})"
    return text.replace("\n", " ")


_PLAIN: dict[Any, tuple[Reader, dict[str, Any]]] = {
    Any: (_as_it_is, {}),
    inspect.Parameter.empty: (_as_it_is, {}),
    str: (_text, {"type": "string"}),
    int: (_integer, {"type": "integer"}),
    float: (_float, {"type": "number"}),
    bool: (_bool, {"type": "boolean"}),
    None: (_none, {"type": "null"}),
    type(None): (_none, {"type": "null"}),
}
