"""Run Haystack's own tests of evaluators against karat, with Haystack itself as the control.

    python scripts/haystack_suite.py FOLDER

FOLDER holds test files of Haystack's repository: `test/components/evaluators`, `test/evaluation`, or both. They are
copied to a temporary folder twice: as they are, and with the imports of evaluators and the types of stored components
replaced by those of `haystack_integrations.components.evaluators.karat`. Nothing else is changed. A table shows what
passes in each. The exit code is 1 if a test passes with Haystack, not with karat, and is not among the accepted
differences, or if an accepted difference passes; else 0.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
ACCEPTED = ROOT / "tests" / "adapters" / "haystack" / "accepted_differences.toml"
OURS = "haystack_integrations.components.evaluators.karat"
REWRITES = {
    r"^(\s*)from haystack\.(?:components\.evaluators|evaluation)(?:\.\w+)? import": rf"\1from {OURS} import",
    r"\bhaystack\.components\.evaluators(?:\.[a-z_]+)?\.(?=\w+Evaluator\b)": f"{OURS}.",
}
CONFTEST = '''\
"""What Haystack's tests expect of their surroundings: asynchronous tests, a tracer, and a report of the outcomes."""

import asyncio
import inspect
import json
import pathlib
from contextlib import contextmanager

import pytest
from haystack import tracing

OUTCOMES = {}


def pytest_configure(config):
    for name in ("asyncio", "integration", "slow"):
        config.addinivalue_line("markers", name)


def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def pytest_runtest_logreport(report):
    if report.when == "call" or not report.passed:
        OUTCOMES[report.nodeid] = report.outcome


def pytest_sessionfinish(session):
    pathlib.Path("outcomes.json").write_text(json.dumps(OUTCOMES))


class Span(tracing.Span):
    def __init__(self, operation_name, tags):
        self.operation_name, self.tags = operation_name, dict(tags or {})

    def set_tag(self, key, value):
        self.tags[key] = value


class SpyingTracer(tracing.Tracer):
    def __init__(self):
        self.spans = []

    def current_span(self):
        return self.spans[-1] if self.spans else None

    @contextmanager
    def trace(self, operation_name, tags=None, parent_span=None):
        self.spans.append(Span(operation_name, tags))
        yield self.spans[-1]


@pytest.fixture
def spying_tracer(monkeypatch):
    tracer = SpyingTracer()
    tracing.enable_tracing(tracer)
    monkeypatch.setattr(tracing.tracer, "is_content_tracing_enabled", True)
    yield tracer
    tracing.disable_tracing()


@pytest.fixture
def del_hf_env_vars(monkeypatch):
    monkeypatch.delenv("HF_API_TOKEN", raising=False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
'''


def rewrite(source: str) -> str:
    """A test file that tests karat's components instead of Haystack's."""
    for pattern, replacement in REWRITES.items():
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    return source


def start(folder: Path) -> subprocess.Popen[str]:
    """Run the tests in a folder; their outcomes are written to `outcomes.json` in it."""
    (folder / "conftest.py").write_text(CONFTEST, "utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
    options = ["-q", "--import-mode=importlib", "-p", "no:cacheprovider", "-p", "no:phoenix", "-p", "no:asyncio"]
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {"HAYSTACK_TELEMETRY_ENABLED": "False", "HF_HUB_OFFLINE": "1", "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "pytest", *options],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def outcomes(suite: Path) -> tuple[dict[str, str], dict[str, str], str]:
    """The outcome of each test with Haystack and with karat, and what pytest printed about karat."""
    with tempfile.TemporaryDirectory() as name:
        control, ours = Path(name, "haystack"), Path(name, "karat")
        for folder in (control, ours):
            shutil.copytree(suite, folder, ignore=shutil.ignore_patterns("__pycache__"))
        for path in ours.rglob("*.py"):
            path.write_text(rewrite(path.read_text("utf-8")), "utf-8")
        runs = [start(folder) for folder in (control, ours)]
        printed = [run.communicate()[0] for run in runs]
        for folder, text in zip((control, ours), printed, strict=True):
            if not (folder / "outcomes.json").exists():
                sys.exit(f"pytest failed in the copy for {folder.name}:\n{text}")
        theirs, mine = (json.loads((folder / "outcomes.json").read_text("utf-8")) for folder in (control, ours))
        return theirs, mine, printed[1]


def judge(theirs: Mapping[str, str], mine: Mapping[str, str], accepted: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """The tests that differ and are not accepted, and the accepted ones that do not differ."""
    differ = {test for test, outcome in theirs.items() if outcome == "passed" and mine.get(test) != "passed"}
    named = {test for test in theirs if short_name(test) in accepted}
    return differ - named, {test for test in named - differ if theirs[test] == "passed"}


def short_name(test: str) -> str:
    """A test's name without the folder of its file."""
    return test.rpartition("/")[2]


def main(suite: Path) -> int:
    """Print the table, the reasons of accepted differences and pytest's report of the others; return the exit code."""
    accepted = tomllib.loads(ACCEPTED.read_text("utf-8"))
    theirs, mine, printed = outcomes(suite)
    unexpected, stale = judge(theirs, mine, accepted)
    if unexpected:
        print(printed)
    print(f"{'file':42} {'Haystack':>8} {'karat':>8} {'accepted':>8}")
    files = sorted({test.partition("::")[0] for test in theirs})
    for file in [*files, ""]:
        tests = [test for test, outcome in theirs.items() if test.startswith(file) and outcome == "passed"]
        passed = sum(mine.get(test) == "passed" for test in tests)
        excused = sum(short_name(test) in accepted for test in tests)
        print(f"{short_name(file) or 'all':42} {len(tests):8} {passed:8} {excused:8}")
    for test in sorted(theirs):
        if short_name(test) in accepted:
            print(f"accepted: {short_name(test)}: {accepted[short_name(test)]}")
    for test in sorted(unexpected):
        print(f"differs: {test}: {mine.get(test, 'not run')}")
    for test in sorted(stale):
        print(f"accepted, but it passes: {test}")
    return int(bool(unexpected or stale))


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit(f"usage: python {Path(__file__).name} FOLDER")
    sys.exit(main(Path(sys.argv[1])))
