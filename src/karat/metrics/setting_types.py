"""Types of settings that several metrics have: numbers within a range, with the check that refuses all others."""

from __future__ import annotations

from math import inf
from typing import Annotated, TypeAlias

from karat.core.errors import SpecError


def check_positive(value: float) -> None:
    if not 0 < value < inf:
        raise SpecError("a number above 0 is expected")


def check_not_negative(value: float | None) -> None:
    if value is not None and not 0 <= value < inf:
        raise SpecError("a number of 0 or more is expected")


def check_fraction(value: float | None) -> None:
    if value is not None and not 0 <= value <= 1:
        raise SpecError("a number from 0 to 1 is expected")


def check_count(value: int | None) -> None:
    if value is not None and value < 1:
        raise SpecError("a whole number of 1 or more is expected")


Positive: TypeAlias = Annotated[float, check_positive]
NotNegative: TypeAlias = Annotated[float, check_not_negative]
Fraction: TypeAlias = Annotated[float, check_fraction]
Count: TypeAlias = Annotated[int, check_count]
OptionalCount: TypeAlias = Annotated[int | None, check_count]
