"""Evaluators with the names of Phoenix's, over karat's judges."""

import warnings

import pytest

from karat.adapters.phoenix import evaluate_dataframe
from karat.models.governor.governor import Governor
from karat.models.testing.fake import FakeModel


@pytest.mark.parametrize(
    ("name", "record", "said", "expected"),
    [
        ("Conciseness", {"input": "q", "output": "a"}, {"label": "verbose"}, (0.0, "verbose")),
        ("Refusal", {"input": "q", "output": "a"}, {"label": "refused"}, (1.0, "refused")),
        ("Toxicity", {"text": "a", "output": "not this"}, {"label": "toxic"}, (1.0, "toxic")),
        ("DocumentRelevance", {"input": "q", "document_text": "a"}, {"label": "relevant"}, (1.0, None)),
        ("DocumentRelevance", {"input": "q", "document_text": ["a", "b"]}, {"label": "irrelevant"}, (0.0, None)),
        ("Faithfulness", {"input": "q", "output": "o", "context": "a"}, "statements", (0.5, None)),
    ],
)
def test_judges_go_by_the_names_of_phoenix(name, record, said, expected):
    from karat.adapters.phoenix.llm import judges as judged

    statement = {"statement": "s", "reason": "r"}
    verdicts = [statement | {"verdict": "supported"}, statement | {"verdict": "unsupported"}]
    reply = {"statements": verdicts} if said == "statements" else {"explanation": "e"} | said
    model = FakeModel(reply)
    evaluator = getattr(judged, f"{name}Evaluator")(model, governor=Governor())
    (score,) = evaluator.evaluate(record)
    assert (score.score, score.label) == expected
    assert score.kind == "llm"
    assert '"a"' in model.requests[0].messages[-1]["content"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        phoenix = pytest.importorskip("phoenix.evals.metrics")
    theirs = getattr(phoenix, f"{name}Evaluator")
    assert evaluator.name == theirs.NAME
    if score.label is not None:
        assert theirs.CHOICES[score.label] == score.score


@pytest.mark.parametrize("mapping", [{"text": "said"}, {"output": "said"}, {"text": lambda row: row["said"]}])
def test_the_fields_of_phoenix_can_be_mapped(mapping):
    from karat.adapters.phoenix import bind_evaluator
    from karat.adapters.phoenix.llm.judges import ToxicityEvaluator

    pd = pytest.importorskip("pandas")
    model = FakeModel({"explanation": "e", "label": "harmless"})
    evaluator = ToxicityEvaluator(model, governor=Governor())
    assert evaluator.evaluate({"said": "a"}, mapping)[0].score == 0.0
    scored = evaluate_dataframe(pd.DataFrame({"said": ["a"]}), [bind_evaluator(evaluator, mapping)])
    assert scored["toxicity_score"][0]["label"] == "harmless"
    assert model.requests[0] == model.requests[1]
