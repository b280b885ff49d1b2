"""Reads an answer as the values it gives: `x_1 = 1, x_2 = 2`, `x = 1 or x = 2` and `1, 2` are the same two values.

What stands left of an equals sign names a value if it has no numbers in it: `x`, `AB`, `|AB|`, `f(x)`, `V_1 : V_2`,
but not `2x + 1`. Several names make a tuple, which is in the order of the names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from karat.metrics.answers.algebra.numeric import CONSTANTS, constant_value
from karat.text.latex import Node, as_set

LISTS = {"list", "set", "braced", "any"}
_NUMBER_SETS = {"ZZ", "NN", "QQ", "Z", "N"}
_NAMING = {"add", "mul", "div", "abs", "tuple", "ratio", "prime", "union", "meet", "minus", "braced"}
_NEAR = 0.02


class Solution(NamedTuple):
    """The names of the values, none if the answer names none; the value; what it approximately is, if that is said."""

    names: tuple[str, ...]
    value: Node
    about: Node | None = None

    def ordered(self, names: Sequence[str]) -> Node:
        """The value with the parts of each tuple in the order of these names."""
        if len(names) < 2 or tuple(names) == self.names:
            return self.value
        places = [self.names.index(name) for name in names]
        if self.value.kind == "tuple":
            return _picked(self.value, places)
        return Node(self.value.kind, tuple(_picked(part, places) for part in self.value.parts))


def read_solution(node: Node) -> Solution:
    """The names and values that an answer gives; an equation that names no value is itself the value."""
    if node.kind in {"list", "any"}:
        return _of_items([item for item in _items(node) if not _is_quantifier(item)] or list(node.parts), node)
    return _of_relation(node) if node.kind == "rel" else Solution((), node)


def spread_signs(node: Node) -> Node:
    """The formula with a + b and a − b for every a ± b: 1 ± √5 is the list 1 + √5, 1 − √5."""
    if not node.holds("pm"):
        return node
    if node.kind in LISTS:
        return Node(node.kind, tuple(side for part in node.parts for side in _both(part)))
    return Node("list", _both(node))


def in_one_case(a: Node, b: Node) -> tuple[Node, Node]:
    """Both formulas with all symbols in lower case, unless one of them uses a letter in both cases."""
    names = [{part.parts[0] for part in node.walk() if part.kind == "sym"} for node in (a, b)]
    if names[0] == names[1] or any(len({name.lower() for name in each}) < len(each) for each in names):
        return a, b
    return _lowered(a), _lowered(b)


def _lowered(node: Node) -> Node:
    if node.kind == "sym":
        return node if node.parts[0] in {"E", "I", "RR", "ZZ", "NN", "QQ"} else Node("sym", (node.parts[0].lower(),))

    def lowered(part: object) -> object:
        if isinstance(part, Node):
            return _lowered(part)
        return tuple(map(lowered, part)) if isinstance(part, tuple) else part

    return Node(node.kind, tuple(map(lowered, node.parts)))


def _both(node: Node) -> tuple[Node, ...]:
    if not node.holds("pm"):
        return (node,)
    if node.kind in LISTS:
        return (spread_signs(node),)
    return (_choose_sign(node, plus=True), _choose_sign(node, plus=False))


def _choose_sign(node: Node, *, plus: bool) -> Node:
    def chosen(part: object) -> object:
        if isinstance(part, Node):
            return _choose_sign(part, plus=plus)
        return tuple(map(chosen, part)) if isinstance(part, tuple) else part

    parts = tuple(map(chosen, node.parts))
    if node.kind == "pm":
        return Node("add", parts if plus else (parts[0], Node("neg", (parts[1],))))
    return Node(node.kind, parts)


def _items(node: Node) -> Iterator[Node]:
    """The items of lists in lists; equations of several names between "or" stay together."""
    for part in node.parts:
        if part.kind == "list" and not (node.kind == "any" and len(_of_items(list(part.parts), part).names) > 1):
            yield from part.parts
        else:
            yield part


def _is_quantifier(node: Node) -> bool:
    """Whether it says only that a symbol is a whole number: k ∈ ℤ."""
    if node.kind != "rel" or node.parts[0] != ("in",):
        return False
    last = node.parts[1][1]
    return last.kind == "sym" and last.parts[0] in _NUMBER_SETS


def _of_items(items: list[Node], node: Node) -> Solution:
    if len(items) == 1:
        return read_solution(items[0])
    solutions = [read_solution(item) for item in items]
    first = solutions[0].names
    if not first or not all(each.names or item.kind != "rel" for each, item in zip(solutions, items, strict=True)):
        kind = node.kind if any(item.kind == "rel" for item in items) else "list"
        return Solution((), Node(kind, tuple(items)))
    values = tuple(each.value for each in solutions)
    if all(each.names in {first, ()} for each in solutions):
        return Solution(first, Node("list", tuple(part for value in values for part in _listed(value))))
    bases = [tuple(name.partition("_")[0] for name in each.names) for each in solutions]
    if all(base == bases[0] for base in bases):  # x_1 = 1, x_2 = 2
        return Solution(bases[0], Node("list", values))
    names = tuple(name for each in solutions for name in each.names)
    if len(names) != len(values) or any(len(each.names) > 1 for each in solutions):
        return Solution((), node)
    flat = [base[0] for base in bases]
    width = next((at for at, name in enumerate(flat) if name in flat[:at]), len(flat))
    if 1 < width < len(flat) and flat == flat[:width] * (len(flat) // width):  # x = 1, y = 2, x = 3, y = 4
        rows = tuple(Node("tuple", values[at : at + width]) for at in range(0, len(values), width))
        return Solution(tuple(flat[:width]), Node("list", rows))
    return Solution(names, Node("tuple", values)) if len(set(names)) == len(names) else Solution((), node)


def _listed(node: Node) -> tuple[Node, ...]:
    return node.parts if node.kind == "list" else (node,)


def _of_relation(node: Node) -> Solution:
    signs, sides = node.parts
    if signs == ("in",) and _is_name(sides[0]):
        return Solution((_name(sides[0]),), as_set(sides[1]))
    if not set(signs) <= {"=", "~"}:
        return Solution((), node)
    exact = signs.index("~") if "~" in signs else len(signs)
    value, about = sides[exact], sides[-1] if exact < len(signs) else None
    if not exact and _is_name(value):  # x ≈ 11
        return Solution((_name(value),), sides[-1])
    if about is not None and not _near(value, about):
        about = None
    left = next((side for side in sides[:exact] if _is_name(side)), None)
    if left is not None and left.kind == value.kind == "tuple" and len(left.parts) == len(value.parts):
        return Solution(tuple(map(_name, left.parts)), value, about)
    if left is not None:
        return Solution((_name(left),), value, about)
    if _is_name(value) and constant_value(sides[0]) is not None:
        return Solution((_name(value),), sides[0])
    if all(constant_value(side) is not None for side in sides):
        return Solution((), value, about)
    return Solution((), Node("rel", (("=",), (sides[max(0, exact - 1)], value))))


def _near(exact: Node, about: Node) -> bool:
    a, b = constant_value(exact), constant_value(about)
    return a is None or (b is not None and abs(a - b) <= _NEAR * max(abs(a), abs(b)))


def _is_name(node: Node) -> bool:
    """Whether a side of an equation names the value on the other side."""
    if node.kind == "sym":
        return node.parts[0] not in CONSTANTS and node.parts[0] != "oo"
    if node.kind == "fn":
        return constant_value(node) is None
    if node.kind == "mul" and node.parts[0].kind == "sym" and node.parts[1].kind in {"rel", "tuple", "list"}:
        return True  # P(X > 1)
    return node.kind in _NAMING and all(map(_is_name, node.parts))


def _name(node: Node) -> str:
    if node.kind == "sym":
        return str(node.parts[0])
    return f"{node.kind}({','.join(_name(part) if isinstance(part, Node) else str(part) for part in node.parts)})"


def _picked(node: Node, places: list[int]) -> Node:
    return Node("tuple", tuple(node.parts[place] for place in places)) if node.kind == "tuple" else node
