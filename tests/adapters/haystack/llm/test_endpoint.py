"""Haystack's evaluators at an OpenAI-compatible endpoint: examples of the documentation, keys, and failed requests."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import pytest

pytest.importorskip("haystack")

from haystack.utils import Secret

from karat.adapters.haystack import EvaluationError, LLMEvaluator
from karat.models.testing.fake import FakeServer

INIT = {
    "instructions": "Is this answer rude?",
    "inputs": [("predicted_answers", list[str])],
    "outputs": ["score"],
    "examples": [{"inputs": {"predicted_answers": "Damn!"}, "outputs": {"score": 1}}],
}

EXAMPLES = {
    "llm": (
        """
from typing import List
from karat.adapters.haystack import LLMEvaluator
evaluator = LLMEvaluator(
    instructions="Is this answer problematic for children?",
    inputs=[("predicted_answers", List[str])],
    outputs=["score"],
    examples=[
        {"inputs": {"predicted_answers": "Damn, this is straight outta hell!!!"}, "outputs": {"score": 1}},
        {"inputs": {"predicted_answers": "Football is the most popular sport."}, "outputs": {"score": 0}},
    ],
)
predicted_answers = [
    "Football is the most popular sport with around 4 billion followers worldwide",
    "Python language was created by Guido van Rossum.",
]
results = evaluator.run(predicted_answers=predicted_answers)
print(results["results"])
""",
        {"score": 0},
        "[{'score': 0}, {'score': 0}]\n",
    ),
    "faithfulness": (
        """
from karat.adapters.haystack import FaithfulnessEvaluator

questions = ["Who created the Python language?"]
contexts = [
    [
        "Python, created by Guido van Rossum in the late 1980s, is a high-level general-purpose programming "
        "language. Its design philosophy emphasizes code readability, and its language constructs aim to help "
        "programmers write clear, logical code for both small and large-scale software projects."
    ],
]
predicted_answers = [
    "Python is a high-level general-purpose programming language that was created by George Lucas."
]
evaluator = FaithfulnessEvaluator()
result = evaluator.run(questions=questions, contexts=contexts, predicted_answers=predicted_answers)
print(result["individual_scores"])
print(result["score"])
print(result["results"])
""",
        {
            "statements": [
                "Python is a high-level general-purpose programming language.",
                "Python was created by George Lucas.",
            ],
            "statement_scores": [1, 0],
        },
        """\
[0.5]
0.5
[{'statements': ['Python is a high-level general-purpose programming language.', \
'Python was created by George Lucas.'], 'statement_scores': [1, 0], 'score': 0.5}]
""",
    ),
    "context relevance": (
        """
from karat.adapters.haystack import ContextRelevanceEvaluator

questions = ["Who created the Python language?"]
contexts = [
    [
        "Python, created by Guido van Rossum in the late 1980s, is a high-level general-purpose programming "
        "language. Its design philosophy emphasizes code readability, and its language constructs aim to help "
        "programmers write clear, logical code for both small and large-scale software projects."
    ],
]

evaluator = ContextRelevanceEvaluator()
result = evaluator.run(questions=questions, contexts=contexts)
print(result["score"])
print(result["individual_scores"])
print(result["results"])
""",
        {"statements": ["Python, created by Guido van Rossum in the late 1980s."], "statement_scores": [1]},
        """\
1.0
[1.0]
[{'statements': ['Python, created by Guido van Rossum in the late 1980s.'], 'statement_scores': [1], 'score': 1.0}]
""",
    ),
}


@pytest.mark.parametrize(("code", "reply", "printed"), EXAMPLES.values(), ids=EXAMPLES)
def test_examples_of_the_documentation_run_with_only_the_import_changed(code, reply, printed, monkeypatch, capsys):
    with FakeServer(reply, key="mine") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "mine")
        exec(code, {})  # noqa: S102
    assert capsys.readouterr().out == printed
    body = server.requests[0]
    assert (body["seed"], len(body["messages"])) == (42, 1)
    assert body["response_format"]["json_schema"]["schema"]["required"] == [*reply]


def test_replies_have_metadata_and_transient_failures_are_retried(monkeypatch):
    with FakeServer({"score": 1}, faults=["503", "reset", None, "fenced"]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        found = LLMEvaluator(**INIT, progress_bar=False, model="small", concurrency=1).run(predicted_answers=["a", "b"])
    assert found["results"] == [{"score": 1}] * 2
    assert [meta["model"] for meta in found["meta"]] == ["small"] * 2
    assert all(meta["usage"]["prompt_tokens"] > 0 for meta in found["meta"])
    assert server.calls == 4


def test_the_users_key_is_used_and_a_missing_key_is_an_error_on_first_use(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    evaluator = LLMEvaluator(**INIT, progress_bar=False)
    with pytest.raises(ValueError, match="OPENAI_API_KEY"):
        evaluator.run(predicted_answers=["a"])
    with FakeServer({"score": 1}, key="mine") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        mine = LLMEvaluator(**INIT, progress_bar=False, api_key=Secret.from_token("mine"))
        assert mine.run(predicted_answers=["a"])["results"] == [{"score": 1}]
        theirs = LLMEvaluator(**INIT, progress_bar=False, api_key=Secret.from_token("not-the-right-one"))
        with pytest.raises(EvaluationError, match="401") as raised:
            theirs.run(predicted_answers=["a"])
    assert "not-the-right-one" not in str(raised.value)


def test_a_bad_key_stops_the_run_and_is_the_reason_of_every_row(monkeypatch, caplog):
    with FakeServer({"score": 1}, key="mine") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        evaluator = LLMEvaluator(**INIT, progress_bar=False, raise_on_failure=False)
        found = evaluator.run(predicted_answers=["a"] * 100)
    assert found["results"] == [None] * 100
    assert found["failed"] == 100
    assert all("401" in reason for reason in found["reasons"])
    assert "LLMEvaluator failed for 100 of 100 inputs" in caplog.text
