"""Decides whether two formulas are equal: sets by their elements, relations up to a factor, others by their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from karat.metrics.answers.algebra.canonical import CanonicalForm, Undecided, constant
from karat.metrics.answers.algebra.matrices import multiply_out
from karat.metrics.answers.algebra.numeric import CONSTANTS, differ, value
from karat.text.latex import Node, as_set

_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
_SET_KINDS = {"interval", "union", "meet", "minus", "set"}
_GROUP_KINDS = {"tuple", "list", "set", "braced"}
MEMBERS = 50
"""Sets with more members than this are compared in the order in which they are written."""

Decide = Callable[[Node, Node], bool]


@dataclass(frozen=True)
class Equivalence:
    """The settings of a comparison.

    `decide` compares two expressions that arithmetic cannot. `places`: how many decimals of a decimal number count.
    `ranges`: whether a predicted inequality may equal an expected interval.
    """

    decide: Decide
    places: int = 6
    ranges: bool = False

    def same_answer(self, predicted: Node, expected: Node) -> bool:
        """Whether a whole predicted answer equals the expected one."""
        predicted, expected = _expand_plus_minus(predicted), _expand_plus_minus(expected)
        if predicted == expected:
            return True
        expected, bounds = _as_one_equation(expected), _member(expected)
        if predicted.kind == "rel" and expected.kind != "rel" and bounds is expected:
            predicted = _last_side(predicted)
        elif expected.kind == "rel" and predicted.kind != "rel" and _is_assignment(expected):
            expected = expected.parts[1][-1]
        predicted, expected = _as_one_equation(_member(predicted)), _member(expected)
        if expected.kind == "rel" and (predicted.kind in _SET_KINDS or predicted.kind == "tuple"):
            expected = _as_interval(expected) or expected
        if self.ranges and predicted.kind == "rel" and expected.kind in _SET_KINDS:
            predicted = _as_interval(predicted) or predicted
        if (predicted.kind == "percent") != (expected.kind == "percent"):
            bare = [node.parts[0] if node.kind == "percent" else node for node in (predicted, expected)]
            if self.equal(*bare):
                return True
        return self.equal(predicted, expected)

    def equal(self, a: Node, b: Node) -> bool:
        """Whether two formulas of any kind are equal."""
        if a == b:
            return True
        if a.kind == "rel" or b.kind == "rel":
            return a.kind == b.kind and self.relations(a, b)
        a, b = multiply_out(a), multiply_out(b)
        if a.kind == "matrix" or b.kind == "matrix":
            same_shape = a.kind == b.kind and list(map(len, a.parts)) == list(map(len, b.parts))
            return same_shape and all(map(self._sides, a.parts, b.parts))
        if _is_group(a) and _is_group(b):
            return self.groups(a, b)
        if a.kind in _SET_KINDS | _GROUP_KINDS or b.kind in _SET_KINDS | _GROUP_KINDS:
            return self.sets(a, b)
        return self.values(a, b)

    def groups(self, a: Node, b: Node) -> bool:
        """Tuples, and a tuple and a list, are compared in order; sets and lists without brackets in any order."""
        if len(a.parts) != len(b.parts):
            return False
        if "tuple" in {a.kind, b.kind} or len(a.parts) > MEMBERS:
            return self._sides(a.parts, b.parts)
        return _pair_off(a.parts, b.parts, self.equal)

    def sets(self, a: Node, b: Node) -> bool:
        """Unions are compared piece by piece, in any order; (1, 2) is an interval if the other side is one."""
        p, q = list(_pieces(a)), list(_pieces(b))
        if len(p) != len(q) or len(p) > MEMBERS:
            return False
        return _pair_off(p, q, self._piece)

    def _piece(self, a: Node, b: Node) -> bool:
        if a.kind == b.kind == "interval":
            (left, low, high, right), (other, under, over, close) = a.parts, b.parts
            return (left, right) == (other, close) and self.equal(low, under) and self.equal(high, over)
        if "interval" in {a.kind, b.kind}:
            return False
        if a.kind == b.kind and a.kind in {"meet", "minus"}:
            return self._sides(a.parts, b.parts)
        one, other_one = (node if _is_group(node) else Node("set", (node,)) for node in (a, b))
        if len(one.parts) == len(other_one.parts) == 1 and not _is_group(a) and not _is_group(b):
            return False
        return _is_group(one) and _is_group(other_one) and self.groups(one, other_one)

    def relations(self, a: Node, b: Node) -> bool:
        (signs, sides), (others, against) = a.parts, b.parts
        if len(signs) != len(others):
            return False
        if len(signs) > 1:
            mirrored = tuple(_MIRRORED.get(sign, sign) for sign in reversed(signs))
            return (signs == others and self._sides(sides, against)) or (
                mirrored == others and self._sides(sides[::-1], against)
            )
        sign, other = signs[0].replace("~", "="), others[0].replace("~", "=")
        if sign == "in" or other == "in":
            return bool(sign == other) and self._sides(sides, against)
        left, right = _difference(*sides), _difference(*against)
        if sign == other and self.values(left, right):
            return True
        if _MIRRORED[sign] == other and self.values(left, Node("neg", (right,))):
            return True
        factor = _factor(left, right)
        if factor is None:
            return False
        return bool((sign if factor > 0 or sign in {"=", "!="} else _MIRRORED[sign]) == other)

    def _sides(self, a: tuple[Node, ...], b: tuple[Node, ...]) -> bool:
        return all(map(self.equal, a, b))

    def values(self, a: Node, b: Node) -> bool:
        """Whether two expressions are equal, by the first method that can decide it."""
        if a == b:
            return True
        if any(node.holds(kind) for node in (a, b) for kind in (*_SET_KINDS, *_GROUP_KINDS, "matrix", "rel")):
            return False  # sets and matrices have no single value
        form = CanonicalForm()
        try:
            left, right = constant(form.of(a)), constant(form.of(b))
        except Undecided:
            left = right = None
        rounded = (_has_decimal(a) or _has_decimal(b)) and not _symbols(a) and not _symbols(b)
        if left is not None and right is not None:
            return left == right or (rounded and abs(left - right) <= Fraction(1, 2 * 10**self.places))
        if rounded and (x := value(a)) is not None and (y := value(b)) is not None:
            return abs(x - y) <= 0.5 * 0.1**self.places
        if differ(a, b):
            return False
        with suppress(Undecided):
            if form.equal(a, b):
                return True
        return self.decide(a, b)


def _pair_off(a: Sequence[Node], b: Sequence[Node], equal: Decide) -> bool:
    """Whether each node of a equals another one of b."""
    left = list(b)
    for x in a:
        match = next((y for y in left if equal(x, y)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _is_group(node: Node) -> bool:
    return node.kind in _GROUP_KINDS


def _is_assignment(node: Node) -> bool:
    signs, sides = node.parts
    return set(signs) <= {"=", "~"} and sides[0].kind in {"sym", "fn", "tuple"}


def _as_one_equation(node: Node) -> Node:
    """A chain of equations as one: x = 1 + 1 = 2 is x = 2, 1 = y = x = 0 is x = 0; approximate sides are dropped."""
    if node.kind != "rel":
        return node
    signs, sides = node.parts
    if not set(signs) <= {"=", "~"}:
        return node
    if "~" in signs and "=" in signs:
        end = signs.index("~")
        signs, sides = signs[:end], sides[: end + 1]
    if len(signs) == 1:
        return Node("rel", (("=",), sides))
    return Node("rel", (("=",), (sides[0] if _is_assignment(node) else sides[-2], sides[-1])))


def _last_side(node: Node) -> Node:
    """The last side of an equation; an inequality is unchanged."""
    node = _as_one_equation(node)
    signs, sides = node.parts
    return sides[-1] if set(signs) <= {"=", "in"} else node


def _member(node: Node) -> Node:
    """The set S of x ∈ S."""
    return as_set(node.parts[1][1]) if node.kind == "rel" and node.parts[0] == ("in",) else node


def _as_interval(node: Node) -> Node | None:
    """The interval that an inequality of one symbol describes, or None."""
    signs, sides = node.parts
    if all(sign in {">", ">="} for sign in signs):
        signs, sides = tuple(_MIRRORED[sign] for sign in reversed(signs)), sides[::-1]
    if not all(sign in {"<", "<="} for sign in signs):
        return None
    left, right = ("(" if signs[0] == "<" else "["), (")" if signs[-1] == "<" else "]")
    infinity = Node("sym", ("oo",))
    if len(signs) == 2 and sides[1].kind == "sym":
        return Node("interval", (left, sides[0], sides[2], right))
    if len(signs) == 1 and sides[0].kind == "sym":
        return Node("interval", ("(", Node("neg", (infinity,)), sides[1], right))
    if len(signs) == 1 and sides[1].kind == "sym":
        return Node("interval", (left, sides[0], infinity, ")"))
    return None


def _pieces(node: Node) -> Iterator[Node]:
    if node.kind == "union":
        for part in node.parts:
            yield from _pieces(part)
    else:
        yield as_set(node)


def _expand_plus_minus(node: Node) -> Node:
    """The formula with a + b and a − b for every a ± b: 1 ± √5 is the list 1 + √5, 1 − √5."""
    if node.kind == "rel" and len(node.parts[0]) == 1 and node.parts[1][1].holds("pm"):
        return Node("rel", (node.parts[0], (node.parts[1][0], _expand_plus_minus(node.parts[1][1]))))
    if node.kind in {"set", "list", "braced"}:
        spread = [
            side for part in node.parts for side in (_expand_plus_minus(part).parts if part.holds("pm") else [part])
        ]
        return Node(node.kind, tuple(spread))
    if node.holds("pm") and node.kind not in {"rel", *_SET_KINDS, *_GROUP_KINDS}:
        return Node("list", (_choose_sign(node, plus=True), _choose_sign(node, plus=False)))
    return node


def _choose_sign(node: Node, *, plus: bool) -> Node:
    parts = tuple(_choose_sign(part, plus=plus) if isinstance(part, Node) else part for part in node.parts)
    if node.kind == "pm":
        return Node("add", parts if plus else (parts[0], Node("neg", (parts[1],))))
    return Node(node.kind, parts)


def _has_decimal(node: Node) -> bool:
    if node.kind == "num":
        return bool(node.parts[1])
    return any(isinstance(part, Node) and _has_decimal(part) for part in node.parts)


def _symbols(node: Node) -> bool:
    if node.kind == "sym":
        return node.parts[0] not in CONSTANTS
    return any(isinstance(part, Node) and _symbols(part) for part in node.parts)


def _difference(a: Node, b: Node) -> Node:
    return Node("add", (a, Node("neg", (b,))))


def _factor(a: Node, b: Node) -> Fraction | None:
    """The number c for which a is c·b, if arithmetic finds one, or None."""
    form = CanonicalForm()
    try:
        (top, bottom), (over, under) = form.of(a), form.of(b)
        p, q = form.times(top, under), form.times(over, bottom)
    except Undecided:
        return None
    if not p or set(p) != set(q):
        return None
    factors = {p[monomial] / q[monomial] for monomial in p}
    return factors.pop() if len(factors) == 1 else None
