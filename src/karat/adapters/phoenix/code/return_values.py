"""The return values of an evaluator's function: a number, a bool, a text, a dict, a tuple of these, or a score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karat.core.errors import DataError

_PARTS = ("score", "label", "explanation")
_OF_EVALUATOR = ("name", "kind", "direction")
_LABEL_SPACES = 2  # a text with more is an explanation


def to_parts(returned: Any, name: str) -> dict[str, Any]:
    """The score, label, explanation and metadata that a function returned; `name` is its evaluator's, for messages.

    Raises `DataError`, a `ValueError`, for a value of any other form.

    >>> to_parts(True, "short"), to_parts((0.5, "fair"), "short")
    ({'score': 1.0, 'label': 'True'}, {'score': 0.5, 'label': 'fair'})
    >>> to_parts({"score": 1, "metadata": {"rule": 7}, "words": 3}, "short")
    {'score': 1, 'metadata': {'rule': 7, 'words': 3}}
    """
    if all(hasattr(returned, part) for part in (*_PARTS, "metadata", "direction")):  # a Score, Phoenix's own too
        returned = {part: getattr(returned, part) for part in (*_PARTS, "metadata")}
    if isinstance(returned, Mapping):
        return _from_mapping(returned, name)
    parts: dict[str, Any] = {}
    for value in returned if isinstance(returned, tuple) else (returned,):
        if (part := _from_value(value)) is None:
            raise DataError(
                f"Unsupported return type '{type(value).__name__}' for evaluator '{name}': a number, a bool, a text, a "
                f"dict, a Score, or a tuple of the first three is expected. Got: {returned!r:.200}{_hint(returned)}"
            )
        # the label of a bool does not replace an earlier label
        parts |= {**part, "label": parts["label"]} if len(part) > 1 and "label" in parts else part
    return parts


def _from_value(value: Any) -> dict[str, Any] | None:
    value = _to_python(value)
    if isinstance(value, bool):
        return {"score": float(value), "label": str(value)}
    if isinstance(value, int | float):
        return {"score": value}
    if isinstance(value, str):
        return {"label" if value.count(" ") <= _LABEL_SPACES else "explanation": value}
    return None


def _from_mapping(returned: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The parts under their names; all other keys become metadata, so that nothing is lost."""
    parts = {part: _to_python(returned[part]) for part in _PARTS if part in returned}
    if parts.get("label") is not None:
        parts["label"] = str(parts["label"])  # Phoenix's server takes no other label
    score = parts.get("score")
    if score is not None and not isinstance(score, int | float):
        raise DataError(f"{name} returned {score!r:.80} as its score: a number is expected")
    metadata = returned.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise DataError(f"{name} returned {metadata!r:.80} as its metadata: a dict is expected")
    rest = {key: value for key, value in returned.items() if key not in (*_PARTS, *_OF_EVALUATOR, "metadata")}
    if metadata or rest:
        parts["metadata"] = {**metadata, **rest}
    return parts


def _to_python(value: Any) -> Any:
    """A scalar of NumPy's as Python's own."""
    return value.item() if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0 else value


def _hint(returned: Any) -> str:
    return ". For several scores, write a subclass of Evaluator" if isinstance(returned, list) else ""
