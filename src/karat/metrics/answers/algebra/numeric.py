"""Disproves that formulas are equal by numbers: two formulas whose values differ at a point are not equal.

A symbol's value at a point depends only on its name. Formulas that agree at every point may still differ elsewhere.
"""

from __future__ import annotations

import cmath
import math
import zlib
from collections.abc import Callable

from karat.text.latex import Node

POINTS = 3
AGREE, DIFFER = 1e-9, 1e-6
CONSTANTS = {"pi": math.pi, "e": math.e, "i": 1j}

_FUNCTIONS: dict[str, Callable[[complex], complex]] = {
    **{name: getattr(cmath, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "arcsin": cmath.asin,
    "arccos": cmath.acos,
    "arctan": cmath.atan,
    "ln": cmath.log,
    "sec": lambda x: 1 / cmath.cos(x),
    "csc": lambda x: 1 / cmath.sin(x),
    "cot": lambda x: 1 / cmath.tan(x),
}


class NoValue(Exception):
    """The formula has no value at this point."""


class Point:
    """Values of formulas at one point; `size` is the largest number computed, which bounds the rounding error."""

    def __init__(self, place: int) -> None:
        self.place, self.size = place, 1.0

    def of(self, node: Node) -> complex:
        try:
            value = self._of(node)
            self.size = max(self.size, abs(value))
        except (OverflowError, ZeroDivisionError, ValueError) as error:
            raise NoValue from error
        if not cmath.isfinite(value):
            raise NoValue
        return value

    def _of(self, node: Node) -> complex:
        kind, parts = node
        if kind == "num":
            return complex(float(parts[0]))
        if kind == "sym":
            return self._symbol(parts[0])
        if kind == "fn":
            return self._function(*parts)
        if kind not in {"neg", "add", "mul", "div", "percent", "abs", "factorial", "pow", "root"}:
            raise NoValue
        a, *rest = map(self.of, parts)
        if not rest:
            return {"neg": lambda: -a, "percent": lambda: a / 100, "abs": lambda: complex(abs(a))}.get(
                kind, lambda: _factorial(a)
            )()
        b = rest[0]
        if kind == "add":
            return a + b
        if kind == "mul":
            return a * b
        if kind == "div":
            return a / b
        if kind == "root":
            odd = b.imag == 0 and b.real % 2 == 1
            return -((-a) ** (1 / b)) if odd and a.imag == 0 and a.real < 0 else a ** (1 / b)
        return a**b

    def _symbol(self, name: str) -> complex:
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name == "oo":
            raise NoValue
        return complex(0.3 + (zlib.crc32(f"{name} {self.place}".encode()) % 99991) / 40000)

    def _function(self, name: str, *arguments: Node) -> complex:
        values = [self.of(argument) for argument in arguments]
        if name in _FUNCTIONS and len(values) == 1:
            return _FUNCTIONS[name](values[0])
        if name in {"min", "max"} and not any(value.imag for value in values):
            return complex((min if name == "min" else max)(value.real for value in values))
        if name in {"floor", "ceil"} and not values[0].imag:
            return complex((math.floor if name == "floor" else math.ceil)(values[0].real))
        if name in {"gcd", "lcm"} and all(value == int(value.real) for value in values):
            return complex((math.gcd if name == "gcd" else math.lcm)(*(int(value.real) for value in values)))
        if name == "binom" and all(value.real == int(value.real) and 0 <= value.real < 1000 for value in values):
            return complex(float(math.comb(int(values[0].real), int(values[1].real))))
        if name[0] in "fgh":  # an unknown function: any value that depends on its arguments alone
            return self._symbol(f"{name}{[f'{value:.9g}' for value in values]}")
        raise NoValue


def _factorial(x: complex) -> complex:
    if x.imag or x.real < 0 or x.real > 170 or x.real != int(x.real):
        raise NoValue
    return complex(float(math.factorial(int(x.real))))


def differ(a: Node, b: Node) -> bool | None:
    """True if the formulas differ at a point, False if they agree at every point, None if neither is certain."""
    agreed = 0
    for place in range(POINTS):
        point = Point(place)
        try:
            gap = abs(point.of(a) - point.of(b))
        except NoValue:
            continue
        if gap > DIFFER * point.size:
            return True
        agreed += gap <= AGREE * point.size
    return False if agreed == POINTS else None


def constant_value(node: Node) -> complex | None:
    """The value of a formula; None if it has symbols or no value."""
    for part in node.walk():
        if part.kind == "sym" and part.parts[0] not in CONSTANTS:
            return None
        if part.kind == "fn" and part.parts[0][0] in "fgh" and part.parts[0] != "floor":
            return None
    try:
        return Point(0).of(node)
    except NoValue:
        return None
