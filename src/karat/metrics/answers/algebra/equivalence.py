"""Decides whether two answers are equal: sets by their elements, relations up to a factor, others by their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction

from karat.metrics.answers.algebra.canonical import CanonicalForm, Undecided
from karat.metrics.answers.algebra.expansion import expand
from karat.metrics.answers.algebra.numeric import differ
from karat.metrics.answers.algebra.regions import MIRRORED, NotARegion, Region
from karat.metrics.answers.algebra.rounding import Rounding, has_decimal, read_written
from karat.metrics.answers.algebra.solution import LISTS, Solution, in_one_case, read_solution, spread_signs
from karat.text.latex import Node, as_set

_SET_KINDS = {"interval", "union", "meet", "minus", "set"}
_RELATED = {"rel", "list", "any"}
_GROUP_KINDS = {"tuple", *LISTS}
_SINGLE = {*_SET_KINDS, *_GROUP_KINDS, "matrix", "rel", "where"}
MEMBERS = 50
"""Sets with more members than this are compared in the order in which they are written."""

Decide = Callable[[Node, Node], bool]


@dataclass(frozen=True)
class Equivalence:
    """The settings of a comparison.

    `decide` compares two expressions that arithmetic cannot. `rounding` compares decimals. `ranges`: whether a
    predicted inequality may equal an expected interval.
    """

    decide: Decide
    rounding: Rounding = field(default_factory=Rounding)
    ranges: bool = False

    def same_answer(self, predicted: Node, expected: Node) -> bool:
        """Whether a whole predicted answer equals the expected one."""
        predicted, expected = in_one_case(predicted, expected)
        if predicted.kind == expected.kind == "mod":
            return self._sides(predicted.parts, expected.parts)
        predicted, expected = (
            spread_signs(node.parts[0] if node.kind == "mod" else node) for node in (predicted, expected)
        )
        if predicted == expected or self._same_relations(predicted, expected):
            return True
        answer, gold = read_solution(predicted), read_solution(expected)
        if answer.names and gold.names:
            if set(answer.names) != set(gold.names):
                return predicted.kind == expected.kind == "rel" and self.relations(predicted, expected)
            return self._same_value(answer, gold, answer.ordered(gold.names))
        equations = "rel" in {answer.value.kind, gold.value.kind} and predicted.kind == expected.kind == "rel"
        if equations and self.relations(_join_chain(predicted), _join_chain(expected)):
            return True
        if gold.value.kind in _RELATED and gold.value.holds("rel"):
            related = answer.value.kind in {*_SET_KINDS, "tuple"} or answer.value.holds("rel")
            return related and self.equal(answer.value, gold.value)
        if answer.value.kind == "rel" and answer.value.parts[0] == ("=",):
            if gold.names:
                return False
            answer = Solution((), answer.value.parts[1][-1])
        elif answer.value.kind in _RELATED and answer.value.holds("rel") and not self.ranges:
            return gold.value.kind in _GROUP_KINDS and _is_group(answer.value) and self.groups(answer.value, gold.value)
        if self._same_value(answer, gold, answer.value):
            return True
        names = tuple(sorted(answer.names))
        return names != answer.names and self._same_value(answer, gold, answer.ordered(names))

    def _same_relations(self, a: Node, b: Node) -> bool:
        """Whether both are lists of equations, and each equals one of the other list, however it is written."""
        lists = a.kind in {"list", "any"} and b.kind in {"list", "any"} and len(a.parts) == len(b.parts) <= MEMBERS
        return (
            lists
            and all(part.kind == "rel" for part in (*a.parts, *b.parts))
            and _pair_off(a.parts, b.parts, self.equal)
        )

    def _same_value(self, answer: Solution, gold: Solution, value: Node) -> bool:
        if max(len(answer.names), len(gold.names)) > 1 and (_is_region(value) or _is_region(gold.value)):
            return False  # x = 1, y = 2 is not an interval
        candidates = [(value, gold.value)]
        candidates += [(answer.about, gold.value)] if answer.about else []
        candidates += [(value, gold.about)] if gold.about else []
        return any(self._same_share(*pair) for pair in candidates)

    def _same_share(self, a: Node, b: Node) -> bool:
        """Whether two values are equal, with 50 % equal to both 50 and 0.5."""
        if (a.kind == "percent") != (b.kind == "percent"):
            bare = [node.parts[0] if node.kind == "percent" else node for node in (a, b)]
            if self.equal(*bare):
                return True
        return self.equal(a, b)

    def equal(self, a: Node, b: Node) -> bool:
        """Whether two formulas of any kind are equal."""
        if a == b:
            return True
        if (verdict := self._regions(a, b)) is not None:
            return verdict
        if a.kind == "rel" or b.kind == "rel":
            return a.kind == b.kind and self.relations(a, b)
        a, b = expand(a), expand(b)
        if a.kind == "matrix" or b.kind == "matrix":
            same_shape = a.kind == b.kind and list(map(len, a.parts)) == list(map(len, b.parts))
            return same_shape and all(map(self._sides, a.parts, b.parts))
        if a.kind == b.kind == "ratio":
            products = [
                Node("ratio", tuple(Node("mul", (x, y.parts[0])) for x in node.parts)) for node, y in ((a, b), (b, a))
            ]
            return len(a.parts) == len(b.parts) and self._sides(products[0].parts, products[1].parts)
        if a.kind == b.kind == "where":
            return self._sides(a.parts, b.parts)
        if _is_group(a) and _is_group(b):
            return self.groups(a, b)
        if a.kind in _SET_KINDS | _GROUP_KINDS or b.kind in _SET_KINDS | _GROUP_KINDS:
            return self.sets(a, b)
        return self.values(a, b)

    def _regions(self, a: Node, b: Node) -> bool | None:
        """Whether two sets of real numbers are equal; None if one of them is not such a set, or both are lists."""
        if not (_is_region(a) or _is_region(b)) or a.kind == b.kind == "rel":
            return None
        try:
            p, q = Region(a), Region(b)
        except NotARegion:
            return None
        if p.variable and q.variable and p.variable != q.variable:
            return False
        cuts, others = ([cut for piece in region.pieces for cut in piece] for region in (p, q))
        return len(cuts) == len(others) and all(
            side == other and (x == y or (x in p.ends and y in q.ends and self.equal(p.ends[x], q.ends[y])))
            for (x, side), (y, other) in zip(cuts, others, strict=True)
        )

    def groups(self, a: Node, b: Node) -> bool:
        """Tuples, and a tuple and a list, are compared in order; sets and lists without brackets in any order."""
        p, q = a.parts, b.parts
        if "tuple" in {a.kind, b.kind} or max(len(p), len(q)) > MEMBERS:
            return len(p) == len(q) and self._sides(p, q)
        if len(p) != len(q):
            p, q = self._distinct(p), self._distinct(q)
        return len(p) == len(q) and _pair_off(p, q, self.equal)

    def _distinct(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        kept: list[Node] = []
        for node in nodes:
            if not any(self.equal(node, other) for other in kept):
                kept.append(node)
        return tuple(kept)

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
            mirrored = tuple(MIRRORED.get(sign, sign) for sign in reversed(signs))
            return (signs == others and self._sides(sides, against)) or (
                mirrored == others and self._sides(sides[::-1], against)
            )
        sign, other = signs[0].replace("~", "="), others[0].replace("~", "=")
        if sign == "in" or other == "in":
            return bool(sign == other) and self._sides(sides, against)
        left, right = _difference(*sides), _difference(*against)
        if sign == other and self.values(left, right):
            return True
        if MIRRORED[sign] == other and self.values(left, Node("neg", (right,))):
            return True
        factor = _factor(left, right, denominators=sign not in {"=", "!="})
        if factor is None:
            return False
        return bool((sign if factor > 0 or sign in {"=", "!="} else MIRRORED[sign]) == other)

    def _sides(self, a: tuple[Node, ...], b: tuple[Node, ...]) -> bool:
        return all(map(self.equal, a, b))

    def values(self, a: Node, b: Node) -> bool:
        """Whether two expressions are equal, by the first method that can decide it."""
        if a == b:
            return True
        if a.holds(*_SINGLE) or b.holds(*_SINGLE):
            return False  # sets and matrices have no single value
        form = CanonicalForm()
        x, y = read_written(a, form), read_written(b, form)
        if x is not None and y is not None:
            exact = isinstance(x.value, Fraction) and isinstance(y.value, Fraction)
            if self.rounding.equal(x, y):
                return True
            if exact and (x.places, y.places) != (None, None):
                return False
            if exact:
                return x.value == y.value
            if x.places is not None or y.places is not None:
                return False
            if has_decimal(a) or has_decimal(b):
                return self.rounding.close(complex(x.value), complex(y.value))
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


def _pieces(node: Node) -> Iterator[Node]:
    if node.kind == "union":
        for part in node.parts:
            yield from _pieces(part)
    else:
        yield as_set(node)


def _is_region(node: Node) -> bool:
    """Whether a node is a set of real numbers even without another set beside it."""
    if node.kind in {"union", "meet", "minus", "interval", "where"} or node == Node("sym", ("RR",)):
        return True
    if node.kind in {"list", "any", "set"} and node.parts:
        return all(part.kind == "where" or (part.kind == "rel" and part.parts[0] != ("=",)) for part in node.parts)
    return node.kind == "rel" and not {"=", "~"} & set(node.parts[0])


def _join_chain(node: Node) -> Node:
    """An equation from the first to the last side of a chain."""
    signs, sides = node.parts
    return Node("rel", (("=",), (sides[0], sides[-1]))) if set(signs) <= {"=", "~"} else node


def _difference(a: Node, b: Node) -> Node:
    return Node("add", (a, Node("neg", (b,))))


def _factor(a: Node, b: Node, *, denominators: bool) -> Fraction | None:
    """The number c for which a is c·b, with or without their denominators, if arithmetic finds one; or None."""
    form = CanonicalForm()
    try:
        (top, bottom), (over, under) = form.of(a), form.of(b)
        p, q = form.times(top, under), form.times(over, bottom)
    except Undecided:
        return None
    if not denominators and set(p) != set(q):  # y = 1/x and xy = 1
        p, q = top, over
    if not p or set(p) != set(q):
        return None
    factors = {p[monomial] / q[monomial] for monomial in p}
    return factors.pop() if len(factors) == 1 else None
