"""Parses a formula, in LaTeX or plain text, into a tree of `Node`s, by its own grammar; executes nothing.

Kinds of nodes:
``num`` a Fraction and whether it was written as a decimal · ``sym`` a name · ``add`` ``mul`` ``pow`` ``neg`` ``div``
``pm`` (a ± b) ``abs`` ``root`` ``percent`` ``factorial`` arithmetic · ``fn`` a function's name and its arguments ·
``tuple`` ``list`` ``set`` ``braced`` of items · ``interval`` left bracket, ends, right bracket · ``union`` ``meet``
``minus`` of sets · ``rel`` operators and sides of a chain · ``matrix`` rows.
Longer than 300 lines because a grammar is understood only as a whole.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, NamedTuple

from karat.text.formula import normalise_formula

LENGTH = 5000
"""Formulas of more characters than this are refused."""
DEPTH = 60
"""Formulas nested deeper than this are refused."""
DIGITS = 300
"""A literal of more digits than this is refused."""

FUNCTIONS = {
    *("sin", "cos", "tan", "sec", "csc", "cot", "arcsin", "arccos", "arctan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "log", "ln", "lg", "exp", "min", "max", "gcd", "lcm", "det", "arg"),
}
_SAME = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "log": "ln"}
_CONSTANTS = {"pi": "pi", "infty": "oo", "infinity": "oo", "oo": "oo", "inf": "oo"}
_OTHERS = ("sqrt", "cbrt", "pi", "infinity", "infty", "theta", "alpha", "beta", "oo", "inf")
_PLAIN = sorted([*FUNCTIONS, *_OTHERS], key=len, reverse=True)
_RELATIONS = dict.fromkeys(("=", "==", "\\equiv"), "=") | {"<": "<", "\\lt": "<", ">": ">", "\\gt": ">", "\\in": "in"}
_RELATIONS |= dict.fromkeys(("<=", "\\le", "\\leq", "\\leqslant"), "<=") | {"\\approx": "~"}
_RELATIONS |= dict.fromkeys((">=", "\\ge", "\\geq", "\\geqslant"), ">=") | dict.fromkeys(("!=", "\\ne", "\\neq"), "!=")
_BOUND = {"int", "iint", "oint", "sum", "prod", "lim", "sup"}
_SETS = {"\\cup": "union", "\\cap": "meet", "\\setminus": "minus"}
_TIMES = {"*": "mul", "\\cdot": "mul", "\\times": "mul", "/": "div", "\\div": "div"}
_CLOSING = {"(": ")", "[": "]", "{": "}", "\\{": "\\}"}
_TOKEN = re.compile(
    r"\s*(?:(?P<num>\d+(?:\.\d*)?|\.\d+)|(?P<cmd>\\(?:[A-Za-z]+|.))|(?P<word>[A-Za-z]+)|(?P<op><=|>=|!=|==|\*\*|[^\s]))",
    re.DOTALL,
)


class Node(NamedTuple):
    """One node of a formula's tree."""

    kind: str
    parts: tuple[Any, ...]

    def holds(self, kind: str) -> bool:
        """Whether this node or a node below it is of that kind."""
        return self.kind == kind or any(isinstance(part, Node) and part.holds(kind) for part in self.parts)


class NotAFormula(ValueError):
    """The text does not follow the grammar."""


class Refused(ValueError):
    """The formula exceeds a limit; the message is the reason of the row."""


def parse_formula(text: str) -> Node:
    r"""The tree of a formula; raises `NotAFormula`, or `Refused` if it is too long, nested too deeply or too large.

    >>> parse_formula(r"\frac12 + x^2").kind
    'add'
    >>> parse_formula("(1, 2]").kind
    'interval'
    >>> parse_formula("__import__('os')")
    Traceback (most recent call last):
    karat.text.latex.NotAFormula: '_' after ''
    """
    if len(text) > LENGTH:
        raise Refused(f"a formula has more than {LENGTH} characters")
    return _Parser(normalise_formula(text)).whole()


def number(value: int | Fraction) -> Node:
    return Node("num", (Fraction(value), False))


def tokens(text: str) -> list[str]:
    parts: list[str] = []
    for match in _TOKEN.finditer(text):
        if match["num"] and len(match["num"]) > DIGITS:
            raise Refused(f"a number has more than {DIGITS} digits")
        parts += _split(match["word"]) if match["word"] else [match[0].strip()]
    return parts


def _split(word: str) -> list[str]:
    """Splits a run of letters into names of functions and constants and single letters: `xsin` into x and sin."""
    parts: list[str] = []
    at = 0
    while at < len(word):
        name = next((name for name in _PLAIN if word.startswith(name, at)), None)
        parts.append("\\" + name if name else word[at])
        at += len(name) if name else 1
    return parts


class _Parser:
    """Recursive descent: one method for each level of precedence, the lowest first."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at, self.depth, self.bars = text, tokens(text), 0, 0, 0

    @property
    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        mark = self.next
        if not mark or (wanted and mark != wanted):
            raise NotAFormula(f"{mark!r} after {''.join(self.tokens[max(0, self.at - 12) : self.at])!r}")
        self.at += 1
        return mark

    def whole(self) -> Node:
        node = self.items()
        if self.next:
            self.take("the end")
        return node

    def items(self, kind: str = "list") -> Node:
        """Relations separated by commas; a single one is returned itself unless `kind` is that of a bracket."""
        items = [self.relation()]
        while self.next in {",", ";"}:
            self.take()
            items.append(self.relation())
        return items[0] if len(items) == 1 and kind == "list" else Node(kind, tuple(items))

    def relation(self) -> Node:
        self.depth += 1
        if self.depth > DEPTH:
            raise Refused(f"a formula is nested more than {DEPTH} levels deep")
        sides, operators = [self.sets()], []
        while self.next in _RELATIONS:
            operators.append(_RELATIONS[self.take()])
            sides.append(self.sets())
        self.depth -= 1
        return Node("rel", (tuple(operators), tuple(sides))) if operators else sides[0]

    def sets(self) -> Node:
        node = self.sum()
        while self.next in _SETS:
            node = Node(_SETS[self.take()], (as_set(node), as_set(self.sum())))
        return node

    def sum(self) -> Node:
        node = self.sign(self.product)
        while self.next in {"+", "-", "\\pm", "\\mp"}:
            operator, right = self.take(), self.product()
            if operator in {"\\pm", "\\mp"}:
                node = Node("pm", (node, right))
            else:
                node = Node("add", (node, right if operator == "+" else Node("neg", (right,))))
        return node

    def sign(self, inner: Any) -> Node:
        """A term with any number of signs before it, read without recursion."""
        negative = mixed = False
        while self.next in {"+", "-", "\\pm"}:
            mark = self.take()
            negative ^= mark == "-"
            mixed |= mark == "\\pm"
        node: Node = inner()
        if mixed:
            return Node("pm", (number(0), node))
        return Node("neg", (node,)) if negative else node

    def product(self) -> Node:
        node = self.power()
        while True:
            if self.next in _TIMES:
                node = Node(_TIMES[self.take()], (node, self.sign(self.power)))
            elif self.starts_atom():
                right = self.power()
                mixed = node.kind == "num" and right.kind == "div" and "\\frac" in self.tokens[self.at - 8 : self.at]
                plain = mixed and all(p.kind == "num" for p in right.parts) and node.parts[0].denominator == 1
                node = Node("add" if plain else "mul", (node, right))  # 1\frac12 is one and a half
            else:
                return node

    def starts_atom(self) -> bool:
        mark = self.next
        if mark == "|":
            return self.bars == 0
        if mark.startswith("\\"):
            return mark not in {*_RELATIONS, *_SETS, "\\pm", "\\mp", "\\}", "\\\\", "\\end"}
        return bool(mark) and (mark.isalnum() or mark in "([{" or mark[0] == ".")

    def power(self) -> Node:
        node = self.atom()
        while self.next and self.next in "!%'":
            mark = self.take()
            node = Node({"!": "factorial", "%": "percent"}.get(mark, "prime"), (node,))
        if self.next in {"^", "**"}:
            self.take()
            if self.depth > DEPTH:
                raise Refused(f"a formula is nested more than {DEPTH} levels deep")
            self.depth += 1
            node = Node("pow", (node, self.argument(power=True)))
            self.depth -= 1
            while self.next and self.next in "!%":
                node = Node({"!": "factorial", "%": "percent"}[self.take()], (node,))
        return node

    def argument(self, *, power: bool = False) -> Node:
        r"""The argument of \sqrt, ^ or \frac: a group, else one digit or letter; of ^ a whole number."""
        if self.next == "{":
            return self.group()
        if power and self.next in {"-", "+"}:
            return self.sign(self.power)
        mark = self.next
        if mark and mark[0].isdigit() and len(mark) > 1 and ("\\" in self.text and not power):
            self.tokens[self.at] = mark[1:]
            return number(int(mark[0]))
        return self.power() if power else self.atom()

    def group(self) -> Node:
        self.take("{")
        node = self.items()
        self.take("}")
        return Node("braced", node.parts) if node.kind == "list" else node

    def atom(self) -> Node:
        mark = self.take()
        if mark[0].isdigit() or (mark[0] == "." and len(mark) > 1):
            return self.based(mark) if self.next == "_" else Node("num", (Fraction(mark), "." in mark))
        if mark in {"(", "["}:
            return self.bracket(mark)
        if mark == "{":
            self.at -= 1
            return self.group()
        if mark == "\\{":
            inner = () if self.next == "\\}" else self.items("set").parts
            self.take("\\}")
            return Node("set", inner)
        if mark in {"|", "\\lvert"}:
            self.bars += 1
            node = self.relation()
            self.bars -= 1
            self.take("|" if mark == "|" else "\\rvert")
            return Node("abs", (node,))
        if mark.startswith("\\"):
            return self.command(mark[1:])
        if mark.isalpha() or not mark.isascii():
            return self.letter(mark)
        self.at -= 1
        return Node("", (self.take("a term"),))

    def bracket(self, left: str) -> Node:
        items = self.items("tuple").parts
        right = self.take()
        if right not in {")", "]"}:
            raise NotAFormula(f"{left} is closed by {right}")
        if len(items) == 2 and (left == "[" or right == "]"):
            return Node("interval", (left, *items, right))
        if right != _CLOSING[left]:
            raise NotAFormula(f"{left} is closed by {right}")
        return items[0] if len(items) == 1 else Node("tuple", items)

    def based(self, digits: str) -> Node:
        """204_5: a number in another base."""
        self.take("_")
        base = self.argument()
        try:
            return number(int(digits, int(base.parts[0])))
        except (ValueError, TypeError, IndexError):
            raise NotAFormula(f"{digits} is not a number in that base") from None

    def letter(self, name: str) -> Node:
        if self.next == "_":
            self.take()
            name += "_" + _flat(self.argument())
        if name[0] in "fgh" and self.next == "(":
            return Node("fn", (name, *self.arguments()))
        return Node("sym", (name,))

    def arguments(self) -> tuple[Any, ...]:
        self.take("(")
        inner = self.items("tuple").parts
        self.take(")")
        return inner

    def command(self, name: str) -> Node:
        if name == "frac":
            top = self.argument()
            return Node("div", (top, self.argument()))
        if name == "sqrt":
            order = number(2)
            if self.next == "[":
                self.take()
                order = self.sum()
                self.take("]")
            return Node("root", (self.argument(), order))
        if name == "cbrt":
            return Node("root", (self.argument(), number(3)))
        if name in FUNCTIONS:
            return self.function(_SAME.get(name, name))
        if name in {"text", "words"}:
            self.take("{")
            words = list(iter(self.take, "}"))
            return Node("sym", ("".join(words).replace("\\", "").strip("()"),))
        if name == "begin":
            return self.matrix()
        if name in {"emptyset", "varnothing"}:
            return Node("set", ())
        if name == "binom":
            return Node("fn", ("binom", self.argument(), self.argument()))
        if name in {"end", "\\", "}", "]", ")"}:
            self.at -= 1
            self.take("a term")
        if name in _BOUND:
            raise Refused(f"\\{name} is not evaluated")
        if not name[0].isalpha():
            raise NotAFormula(f"\\{name}")
        return self.letter(_CONSTANTS.get(name, name))

    def function(self, name: str) -> Node:
        base: tuple[Node, ...] = ()
        power = None
        while self.next in {"^", "_"}:
            if self.take() == "^":
                power = self.argument()
            else:
                base = (self.argument(),)
        inner = (self.group() if self.next == "{" else self.factors(),) if self.next != "(" else self.arguments()
        node = Node("fn", (name, *inner))
        if base:
            node = Node("div", (node, Node("fn", ("ln", *base))))
        elif name == "lg":
            node = Node("div", (Node("fn", ("ln", *inner)), Node("fn", ("ln", number(10)))))
        elif name == "exp":
            node = Node("pow", (Node("sym", ("e",)), inner[0]))
        return Node("pow", (node, power)) if power else node

    def factors(self) -> Node:
        """The argument of a function without brackets: `2x` in sin 2x cos y."""
        node = self.sign(self.power)
        while self.starts_atom() and self.next[1:] not in FUNCTIONS and self.next not in {"(", "[", "\\frac"}:
            node = Node("mul", (node, self.power()))
        return node

    def matrix(self) -> Node:
        self.group()
        if self.next == "{":
            self.group()  # the columns of an array
        rows = [[self.relation()]]
        while self.next != "\\end":
            if self.next == "&":
                self.take()
                rows[-1].append(self.relation())
            else:
                self.take("\\\\")
                if self.next != "\\end":
                    rows.append([self.relation()])
        self.take("\\end")
        self.group()
        if len(set(map(len, rows))) != 1:
            raise NotAFormula("the rows of a matrix have different lengths")
        return Node("matrix", tuple(map(tuple, rows)))


def as_set(node: Node) -> Node:
    """A pair as an open interval; any other node is unchanged."""
    if node.kind == "tuple" and len(node.parts) == 2:
        return Node("interval", ("(", *node.parts, ")"))
    return node


def _flat(node: Node) -> str:
    return "".join(_flat(part) if isinstance(part, Node) else str(part) for part in node.parts)
