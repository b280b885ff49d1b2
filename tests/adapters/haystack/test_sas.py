"""SASEvaluator against Haystack's own values, in its pipelines, with a real model."""

import warnings

import numpy as np
import pytest

pytest.importorskip("haystack")

from haystack import Pipeline
from haystack.utils import ComponentDevice
from haystack.utils.auth import Secret

from karat.adapters.haystack import AnswerExactMatchEvaluator, SASEvaluator
from karat.core.errors import RowError

GOLD = ["A construction budget of US $2.3 billion", "Berlin", "it is not", "", "北京"]
SAID = ["The budget was 2.3 billion dollars", "Paris", "it is", "something", "Beijing"]


def run_both(model, said, gold):
    pytest.importorskip("sentence_transformers")
    from haystack.components.evaluators import SASEvaluator as Original

    theirs, ours = Original(model=model), SASEvaluator(model=model, details=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.warm_up()
        expected = theirs.run(ground_truth_answers=gold, predicted_answers=said)
    return expected, ours.run(ground_truth_answers=gold, predicted_answers=said)


def test_a_bi_encoder_scores_as_in_haystack(minilm):
    expected, made = run_both(minilm, SAID, GOLD)
    np.testing.assert_allclose(made["individual_scores"], expected["individual_scores"], rtol=0, atol=1e-5)
    assert made["score"] == pytest.approx(expected["score"], abs=1e-5)
    low, high = made["details"]["interval"]
    assert low < made["score"] < high
    assert {type(each) for each in [made["score"], *made["individual_scores"], low, high]} == {float}


def test_a_cross_encoder_scores_as_in_haystack(cross_encoder):
    expected, made = run_both(cross_encoder(), SAID, GOLD)
    np.testing.assert_allclose(made["individual_scores"], expected["individual_scores"], rtol=0, atol=1e-5)


def test_a_cross_encoder_of_raw_logits_has_its_sigmoid_whatever_the_batch(cross_encoder):
    """Haystack applies it to all answers of a call if one is above 1, else to none."""
    model = cross_encoder(activation="torch.nn.modules.linear.Identity", scale=-0.5)
    said, gold = ["a b c", "deaf", "zebra fed a cab"], ["cab", "b", "q w e r t y"]
    together, made = run_both(model, said, gold)
    np.testing.assert_allclose(made["individual_scores"], together["individual_scores"], rtol=0, atol=1e-5)
    evaluator = SASEvaluator(model=model)
    for row, score in enumerate(made["individual_scores"]):
        alone = evaluator.run(ground_truth_answers=[gold[row]], predicted_answers=[said[row]])
        assert alone["individual_scores"] == pytest.approx([score], abs=1e-6)


def test_the_two_evaluators_of_the_documentation_in_a_pipeline(minilm):
    pipeline = Pipeline()
    pipeline.add_component("em_evaluator", AnswerExactMatchEvaluator())
    pipeline.add_component("sas_evaluator", SASEvaluator(model=minilm))
    answers = {"ground_truth_answers": ["Berlin", "Paris"], "predicted_answers": ["Berlin", "Lyon"]}
    result = pipeline.run({"em_evaluator": answers, "sas_evaluator": answers})
    assert result["em_evaluator"]["individual_scores"] == [1, 0]
    same, other = result["sas_evaluator"]["individual_scores"]
    assert same == pytest.approx(1)
    assert 0.3 < other < 0.9
    assert result["sas_evaluator"]["score"] == pytest.approx((same + other) / 2)


def test_it_is_stored_and_restored(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    evaluator = SASEvaluator(model="a/b", batch_size=8, device=ComponentDevice.from_str("cuda:0"))
    stored = evaluator.to_dict()
    assert stored["init_parameters"] == {
        "model": "a/b",
        "batch_size": 8,
        "device": {"type": "single", "device": "cuda:0"},
        "token": {"type": "env_var", "env_vars": ["HF_API_TOKEN", "HF_TOKEN"], "strict": False},
    }
    again = SASEvaluator.from_dict(stored)
    assert again.to_dict() == stored
    assert again._token.resolve_value() == "hf_secret"
    pipeline = Pipeline()
    pipeline.add_component("sas", SASEvaluator())
    assert "hf_secret" not in pipeline.dumps()
    assert SASEvaluator(token=Secret.from_env_var("X")).to_dict()["init_parameters"]["token"]["env_vars"] == ["X"]


def test_the_default_model_is_haystacks():
    assert SASEvaluator()._model == "sentence-transformers/paraphrase-multilingual-mpnet-base-v2"
    assert SASEvaluator()._batch_size == 32


@pytest.mark.parametrize(
    ("gold", "said", "message"),
    [
        (["a"], ["a", "b"], "The number of predictions and labels must be the same."),
        (["a"], [None], "Predicted answers must not contain None values."),
        ([None], ["a"], "Ground truth answers must not contain None values."),
        ([], [], "an empty list has no score"),
        ([["a", "b"]], ["a"], "a list with one text"),
        ("a", "a", "a list with one text"),
    ],
)
def test_answers_that_cannot_be_scored_are_errors(gold, said, message):
    with pytest.raises(RowError, match=message) as caught:
        SASEvaluator(model="never loaded").run(ground_truth_answers=gold, predicted_answers=said)
    assert isinstance(caught.value, ValueError)
