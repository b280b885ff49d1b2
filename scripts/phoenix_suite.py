"""Run Phoenix's own tests on karat's adapter: `python scripts/phoenix_suite.py FOLDER`.

FOLDER holds a copy of `packages/phoenix-evals/tests` of Phoenix's repository. Its tests are copied to a temporary
folder; every name that karat has is imported from `karat.adapters.phoenix` in place of `phoenix.evals`, and nothing
else is changed. They run so, and as they are on phoenix-evals itself. Exit code 1 if a test fails on karat alone and is
not in `ACCEPTED`, or is there and passes. Needs arize-phoenix-evals and pytest.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree as ET

THEIRS, OURS = "phoenix.evals", "karat.adapters.phoenix"
ACCEPTED = {
    "test_utils.TestFormatAsAnnotationDataframe::test_none_scores_and_index_reset": (
        "a row without a score is left out, since Phoenix's client takes no frame that has one"
    ),
}
CONFTEST = '''"""Coroutines as tests, without a plugin."""

import asyncio
import inspect

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "asyncio: a coroutine")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
'''


def rewrite(source: str) -> str:
    r"""The source of a test with karat's names in place of Phoenix's, where karat has them.

    >>> rewrite("from phoenix.evals.utils import remap_eval_input, emoji_guard\\n")
    'from karat.adapters.phoenix.utils import remap_eval_input\\nfrom phoenix.evals.utils import emoji_guard\\n'
    """
    lines = source.splitlines(keepends=True)
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    for node in sorted(imports, key=lambda node: -node.lineno):
        if f"{node.module}.".startswith(f"{THEIRS}."):
            homes: dict[str, list[ast.alias]] = {}
            for alias in node.names:
                homes.setdefault(find_home(str(node.module), alias.name), []).append(alias)
            if homes.keys() == {node.module}:
                continue
            indent = " " * node.col_offset
            new = [
                f"{indent}from {home} import {', '.join(map(ast.unparse, names))}\n" for home, names in homes.items()
            ]
            lines[node.lineno - 1 : node.end_lineno] = new
    return "".join(lines)


def find_home(module: str, name: str) -> str:
    """The module of karat's that stands for Phoenix's, if it has this name; else Phoenix's."""
    ours = module.replace(THEIRS, OURS, 1)
    for home in (ours, OURS):
        try:
            if hasattr(import_module(home), name):
                return home
        except ModuleNotFoundError:
            continue
    return module


def _can_import(source: str) -> bool:
    """Whether the packages that a test imports are installed."""
    nodes = [node for node in ast.parse(source).body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {getattr(node, "module", None) or node.names[0].name for node in nodes}
    return all(find_spec(name.partition(".")[0]) is not None for name in names)


def run(folder: Path, *, rewritten: bool) -> dict[str, bool]:
    """Whether each test passes, of the files that import a name that karat has."""
    results = {}
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        shutil.copytree(folder, root / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        (root / "conftest.py").write_text(CONFTEST, "utf-8")
        chosen = []
        for path in sorted((root / "tests").rglob("test_*.py")):
            source = path.read_text("utf-8")
            if (ours := rewrite(source)) != source and _can_import(source):
                chosen.append(str(path))
                path.write_text(ours if rewritten else source, "utf-8")
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:phoenix",
            "--import-mode=importlib",
            "--junitxml=report.xml",
        ]
        here = Path(__file__).parents[1] / "src"
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(here), os.getenv("PYTHONPATH")]))}
        command = [sys.executable, "-m", "pytest", *options, *chosen]
        done = subprocess.run(  # noqa: S603
            command, cwd=root, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 1):
            raise SystemExit(done.stdout + done.stderr)
        for case in ET.parse(root / "report.xml").iter("testcase"):  # noqa: S314  (written by pytest above)
            place = case.attrib["classname"].partition("evals.")[2] or case.attrib["classname"]
            results[f"{place}::{case.attrib['name']}"] = not {"failure", "error"} & {part.tag for part in case}
    return results


def main() -> int:
    """Run both, print what differs, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="Phoenix's packages/phoenix-evals/tests")
    folder = parser.parse_args().folder
    if find_spec("phoenix") is None or find_spec(THEIRS) is None:
        raise SystemExit("arize-phoenix-evals is not installed: pip install arize-phoenix-evals")
    control, ours = run(folder, rewritten=False), run(folder, rewritten=True)
    for name, results in {"phoenix-evals": control, "karat": ours}.items():
        print(f"{name}: {sum(results.values())} of {len(results)} tests pass")
    new = [test for test, passes in ours.items() if not passes and control.get(test) and test not in ACCEPTED]
    stale = [test for test in ACCEPTED if ours.get(test)]
    for title, tests in {"fail on karat alone": new, "accepted, but pass": stale}.items():
        if tests:
            print(f"{title}:", *tests, sep="\n  ")
    for test, reason in ACCEPTED.items():
        print(f"accepted: {test}: {reason}")
    return int(bool(new or stale))


if __name__ == "__main__":
    sys.exit(main())
