"""What an evaluator asks for: its fields, what each may hold, and which it can do without."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal, Protocol, TypeAlias, Union

from karat.core.errors import DataError

Read: TypeAlias = Callable[[Any], Any]
"""From a value to itself, or to the same number as the type asked for; `_Unfit` where that would mean guessing."""


class _Unfit(Exception):
    """A value is not what an annotation says; the message is what was expected."""


class Asking(Protocol):
    """What is known of an evaluator's input."""

    @property
    def required(self) -> tuple[str, ...]:
        """The fields that a record must have."""

    @property
    def optional(self) -> tuple[str, ...]:
        """The others."""

    def validate(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the fields; `ValueError` where one does not fit."""

    def describe(self) -> dict[str, Any]:
        """Its JSON Schema."""


@dataclass(frozen=True)
class Schema:
    """Fields by their annotations, without pydantic.

    `defaults` holds the optional ones. With `rest`, what is no field is let through. Nothing is read as what it is not:
    text is no number. Numbers of NumPy's are numbers, and whole ones are integers, as frames store those beside NaN.

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
    _read: Mapping[str, Read] = field(init=False, repr=False, compare=False)

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
        except Exception:  # noqa: BLE001  (annotations may name what is not there at run time)
            hints = {}
        parameters = inspect.signature(function).parameters.values()
        named = [each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
        return cls(
            {each.name: hints.get(each.name, Any) for each in named},
            {each.name: each.default for each in named if each.default is not each.empty},
            rest=any(each.kind is each.VAR_KEYWORD for each in parameters),
        )

    def validate(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the fields, others left out unless `rest`; `karat.DataError` where one does not fit."""
        found = dict(values) if self.rest else {}
        for name, read in self._read.items():
            if name in values:
                try:
                    found[name] = read(values[name])
                except _Unfit as error:
                    got = _shown(values[name])
                    raise DataError(f"Input validation failed: {name}: {error} is expected, got {got}") from None
        return found

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
        """The fields with one."""
        return tuple(name for name, each in self.model.model_fields.items() if not each.is_required())

    def validate(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What the model makes of the values."""
        try:
            return dict(self.model.model_validate(dict(values)).model_dump())
        except ValueError as error:
            raise DataError(f"Input validation failed: {error}") from None

    def describe(self) -> dict[str, Any]:
        """The model's own JSON Schema."""
        return dict(self.model.model_json_schema())


def asking(given: Any) -> Asking | None:
    """What a user gave as `input_schema`: one of ours, a pydantic model class, or nothing."""
    if given is None or isinstance(given, Schema):
        return given
    if hasattr(given, "model_fields") and hasattr(given, "model_validate"):
        return Pydantic(given)
    raise TypeError(f"input_schema: a pydantic model class or a Schema is expected, got {given!r:.80}")


def _reader(annotation: Any) -> tuple[Read, dict[str, Any]]:
    """What reads a value of an annotation, and the annotation's JSON Schema; of what it does not know, anything."""
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
    raise _Unfit("str")


def _integer(value: Any) -> Any:
    if type(value) is int:
        return value
    if isinstance(value, Integral) or _is_bool(value):
        return int(value)
    if isinstance(value, Real) and float(value).is_integer():
        return int(float(value))
    raise _Unfit("int")


def _float(value: Any) -> Any:
    if type(value) is float:
        return value
    if isinstance(value, Real) or _is_bool(value):
        return float(value)
    raise _Unfit("float")


def _bool(value: Any) -> Any:
    if _is_bool(value):
        return bool(value)
    raise _Unfit("bool")


def _none(value: Any) -> Any:
    if value is None:
        return value
    raise _Unfit("None")


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")  # NumPy's is called either


def _literal(values: tuple[Any, ...]) -> tuple[Read, dict[str, Any]]:
    def read(value: Any) -> Any:
        if any(value == each and type(value) is type(each) for each in values):
            return value
        raise _Unfit(f"one of {', '.join(map(repr, values))}")

    return read, {"enum": list(values)} if len(values) > 1 else {"const": values[0]}


def _union(members: list[tuple[Read, dict[str, Any]]]) -> tuple[Read, dict[str, Any]]:
    def read(value: Any) -> Any:
        expected = []
        for member, _ in members:
            try:
                return member(value)
            except _Unfit as error:
                expected.append(str(error))
        raise _Unfit(" or ".join(expected))

    return read, {"anyOf": [schema for _, schema in members]}


def _list(item: tuple[Read, dict[str, Any]]) -> tuple[Read, dict[str, Any]]:
    def read(value: Any) -> Any:
        if getattr(value, "ndim", 0) > 0:
            value = value.tolist()
        if not isinstance(value, list | tuple):
            raise _Unfit("a list")
        return _each(value, item[0], "a list of")

    return read, {"type": "array", "items": item[1]}


def _dict(item: tuple[Read, dict[str, Any]]) -> tuple[Read, dict[str, Any]]:
    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _Unfit("a dict")
        return dict(zip(value, _each(value.values(), item[0], "a dict of"), strict=True))

    return read, {"type": "object", "additionalProperties": item[1] or True}


def _each(values: Iterable[Any], read: Read, what: str) -> list[Any]:
    try:
        return [read(value) for value in values]
    except _Unfit as error:
        raise _Unfit(f"{what} {error}") from None


def _shown(value: Any) -> str:
    text = repr(value) if value is None else f"{value!r:.60} ({type(value).__name__})"
    return text.replace("\n", " ")


_PLAIN: dict[Any, tuple[Read, dict[str, Any]]] = {
    Any: (_as_it_is, {}),
    inspect.Parameter.empty: (_as_it_is, {}),
    str: (_text, {"type": "string"}),
    int: (_integer, {"type": "integer"}),
    float: (_float, {"type": "number"}),
    bool: (_bool, {"type": "boolean"}),
    None: (_none, {"type": "null"}),
    type(None): (_none, {"type": "null"}),
}
