"""Computes sums, products and multiples of matrices in formulas."""

from __future__ import annotations

from karat.text.latex import Node, number

SIZE = 50
"""Larger matrices are not multiplied."""


def multiply_out(node: Node) -> Node:
    """The formula with its sums and products of matrices computed."""
    if node.kind not in {"add", "mul", "neg", "pow"} or not node.holds("matrix"):
        return node
    a, *rest = (multiply_out(part) for part in node.parts)
    if node.kind == "neg" and a.kind == "matrix":
        return Node("matrix", tuple(tuple(Node("neg", (cell,)) for cell in row) for row in a.parts))
    if not rest:
        return node
    b = rest[0]
    if a.kind == b.kind == "matrix":
        p, q = a.parts, b.parts
        if node.kind == "add" and [len(row) for row in p] == [len(row) for row in q]:
            return Node("matrix", tuple(tuple(map(_add, r, s)) for r, s in zip(p, q, strict=True)))
        if node.kind == "mul" and len(p[0]) == len(q) <= SIZE:
            columns = list(zip(*q, strict=True))
            return Node("matrix", tuple(tuple(_dot(row, column) for column in columns) for row in p))
    elif node.kind == "mul" and "matrix" in {a.kind, b.kind}:
        scalar, matrix = (b, a) if a.kind == "matrix" else (a, b)
        return Node("matrix", tuple(tuple(Node("mul", (scalar, cell)) for cell in row) for row in matrix.parts))
    return node


def _add(a: Node, b: Node) -> Node:
    return Node("add", (a, b))


def _dot(row: tuple[Node, ...], column: tuple[Node, ...]) -> Node:
    total = number(0)
    for x, y in zip(row, column, strict=True):
        total = _add(total, Node("mul", (x, y)))
    return total
