"""Evaluators with the names of Phoenix's, beside Phoenix's own."""

import warnings

import pytest

from karat.adapters.phoenix import PromptTemplate, evaluate_dataframe, metrics
from karat.errors import DataError
from karat.models.governor.governor import Governor
from karat.models.testing.fake import FakeModel

NAMES = [name for name in metrics.__all__ if hasattr(getattr(metrics, name), "NAME")]


@pytest.fixture(scope="module")
def theirs():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("phoenix.evals.metrics")


@pytest.mark.parametrize("name", NAMES)
def test_names_fields_labels_and_scores_are_those_of_phoenix(name, theirs):
    ours, reference = getattr(metrics, name), getattr(theirs, name)
    assert (ours.NAME, ours.CHOICES, ours.DIRECTION) == (reference.NAME, reference.CHOICES, reference.DIRECTION)
    assert {*ours.PROMPT.variables} == {*reference.PROMPT.variables}
    record = {field: f"the {field}" for field in ours.PROMPT.variables}
    for label, value in ours.CHOICES.items():
        model = FakeModel({"explanation": "e", "label": label})
        evaluator = ours(model, governor=Governor(), temperature=0.5)
        (score,) = evaluator.evaluate(record)
        assert (score.name, score.score, score.label, score.direction) == (ours.NAME, value, label, ours.DIRECTION)
        (request,) = model.requests
        assert request.settings == evaluator.invocation_parameters == {"temperature": 0.5}
        for field, text in record.items():
            assert f"<{field}>\n{text}\n</{field}>" in request.messages[0]["content"]
    assert isinstance(evaluator.prompt_template, PromptTemplate)
    described = evaluator.describe()["input_schema"]
    assert set(described["required"]) == set(record)
    assert {each["type"] for each in described["properties"].values()} == {"string"}


def test_no_prompt_repeats_phoenix_s(theirs):
    def phrases(template):
        texts = template.template if isinstance(template.template, list) else [{"content": template.template}]
        words = " ".join(each["content"] for each in texts).split()
        runs = (words[n : n + 8] for n in range(len(words) - 7))
        return {" ".join(run) for run in runs if not any("{{" in word or "<" in word for word in run)}

    for name in NAMES:
        assert not phrases(getattr(metrics, name).PROMPT) & phrases(getattr(theirs, name).PROMPT)


def test_every_label_is_defined_in_its_prompt():
    for name in NAMES:
        judge = getattr(metrics, name)
        for label in judge.CHOICES:
            assert f"\n{label}: " in judge.PROMPT.template


def test_fields_can_be_mapped_hold_lists_and_fail_if_null():
    pd = pytest.importorskip("pandas")
    model = FakeModel({"explanation": "e", "label": "faithful"})
    evaluator = metrics.FaithfulnessEvaluator(model, governor=Governor())
    evaluator.bind({"input": "question", "output": "answer", "context": lambda row: row["documents"]})
    record = {"question": "q", "answer": "a", "documents": ["d1", "d2"]}
    frame = pd.DataFrame([record, record | {"answer": None}])
    with pytest.warns(UserWarning, match="faithfulness: output is null"):
        scored = evaluate_dataframe(frame, [evaluator])
    assert '["d1", "d2"]' in model.requests[0].messages[0]["content"]
    assert [score and score["label"] for score in scored["faithfulness_score"]] == ["faithful", None]
    with pytest.raises(DataError, match="output is null"):
        evaluator.evaluate(record | {"answer": None})


def test_modules_of_metrics_have_the_names_of_phoenix_s():
    from karat.adapters.phoenix.metrics.conciseness import ConcisenessEvaluator
    from karat.adapters.phoenix.metrics.exact_match import exact_match

    assert ConcisenessEvaluator is metrics.ConcisenessEvaluator
    assert exact_match is metrics.exact_match
