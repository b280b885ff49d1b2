"""Haystack's own tests, where they are at hand, and the script that runs them."""

import importlib.util
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("haystack")

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "scripts" / "haystack_suite.py"
SUITE = ROOT.parent / "shared" / "suites" / "haystack" / "test"

specification = importlib.util.spec_from_file_location("haystack_suite", SCRIPT)
haystack_suite = importlib.util.module_from_spec(specification)
specification.loader.exec_module(haystack_suite)

TESTS = """\
from haystack.components.evaluators.document_recall import DocumentRecallEvaluator, RecallMode
from haystack.components.evaluators import (
    AnswerExactMatchEvaluator,
)


def test_type():
    stored = DocumentRecallEvaluator().to_dict()
    assert stored["type"] == "haystack.components.evaluators.document_recall.DocumentRecallEvaluator"
    assert stored["init_parameters"]["mode"] == str(RecallMode.SINGLE_HIT)


async def test_patch(monkeypatch):
    monkeypatch.setattr("haystack.components.evaluators.llm_evaluator.OpenAIChatGenerator.run", None)


def test_module():
    assert AnswerExactMatchEvaluator.__module__.startswith("haystack.")


def test_of_neither():
    assert not AnswerExactMatchEvaluator
"""


def test_haystacks_own_tests_pass_and_one_that_passes_with_haystack_only_is_named(tmp_path):
    """They are tests beside that one where they are at hand."""
    if SUITE.is_dir():
        shutil.copytree(SUITE, tmp_path, dirs_exist_ok=True)
    (tmp_path / "test_small.py").write_text(TESTS)
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert f"{'test_small.py':42} {3:8} {2:8} {0:8}" in lines
    assert [line for line in lines if line.startswith(("differs: ", "accepted, but"))] == [
        "differs: test_small.py::test_module: failed"
    ], done.stdout + done.stderr


def test_nothing_that_differs_is_success(tmp_path, monkeypatch, capsys):
    outcomes = {"test_x.py::one": "passed", "test_x.py::two": "failed"}
    monkeypatch.setattr(haystack_suite, "outcomes", lambda _: (outcomes, outcomes, "not shown"))
    assert haystack_suite.main(tmp_path) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{'file':42} {'Haystack':>8} {'karat':>8} {'accepted':>8}",
        f"{'test_x.py':42} {1:8} {1:8} {0:8}",
        f"{'all':42} {1:8} {1:8} {0:8}",
    ]


def test_accepted_differences_must_differ():
    theirs = {"a/test_x.py::one": "passed", "a/test_x.py::two": "passed", "a/test_x.py::three": "failed"}
    mine = {"a/test_x.py::one": "failed", "a/test_x.py::two": "passed"}
    accepted = {"test_x.py::one": "why", "test_x.py::two": "why", "test_x.py::three": "why"}
    assert haystack_suite.judge(theirs, mine, accepted) == (set(), {"a/test_x.py::two"})
    assert haystack_suite.judge(theirs, mine, {}) == ({"a/test_x.py::one"}, set())


def test_at_most_ten_differences_are_accepted_each_with_a_reason():
    accepted = tomllib.loads(haystack_suite.ACCEPTED.read_text("utf-8"))
    assert len(accepted) <= 10
    assert all(len(reason) > 40 for reason in accepted.values())
