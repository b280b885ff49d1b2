"""The types that fields are annotated with: what values each takes, and its JSON Schema."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Annotated, Any, Literal, TypeAlias, Union

from karat.adapters.phoenix.schema.text import Converted

Reader: TypeAlias = Callable[[Any], Any]
"""Returns a value of the annotated type as it is, or an equal number as that type; raises `WrongType` otherwise."""


class WrongType(Exception):
    """A value does not have the annotated type; the message is the type expected."""


def reader(annotation: Any) -> tuple[Reader, dict[str, Any]]:
    """The reader of an annotation's values, and its JSON Schema; an unknown annotation accepts any value."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    origin, inner = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin is Annotated:
        return (
            (_as_it_is, {"type": "string"}) if isinstance(annotation.__metadata__[0], Converted) else reader(inner[0])
        )
    if origin is Literal:
        return _literal(inner)
    if origin in (Union, types.UnionType):
        return _union([reader(each) for each in inner])
    if origin in (list, Sequence, Iterable):
        return _list(reader(inner[0] if inner else Any))
    if origin in (dict, Mapping):
        return _dict(reader(inner[1] if inner else Any))
    return _as_it_is, {}


def _as_it_is(value: Any) -> Any:
    return value


def _text(value: Any) -> Any:
    if isinstance(value, str):
        return value
    raise WrongType("str")


def _integer(value: Any) -> Any:
    if type(value) is int:
        return value
    if isinstance(value, Integral) or _is_bool(value):
        return int(value)
    if isinstance(value, Real) and float(value).is_integer():
        return int(float(value))
    raise WrongType("int")


def _float(value: Any) -> Any:
    if type(value) is float:
        return value
    if isinstance(value, Real) or _is_bool(value):
        return float(value)
    raise WrongType("float")


def _bool(value: Any) -> Any:
    if _is_bool(value):
        return bool(value)
    raise WrongType("bool")


def _none(value: Any) -> Any:
    if value is None:
        return value
    raise WrongType("None")


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")  # NumPy's, in its versions 1 and 2


def _literal(values: tuple[Any, ...]) -> tuple[Reader, dict[str, Any]]:
    def read(value: Any) -> Any:
        if any(value == each and type(value) is type(each) for each in values):
            return value
        raise WrongType(f"one of {', '.join(map(repr, values))}")

    return read, {"enum": list(values)} if len(values) > 1 else {"const": values[0]}


def _union(members: list[tuple[Reader, dict[str, Any]]]) -> tuple[Reader, dict[str, Any]]:
    def read(value: Any) -> Any:
        expected = []
        for member, _ in members:
            try:
                return member(value)
            except WrongType as error:
                expected.append(str(error))
        raise WrongType(" or ".join(expected))

    return read, {"anyOf": [schema for _, schema in members]}


def _list(item: tuple[Reader, dict[str, Any]]) -> tuple[Reader, dict[str, Any]]:
    def read(value: Any) -> Any:
        if getattr(value, "ndim", 0) > 0:
            value = value.tolist()
        if not isinstance(value, list | tuple):
            raise WrongType("a list")
        return _each(value, item[0], "a list of")

    return read, {"type": "array", "items": item[1]}


def _dict(item: tuple[Reader, dict[str, Any]]) -> tuple[Reader, dict[str, Any]]:
    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise WrongType("a dict")
        return dict(zip(value, _each(value.values(), item[0], "a dict of"), strict=True))

    return read, {"type": "object", "additionalProperties": item[1] or True}


def _each(values: Iterable[Any], read: Reader, what: str) -> list[Any]:
    try:
        return [read(value) for value in values]
    except WrongType as error:
        raise WrongType(f"{what} {error}") from None


def show(value: Any) -> str:
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
