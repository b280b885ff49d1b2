"""What it means that a function returns a number, a truth value, a text, a dict, several of these, or a score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karat.core.errors import DataError

_PARTS = ("score", "label", "explanation")
_OF_EVALUATOR = ("name", "kind", "direction")
_LABEL_SPACES = 2  # a text with more is an explanation


def to_parts(given: Any, name: str) -> dict[str, Any]:
    """Score, label, explanation and metadata, as far as a function returned them; `name` is its evaluator's.

    Raises `karat.DataError`, a `ValueError`, for what is none of the forms.

    >>> to_parts(True, "short"), to_parts((0.5, "fair"), "short")
    ({'score': 1.0, 'label': 'True'}, {'score': 0.5, 'label': 'fair'})
    >>> to_parts({"score": 1, "metadata": {"rule": 7}, "words": 3}, "short")
    {'score': 1, 'metadata': {'rule': 7, 'words': 3}}
    """
    if all(hasattr(given, part) for part in (*_PARTS, "metadata", "direction")):  # a Score, Phoenix's own too
        given = {part: getattr(given, part) for part in (*_PARTS, "metadata")}
    if isinstance(given, Mapping):
        return _of_mapping(given, name)
    found: dict[str, Any] = {}
    for part in given if isinstance(given, tuple) else (given,):
        if (said := _of_value(part)) is None:
            raise DataError(f"{name} returned {given!r:.200} ({type(given).__name__}){_hint(given)}")
        # a truth value's label gives way to one that was said before
        found |= {**said, "label": found["label"]} if len(said) > 1 and "label" in found else said
    return found


def _of_value(given: Any) -> dict[str, Any] | None:
    given = _plain(given)
    if isinstance(given, bool):
        return {"score": float(given), "label": str(given)}
    if isinstance(given, int | float):
        return {"score": given}
    if isinstance(given, str):
        return {"label" if given.count(" ") <= _LABEL_SPACES else "explanation": given}
    return None


def _of_mapping(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The parts of that name; anything else is metadata, so that nothing is lost."""
    found = {part: _plain(given[part]) for part in _PARTS if part in given}
    score = found.get("score")
    if score is not None and not isinstance(score, int | float):
        raise DataError(f"{name} returned {score!r:.80} as its score: a number is expected")
    said = given.get("metadata") or {}
    if not isinstance(said, Mapping):
        raise DataError(f"{name} returned {said!r:.80} as its metadata: a dict is expected")
    rest = {key: value for key, value in given.items() if key not in (*_PARTS, *_OF_EVALUATOR, "metadata")}
    if metadata := {**said, **rest}:
        found["metadata"] = metadata
    return found


def _plain(value: Any) -> Any:
    """A scalar of NumPy's as Python's own."""
    return value.item() if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0 else value


def _hint(given: Any) -> str:
    several = "; an evaluator of several scores is a subclass of Evaluator" if isinstance(given, list) else ""
    return f": a number, a truth value, a text, a dict, a Score, or a tuple of the first three is expected{several}"
