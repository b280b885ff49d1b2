"""Dataclasses as JSON objects, and their JSON Schema: both follow from one list of members, so that they agree."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TYPES: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


@dataclass(frozen=True)
class Printed:
    """How a dataclass is written as a JSON object.

    `first`: what comes first. `also`: the properties that follow all of them. `hidden`: the fields that are not
    written. `sparse`: what is only written where it holds something, such as any float. `inline`: the fields in whose
    place their own members stand. `names`: the names of members that are called otherwise than in Python.
    """

    first: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    sparse: tuple[str, ...] = ()
    inline: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


class JsonObject:
    """A dataclass that is printed as a JSON object, in the way that its `printed` says.

    >>> @dataclass(frozen=True)
    ... class Share(JsonObject):
    ...     right: int
    ...     n: int
    ...     note: str = ""
    ...     printed: ClassVar = Printed(also=("share",), sparse=("note",), names={"n": "rows"})
    ...     @property
    ...     def share(self) -> float:
    ...         return self.right / self.n
    >>> Share(1, 2).as_dict()
    {'right': 1, 'rows': 2, 'share': 0.5}
    """

    printed: ClassVar[Printed] = Printed()

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        return dict(_write_members(self))


def to_json(value: Any) -> Any:
    """A value as JSON values: dataclasses become objects, tuples lists."""
    if is_dataclass(value):
        return dict(_write_members(value))
    if isinstance(value, Mapping):
        return {name: to_json(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(each) for each in value]
    return value


def json_schema(kind: Any, title: str) -> dict[str, Any]:
    """The JSON Schema of what `to_json` makes of a type; objects have no members but those that it names.

    >>> json_schema(Mapping[str, float | None], "values")["additionalProperties"]
    {'type': ['number', 'null']}
    """
    definitions: dict[str, Any] = {}
    schema = _describe(kind, definitions)
    parts = {"$defs": dict(sorted(definitions.items()))} if definitions else {}
    return {"$schema": DIALECT, "title": title, **schema, **parts}


def _write_members(value: Any) -> Iterator[tuple[str, Any]]:
    kind: Any = type(value)
    printed = _printed(kind)
    for name in _members(kind):
        content = to_json(getattr(value, name))
        if name in printed.inline:
            yield from content.items()
        elif content or isinstance(content, float) or name not in printed.sparse:
            yield printed.names.get(name, name), content


def _printed(kind: Any) -> Printed:
    printed: Printed = getattr(kind, "printed", JsonObject.printed)
    return printed


@cache
def _members(kind: Any) -> list[str]:
    """The attributes of a dataclass that are written."""
    printed = _printed(kind)
    names = (each.name for each in fields(kind) if each.name not in (*printed.first, *printed.hidden))
    return list(dict.fromkeys([*printed.first, *names, *printed.also]))


def _describe(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type; the schemas of classes are put into `definitions`."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return {}
    if origin is Annotated:
        return _describe(inner[0], definitions)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, UnionType):
        options = [_describe(each, definitions) for each in inner]
        if all(each.keys() == {"type"} for each in options):
            return {"type": [each["type"] for each in options]}
        return {"anyOf": options}
    if origin is tuple and inner[-1] is not ...:
        items = [_describe(each, definitions) for each in inner]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return {"type": "array", "items": _describe(inner[0], definitions)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _describe(inner[1], definitions)}
    if kind in _TYPES:
        return {"type": _TYPES[kind]}
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}  # it may hold itself
        definitions[kind.__name__] = _describe_object(kind, definitions)
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _describe_object(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a dataclass or a `TypedDict`; its docstring describes the members."""
    printed, hints = _printed(kind), get_type_hints(kind)
    sparse, members = printed.sparse, hints
    if is_typeddict(kind):
        sparse = tuple(kind.__optional_keys__)
    else:
        hints |= {name: get_type_hints(getattr(kind, name).fget)["return"] for name in printed.also}
        members = {name: hints[name] for name in _members(kind)}
    properties: dict[str, Any] = {}
    required = list[str]()
    for attribute, hint in members.items():
        if attribute in printed.inline:
            whole = _describe_object(hint, definitions)
            properties |= whole["properties"]
            required += whole["required"]
        else:
            name = printed.names.get(attribute, attribute)
            properties[name] = _describe(hint, definitions)
            required += [] if attribute in sparse else [name]
    return {
        "type": "object",
        "description": (inspect.getdoc(kind) or "").partition(">>> ")[0].strip(),  # without its example
        "properties": properties,
        "required": list(dict.fromkeys(required)),
        "additionalProperties": False,
    }
