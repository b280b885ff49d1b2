"""The settings of a metric: their values and checks, those that every metric of texts gets, and types with a range."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from karat.core.errors import SpecError, did_you_mean

Across: TypeAlias = Literal["max", "mean", "min", "first", "one"]
MissingRows: TypeAlias = Literal["unscored", "wrong"]

SEVERAL = {"prediction": "samples", "reference": "across"}
"""The columns of which a row may hold several values although the metric is written for one, and the setting that
says how their scores are combined."""

OF_CORE = {*SEVERAL.values(), "extract", "missing"}
"""The settings that are added to metrics and handled by the engine; a metric's function does not get them."""


@dataclass(frozen=True)
class Setting:
    """A keyword-only parameter of a metric: its default, its choices if it has few, its own check if it has one.

    `check` raises `SpecError` for a value that it refuses; what it returns, if anything, is the value that is kept.
    """

    name: str
    default: Any
    kind: Any
    check: Callable[[Any], Any] | None = None
    of_core: bool = False  # added to the metric and handled by the engine
    optional: bool = False  # None means that there is no such thing, of which a signature says nothing
    first: bool = False  # its value stands first in a spec, without its name

    @property
    def choices(self) -> tuple[Any, ...]:
        kinds = typing.get_args(self.kind) if _is_union(self.kind) else (self.kind,)
        plain = [kind for kind in kinds if typing.get_origin(kind) is not dict]
        return typing.get_args(plain[0]) if [typing.get_origin(kind) for kind in plain] == [Literal] else ()

    def accept(self, value: Any, metric: str) -> Any:
        """The value, as it is kept; `SpecError` for a wrong type, a choice that there is not, or a failed check."""
        where = f"{metric}: {self.name}={value!r}"
        if not _fits(value, self.kind):
            if self.choices:
                raise SpecError(f"{where} is not one of its values{did_you_mean(str(value), map(str, self.choices))}")
            kind = self.kind if _is_union(self.kind) else getattr(self.kind, "__name__", self.kind)
            raise SpecError(f"{where}: {kind} is expected")
        if self.check is None:
            return value
        try:
            kept = self.check(value)
        except SpecError as error:
            raise SpecError(f"{where}: {error}") from None
        return value if kept is None else kept


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of an annotated type; items of lists and dictionaries are checked by the metric."""
    if kind is Any:
        return True
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return any(value == choice and type(value) is type(choice) for choice in inner)
    if _is_union(kind):
        return any(_fits(value, each) for each in inner)
    if kind in (None, type(None)):
        return value is None
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else origin or kind)


def _is_union(kind: Any) -> bool:
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


def check_across(value: object) -> None:
    if not callable(value) and value not in typing.get_args(Across):
        raise SpecError(f"{', '.join(typing.get_args(Across))} or, in Python, a callable is expected")


def is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


@dataclass(frozen=True)
class Range:
    """The check of a setting that is a number: from `low` to `high`, with `above` without `low`; None passes.

    >>> print(Range(0, 1)), print(Range(0, 1e9, above=True))
    a number from 0 to 1
    a number above 0, up to 1e+09
    (None, None)
    """

    low: float
    high: float
    above: bool = False

    def __call__(self, value: float | None) -> None:
        """Raise `SpecError` for a number that is not in the range."""
        if value is not None and not (self.low < value <= self.high if self.above else self.low <= value <= self.high):
            raise SpecError(f"{self} is expected")

    def __str__(self) -> str:
        ends = f"above {self.low:g}, up to" if self.above else f"from {self.low:g} to"
        return f"a number {ends} {self.high:g}"


check_positive = Range(0, 1e9, above=True)
check_not_negative = Range(0, 1e18)
check_fraction = Range(0, 1)
check_count = Range(1, 1e18)

Positive: TypeAlias = Annotated[float, check_positive]
NotNegative: TypeAlias = Annotated[float, check_not_negative]
Fraction: TypeAlias = Annotated[float, check_fraction]
FIRST = "first"
"""Annotates a setting whose value stands first in a spec, without its name: `column(seconds)`."""
OptionalCount: TypeAlias = Annotated[int | None, check_count]
NgramOrder: TypeAlias = Annotated[int, Range(1, 100)]  # of n-grams: work and memory grow with it
Grade: TypeAlias = Annotated[float, Range(-1e9, 1e9)]
