"""Compares numbers of which one or both are written as decimals, and may therefore be rounded."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor, log10
from typing import NamedTuple

from karat.metrics.answers.algebra.canonical import CanonicalForm, Undecided, constant
from karat.metrics.answers.algebra.numeric import CONSTANTS, constant_value
from karat.text.latex import Node, number
from karat.text.numbers import close

NOISE = 1e-12
"""The relative error of computed decimals: 0.30000000000000004 is 0.3."""
ABSENT = 2
"""A rounded number may have so many significant digits fewer than decimals: 0.0833."""

LARGEST = 1000
"""Larger powers of ten are not written out."""


class Written(NamedTuple):
    """A value, and how many decimals are written if it is a decimal; None for a value that is exact."""

    value: Fraction | Decimal | complex
    places: int | None = None


@dataclass(frozen=True)
class Rounding:
    """`places`: a decimal with fewer decimals is exact. `relative`: the tolerance, as a part of the expected number."""

    places: int = 6
    relative: float = 0.0

    def equal(self, a: Written, b: Written) -> bool:
        """Whether a number equals the expected one within the tolerance, or if one of them is rounded to the other.

        >>> third = Written(Fraction(1, 3))
        >>> [Rounding().equal(Written(Fraction(text), len(text) - 2), third) for text in ("0.333333", "0.3333")]
        [True, False]
        >>> Rounding().equal(Written(Fraction(7)), Written(Fraction("7.0000001"), 7))  # 7 needs no rounding
        False
        """
        if a.value == b.value:
            return True
        if isinstance(a.value, Decimal) or isinstance(b.value, Decimal):  # so long that nothing else is computed
            if isinstance(a.value, complex) or isinstance(b.value, complex):
                return False
            return close(a.value, b.value, self.relative)
        try:
            gap, size = _distance(a.value, b.value), max(abs(complex(a.value)), abs(complex(b.value)))
            if gap <= self.relative * abs(complex(b.value)):
                return True
            if a.places is None and b.places is None:
                return False
            return gap <= NOISE * size or gap <= self._tolerance(a, b, size)
        except OverflowError:
            return False

    def _tolerance(self, a: Written, b: Written, size: float) -> float:
        coarse = a if b.places is None or (a.places is not None and a.places < b.places) else b
        fine = b if coarse is a else a
        places = coarse.places or 0
        needs_none = fine.places == places or (
            fine.places is None
            and isinstance(fine.value, Fraction)
            and (fine.value * Fraction(10) ** places).denominator == 1
        )
        digits = _magnitude(abs(complex(coarse.value))) + places
        if needs_none or places < self.places or digits < max(1, self.places - ABSENT):
            return 0
        return max(0.5 * 10.0**-places, 0.5 * 10.0**-self.places * min(1.0, 10.0 ** _magnitude(size)))

    def close(self, a: complex, b: complex) -> bool:
        """Whether two values computed from decimals are equal."""
        size = max(abs(a), abs(b))
        scale = min(1.0, 10.0 ** _magnitude(size)) if size else 0
        return abs(a - b) <= max(0.5 * 10.0**-self.places * scale, self.relative * abs(b))


def _distance(a: Fraction | complex, b: Fraction | complex) -> float:
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return float(abs(a - b))
    return abs(complex(a) - complex(b))


def _magnitude(size: float) -> int:
    """The number of digits before the decimal point: 3 for 123, -1 for 0.012."""
    return floor(log10(size)) + 1 if size else 0


def has_decimal(node: Node) -> bool:
    """Whether a decimal number is in the formula."""
    return any(part.kind == "num" and part.parts[1] is not None for part in node.walk())


def read_written(node: Node, form: CanonicalForm) -> Written | None:
    """The value of a formula without symbols, and its decimals if it is one decimal number; else None."""
    sign, bare, shift = 1, node, 0
    while bare.kind in {"neg", "percent"}:
        sign, shift, bare = (-sign, shift, bare.parts[0]) if bare.kind == "neg" else (sign, shift + 2, bare.parts[0])
    if bare.kind == "mul" and bare.parts[1].kind == "pow" and bare.parts[1].parts[0] == number(10):
        power = bare.parts[1].parts[1]
        negative, power = (-1, power.parts[0]) if power.kind == "neg" else (1, power)
        if power.kind == "num" and power.parts[0].denominator == 1 and power.parts[0] < LARGEST:
            shift, bare = shift - negative * int(power.parts[0]), bare.parts[0]
    if bare.kind == "num":
        places = None if bare.parts[1] is None and shift <= 0 else (bare.parts[1] or 0) + shift
        if bare.parts[1] is None and shift == 2 and node.holds("percent"):
            places = None
        return Written(sign * bare.parts[0] * Fraction(10) ** -shift, places)
    if any(part.kind == "sym" and part.parts[0] not in CONSTANTS for part in node.walk()):
        return None
    with suppress(Undecided):
        if (exact := constant(form.of(node))) is not None:
            return Written(exact)
    approximate = constant_value(node)
    return None if approximate is None else Written(approximate)
