"""`KaratEvaluator`: any metric as a component."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import pytest

pytest.importorskip("haystack")

from haystack import Pipeline, component
from haystack.core.errors import PipelineConnectError

import karat
from karat.adapters.haystack import KaratEvaluator
from karat.judges import Judge
from karat.models.governor.governor import Governor
from karat.models.testing.fake import FakeModel

PREDICTIONS = ["Paris, France", "Lyon", "Nice", "Rome"]
GOLD = [["Paris", "City of Paris"], "Lyon", None, ["Milan"]]


def test_it_returns_the_values_of_karat_score():
    spec = "token_f1(normalize='unicode')"
    found = KaratEvaluator(spec).run(prediction=PREDICTIONS, reference=GOLD)
    listed = [gold if isinstance(gold, list) else gold and [gold] for gold in GOLD]
    value = karat.score({"prediction": PREDICTIONS, "reference": listed}, spec).values[spec]
    assert found == {
        "score": value.value,
        "individual_scores": [pytest.approx(2 / 3), 1.0, None, 0.0],
        "interval": [value.low, value.high],
        "reasons": [None, None, "reference is null", None],
        "unscored": 1,
    }


def test_a_corpus_metric_has_its_corpus_value():
    found = KaratEvaluator("bleu").run(
        prediction=["the cat sat on the mat"] * 2, reference=["the cat sat on a mat"] * 2
    )
    assert found["score"] == pytest.approx(
        karat.metrics.sentence_bleu(["the cat sat on the mat"], ["the cat sat on a mat"])[0].as_py()
    )


def test_without_a_scored_row_there_is_no_score():
    found = KaratEvaluator("exact_match").run(prediction=[None], reference=["a"])
    assert found["score"] is None
    assert found["interval"] == [None, None]
    assert found["unscored"] == 1


def test_rankings_are_scored_too():
    found = KaratEvaluator("ndcg@2").run(retrieved=[["a", 7], []], relevant=[{"a": 2, "7": 1}, ["b"]])
    assert found["individual_scores"] == [1.0, 0.0]


def test_a_judges_reasons_are_those_of_its_unscored_rows():
    model = FakeModel({"explanation": "as the reference", "label": "correct"})
    judge = Judge("correctness", model=model, governor=Governor())
    found = KaratEvaluator(judge).run(question=["a", "b"], prediction=["x", None], reference=[["x"], ["y"]])
    assert found["individual_scores"] == [1.0, None]
    assert found["reasons"] == [None, "prediction is null"]
    whole = KaratEvaluator(judge).run(question=["a"], prediction=["x"], reference=[["x"]])
    assert whole["reasons"] == [None]


@component
class Generator:
    """Gives the same answer to every question."""

    @component.output_types(replies=list[str], several=list[list[str]], seconds=list[float])
    def run(self, questions: list[str]):
        said = ["Paris" for _ in questions]
        return {"replies": said, "several": [[each] for each in said], "seconds": [1.0 for _ in questions]}


@pytest.mark.parametrize("output", ["replies", "several"])
def test_it_runs_in_a_pipeline_that_is_stored_loaded_and_run_again(output):
    pipeline = Pipeline()
    pipeline.add_component("generator", Generator())
    pipeline.add_component("f1", KaratEvaluator("token_f1(samples='max')"))
    pipeline.connect(f"generator.{output}", "f1.prediction")
    data = {"generator": {"questions": ["a", "b"]}, "f1": {"reference": ["Paris", ["Rome", "Lyon"]]}}
    results = pipeline.run(data)
    assert results["f1"]["individual_scores"] == [1.0, 0.0]
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=[__name__])
    assert again.run(data) == results


def test_a_socket_takes_only_what_the_column_can_hold():
    pipeline = Pipeline()
    pipeline.add_component("generator", Generator())
    pipeline.add_component("f1", KaratEvaluator("token_f1"))
    with pytest.raises(PipelineConnectError, match="prediction"):
        pipeline.connect("generator.seconds", "f1.prediction")


def test_it_is_stored_as_its_spec():
    data = KaratEvaluator(karat.metrics.ndcg.using(k=10)).to_dict()
    kind = "haystack_integrations.components.evaluators.karat.KaratEvaluator"
    assert data == {"type": kind, "init_parameters": {"metric": "ndcg@10"}}
    assert KaratEvaluator.from_dict(data).metric == karat.metrics.ndcg.using(k=10)


def test_a_metric_that_its_spec_does_not_restore_is_not_stored():
    @karat.metric(source="ours", register=False)
    def length(prediction: karat.kinds.Text) -> karat.kinds.Score:
        """One."""
        return [1.0] * len(prediction)

    for metric in length, karat.metrics.exact_match.using(across=max):
        with pytest.raises(karat.errors.SpecError):
            KaratEvaluator(metric).to_dict()


def test_wrong_names_and_columns_are_refused():
    with pytest.raises(karat.errors.SpecError, match="did you mean 'token_f1'"):
        KaratEvaluator("token_f2")
    evaluator = KaratEvaluator("token_f1")
    with pytest.raises(karat.errors.ColumnError, match="token_f1 takes no 'predictions'; did you mean 'prediction'"):
        evaluator.run(predictions=["a"], prediction=["a"], reference=["a"])
    with pytest.raises(karat.errors.ColumnError, match="token_f1 misses 'reference'"):
        evaluator.run(prediction=["a"])
    with pytest.raises(ValueError, match="prediction and reference must be provided"):
        evaluator.run(prediction=[], reference=[])
    with pytest.raises(ValueError, match="The length of prediction and reference must be the same"):
        evaluator.run(prediction=["a"], reference=["a", "b"])
    with pytest.raises(ValueError, match="prediction: a list with one entry for each question"):
        evaluator.run(prediction="a", reference=["a"])
