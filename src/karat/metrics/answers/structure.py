"""Whether a prediction is JSON, and the JSON that was expected."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from decimal import Context, Decimal, InvalidOperation
from itertools import zip_longest
from typing import Annotated, Any, Literal, NamedTuple, NoReturn

import numpy as np
import regex

from karat.core.columns.kinds import Score, Text
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.rows import Rows

RFC = "RFC 8259, with the unique names of RFC 7493 (I-JSON)"
DEEPEST = 200  # levels of nesting
_FENCED = regex.compile(r"\s*```(?:json|JSON)?[^\S\n]*\n(.*?)\s*```\s*", regex.DOTALL)
_EXACT = Context(prec=40, traps=[])  # differences of numbers, never an exception
_MISSING = object()


def _tolerance(value: float) -> None:
    if not 0 <= value < np.inf:
        raise SpecError("a number from 0 is expected")


@metric(source=RFC)
def valid_json(prediction: Text, *, fences: bool = False) -> Score:
    """1 where the prediction is JSON and nothing else, else 0.

    Strict: no comments, no trailing comma, no NaN, no name twice in an object, at most 200 levels. With `fences=True`
    it may stand in a Markdown fence.

    >>> valid_json(['{"a": [1, true]}', "{'a': 1}", "[1,]", "NaN", "Here: {}"]).to_pylist()
    [1.0, 0.0, 0.0, 0.0, 0.0]
    """
    return [not isinstance(_parse(text, fences=fences), _Invalid) for text in prediction.to_pylist()]


@metric(source=f"ours; equality of {RFC}; JSONDiff of autoevals and JSONDistance of Phoenix count leaves too")
def json_match(
    prediction: Text,
    reference: Text,
    *,
    lists: Literal["ordered", "set"] = "ordered",
    tolerance: Annotated[float, _tolerance] = 0.0,
    partial: bool = False,
    fences: bool = False,
) -> Score:
    """1 where prediction and reference are the same JSON value, else 0.

    The order of names in an object never counts; that of items in a list does, unless `lists="set"`, where repeated
    items count once. `1`, `1.0` and `1e0` are one number, exactly compared unless they may differ by `tolerance`. With
    `partial=True` the score is the share of leaves, of all that stand in either value, that are equal (an empty
    object or list is a leaf; items of sets that are not equal are paired best first).
    A prediction that is not JSON (see `valid_json`) scores 0; where the reference is not the row is unscored.

    >>> json_match(['{"b": 2, "a": 1.0}', "[2, 1]"], ['{"a": 1, "b": 2}', "[1, 2]"]).to_pylist()
    [1.0, 0.0]
    >>> json_match(['{"a": 1, "b": 3}'], ['{"a": 1, "b": 2, "c": {"d": 0, "e": 0}}'], partial=True).to_pylist()
    [0.25]
    """
    allowed = Decimal(repr(tolerance))
    scores = np.full(len(prediction), np.nan)
    reasons = np.full(len(prediction), None, dtype=object)
    for row, (said, sought) in enumerate(zip(prediction.to_pylist(), reference.to_pylist(), strict=True)):
        expected, found = _parse(sought, fences=fences), _parse(said, fences=fences)
        if isinstance(expected, _Invalid):
            reasons[row] = f"reference is not JSON: {expected.why}"
        elif isinstance(found, _Invalid):
            scores[row] = 0.0
        elif _key(found, lists) == _key(expected, lists):
            scores[row] = 1.0
        elif not partial and not allowed:
            scores[row] = 0.0
        else:
            equal, leaves = _compare(found, expected, lists, allowed)
            scores[row] = equal / leaves if partial else equal == leaves
    return Rows(scores, reasons)


class _Invalid(NamedTuple):
    """Why a text is not JSON."""

    why: str


def _parse(text: str, *, fences: bool) -> Any:
    """The value, with numbers as exact decimals; or `_Invalid`."""
    fenced = _FENCED.fullmatch(text) if fences else None
    try:
        value = json.loads(
            fenced[1] if fenced else text,
            parse_int=Decimal,
            parse_float=Decimal,
            parse_constant=_refuse,
            object_pairs_hook=_object,
        )
        _check_depth(value)
    except RecursionError:
        return _Invalid(f"it is nested deeper than {DEEPEST} levels")
    except InvalidOperation:
        return _Invalid("a number's exponent has too many digits")
    except ValueError as error:
        return _Invalid(str(error))
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("an object holds a name twice")
    return value


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = [item for each in level for item in _items(each)]
        if not level:
            return
    raise RecursionError


def _items(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _key(value: Any, lists: str) -> Hashable:
    """What two values have in common exactly if they are the same."""
    if isinstance(value, dict):
        return dict, frozenset((name, _key(item, lists)) for name, item in value.items())
    if isinstance(value, list):
        return list, (tuple if lists == "ordered" else frozenset)(_key(item, lists) for item in value)
    return type(value), value


def _compare(found: Any, expected: Any, lists: str, tolerance: Decimal) -> tuple[int, int]:
    """How many leaves are equal, of how many in either value."""
    if isinstance(found, dict) and isinstance(expected, dict) and (found or expected):
        pairs = [(found.get(name, _MISSING), expected.get(name, _MISSING)) for name in found | expected]
    elif isinstance(found, list) and isinstance(expected, list) and (found or expected):
        if lists == "set":
            return _compare_sets(found, expected, tolerance)
        pairs = list(zip_longest(found, expected, fillvalue=_MISSING))
    else:
        equal = _is_equal(found, expected, tolerance)
        return int(equal), max(_leaves(found), _leaves(expected))
    counts = [_compare(a, b, lists, tolerance) for a, b in pairs]
    return sum(equal for equal, _ in counts), sum(leaves for _, leaves in counts)


def _compare_sets(found: list[Any], expected: list[Any], tolerance: Decimal) -> tuple[int, int]:
    """The same for items without order: equal ones first, then each with the likest that is left."""
    said, sought = ({_key(item, "set"): item for item in items} for items in (found, expected))
    equal = leaves = sum(_leaves(said[key]) for key in said.keys() & sought.keys())
    rest = [item for key, item in said.items() if key not in sought]
    for item in (item for key, item in sought.items() if key not in said):
        counts = [_compare(other, item, "set", tolerance) for other in rest]
        best = max(range(len(rest)), key=lambda i: counts[i][0] / counts[i][1], default=None)
        if best is None:
            leaves += _leaves(item)
        else:
            rest.pop(best)
            equal, leaves = equal + counts[best][0], leaves + counts[best][1]
    return equal, leaves + sum(map(_leaves, rest))


def _is_equal(found: Any, expected: Any, tolerance: Decimal) -> bool:
    if isinstance(found, Decimal) and isinstance(expected, Decimal):
        return found == expected or abs(_EXACT.subtract(found, expected)) <= tolerance
    return type(found) is type(expected) and bool(found == expected)


def _leaves(value: Any) -> int:
    if value is _MISSING:
        return 0
    return sum(map(_leaves, _items(value))) or 1
