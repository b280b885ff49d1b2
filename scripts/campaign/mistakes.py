"""The small mistakes that `mutants.py` makes in Python: where each is possible, and what is there instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

COMPARISONS = {"Lt": "LtE", "LtE": "Lt", "Gt": "GtE", "GtE": "Gt", "Eq": "NotEq", "In": "NotIn", "Is": "IsNot"}
COMPARISONS |= {new: old for old, new in COMPARISONS.items() if new.startswith(("Not", "IsNot"))}
OPERATORS = {"Add": "Sub", "Sub": "Add", "Mult": "Div", "Div": "Mult", "FloorDiv": "Div", "Mod": "FloorDiv"}
OPERATORS |= {"Pow": "Mult", "BitAnd": "BitOr", "BitOr": "BitAnd", "And": "Or", "Or": "And"}
REMOVED = (ast.Expr, ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)
SKIPPED = ("annotation", "returns", "decorator_list", "type_params")


def sites(node: ast.AST) -> Iterator[tuple[ast.AST, str, ast.AST]]:  # noqa: PLR0912  (a table)
    """Each place of a mistake, its kind, and what is there instead.

    There is none in docstrings, annotations, decorators, what is raised, and what only type checkers read.
    """
    match node:
        case ast.Compare(ops=[each]) if type(each).__name__ in COMPARISONS:
            yield node, "comparison", ast.Compare(node.left, [swap(each, COMPARISONS)], node.comparators)
        case ast.BinOp() if type(node.op).__name__ in OPERATORS:
            yield node, "operator", ast.BinOp(node.left, swap(node.op, OPERATORS), node.right)
        case ast.AugAssign() if type(node.op).__name__ in OPERATORS:
            yield node, "operator", ast.AugAssign(node.target, swap(node.op, OPERATORS), node.value)
        case ast.BoolOp():
            yield node, "operator", ast.BoolOp(swap(node.op, OPERATORS), node.values)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node, "sign", node.operand
        case ast.Constant(value=bool() | int() | float() as value):
            yield node, "constant", ast.Constant(not value if isinstance(value, bool) else value + 1)
        case ast.arguments():
            for default in [*node.defaults, *node.kw_defaults]:
                if isinstance(default, ast.Constant) and isinstance(default.value, str | None):
                    yield default, "default", ast.Constant(1 if default.value is None else default.value + "x")
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield node, "returned", ast.Return(ast.Constant(None))
        case ast.If() | ast.While() | ast.IfExp():
            yield node.test, "condition", ast.UnaryOp(ast.Not(), node.test)
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if field not in SKIPPED and isinstance(child, ast.AST) and not is_left_out(child):
                if isinstance(child, REMOVED):
                    yield child, "removed", ast.Pass()
                if not isinstance(child, ast.Raise):
                    yield from sites(child)


def swap(operator: ast.AST, others: dict[str, str]) -> Any:
    """The operator in place of this one."""
    return getattr(ast, others[type(operator).__name__])()


def is_left_out(node: ast.AST) -> bool:
    """A docstring, and what only type checkers and `import *` read."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
    return False


def lines_of(tree: ast.Module) -> dict[ast.AST, tuple[range, bool]]:
    """The lines of the statement, or the head of the compound one, of each node; and whether a function runs it."""
    found: dict[ast.AST, tuple[range, bool]] = {}

    def visit(node: ast.AST, inside: bool) -> None:
        body = getattr(node, "body", None)
        if isinstance(node, ast.stmt):
            end = body[0].lineno if isinstance(body, list) else (node.end_lineno or node.lineno) + 1
            found.update(dict.fromkeys(ast.walk(node), (range(node.lineno, max(end, node.lineno + 1)), inside)))
        for field, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child, inside or (isinstance(node, ast.FunctionDef) and field == "body"))

    visit(tree, inside=False)
    return found
