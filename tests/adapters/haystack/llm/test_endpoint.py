"""The examples of the documentation of Haystack's evaluators that ask a model, at an OpenAI-compatible endpoint."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import pytest

pytest.importorskip("haystack")

from karat.models.testing.fake import FakeServer

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
'Python was created by George Lucas.'], 'statement_scores': [1, 0], 'score': 0.5, 'status': 'evaluated'}]
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
[{'statements': ['Python, created by Guido van Rossum in the late 1980s.'], 'statement_scores': [1], 'score': 1.0, \
'status': 'evaluated'}]
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
    assert (body["seed"], len(body["messages"]), body["response_format"]) == (42, 1, {"type": "json_object"})
