"""Proves that formulas are equal by a canonical form: quotients of polynomials over ℚ in symbols, roots and functions.

It never proves that they differ: formulas with two canonical forms may still be equal (√(3 + 2√2) and 1 + √2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, comb, factorial, floor, gcd, lcm
from typing import Any, TypeAlias

from karat.text.latex import Node, TooComplex

Monomial: TypeAlias = tuple[tuple[str, int], ...]
Polynomial: TypeAlias = Mapping[Monomial, Fraction]
Quotient: TypeAlias = tuple[Polynomial, Polynomial]

TERMS = 2000
"""Terms of a polynomial; longer ones are left to sympy."""
POWER = 40
BITS = 20_000
"""Powers of numbers with more bits than this are not computed at all."""
PRIMES = 1000

LARGEST = 10_000
"""Whole numbers above this are not arguments of functions that are computed."""
_COMPUTED: dict[str, Callable[..., Any]] = {
    "gcd": gcd,
    "lcm": lcm,
    "binom": comb,
    "floor": floor,
    "ceil": ceil,
    "min": lambda *numbers: min(numbers),
    "max": lambda *numbers: max(numbers),
}
_RATIOS = {"tan": ("sin", "cos"), "cot": ("cos", "sin"), "sec": ("", "cos"), "csc": ("", "sin")}
HALVINGS = 3
"""Angles are halved so often: sin 8x is written with sin x and cos x."""

ONE: Polynomial = {(): Fraction(1)}


class Undecided(Exception):
    """Raised for a formula about which this method cannot decide."""


class CanonicalForm:
    """Quotients for the nodes of one comparison. `rules` says how powers of the roots found so far are reduced."""

    def __init__(self) -> None:
        self.rules: dict[str, tuple[int, Polynomial]] = {"i": (2, {(): Fraction(-1)})}

    def equal(self, a: Node, b: Node) -> bool:
        (top, bottom), (over, under) = self.of(a), self.of(b)
        return bool(self.times(top, under) == self.times(over, bottom))

    def of(self, node: Node) -> Quotient:
        kind, parts = node
        if kind == "num":
            return {(): parts[0]} if parts[0] else {}, ONE
        if kind == "sym":
            if parts[0] == "oo":
                raise Undecided
            return _generator(parts[0]), ONE
        if kind in {"neg", "percent"}:
            top, bottom = self.of(parts[0])
            return _scaled(top, Fraction(-1) if kind == "neg" else Fraction(1, 100)), bottom
        if kind == "add":
            (top, bottom), (over, under) = map(self.of, parts)
            if bottom == under:
                return _sum(top, over), bottom
            return _sum(self.times(top, under), self.times(over, bottom)), self.times(bottom, under)
        if kind in {"mul", "div"}:
            (top, bottom), (over, under) = map(self.of, parts)
            if kind == "div":
                over, under = under, over
                if not under:
                    raise Undecided
            return self.times(top, over), self.times(bottom, under)
        if kind == "pow":
            return self.power(*parts)
        if kind == "root":
            order = constant(self.of(parts[1]))
            if order is None or order.denominator != 1 or not 1 < order <= POWER:
                raise Undecided
            return self.root(self.of(parts[0]), int(order))
        return self.function(kind, parts)

    def function(self, kind: str, parts: tuple[Node, ...]) -> Quotient:
        if kind == "fn":
            name, arguments = str(parts[0]), parts[1:]
            if (value := self.computed(name, arguments)) is not None:
                return {(): value} if value else {}, ONE
            if len(arguments) == 1 and name in {"sin", "cos", *_RATIOS}:
                return self.trigonometric(name, self.of(arguments[0]))
            return _generator(f"{name}({';'.join(self.key(argument) for argument in arguments)})"), ONE
        if kind == "abs":
            value = constant(self.of(parts[0]))
            if value is None:
                return _generator(f"abs({self.key(parts[0])})"), ONE
            return {(): abs(value)} if value else {}, ONE
        if kind == "factorial":
            value = constant(self.of(parts[0]))
            if value is None or value.denominator != 1 or value < 0:
                raise Undecided
            if value > 1000:
                raise TooComplex("a factorial is too large to compute")
            return {(): Fraction(factorial(int(value)))}, ONE
        raise Undecided

    def trigonometric(self, name: str, angle: Quotient, halvings: int = HALVINGS) -> Quotient:
        """A function of an angle in sines and cosines; squares of sines become squares of cosines."""
        if name in _RATIOS:
            over, under = ((self.trigonometric(each, angle) if each else (ONE, ONE)) for each in _RATIOS[name])
            return self.times(over[0], under[1]), self.times(over[1], under[0])
        top, bottom = angle
        if top and min(top.items())[1] < 0:
            sine, rest = self.trigonometric(name, (_scaled(top, Fraction(-1)), bottom))
            return _scaled(sine, Fraction(-1 if name == "sin" else 1)), rest
        if halvings and top and bottom == ONE and all(c.denominator == 1 and c % 2 == 0 for c in top.values()):
            half = _scaled(top, Fraction(1, 2)), bottom
            sine, cosine = (self.trigonometric(each, half, halvings - 1)[0] for each in ("sin", "cos"))
            if name == "sin":
                return _scaled(self.times(sine, cosine), Fraction(2)), ONE
            return _sum(_scaled(self.times(cosine, cosine), Fraction(2)), {(): Fraction(-1)}), ONE
        key = _key(top) if bottom == ONE else f"{_key(top)}/{_key(bottom)}"
        self.rules[f"sin({key})"] = (2, _sum(ONE, {((f"cos({key})", 2),): Fraction(-1)}))
        return _generator(f"{name}({key})"), ONE

    def computed(self, name: str, arguments: tuple[Node, ...]) -> Fraction | None:
        """The value of a function of whole or other rational numbers; None if an argument is another number."""
        if name not in _COMPUTED:
            return None
        values = [constant(self.of(argument)) for argument in arguments]
        numbers = [value for value in values if value is not None]
        whole = name not in {"gcd", "lcm", "binom"} or all(0 <= n <= LARGEST and n.denominator == 1 for n in numbers)
        if len(numbers) < len(values) or not whole:
            return None
        return Fraction(_COMPUTED[name](*(int(n) if n.denominator == 1 else n for n in numbers)))

    def key(self, node: Node) -> str:
        top, bottom = self.of(node)
        return _key(top) if bottom == ONE else f"{_key(top)}/{_key(bottom)}"

    def power(self, base: Node, exponent: Node) -> Quotient:
        value = constant(self.of(exponent))
        if value is None:
            return self.symbolic_power(base, exponent)
        return self.raised(self.of(base), value)

    def symbolic_power(self, base: Node, exponent: Node) -> Quotient:
        """A power with symbols in its exponent: 4^(n + 1) is 4 (2^n)²."""
        (top, bottom), number = self.of(exponent), constant(self.of(base))
        share = constant((bottom, ONE))
        if share is None:
            return _generator(f"pow({self.key(base)};{self.key(exponent)})"), ONE
        factors = {self.key(base): 1}
        if number and number.denominator == 1 and 1 < number < PRIMES:
            factors = {str(prime): count for prime, count in _primes(int(number)).items()}
        over, under = self.raised(self.of(base), top.get((), Fraction(0)) / share) if () in top else (ONE, ONE)
        for monomial, coefficient in top.items():
            for name, count in factors.items() if monomial else ():
                times = coefficient * count / share
                name_of_power = f"pow({name};{_key({monomial: Fraction(1, times.denominator)})})"
                if abs(times.numerator) > POWER:
                    raise Undecided
                power: Polynomial = {((name_of_power, abs(times.numerator)),): Fraction(1)}
                over, under = (self.times(over, power), under) if times > 0 else (over, self.times(under, power))
        return over, under

    def raised(self, quotient: Quotient, value: Fraction) -> Quotient:
        if value.denominator != 1:
            if value.denominator > POWER or abs(value) > POWER:
                raise Undecided
            quotient = self.root(quotient, value.denominator)
        times = abs(value.numerator)
        if (number := constant(quotient)) is not None:
            bits = max(number.numerator.bit_length(), number.denominator.bit_length())
            if number not in {0, 1, -1} and bits * times > BITS:
                raise TooComplex("a power is too large to compute")
            if not number and value <= 0:
                raise Undecided
            result = number**value.numerator
            return ({(): result} if result else {}), ONE
        if times > POWER:
            raise Undecided
        top = bottom = ONE
        for _ in range(times):
            top, bottom = self.times(top, quotient[0]), self.times(bottom, quotient[1])
        return (top, bottom) if value >= 0 else (bottom, top)

    def root(self, of: Quotient, order: int) -> Quotient:
        value = constant(of)
        if value is None:
            top, bottom = of
            if bottom != ONE:
                over, under = self.root((top, ONE), order), self.root((bottom, ONE), order)
                return self.times(over[0], under[1]), self.times(over[1], under[0])
            name = f"root{order}({_key(top)})"
            self.rules[name] = (order, top)
            return _generator(name), ONE
        if value < 0 and order % 2 == 0:
            if order != 2:
                raise Undecided
            top, bottom = self.root(({(): -value}, ONE), 2)
            return self.times(top, _generator("i")), bottom
        top = self.integer_root(abs(value.numerator), order) if value else {}
        return _scaled(top, Fraction(1 if value >= 0 else -1)), self.integer_root(value.denominator, order)

    def integer_root(self, number: int, order: int) -> Polynomial:
        """The root of a whole number, with small primes taken out of it: √12 is 2 √3."""
        if number.bit_length() > BITS // 10:
            raise Undecided
        outside, inside = 1, ONE
        for prime in [*range(2, PRIMES), 0]:
            factor = prime or number
            count = 0
            while factor > 1 and number % factor == 0:
                number //= factor
                count += 1
            if count:
                outside *= factor ** (count // order)
                if count % order:
                    name = f"root{order}[{factor}]"
                    self.rules[name] = (order, {(): Fraction(factor)})
                    inside = self.times(inside, {((name, count % order),): Fraction(1)})
        return _scaled(inside, Fraction(outside))

    def times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        if len(a) * len(b) > TERMS:
            raise Undecided
        result: dict[Monomial, Fraction] = {}
        for left, x in a.items():
            for right, y in b.items():
                for monomial, coefficient in self.reduced(left, right).items():
                    result[monomial] = result.get(monomial, Fraction(0)) + x * y * coefficient
        return {monomial: coefficient for monomial, coefficient in result.items() if coefficient}

    def reduced(self, a: Monomial, b: Monomial) -> Polynomial:
        """The product of two monomials, with powers of roots replaced by their values."""
        if not a or not b:
            return {a or b: Fraction(1)}
        powers = dict(a)
        for name, power in b:
            powers[name] = powers.get(name, 0) + power
        for name, power in powers.items():
            if name in self.rules and power >= self.rules[name][0]:
                order, value = self.rules[name]
                powers[name] -= order
                rest = tuple(sorted((n, p) for n, p in powers.items() if p))
                return self.times({rest: Fraction(1)}, value)
        return {tuple(sorted(powers.items())): Fraction(1)}


def constant(quotient: Quotient) -> Fraction | None:
    """The rational number that a quotient is, or None."""
    top, bottom = quotient
    if set(bottom) != {()} or not set(top) <= {()}:
        return None
    return top.get((), Fraction(0)) / bottom[()]


def _primes(number: int) -> dict[int, int]:
    """The prime factors of a small whole number, and how often each occurs."""
    counts: dict[int, int] = {}
    prime = 2
    while number > 1:
        while number % prime == 0:
            counts[prime] = counts.get(prime, 0) + 1
            number //= prime
        prime += 1
    return counts


def _generator(name: str) -> Polynomial:
    return {((name, 1),): Fraction(1)}


def _scaled(a: Polynomial, factor: Fraction) -> Polynomial:
    return {monomial: coefficient * factor for monomial, coefficient in a.items()}


def _sum(a: Polynomial, b: Polynomial) -> Polynomial:
    result = dict(a)
    for monomial, coefficient in b.items():
        result[monomial] = result.get(monomial, Fraction(0)) + coefficient
    if len(result) > TERMS:
        raise Undecided
    return {monomial: coefficient for monomial, coefficient in result.items() if coefficient}


def _key(a: Polynomial) -> str:
    return "+".join(
        f"{coefficient}" + "".join(f"*{name}^{power}" for name, power in monomial)
        for monomial, coefficient in sorted(a.items())
    )
