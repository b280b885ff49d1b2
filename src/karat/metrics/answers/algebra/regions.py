"""Sets of real numbers as sorted intervals: unions, intersections, differences, inequalities, single numbers.

A cut is a place between two numbers: (x, 0) just before x, (x, 1) just after it. A region is a sorted list of pairs of
cuts, so that open and closed ends, points and gaps need no rules of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TypeAlias

from karat.metrics.answers.algebra.numeric import constant_value
from karat.text.latex import Node, as_set

Boundary: TypeAlias = tuple[float, int]
Pieces: TypeAlias = list[tuple[Boundary, Boundary]]

EVERYTHING: Pieces = [((-inf, 1), (inf, 0))]
MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!=", "~": "~"}


class NotARegion(Exception):
    """The node is not a set of real numbers whose ends are numbers."""


class Region:
    """The pieces of a set, and the formula of each end."""

    def __init__(self, node: Node) -> None:
        self.ends: dict[float, Node] = {}
        self.variable: Node | None = None
        self.pieces = self._of(as_set(node))

    def _of(self, node: Node) -> Pieces:
        kind, parts = node
        if kind == "interval":
            left, low, high, right = parts
            return self._between(low, left == "[", high, right == "]")
        if kind == "sym" and parts[0] == "RR":
            return EVERYTHING
        if kind == "where":
            return self._of(parts[1])
        if kind == "set" or (kind == "braced" and not node.holds("rel")):
            return _joined([piece for part in parts for piece in self._element(part)])
        if kind in {"union", "any"}:
            return _joined([piece for part in parts for piece in self._of(as_set(part))])
        if kind in {"meet", "minus"}:
            first, second = (self._of(as_set(part)) for part in parts)
            return _common(first, second if kind == "meet" else _rest(second))
        if kind == "rel":
            return self._relation(*parts)
        if kind in {"list", "braced"} and all(part.kind == "rel" for part in parts):
            pieces = EVERYTHING
            for part in parts:
                pieces = _common(pieces, self._of(part))
            return pieces or _joined([piece for part in parts for piece in self._of(part)])  # x < 1, x > 2
        raise NotARegion

    def _element(self, node: Node) -> Pieces:
        return self._of(node) if node.kind == "where" else self._between(node, True, node, True)

    def _between(self, low: Node, closed: bool, high: Node, ended: bool) -> Pieces:
        start, end = (self._end(low), 1 - closed), (self._end(high), int(ended))
        start, end = max(start, (-inf, 1)), min(end, (inf, 0))
        return [(start, end)] if start < end else []

    def _end(self, node: Node) -> float:
        sign, bare = (-1, node.parts[0]) if node.kind == "neg" else (1, node)
        if bare == Node("sym", ("oo",)):
            return sign * inf
        number = constant_value(node)
        if number is None or number.imag:
            raise NotARegion
        place = float(f"{number.real:.12g}")
        self.ends.setdefault(place, node)
        return place

    def _relation(self, signs: Sequence[str], sides: Sequence[Node]) -> Pieces:
        """The numbers for which a chain of comparisons of one symbol with numbers holds."""
        if signs == ("in",):
            self._bind(sides[0])
            return self._of(as_set(sides[1]))
        pieces = EVERYTHING
        for sign, left, right in zip(signs, sides, sides[1:], strict=False):
            if sign not in MIRRORED:
                raise NotARegion
            if _is_variable(right):
                sign, left, right = MIRRORED[sign], right, left  # noqa: PLW2901
            self._bind(left)
            pieces = _common(pieces, self._compared(sign, right))
        return pieces

    def _bind(self, node: Node) -> None:
        if not _is_variable(node) or self.variable not in {None, node}:
            raise NotARegion
        self.variable = node

    def _compared(self, sign: str, end: Node) -> Pieces:
        infinity = Node("sym", ("oo",))
        if sign in {"<", "<="}:
            return self._between(Node("neg", (infinity,)), False, end, sign == "<=")
        if sign in {">", ">="}:
            return self._between(end, sign == ">=", infinity, False)
        point = self._between(end, True, end, True)
        return _rest(point) if sign == "!=" else point


def _is_variable(node: Node) -> bool:
    return (node.kind == "sym" and node.parts[0] not in {"pi", "e", "i", "oo"}) or (
        node.kind == "fn" and len(node.parts[0]) > 0 and node.parts[0][0] in "fghFG"
    )


def _joined(pieces: Pieces) -> Pieces:
    joined: Pieces = []
    for start, end in sorted(pieces):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _rest(pieces: Pieces) -> Pieces:
    cuts = [EVERYTHING[0][0], *(cut for piece in pieces for cut in piece), EVERYTHING[0][1]]
    return [(start, end) for start, end in zip(cuts[::2], cuts[1::2], strict=True) if start < end]


def _common(a: Pieces, b: Pieces) -> Pieces:
    return _rest(_joined(_rest(a) + _rest(b)))
