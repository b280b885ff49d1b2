"""Metrics of JSON: whether a prediction is JSON, and whether it is the same value as the reference."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from decimal import Context, Decimal
from itertools import zip_longest
from typing import Any, Literal

from karat.core.columns.kinds import Score, Text
from karat.core.metric.decorator import metric
from karat.core.metric.rows import PairBudget, TooLong, collect_rows
from karat.core.metric.setting import NotNegative
from karat.metrics.answers.json.comparison import FIELDS
from karat.metrics.answers.json.parser import RFC, Invalid, parse

_EXACT = Context(prec=40, traps=[])  # differences of numbers, never an exception
_MISSING = object()


@metric(source=RFC, reads_json=True)
def valid_json(prediction: Text, *, fences: bool = False) -> Score:
    """1 where the prediction is JSON and nothing else, else 0.

    Strict: no comments, no trailing comma, no NaN, no repeated name in an object, at most 200 levels. With
    `fences=True` the JSON may be inside a Markdown code fence.

    >>> valid_json(['{"a": [1, true]}', "{'a': 1}", "[1,]", "NaN", "Here: {}"]).to_pylist()
    [1.0, 0.0, 0.0, 0.0, 0.0]
    """
    return [not isinstance(parse(text, fences=fences), Invalid) for text in prediction.to_pylist()]


@metric(
    source=f"ours; equality of {RFC}; JSONDiff of autoevals and JSONDistance of Phoenix count leaves too",
    reads_json=True,
)
def json_match(
    prediction: Text,
    reference: Text,
    *,
    lists: Literal["ordered", "set"] = "ordered",
    tolerance: NotNegative = 0.0,
    partial: bool = False,
    fences: bool = False,
) -> Score:
    """1 where prediction and reference are the same JSON value, else 0.

    The order of names in an object does not count. The order of items in a list does, except with `lists="set"`, where
    repeated items count once. `1`, `1.0` and `1e0` are the same number; numbers may differ by `tolerance`. With
    `partial=True` the score is the number of equal leaves divided by all leaves of either value (an empty object or
    list is a leaf; items of sets that are not equal are compared with the most similar one that is left).
    A prediction that is not JSON (see `valid_json`) scores 0; a row whose reference is not JSON is unscored, and so is
    one whose sets make more than 10,000,000 pairs of fields.

    >>> json_match(['{"b": 2, "a": 1.0}', "[2, 1]"], ['{"a": 1, "b": 2}', "[1, 2]"]).to_pylist()
    [1.0, 0.0]
    >>> json_match(['{"a": 1, "b": 3}'], ['{"a": 1, "b": 2, "c": {"d": 0, "e": 0}}'], partial=True).to_pylist()
    [0.25]
    """
    allowed = Decimal(repr(tolerance))

    def compare(prediction: str, reference: str) -> float | str:
        expected, predicted = parse(reference, fences=fences), parse(prediction, fences=fences)
        if isinstance(expected, Invalid):
            return f"reference is not JSON: {expected.why}"
        if isinstance(predicted, Invalid):
            return 0.0
        if _key(predicted, lists) == _key(expected, lists):
            return 1.0
        if not partial and not allowed:
            return 0.0
        try:
            equal, leaves = _compare(predicted, expected, lists, allowed, PairBudget("fields", FIELDS))
        except TooLong as error:
            return str(error)
        return equal / leaves if partial else equal == leaves

    return collect_rows(map(compare, prediction.to_pylist(), reference.to_pylist()))


def _items(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _key(value: Any, lists: str) -> Hashable:
    """A key that is equal for two values exactly if they are the same JSON value."""
    if isinstance(value, dict):
        return dict, frozenset((name, _key(item, lists)) for name, item in value.items())
    if isinstance(value, list):
        return list, (tuple if lists == "ordered" else frozenset)(_key(item, lists) for item in value)
    return type(value), value


def _compare(predicted: Any, expected: Any, lists: str, tolerance: Decimal, spent: PairBudget) -> tuple[int, int]:
    """How many leaves are equal, and how many leaves there are in either value."""
    if isinstance(predicted, dict) and isinstance(expected, dict) and (predicted or expected):
        pairs = [(predicted.get(name, _MISSING), expected.get(name, _MISSING)) for name in predicted | expected]
    elif isinstance(predicted, list) and isinstance(expected, list) and (predicted or expected):
        if lists == "set":
            return _compare_sets(predicted, expected, tolerance, spent)
        pairs = list(zip_longest(predicted, expected, fillvalue=_MISSING))
    else:
        equal = _is_equal(predicted, expected, tolerance)
        return int(equal), max(_leaves(predicted), _leaves(expected))
    counts = [_compare(a, b, lists, tolerance, spent) for a, b in pairs]
    return sum(equal for equal, _ in counts), sum(leaves for _, leaves in counts)


def _compare_sets(predicted: list[Any], expected: list[Any], tolerance: Decimal, spent: PairBudget) -> tuple[int, int]:
    """`_compare` for items without order: equal items first, then each with the most similar item that is left."""
    predicted_items, expected_items = ({_key(item, "set"): item for item in items} for items in (predicted, expected))
    equal = leaves = sum(_leaves(predicted_items[key]) for key in predicted_items.keys() & expected_items.keys())
    rest = [item for key, item in predicted_items.items() if key not in expected_items]
    left = [item for key, item in expected_items.items() if key not in predicted_items]
    spent.spend((len(left) * _leaves(rest) + len(rest) * _leaves(left)) if rest else 0)
    for item in left:
        counts = [_compare(other, item, "set", tolerance, spent) for other in rest]
        best = max(range(len(rest)), key=lambda i: counts[i][0] / counts[i][1], default=None)
        if best is None:
            leaves += _leaves(item)
        else:
            rest.pop(best)
            equal, leaves = equal + counts[best][0], leaves + counts[best][1]
    return equal, leaves + sum(map(_leaves, rest))


def _is_equal(predicted: Any, expected: Any, tolerance: Decimal) -> bool:
    if isinstance(predicted, Decimal) and isinstance(expected, Decimal):
        return predicted == expected or abs(_EXACT.subtract(predicted, expected)) <= tolerance
    return type(predicted) is type(expected) and bool(predicted == expected)


def _leaves(value: Any) -> int:
    if value is _MISSING:
        return 0
    return sum(map(_leaves, _items(value))) or 1
