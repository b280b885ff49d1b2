"""Decides by sympy whether formulas are equal where arithmetic cannot. Runs in the worker process only.

A tree becomes a sympy expression node by node, each kind by a rule of this file: sympy never parses text.
"""

from __future__ import annotations

from typing import Any

from karat.text.latex import Node, TooComplex

DIGITS = 40
"""How many digits must agree if simplification proves nothing."""


def decide(a: Node, b: Node) -> bool:
    """Whether two expressions are equal."""
    import sympy  # noqa: PLC0415  (heavy, and only in the worker)

    difference = build(a) - build(b)
    if difference == 0 or (difference.free_symbols and sympy.simplify(difference) == 0):
        return True
    names = sorted(difference.free_symbols, key=str)
    for place in range(1, 4):
        top, bottom = 37 * place + 5, 41 * (-1) ** place
        values = {name: sympy.Rational(top + 11 * index, bottom) for index, name in enumerate(names)}
        gap = difference.subs(values).evalf(DIGITS, maxn=10 * DIGITS, chop=False)
        if not gap.is_number or not abs(gap) < sympy.Float(10) ** (10 - DIGITS):
            return False
    return True


def build(node: Node) -> Any:
    """The sympy expression of a tree; its symbols are real."""
    import sympy  # noqa: PLC0415

    kind, parts = node
    if kind == "num":
        return sympy.Rational(parts[0].numerator, parts[0].denominator)
    if kind == "sym":
        known = {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "oo": sympy.oo}
        return known.get(parts[0]) or sympy.Symbol(parts[0], real=True)
    if kind == "fn":
        name, *arguments = parts
        known = {"ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "min": "Min", "max": "Max"}
        function = known.get(name, name)
        operands = [build(argument) for argument in arguments]
        functions = {"sin", "cos", "tan", "sec", "csc", "cot", "sinh", "cosh", "tanh", "binom", *known.values()}
        if function == "binom":
            return sympy.binomial(*operands)
        return getattr(sympy, function)(*operands) if function in functions else sympy.Function(name)(*operands)
    if kind in {"sum", "prod", "int", "lim"}:
        name, *rest = map(build, parts)
        if kind == "lim":
            return sympy.limit(rest[1], name, rest[0])
        low, high, term = rest
        if kind == "int":
            return sympy.integrate(term, (name, low, high))
        return (sympy.summation if kind == "sum" else sympy.product)(term, (name, low, high))
    operations = {
        "neg": lambda x: -x,
        "add": lambda x, y: x + y,
        "mul": lambda x, y: x * y,
        "div": lambda x, y: x / y,
        "pow": lambda x, y: x**y,
        "percent": lambda x: x / 100,
        "abs": sympy.Abs,
        "factorial": sympy.factorial,
        "root": sympy.real_root if kind == "root" and parts[1].kind == "num" and parts[1].parts[0] % 2 else sympy.root,
    }
    if kind not in operations:
        raise TooComplex(f"{kind} cannot be compared")
    return operations[kind](*map(build, parts))
