"""Mapping a record to the fields of an evaluator: by name, by path, or by a function of the record."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from functools import cache, lru_cache
from typing import Any, TypeAlias

from karat.core.errors import ColumnError, SpecError, did_you_mean
from karat.core.lazy import import_extra

InputMapping: TypeAlias = Mapping[str, str | Callable[..., Any]]
Extract: TypeAlias = Callable[[Mapping[str, Any]], Any]

_NAME = r"(?!(?:where|wherenot)\b)[A-Za-z_][\w\-]*"
_PLAIN = re.compile(rf"\s*(?:\$\.)?({_NAME}(?:\.{_NAME}|\[-?\d+\])*)\s*", re.ASCII)
_STEP = re.compile(r"\[(-?\d+)\]|([\w\-]+)", re.ASCII)


class PathNotFound(ColumnError):
    """A path matches nothing in a record."""


def remap_eval_input(
    eval_input: Mapping[str, Any], required_fields: Collection[str], input_mapping: InputMapping | None = None
) -> dict[str, Any]:
    """The fields of a record, followed by its other keys except those that were mapped.

    A field is mapped to a key of the record (which may contain dots or spaces), else to a JSONPath, of which the first
    match counts, or to a function. A function's parameters are keys of the record; a function whose only parameter is
    not a key takes the whole record. A field without a mapping is itself a key or path.

    Raises `DataError`, a `ValueError`, if the record lacks a required field.

    >>> remap_eval_input({"trace": {"answer": "Paris"}, "gold": "Rome"}, {"output"}, {"output": "trace.answer"})
    {'output': 'Paris', 'gold': 'Rome'}
    """
    values: dict[str, Any] = {}
    mapping = input_mapping or {}
    for name in dict.fromkeys([*required_fields, *mapping]):
        try:
            values[name] = extractor(name, mapping.get(name, name))(eval_input)
        except PathNotFound:
            if name in required_fields:
                raise
    used = {re.split(r"[.\[]", path, maxsplit=1)[0] for path in mapping.values() if isinstance(path, str)}
    return values | {name: value for name, value in eval_input.items() if name not in values and name not in used}


def extract_with_jsonpath(data: Mapping[str, Any], path: str, match_all: bool = False) -> Any:
    """The first value that a JSONPath matches, or a list of all of them.

    Paths of names and numbers, such as `trace.spans[0].text`, need no package; others need `karat[phoenix]`.
    Raises `ColumnError`, a `ValueError`, if nothing matches, or if `path` is not a path.

    >>> extract_with_jsonpath({"spans": [{"text": "a"}, {"text": "b"}]}, "spans[-1].text")
    'b'
    """
    matches = _compile(path)(data)
    if not matches:
        hint = did_you_mean(path, map(str, data)) if isinstance(data, Mapping) else ""
        raise PathNotFound(f"Path not found: {path}{hint}")
    return matches if match_all else matches[0]


def is_missing(value: Any) -> bool:
    """Whether a value stands for a missing one in records and frames: None, NaN, pandas' NA and NaT."""
    if isinstance(value, float):
        return value != value  # noqa: PLR0124  (only NaN differs from itself)
    return value is None or type(value).__name__ in {"NAType", "NaTType"}


def extractor(field: str, source: str | Callable[..., Any]) -> Extract:
    """The function that gets a field from a record; `TypeError` for a mapping that is neither text nor a function."""
    if isinstance(source, str):
        path = source or field
        return lambda record: record[path] if path in record else extract_with_jsonpath(record, path)
    if callable(source):
        return _by_function(source)
    raise TypeError(f"Invalid mapping for field '{field}': a key, a path or a function is expected, got {source!r:.80}")


def _by_function(function: Callable[..., Any]) -> Extract:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # some built-in functions have no signature
        return function
    if not parameters:
        raise SpecError(
            "a mapping function without parameters: the record, or some of its keys by name, are expected as parameters"
        )
    names = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    if len(parameters) == 1 and parameters[0].kind is not inspect.Parameter.KEYWORD_ONLY:
        (only,) = (each.name for each in parameters)
        return lambda record: function(record.get(only, record))
    return lambda record: function(**{name: record[name] for name in names if name in record})


@lru_cache(maxsize=1024)
def _compile(path: str) -> Callable[[Any], list[Any]]:
    if plain := _PLAIN.fullmatch(path):
        steps = [name or int(place) for place, name in _STEP.findall(plain[1])]
        return lambda data: _walk(data, steps)
    if not re.search(r"[.$\[*|]", path):  # a plain name that is not a key of the record
        return lambda _: []
    parser = import_extra("jsonpath_ng.parser", extra="phoenix", need=f"the path {path!r}", package="jsonpath-ng")
    try:
        parsed = parser.parse(path)
    except Exception as error:  # noqa: BLE001  (the parser raises several types, one of them Exception itself)
        problem = f"Parse error: {path!r} is neither a key of the record nor a JSONPath: {error}"
        kind: Any = type(error)
        raise _path_error(kind)(problem) from None
    return lambda data: [match.value for match in parsed.find(data)]


@cache
def _path_error(kind: Any) -> type[PathNotFound]:
    """A class of errors that is also of the JSONPath parser's class, as in Phoenix."""
    return type("PathSyntaxError", (PathNotFound, kind), {})


def _walk(value: Any, steps: list[str | int]) -> list[Any]:
    for step in steps:
        if isinstance(step, str):
            matches = isinstance(value, Mapping) and step in value
        else:
            is_list = isinstance(value, list | tuple) or getattr(value, "ndim", 0) > 0
            matches = is_list and -len(value) <= step < len(value)
        if not matches:
            return []
        value = value[step]
    return [value]
