"""The examples in the docstrings of Haystack's own evaluators, as they are, with only the import changed."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import re
from textwrap import dedent

import pytest

pytest.importorskip("haystack")

from haystack.components import evaluators

from karat.adapters import haystack as adapter
from karat.adapters.haystack.component import INTEGRATION
from karat.models.testing.fake import FakeServer

NAMES = sorted({*adapter.__all__} & {*evaluators.__all__})
STATEMENTS = {"statements": ["a", "b"], "statement_scores": [1, 0]}
REPLIES = {
    "LLMEvaluator": {"score": 0},
    "FaithfulnessEvaluator": STATEMENTS,
    "ContextRelevanceEvaluator": {"relevant_statements": ["a"]},
}


def example_of(name):
    """The first block of code in the docstring of Haystack's class."""
    return dedent(re.search(r"```python\n(.*?)```", getattr(evaluators, name).__doc__, re.DOTALL)[1])


def numbers_printed_by(code, reply, monkeypatch, capsys):
    with FakeServer(reply, key="mine") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "mine")
        exec(code, names := {})  # noqa: S102
        for each in names.values():
            if isinstance(each, evaluators.LLMEvaluator):
                each.close()  # which the examples leave out
    printed, _, _ = capsys.readouterr().out.partition("'meta'")  # which counts the tokens of the prompt
    return [float(number) for number in re.findall(r"\d+\.?\d*", re.sub("float64", "", printed))]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "SASEvaluator"])  # which downloads a model
def test_an_example_prints_what_it_prints_with_haystack(name, monkeypatch, capsys):
    theirs = example_of(name)
    ours = re.sub(r"from haystack\.components\.evaluators(\.\w+)? import", f"from {INTEGRATION} import", theirs)
    assert ours != theirs
    expected, found = (numbers_printed_by(code, REPLIES.get(name, {}), monkeypatch, capsys) for code in (theirs, ours))
    assert found == expected != []


@pytest.mark.parametrize("name", NAMES)
def test_a_component_is_one_of_haystacks(name):
    assert issubclass(getattr(adapter, name), getattr(evaluators, name))
