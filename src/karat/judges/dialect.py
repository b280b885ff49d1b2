"""Names of judges without `judge:`, and those of other tools for metrics that ask a language model."""

from __future__ import annotations

import re

from karat.core.errors import SpecError
from karat.core.metric.registry import known_names
from karat.judges.rubric import own_judges

JUDGES = {
    "answercorrectness": "correctness",
    "answerrelevancy": "answer_relevance",
    "contextprecision": "document_relevance",
    "contextrelevancy": "context_relevance",
    "contextualprecision": "document_relevance",
    "contextualrelevancy": "context_relevance",
    "factualcorrectness": "correctness",
    "geval": "mine.toml",
    "groundedness": "faithfulness",
    "llmasjudge": "correctness",
    "llmjudge": "correctness",
    "qacorrectness": "correctness",
    "responserelevancy": "answer_relevance",
}
"""Names in Ragas, DeepEval, TruLens and Phoenix, in lower case without `_`, `-` and blanks."""


def translate(text: str) -> tuple[str, ...]:
    """No spec; raises `SpecError`, with what to type, for the name of a judge: asking a model is never guessed."""
    name = text.partition("(")[0].strip()
    plain = re.sub(r"[_ -]", "", name).lower()
    own = {name.replace("_", ""): name for name in own_judges()}
    if (judge := own.get(plain) or JUDGES.get(plain)) is None or name in known_names():
        return ()
    of_own = ", a file of your own," if judge.endswith(".toml") else ""
    raise SpecError(
        f"{name} asks a language model: -m judge:{judge}{of_own} --model NAME (in Python, Judge({judge!r}))"
    )
