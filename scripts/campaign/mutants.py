"""Would the tests notice a mistake? `python scripts/campaign/mutants.py [COUNT [PLACE…]]`, by default 60 of each room.

A mutant is karat with one small mistake: another operator, constant or default, a condition negated, a statement or a
returned value removed. COUNT of all that are possible in a place (a folder, file or FILE:LINE of src/karat; by default
core, stats and judges) are drawn by a fixed seed. Each is tried by the doctests of its file and the tests that mirror
it, by those of its room, first of all those that name what the file defines, and by a few elsewhere that import it,
until one fails. A mutant survives if none does.

It runs in a copy of this folder, in processes forked from one that has imported what the tests need. Processor time is
limited, not time: a busy machine changes no figure. CPython on Linux; a mutant takes some 5 seconds of it.
"""

from __future__ import annotations

import ast
import copy
import importlib
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from random import Random
from typing import Any

HOME = Path(__file__).parents[2]
SOURCE = Path("src/karat")
ROOMS = ["core", "stats", "judges"]
COUNT, SEED, ELSEWHERE = 60, 20, 4
SECONDS, WAIT = 120, 3600  # what tests may take: processor time, time
WORDS = ["-x", "-q", "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin", "--hypothesis-seed=0"]
PRELOADED = ["pytest", "numpy", "pyarrow.parquet", "pyarrow.compute", "duckdb", "pandas", "scipy.stats"]
PRELOADED += ["hypothesis.extra.numpy", "click", "aiohttp"]

COMPARISONS = {"Lt": "LtE", "LtE": "Lt", "Gt": "GtE", "GtE": "Gt", "Eq": "NotEq", "In": "NotIn", "Is": "IsNot"}
COMPARISONS |= {new: old for old, new in COMPARISONS.items() if new.startswith(("Not", "IsNot"))}
OPERATORS = {"Add": "Sub", "Sub": "Add", "Mult": "Div", "Div": "Mult", "FloorDiv": "Div", "Mod": "FloorDiv"}
OPERATORS |= {"Pow": "Mult", "BitAnd": "BitOr", "BitOr": "BitAnd", "And": "Or", "Or": "And"}
ENDS = ("killed", "timed out", "survived")
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


def find_tests(file: Path) -> list[list[str]]:
    """The tests of a file, the nearest first."""
    inside = file.relative_to(SOURCE)
    mirror = Path("tests") / inside.with_name(f"test_{file.name}")
    names = [node.name for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    named = re.compile(rf"\b({'|'.join([file.stem, *(name for name in names if name[0] != '_')])})\b")
    room = [each for each in sorted(Path("tests", inside.parts[0]).rglob("test_*.py")) if each != mirror]
    near = [each for each in room if named.search(each.read_text())]
    far = [each for each in room if each not in near]
    module = ".".join(file.with_suffix("").parts[1:])
    others = [each for each in sorted(Path("tests").rglob("test_*.py")) if module in each.read_text()]
    elsewhere = [each for each in others if each not in (mirror, *room)][:ELSEWHERE]
    stages = [
        [str(each) for each in stage]
        for stage in ([file, *([mirror] if mirror.exists() else [])], near, far, elsewhere)
    ]
    return [each for each in stages if each]


def run(tests: list[str]) -> tuple[str, str]:
    """Run tests in a child. Gives how it ended, and the test that failed first."""
    source, sink = os.pipe()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
        signal.alarm(WAIT)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os._exit(importlib.import_module("pytest").main([*WORDS, *tests], plugins=[Failures(sink)]))
    os.close(sink)
    with os.fdopen(source) as pipe:
        failed = pipe.readline().strip()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "timed out" if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL, signal.SIGALRM) else "killed", ""
    return "survived" if os.WEXITSTATUS(status) in (0, 5) else "killed", failed


class Failures:
    """Tells which test failed."""

    def __init__(self, to: int) -> None:
        self.to = to

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            os.write(self.to, f"{report.nodeid}\n".encode())

    pytest_collectreport = pytest_runtest_logreport


def try_mutant(file: Path, changed: str) -> str:
    """How a mutant ends. What fails or is too slow without it, too, is left out."""
    text, end = file.read_text(), "survived"
    for tests in find_tests(file):
        write(file, changed)
        end, failed = run(tests)
        write(file, text)
        if end != "survived":
            usual, _ = without_mutant(tuple([failed] if failed else tests))
            if usual == "survived":
                return end
            print(f"{usual} without a mutant: {failed or ' '.join(tests)}", flush=True)
            end = "survived"
    return end


def write(file: Path, text: str) -> None:
    """Write a module. No compiled form of it is kept, as two texts of one size and second look the same."""
    file.write_text(text)
    Path(cache_from_source(str(file))).unlink(missing_ok=True)


without_mutant = cache(run)


def try_place(place: str, count: int) -> tuple[int, Counter[str]]:
    """Try so many mutants of a folder, a file or a line. Gives how many are possible, and how the drawn ones ended."""
    name, _, line = place.partition(":")
    files = [SOURCE / name] if name.endswith(".py") else sorted((SOURCE / name).rglob("*.py"))
    trees = {file: ast.parse(file.read_text()) for file in files}
    found = [(file, *site) for file, tree in trees.items() for site in sites(tree)]
    found = [each for each in found if not line or getattr(each[1], "lineno", 0) == int(line)]
    Random(SEED).shuffle(found)
    ends: Counter[str] = Counter()
    for file, node, kind, new in found[:count]:
        before, after = (ast.unparse(copy.deepcopy(trees[file], memo)) for memo in ({}, {id(node): new}))
        end = try_mutant(file, after)
        ends[end] += 1
        at = f"{file.relative_to(SOURCE)}:{getattr(node, 'lineno', '')}"
        lines = zip(before.splitlines(), after.splitlines(), strict=False)
        change = next((f"{old.strip()}  ->  {new.strip()}" for old, new in lines if old != new), "")
        print(f"{end:10} {at:40} {kind:10} {change}", flush=True)
    return len(found), ends


def main(words: list[str]) -> int:
    """Try mutants of each place, and tell how many were killed."""
    for module in PRELOADED:
        with suppress(ImportError):
            importlib.import_module(module)
    engine: Any = importlib.import_module("hypothesis.internal.conjecture.engine")
    engine.MAX_SHRINKS = 0  # one failure is enough
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(HOME / "src", f"{folder}/src")
        shutil.copytree(HOME / "tests", f"{folder}/tests")
        for part in ("conftest.py", "pyproject.toml", "README.md"):
            shutil.copy(HOME / part, folder)
        os.chdir(folder)
        sys.path.insert(0, f"{folder}/src")
        os.environ |= {"PYTHONPATH": f"{folder}/src", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        places = {place: try_place(place, int(words[0]) if words else COUNT) for place in words[1:] or ROOMS}
    print(f"\n{'place':20} {'possible':>9} " + " ".join(f"{end:>9}" for end in ENDS) + f" {'score':>9}")
    for place, (possible, ends) in places.items():
        score = 1 - ends["survived"] / max(1, ends.total())
        print(f"{place:20} {possible:9,} " + " ".join(f"{ends[end]:9}" for end in ENDS) + f" {score:9.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
