"""Would the tests notice a mistake? `python scripts/campaign/mutants.py [PLACE…] [--count N] [--seed N] [--help]`.

A mutant is karat with one small mistake: another operator, constant or default, a condition negated, a statement or a
returned value removed. So many of all that are possible in a place (a folder, file or FILE:LINE of src/karat; by
default core, stats and judges) are drawn by a seed. Each is tried by the tests that reach its line, those of its
room and the doctests in it, then those of `OTHERS`, as many of each as take 15 seconds, the nearest and the fastest
first. A mutant survives if none of them fails. The mistakes are in `mistakes.py`.

coverage.py (not in any extra: `pip install coverage`) tells which tests reach a line: all run once before, traced. All
are collected once. For each mutant, that process is forked, and functions get their changed code. A mutant that
survives this, as of what runs at import, is written to a copy of this folder, where a new process imports it. Processor
time is limited, not time: a busy machine changes no figure. CPython on Linux.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import importlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from time import monotonic, process_time
from types import CodeType, FunctionType
from typing import Any

import pytest
from mistakes import lines_of, sites

HOME = Path(__file__).parents[2]
SOURCE = Path("src/karat")
OTHERS = ["tests/metrics", "tests/data", "tests/runs", "tests/test_contract.py"]
PATIENCE, WAIT = 5, 3600  # how many times its usual processor time a test may take, and any time of all, in seconds
WORDS = ["-q", "-s", "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin", "--hypothesis-seed=0"]

ENDS = ("killed", "timed out", "survived")


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """The code of a module and of all functions in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes_in(each)


class Campaign:
    """A plugin of pytest that tries mutants in the place of running tests."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.failed = given, ""
        self.results: dict[str, tuple[int, Counter[str]]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        if not self.given.reached.exists():
            self._wait(self._fork(self._trace))
        self.seconds, self.reached = json.loads(self.given.reached.read_text())
        print(f"{len(self.seconds):,} tests were traced", flush=True)
        gc.collect()
        self.functions = [each for each in gc.get_objects() if type(each) is FunctionType]
        gc.freeze()  # children need not look through all this
        end = monotonic() + 60 * self.given.minutes
        self.results = {place: self._try_place(place, end) for place in self.given.places}
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid

    def _trace(self) -> None:
        """Run all tests, and write what each takes and which reach each line."""
        traced, seconds = importlib.import_module("coverage").Coverage(data_file=None, source=[str(SOURCE)]), {}
        traced.start()
        for test, item in self.items.items():
            traced.switch_context(test)
            started = process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            seconds[test] = process_time() - started
        traced.stop()
        data = traced.get_data()
        lines = {os.path.relpath(file): data.contexts_by_lineno(file) for file in data.measured_files()}
        self.given.reached.write_text(json.dumps([seconds, lines]))

    def _try_place(self, place: str, end: float) -> tuple[int, Counter[str]]:
        """Try mutants of a folder, a file or a line. Gives how many are possible, and how the drawn ones ended."""
        name, _, line = place.partition(":")
        files = [SOURCE / name] if name.endswith(".py") else sorted((SOURCE / name).rglob("*.py"))
        trees = {file: ast.parse(file.read_text()) for file in files}
        lines = {file: lines_of(tree) for file, tree in trees.items()}
        found = [(file, *site) for file, tree in trees.items() for site in sites(tree)]
        found = [each for each in found if not line or getattr(each[1], "lineno", 0) == int(line)]
        Random(self.given.seed).shuffle(found)
        ends: Counter[str] = Counter()
        for file, node, kind, new in found[: self.given.count]:
            if monotonic() > end:
                break
            before, after = (copy.deepcopy(trees[file], memo) for memo in ({}, {id(node): new}))
            ended = self._try_mutant(file, after, *lines[file].get(node, ((), False)))
            ends[ended] += 1
            at = f"{file.relative_to(SOURCE)}:{getattr(node, 'lineno', '')}"
            pairs = zip(ast.unparse(before).splitlines(), ast.unparse(after).splitlines(), strict=False)
            change = next((f"{old.strip()}  ->  {changed.strip()}" for old, changed in pairs if old != changed), "")
            print(f"{ended:10} {at:40} {kind:10} {change}", flush=True)
        return len(found), ends

    def _try_mutant(self, file: Path, tree: ast.Module, lines: Iterable[int], inside: bool) -> str:
        """How a mutant ends. What fails or is too slow without it, too, is left out."""
        of_file = self.reached.get(str(file), {})
        found = {test for line in lines for test in of_file.get(str(line), ())} if inside else set()
        found = (found or set().union(*of_file.values())) & self.items.keys()
        tests = self._order(found, f"/{file.parts[2]}/")
        try:
            code = compile(ast.fix_missing_locations(tree), str(file.absolute()), "exec")
        except SyntaxError:
            return "killed"
        end, failed = self._run(tests, code) if inside else ("survived", "")
        if end == "survived":  # import may run what is inside of functions, too
            end, failed = self._run_anew(tests, file, ast.unparse(tree))
        alone = [failed] if failed in self.items else tests
        if end == "survived" or (usual := self._without_mutant(tuple(alone))[0]) == "survived":
            return end
        print(f"{usual} without a mutant: {alone[:3]}", flush=True)
        for test in alone:
            del self.items[test]
        return self._try_mutant(file, tree, lines, inside)

    def _order(self, found: Collection[str], room: str) -> list[str]:
        """As many of the tests of the room, then of others, as take the given time, the nearest and the fastest first.

        Near are the three files of the room most of whose tests are among those that are `found`.
        """
        totals, counts = (Counter(test.partition("::")[0] for test in tests) for tests in (self.seconds, found))
        near = sorted((file for file in counts if room in file), key=lambda file: -counts[file] / totals[file])[:3]
        tests, spent = [], Counter[bool]()
        for test in sorted(found, key=lambda test: (test.partition("::")[0] not in near, self.seconds[test])):
            if spent[room in test] < self.given.seconds:
                spent[room in test] += self.seconds[test]
                tests.append(test)
        return sorted(tests, key=lambda test: room not in test)

    def _run(self, tests: Iterable[str], code: CodeType | None = None) -> tuple[str, str]:
        """Run tests in a child, with the functions of this code. Gives how it ended, and the test that failed."""
        tests = list(tests)
        source, sink = os.pipe()

        def run_all() -> None:
            self._change(code)
            for test, following in zip(tests, [*tests[1:], None], strict=True):
                item, after = self.items[test], following and self.items[following]
                signal.setitimer(signal.ITIMER_PROF, 10 + PATIENCE * self.seconds[test])  # its end ends the child
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                if self.failed:
                    os.write(sink, self.failed.encode())
                    os._exit(1)

        child = self._fork(run_all)
        os.close(sink)
        with os.fdopen(source) as pipe:
            failed = pipe.read()
        return self._wait(child), failed

    @cache  # noqa: B019  (there is one campaign)
    def _without_mutant(self, tests: tuple[str, ...]) -> tuple[str, str]:
        return self._run(tests)

    def _change(self, code: CodeType | None) -> None:
        """Give functions the code that they have in this module."""
        if code is None:
            return
        new = {(each.co_qualname, each.co_firstlineno): each for each in codes_in(code)}
        for function in self.functions:
            old = function.__code__
            if old.co_filename == code.co_filename and not old.co_name.startswith("<"):
                with suppress(ValueError):  # of a function that no longer needs a variable around it
                    function.__code__ = new.get((old.co_qualname, old.co_firstlineno), old)

    def _run_anew(self, tests: list[str], file: Path, changed: str) -> tuple[str, str]:
        """Run tests in a new process, with this text of the file."""
        text = file.read_text()
        file.write_text(changed)
        words = [sys.executable, "-m", "pytest", "-x", *WORDS, *tests]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=WAIT, check=False)
        except subprocess.TimeoutExpired:
            return "timed out", ""
        finally:
            file.write_text(text)
        failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
        return "killed" if done.returncode not in (0, 5) else "survived", failed[1] if failed else ""

    def _fork(self, task: Callable[[], None]) -> int:
        """A child that does a task; its process id."""
        if not (child := os.fork()):
            resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
            signal.alarm(WAIT)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            try:
                task()
                os._exit(0)
            finally:
                os._exit(1)
        return child

    def _wait(self, child: int) -> str:
        """How a child ended."""
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return "timed out" if os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGKILL, signal.SIGALRM) else "killed"
        return "killed" if os.WEXITSTATUS(status) else "survived"


def main() -> int:
    """Try mutants of each place, and tell how many were killed."""
    parser = argparse.ArgumentParser(description="Would the tests notice a mistake?")
    parser.add_argument("places", nargs="*", default=["core", "stats", "judges"])
    parser.add_argument("--count", type=int, default=60, help="mutants of each place")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=15.0, help="for tests of a room, and of others")
    parser.add_argument("--minutes", type=float, default=600.0, help="after these, no further mutant is tried")
    parser.add_argument("--reached", type=Path, help="a file that keeps what was traced, for the next time")
    given = parser.parse_args()
    campaign = Campaign(given)
    with tempfile.TemporaryDirectory() as folder:
        given.reached = (given.reached or Path(folder, "reached.json")).absolute()
        for part in ("src", "tests"):
            shutil.copytree(HOME / part, f"{folder}/{part}")
        for part in ("conftest.py", "pyproject.toml", "README.md"):
            shutil.copy(HOME / part, folder)
        os.chdir(folder)
        sys.path.insert(0, f"{folder}/src")
        os.environ |= {"PYTHONPATH": f"{folder}/src", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        rooms = sorted({place.partition("/")[0] for place in given.places})
        engine: Any = importlib.import_module("hypothesis.internal.conjecture.engine")
        engine.MAX_SHRINKS = 0  # one failure is enough
        pytest.main(
            [*WORDS, *(f"{parent}/{room}" for room in rooms for parent in (SOURCE, "tests")), *OTHERS], [campaign]
        )
    print(f"\n{'place':20} {'possible':>9} " + " ".join(f"{end:>9}" for end in ENDS) + f" {'score':>9}")
    for place, (possible, ends) in campaign.results.items():
        score = 1 - ends["survived"] / max(1, ends.total())
        print(f"{place:20} {possible:9,} " + " ".join(f"{ends[end]:9}" for end in ENDS) + f" {score:9.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
