"""Parses a formula, in LaTeX or plain text, into a tree of `Node`s, by its own grammar; executes nothing.

Kinds of nodes:
``num`` a Fraction and the decimals written, None for a whole number · ``sym`` a name · ``add`` ``mul`` ``pow`` ``neg``
``div`` ``pm`` (a ± b) ``abs`` ``root`` ``percent`` ``factorial`` arithmetic · ``fn`` a function's name and arguments ·
``sum`` ``prod`` ``int`` ``lim`` a symbol, its bounds, a term · ``mod`` a node and its modulus · ``ratio`` of terms ·
``tuple`` ``list`` ``set`` ``braced`` of items, ``any`` of items joined by "or" · ``interval`` left bracket, ends, right
bracket · ``union`` ``meet`` ``minus`` of sets · ``rel`` operators and sides of a chain · ``matrix`` ``det`` rows.
Longer than 300 lines because a grammar is understood only as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
_DECORATIONS = {"vec", "overrightarrow", "overline", "bar", "hat", "tilde", "widehat", "boldsymbol", "bm", "mathcal"}
_DECORATIONS |= {"underline", "overleftrightarrow", "dot"}
_BRACKETS = {"\\langle": "\\rangle", "\\lfloor": "\\rfloor", "\\lceil": "\\rceil"}
_OTHERS = ("sqrt", "cbrt", "pi", "infinity", "infty", "theta", "alpha", "beta", "oo", "inf")
_PLAIN = sorted([*FUNCTIONS, *_OTHERS], key=len, reverse=True)
_RELATIONS = dict.fromkeys(("=", "==", "\\equiv"), "=") | {"<": "<", "\\lt": "<", ">": ">", "\\gt": ">", "\\in": "in"}
_RELATIONS |= dict.fromkeys(("<=", "\\le", "\\leq", "\\leqslant"), "<=") | dict.fromkeys(("\\approx", "\\simeq"), "~")
_RELATIONS |= dict.fromkeys((">=", "\\ge", "\\geq", "\\geqslant"), ">=") | dict.fromkeys(("!=", "\\ne", "\\neq"), "!=")
_BOUND = {"iint", "oint", "sup"}
_SETS = {"\\cup": "union", "\\cap": "meet", "\\setminus": "minus"}
_CONSTRUCTS = {
    *_DECORATIONS,
    "langle",
    "lfloor",
    "lceil",
    "sum",
    "prod",
    "int",
    "lim",
    "emptyset",
    "varnothing",
    "binom",
}
_NO_ATOM = {*_RELATIONS, *_SETS, *_BRACKETS.values(), "\\pm", "\\mp", "\\}", "\\\\", "\\end", "\\lor", "\\mod"}
_NO_ATOM |= {"\\cdot", "\\times", "\\div"}
_TIMES = {"*": "mul", "\\cdot": "mul", "\\times": "mul", "/": "div", "\\div": "div"}
_CLOSING = {"(": ")", "[": "]", "{": "}", "\\{": "\\}"}
_TOKEN = re.compile(
    r"\s*(?:(?P<num>(?:\d+\.\d*|\.\d+)(?:[eE]-?\d{1,4}(?!\w))?|\d+(?:[eE](?:-?\d{2,4}|\d)(?!\w))?)|(?P<cmd>\\(?:[A-Za-z]+|.))"
    r"|(?P<word>[A-Za-z]+)(?P<index>(?<![A-Za-z][A-Za-z])(?<!\\)\d+)?|(?P<op><=|>=|!=|==|\*\*|[^\s]))",
    re.DOTALL,
)


class Node(NamedTuple):
    """One node of a formula's tree."""

    kind: str
    parts: tuple[Any, ...]

    def walk(self) -> Iterator[Node]:
        """The node itself and all nodes below it."""
        waiting: list[Any] = [self]
        while waiting:
            part = waiting.pop()
            if isinstance(part, Node):
                yield part
                waiting.extend(part.parts)
            elif isinstance(part, tuple):
                waiting.extend(part)

    def holds(self, *kinds: str) -> bool:
        """Whether this node or a node below it is of one of these kinds."""
        return any(node.kind in kinds for node in self.walk())


class NotAFormula(ValueError):
    """The text does not follow the grammar."""


class TooComplex(ValueError):
    """The formula exceeds a limit; the message is the reason of the row."""


def parse_formula(text: str) -> Node:
    r"""The tree of a formula; raises `NotAFormula`, or `TooComplex` if it is too long, nested too deeply or too large.

    >>> parse_formula(r"\frac12 + x^2").kind
    'add'
    >>> parse_formula("(1, 2]").kind
    'interval'
    >>> parse_formula("__import__('os')")
    Traceback (most recent call last):
    karat.text.latex.NotAFormula: '_' after ''
    """
    if len(text) > LENGTH:
        raise TooComplex(f"a formula has more than {LENGTH} characters")
    return _Parser(normalise_formula(text)).whole()


def number(value: int | Fraction) -> Node:
    return Node("num", (Fraction(value), None))


def tokens(text: str) -> list[str]:
    parts: list[str] = []
    for match in _TOKEN.finditer(text):
        if match["num"] and len(match["num"]) > DIGITS:
            raise TooComplex(f"a number has more than {DIGITS} digits")
        if match["index"]:
            parts += [match["word"], "_", match["index"]]  # H0 is H with an index
        else:
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
        """Relations separated by commas; a single one is returned itself unless `kind` is a bracket's."""
        choices = [self.commas(kind)]
        while self.next == "\\lor":
            self.take()
            choices.append(self.commas("list"))
        return choices[0] if len(choices) == 1 else Node("any", tuple(choices))

    def commas(self, kind: str) -> Node:
        items = [self.relation()]
        while self.next in {",", ";"}:
            self.take()
            items.append(self.relation())
        return items[0] if len(items) == 1 and kind == "list" else Node(kind, tuple(items))

    def relation(self) -> Node:
        self.depth += 1
        if self.depth > DEPTH:
            raise TooComplex(f"a formula is nested more than {DEPTH} levels deep")
        sides, operators = [self.ratio()], []
        while self.next in _RELATIONS:
            operators.append(_RELATIONS[self.take()])
            sides.append(self.ratio())
        self.depth -= 1
        node = Node("rel", (tuple(operators), tuple(sides))) if operators else sides[0]
        if self.next == "\\mod":
            self.take()
            node = Node("mod", (node, self.argument(power=True)))
        return node

    def ratio(self) -> Node:
        terms = [self.sets()]
        while self.next == ":":
            self.take()
            terms.append(self.sets())
        if len(terms) == 2:
            return Node("div", tuple(terms))
        return terms[0] if len(terms) == 1 else Node("ratio", tuple(terms))

    def sets(self) -> Node:
        node = self.sum()
        while self.next in _SETS:
            node = Node(_SETS[self.take()], (as_set(node), as_set(self.sum())))
        return node

    def sum(self) -> Node:
        node = self.sign(self.product)
        while self.next in {"+", "-", "\\pm", "\\mp"}:
            operator, right = self.take(), self.product()
            kind = "add" if operator in {"+", "-"} else "pm"
            node = Node(kind, (node, right if operator in {"+", "\\pm"} else Node("neg", (right,))))
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
                right, percent = self.power(), False
                if right.kind == "percent" and right.parts[0].kind == "div":
                    right, percent = right.parts[0], True
                mixed = node.kind == "num" and right.kind == "div"
                mixed = mixed and "\\frac" in self.tokens[max(0, self.at - 9) : self.at]
                plain = mixed and all(p.kind == "num" for p in right.parts) and node.parts[0].denominator == 1
                node = Node("add" if plain else "mul", (node, right))  # 1\frac12 is one and a half
                node = Node("percent", (node,)) if percent else node
            else:
                return node

    def starts_atom(self) -> bool:
        mark = self.next
        if mark == "|":
            return self.bars == 0
        if mark.startswith("\\"):
            return mark not in _NO_ATOM
        return bool(mark) and (mark.isalnum() or mark in "([{" or mark[0] == ".")

    def power(self) -> Node:
        node = self.atom()
        while self.next and self.next in "!%'":
            mark = self.take()
            node = Node({"!": "factorial", "%": "percent"}.get(mark, "prime"), (node,))
        if self.next in {"^", "**"}:
            self.take()
            if self.depth > DEPTH:
                raise TooComplex(f"a formula is nested more than {DEPTH} levels deep")
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
            return self.based(mark) if self.next == "_" else _literal(mark)
        if mark in {"(", "["}:
            return self.bracket(mark)
        if mark == "{":
            self.at -= 1
            return self.group()
        if mark == "\\{":
            return self.set()
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

    def set(self) -> Node:
        r"""Elements, `x | condition`, or, without a closing brace, the equations of a system."""
        if self.next == "\\}":
            self.take()
            return Node("set", ())
        if self.next == "\\begin":
            system = self.power()
            if self.next != "\\}":
                return Node("list", tuple(row[0] for row in system.parts))
            self.take()
            return Node("set", (system,))
        self.bars += 1
        inner = self.ratio() if self.tokens[self.at + 1 : self.at + 2] == ["|"] else self.items("set")
        self.bars -= 1
        condition = inner.kind not in {"set", "any"} and self.next == "|"
        if inner.kind == "set" and len(inner.parts) == 1 and self.next == "|":
            inner, condition = inner.parts[0], True
        if condition:
            self.take()
            inner = Node("set", (Node("where", (inner, self.items())),))
        elif inner.kind == "set" and len(inner.parts) == 1 and inner.parts[0].kind == "rel":
            signs, sides = inner.parts[0].parts
            if sides[0].kind == "div" and sides[0].parts[0].kind == "sym":  # {x : x > 1}
                relation = Node("rel", (signs, (sides[0].parts[1], *sides[1:])))
                inner = Node("set", (Node("where", (sides[0].parts[0], relation)),))
        self.take("\\}")
        return Node("set", inner.parts if inner.kind in {"set", "any"} else (inner,))

    def bracket(self, left: str) -> Node:
        inner = self.items("tuple")
        items = inner.parts if inner.kind == "tuple" else (inner,)
        right = self.take()
        if left == "[" and right == "]" and (rows := _rows(items)):
            return Node("matrix", rows)
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
        if name[0] in "fghFG":
            called = self.tokens[self.at : self.at + 6]
            if called == ["^", "{", "-", "1", "}", "("]:
                self.at, name = self.at + 5, name + "^-1"
            while self.next == "'" and "(" in called:
                name += self.take()
        if (name[0] in "fgh" or len(name) > 1) and self.next == "(" and (name[0] in "fghFG" or "_" in name):
            return Node("fn", (name, *self.arguments()))
        return Node("sym", (name,))

    def arguments(self) -> tuple[Any, ...]:
        self.take("(")
        inner = self.items("tuple")
        self.take(")")
        return inner.parts if inner.kind == "tuple" else (inner,)

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
        if name in _CONSTRUCTS:
            return self.construct(name)
        return self.letter(_CONSTANTS.get(name, self.allowed(name)))

    def construct(self, name: str) -> Node:
        if name in _DECORATIONS:
            return self.letter(_flat(self.argument()))
        if "\\" + name in _BRACKETS:
            inner = self.items("tuple")
            self.take(_BRACKETS["\\" + name])
            return inner if name == "langle" else Node("fn", ("floor" if name == "lfloor" else "ceil", *inner.parts))
        if name == "binom":
            return Node("fn", ("binom", self.argument(), self.argument()))
        return Node("set", ()) if name in {"emptyset", "varnothing"} else self.bound(name)

    def allowed(self, name: str) -> str:
        if name in {"end", "\\", "}", "]", ")"}:
            self.at -= 1
            self.take("a term")
        if name in _BOUND:
            raise TooComplex(f"\\{name} is not evaluated")
        if not name[:1].isalpha():
            raise NotAFormula(f"\\{name}")
        return name

    def bound(self, name: str) -> Node:
        r"""A sum, product, limit or integral: the symbol that is bound, its bounds and the term."""
        if name == "lim":
            return self.limit()
        low: Node | None = None
        high: Node | None = None
        while self.next in {"_", "^"}:
            if self.take() == "^":
                high = self.argument(power=True)
            elif self.next == "{":
                self.take()
                low = self.relation()
                self.take("}")
            else:
                low = self.argument()
        if low is None or high is None:
            raise TooComplex(f"\\{name} without bounds is not evaluated")
        if name == "int":
            return self.integral(low, high)
        if low.kind != "rel" or low.parts[1][0].kind != "sym":
            raise NotAFormula(f"\\{name}")
        return Node(name, (low.parts[1][0], low.parts[1][1], high, self.product()))

    def integral(self, low: Node, high: Node) -> Node:
        r"""The term up to the last `d` with a symbol after it."""
        end = next((at for at in range(self.at, len(self.tokens) - 1) if self.tokens[at] == "d"), self.at)
        rest, self.tokens = self.tokens[end:], self.tokens[:end]
        term = self.sum() if self.next else number(1)
        if self.next:
            self.take("d")
        self.tokens += rest
        self.take("d")
        return Node("int", (self.letter(self.take()), low, high, term))

    def limit(self) -> Node:
        self.take("_")
        self.take("{")
        name = self.letter(self.take())
        if self.next not in {"\\to", "\\rightarrow"}:
            self.take("\\to")
        self.take()
        place = self.sign(self.product)
        self.take("}")
        return Node("lim", (name, place, self.product()))

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
        name = self.environment()
        if self.next == "{":
            self.group()  # the columns of an array
        rows = [[self.relation()]]
        while self.next != "\\end":
            if self.next == "&":
                self.take()
                rows[-1].append(self.relation())
            else:
                if self.next == ",":
                    self.take()
                self.take("\\\\")
                if self.next != "\\end":
                    rows.append([self.relation()])
        self.take("\\end")
        self.environment()
        if name in {"cases", "aligned"} and all(len(row) == 1 for row in rows):
            return Node("list", tuple(row[0] for row in rows))
        if len(set(map(len, rows))) != 1:
            raise NotAFormula("the rows of a matrix have different lengths")
        return Node("det" if name == "vmatrix" else "matrix", tuple(map(tuple, rows)))

    def environment(self) -> str:
        self.take("{")
        return "".join(iter(self.take, "}"))


def _rows(items: tuple[Node, ...]) -> tuple[tuple[Node, ...], ...]:
    """The rows of [[1, 2], [3, 4]], or none."""
    if not all(item.kind == "tuple" or (item.kind == "interval" and item.parts[::3] == ("[", "]")) for item in items):
        return ()
    rows = tuple(item.parts if item.kind == "tuple" else item.parts[1:3] for item in items)
    return rows if len(set(map(len, rows))) == 1 and items else ()


def _literal(text: str) -> Node:
    digits, _, exponent = text.lower().partition("e")
    decimals = len(digits.partition(".")[2]) - int(exponent or 0)
    return Node("num", (Fraction(text), decimals if "." in digits or decimals > 0 else None))


def as_set(node: Node) -> Node:
    """A pair as an open interval; any other node is unchanged."""
    if node.kind == "tuple" and len(node.parts) == 2:
        return Node("interval", ("(", *node.parts, ")"))
    return node


def _flat(node: Node) -> str:
    parts = node.parts[:1] if node.kind == "num" else node.parts
    return "".join(_flat(part) if isinstance(part, Node) else str(part) for part in parts)
