"""Computes matrices' sums, products and determinants, and sums and products over a few whole numbers, in formulas."""

from __future__ import annotations

from typing import Any

from karat.text.latex import Node, number

SIZE = 50
"""Larger matrices are not multiplied."""
DETERMINANT = 5
"""The determinants of larger matrices are not computed."""
TERMS = 200
"""Sums and products of more terms are left to sympy."""


def expand(node: Node) -> Node:
    """The formula with its matrices and its finite sums and products computed."""
    return _expand(node) if node.holds("matrix", "det", "sum", "prod") else node


def _expand(node: Node) -> Node:
    if node.kind in {"sum", "prod"}:
        return _series(*node.parts, kind=node.kind) or node
    if node.kind == "det" and len(node.parts) == len(node.parts[0]) <= DETERMINANT:
        return _determinant(node.parts)
    if node.kind not in {"add", "mul", "div", "neg", "pow"}:
        return node
    a, *rest = (_expand(part) for part in node.parts)
    if node.kind == "neg":
        return _scaled(number(-1), a) if a.kind == "matrix" else Node("neg", (a,))
    b = rest[0]
    if a.kind == b.kind == "matrix":
        p, q = a.parts, b.parts
        if node.kind == "add" and [len(row) for row in p] == [len(row) for row in q]:
            return Node("matrix", tuple(tuple(map(_add, r, s)) for r, s in zip(p, q, strict=True)))
        if node.kind == "mul" and len(p[0]) == len(q) <= SIZE:
            columns = list(zip(*q, strict=True))
            return Node("matrix", tuple(tuple(_dot(row, column) for column in columns) for row in p))
    elif node.kind == "mul" and a.kind == "matrix":
        return _scaled(b, a)
    elif node.kind == "mul" and b.kind == "matrix":
        return _scaled(a, b)
    elif node.kind == "div" and a.kind == "matrix":
        return _scaled(Node("div", (number(1), b)), a)
    return Node(node.kind, (a, b))


def substitute(node: Node, name: Node, value: Node) -> Node:
    """The formula with a value in place of a symbol."""
    if node == name:
        return value
    return Node(node.kind, tuple(_substitute(part, name, value) for part in node.parts))


def _substitute(part: Any, name: Node, value: Node) -> Any:
    if isinstance(part, Node):
        return substitute(part, name, value)
    return tuple(_substitute(each, name, value) for each in part) if isinstance(part, tuple) else part


def _series(name: Node, low: Node, high: Node, term: Node, *, kind: str) -> Node | None:
    if low.kind != "num" or high.kind != "num" or low.parts[0].denominator != 1 or high.parts[0].denominator != 1:
        return None
    start, end = int(low.parts[0]), int(high.parts[0])
    if not 0 <= end - start < TERMS or term.holds("sum") or term.holds("prod"):
        return None
    terms = [substitute(term, name, number(value)) for value in range(start, end + 1)]
    while len(terms) > 1:  # a balanced tree, which is not deep
        pairs = [Node("add" if kind == "sum" else "mul", (a, b)) for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[len(pairs) * 2 :]
    return terms[0]


def _determinant(rows: tuple[tuple[Node, ...], ...]) -> Node:
    if len(rows) == 1:
        return rows[0][0]
    total = number(0)
    for column, cell in enumerate(rows[0]):
        minor = _determinant(tuple(row[:column] + row[column + 1 :] for row in rows[1:]))
        term = Node("mul", (cell, minor))
        total = _add(total, Node("neg", (term,)) if column % 2 else term)
    return total


def _scaled(scalar: Node, matrix: Node) -> Node:
    return Node("matrix", tuple(tuple(Node("mul", (scalar, cell)) for cell in row) for row in matrix.parts))


def _add(a: Node, b: Node) -> Node:
    return Node("add", (a, b))


def _dot(row: tuple[Node, ...], column: tuple[Node, ...]) -> Node:
    total = number(0)
    for x, y in zip(row, column, strict=True):
        total = _add(total, Node("mul", (x, y)))
    return total
