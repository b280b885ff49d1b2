"""What rows can be filtered, sorted and counted by, read from JSON: fields, conditions, an order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Required, TypeAlias, TypedDict, cast, get_args

from karat.core.errors import SpecError, did_you_mean

FieldKind: TypeAlias = Literal["column", "score", "difference", "size", "outcome", "reason", "label", "text", "id"]
Op: TypeAlias = Literal["in", "not in", "between", "range", "missing", "contains"]

_KINDS, _OPS = get_args(FieldKind), get_args(Op)
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

    `column`: that of the column `name`. Of a `metric` and a `system` (its number, from 0): the `score`; the
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
    """A field from JSON; `SpecError` for what is none.

    >>> read_field({"kind": "score", "metric": "exact_match", "system": 1})
    Field(kind='score', name='', metric='exact_match', system=1)
    """
    kind = _choose(_object(data, "a field"), "kind", _KINDS)
    parts = _PARTS.get(kind, _OF_A_METRIC)
    _refuse_unknown(data, ("kind", *parts), f"a field of kind {kind!r}")
    found = {part: data.get(part, 0 if part == "system" else None) for part in parts}
    for part, value in found.items():
        if type(value) is not (int if part == "system" else str):
            raise SpecError(f"a field of kind {kind!r}: {part} is {value!r:.80}")
    if found.get("system", 0) < 0:
        raise SpecError(f"there is no system {found['system']}: the first one is 0")
    return Field(kind, **found)


def read_filter(data: Any) -> tuple[Condition, ...]:
    """The conditions of a filter from JSON; `SpecError` for what is none.

    >>> read_filter([{"field": {"kind": "column", "name": "topic"}, "op": "in", "values": ["geo"]}])
    (Condition(field=Field(kind='column', name='topic', metric='', system=0), op='in', values=('geo',)),)
    """
    if data is None:
        return ()
    if not isinstance(data, list) or len(data) > MOST_CONDITIONS:
        raise SpecError(f"a filter is a list of up to {MOST_CONDITIONS} conditions")
    return tuple(map(_read_condition, data))


def read_order(data: Any) -> Order | None:
    """An order from JSON; None stays None; `SpecError` for what is none."""
    if data is None:
        return None
    _refuse_unknown(_object(data, "an order"), ("field", "descending"), "an order")
    if not isinstance(descending := data.get("descending", False), bool):
        raise SpecError(f"descending is {descending!r:.80}; expected true or false")
    return Order(read_field(data.get("field")), descending)


def _read_condition(data: Any) -> Condition:
    _refuse_unknown(_object(data, "a condition"), ("field", "op", "values"), "a condition")
    op, values = _choose(data, "op", _OPS), data.get("values", [])
    if not isinstance(values, list) or len(values) > MOST_VALUES:
        raise SpecError(f"the values of a condition are a list of up to {MOST_VALUES}")
    field = read_field(data.get("field"))
    _check_values(op, values)
    return Condition(field, op, tuple(values))


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


def _object(data: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise SpecError(f"{what} is expected to be an object")
    return data


def _choose(data: Mapping[str, Any], key: str, among: Sequence[Any]) -> Any:
    if (value := data.get(key)) not in among:
        raise SpecError(f"{key} is {value!r:.80}{did_you_mean(value[:80] if isinstance(value, str) else '', among)}")
    return value


def _refuse_unknown(data: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for key in data:
        if key not in known:
            raise SpecError(f"{what} has no {key[:80]!r}{did_you_mean(key[:80], known)}")
