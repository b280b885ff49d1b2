"""What rows can be filtered, sorted and counted by, read from JSON: fields, conditions, an order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Required, TypeAlias, TypedDict, cast

from karat.core.errors import SpecError
from karat.data.json.typed import check_type

FieldKind: TypeAlias = Literal["column", "score", "difference", "size", "outcome", "reason", "label", "text", "id"]
Op: TypeAlias = Literal["in", "not in", "between", "range", "missing", "contains"]

_PARTS: Mapping[str, tuple[str, ...]] = {
    "column": ("name",),
    "reason": ("system",),
    "text": (),
    "id": (),
}
_OF_A_METRIC = ("metric", "system")
MOST_CONDITIONS, MOST_VALUES = 50, 1_000
_LARGEST = 1e300  # of an end; not infinite, and no whole number that is too large for arithmetic


class FieldParts(TypedDict, total=False):
    """What a row has one value of; `system` is the number of a run, from 0."""

    kind: Required[FieldKind]
    name: str
    metric: str
    system: int


@dataclass(frozen=True)
class Field:
    """What a row has one value of.

    `column`: the column `name`. Of a `metric` and a `system` (its number, from 0): the `score`; the
    `difference` of the scores, system minus the first, and its `size` without a sign; the `outcome`, whether the system
    is better or worse than the first; the judge's `label`. `reason`: why a system's row is unscored. `text`: the
    question, the gold and the answers together. `id`: by which rows are matched.
    """

    kind: FieldKind
    name: str = ""
    metric: str = ""
    system: int = 0

    def as_dict(self) -> FieldParts:
        """The field for JSON: what `read_field` reads."""
        parts = _PARTS.get(self.kind, _OF_A_METRIC)
        return cast("FieldParts", {"kind": self.kind, **{part: getattr(self, part) for part in parts}})


@dataclass(frozen=True)
class Condition:
    """What must hold for a row.

    `in`, `not in`: its value is one of `values`, None for no value. `between`: both ends included; `range`: without the
    upper one; an end that is None is open. `missing`: there is no value. `contains`: the text, in any case.
    """

    field: Field
    op: Op
    values: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Order:
    """The order of rows by a field; rows without a value come last."""

    field: Field
    descending: bool = False


def read_field(data: Any) -> Field:
    """A field from JSON; `DataError` for what is none.

    >>> read_field({"kind": "score", "metric": "em", "system": 1})
    Field(kind='score', name='', metric='em', system=1)
    """
    check_type(data, Field, "a field")
    return Field(**{part.name: data[part.name] for part in fields(Field) if part.name in data})


def read_filter(data: Any) -> tuple[Condition, ...]:
    """The conditions of a filter from JSON; `DataError` for what is none, `SpecError` for values that do not fit.

    >>> read_filter([{"field": {"kind": "column", "name": "topic"}, "op": "in", "values": ["geo"]}])
    (Condition(field=Field(kind='column', name='topic', metric='', system=0), op='in', values=('geo',)),)
    """
    if data is None:
        return ()
    check_type(data, tuple[Condition, ...], "the filter")
    conditions = tuple(Condition(read_field(each["field"]), each["op"], tuple(each.get("values", ()))) for each in data)
    if len(conditions) > MOST_CONDITIONS or any(len(each.values) > MOST_VALUES for each in conditions):
        raise SpecError(f"a filter has up to {MOST_CONDITIONS} conditions, each of up to {MOST_VALUES} values")
    for each in conditions:
        _check_values(each.op, each.values)
    return conditions


def read_order(data: Any) -> Order | None:
    """An order from JSON; None stays None; `DataError` for what is none."""
    if data is None:
        return None
    check_type(data, Order, "the order")
    return Order(read_field(data["field"]), data.get("descending", False))


def _check_values(op: str, values: Sequence[Any]) -> None:
    if op in {"in", "not in"}:
        right = all(each is None or isinstance(each, str) for each in values)
        expected = "texts, or null for no value"
    elif op == "contains":
        right, expected = len(values) == 1 and isinstance(values[0], str) and values[0] != "", "one text"
    elif op == "missing":
        right, expected = not values, "nothing"
    else:
        right, expected = len(values) == 2 and all(map(_is_end, values)), "two numbers, or null for an open end"
    if not right:
        raise SpecError(f"the values of {op!r} are expected to be {expected}")


def _is_end(value: Any) -> bool:
    return value is None or (type(value) in {int, float} and abs(value) <= _LARGEST)
