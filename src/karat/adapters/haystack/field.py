"""The field by which documents are compared: content, id, a key of meta, or several of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from haystack import Document

from karat.core.errors import RowError, SpecError

_PLAIN = {str, int, bool, type(None)}

Field: TypeAlias = "str | Sequence[Field]"


def path_of(field: Field) -> tuple[str, ...]:
    """The attribute of a document that a field names, and the keys in it; empty for a list of fields.

    Raises `SpecError` for an unknown field.

    >>> path_of("meta.source.page"), path_of(["content", "id"])
    (('meta', 'source', 'page'), ())
    """
    if isinstance(field, list | tuple) and field:
        return ()
    if isinstance(field, str) and (field in ("content", "id") or (field.startswith("meta.") and field != "meta.")):
        return tuple(field.split("."))
    raise SpecError(
        f"Unsupported document_comparison_field: '{field}'. Use 'content', 'id', or 'meta.<key>', or a list "
        "of several of these."
    )


def reader(field: Field) -> Callable[[Document], Any]:
    """The function from a document to the hashable value that is compared; None for None, NaN and "".

    Raises `SpecError` for an unknown field.

    >>> reader("meta.source.page")(Document(content="9th", meta={"source": {"page": 4}}))
    4
    >>> reader(("content", "meta.page"))(Document(content="9th", meta={"page": 4}))
    ('9th', 4)
    """
    if path := path_of(field):
        return partial(_look, path)
    parts = [reader(part) for part in field]
    return lambda document: _together([part(document) for part in parts])


def freeze(value: Any) -> Any:
    """A hashable value that equals others exactly if the original does; None for NaN and "", which equal nothing.

    >>> freeze([1, {"b": [2], "a": 3}]) == freeze([1.0, {"a": 3, "b": [2]}])
    True
    """
    if type(value) in _PLAIN:
        return None if value == "" else value
    try:
        hash(value)
        is_value = bool(value == value)  # noqa: PLR0124  (NaN does not equal itself)
    except TypeError:  # also of pandas' NA
        return _freeze_inside(value)
    return value if is_value else None


def _look(path: tuple[str, ...], document: Document) -> Any:
    value = getattr(document, path[0])
    for key in path[1:]:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return freeze(value)


def _together(values: list[Any]) -> Any:
    """Several values as one tuple; None if one of them is missing."""
    return None if None in values else tuple(values)


def _freeze_inside(value: Any) -> Any:
    """A hashable copy of a collection; with its type, since a list never equals a tuple. Sets become frozen sets."""
    try:
        match value:
            case list():
                return list, tuple(map(_hashable, value))
            case tuple():
                return tuple(map(_hashable, value))
            case dict():
                return dict, frozenset((key, _hashable(inner)) for key, inner in value.items())
            case set():
                return frozenset(value)
    except RecursionError:
        pass
    raise RowError(f"documents cannot be compared by {value!r:.80}: text, numbers, lists or dicts are expected")


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return _freeze_inside(value)
    return value
