"""Haystack's evaluators over karat: the examples of the documentation, outputs, errors, and stored pipelines."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import math
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("haystack")

from haystack import Document, Pipeline, component
from haystack.dataclasses import ChatMessage, ExtractedAnswer, GeneratedAnswer

import karat
from karat.adapters.haystack import (
    AnswerExactMatchEvaluator,
    DocumentMAPEvaluator,
    DocumentMRREvaluator,
    DocumentNDCGEvaluator,
    DocumentRecallEvaluator,
    RecallMode,
)

DOCUMENTS = [DocumentMAPEvaluator, DocumentMRREvaluator, DocumentRecallEvaluator, DocumentNDCGEvaluator]
ALL = [AnswerExactMatchEvaluator, *DOCUMENTS]
EXAMPLES = {
    "exact match": (
        """
from karat.adapters.haystack import AnswerExactMatchEvaluator

evaluator = AnswerExactMatchEvaluator()
result = evaluator.run(
    ground_truth_answers=["Berlin", "Paris"],
    predicted_answers=["Berlin", "Lyon"],
)

print(result["individual_scores"])
print(result["score"])
""",
        "[1, 0]\n0.5\n",
    ),
    "exact match in a pipeline": (
        """
from haystack import Pipeline
from karat.adapters.haystack import AnswerExactMatchEvaluator

pipeline = Pipeline()
em_evaluator = AnswerExactMatchEvaluator()
pipeline.add_component("em_evaluator", em_evaluator)

ground_truth_answers = ["Berlin", "Paris"]
predicted_answers = ["Berlin", "Lyon"]

result = pipeline.run(
    {
        "em_evaluator": {"ground_truth_answers": ground_truth_answers,
        "predicted_answers": predicted_answers},
    }
)

for evaluator in result:
    print(result[evaluator]["individual_scores"])
for evaluator in result:
    print(result[evaluator]["score"])
""",
        "[1, 0]\n0.5\n",
    ),
    **{
        name: (
            f"""
from haystack import Document
from karat.adapters.haystack import {name}

evaluator = {name}()
result = evaluator.run(
    ground_truth_documents=[
        [Document(content="France")],
        [Document(content="9th century"), Document(content="9th")],
    ],
    retrieved_documents=[
        [Document(content="France")],
        [Document(content="9th century"), Document(content="10th century"), Document(content="9th")],
    ],
)

print(result["individual_scores"])
print(result["score"])
""",
            printed,
        )
        for name, printed in {
            "DocumentMAPEvaluator": "[1.0, 0.8333333333333333]\n0.9166666666666666\n",
            "DocumentMRREvaluator": "[1.0, 1.0]\n1.0\n",
            "DocumentRecallEvaluator": "[1.0, 1.0]\n1.0\n",
        }.items()
    },
    "DocumentNDCGEvaluator": (
        """
from haystack import Document
from karat.adapters.haystack import DocumentNDCGEvaluator

evaluator = DocumentNDCGEvaluator()
result = evaluator.run(
    ground_truth_documents=[[Document(content="France", score=1.0), Document(content="Paris", score=0.5)]],
    retrieved_documents=[[Document(content="France"), Document(content="Germany"), Document(content="Paris")]],
)
print(round(result["individual_scores"][0], 4))
print(round(result["score"], 4))
""",
        "0.9502\n0.9502\n",
    ),
}


def documents(*contents, **settings):
    return [Document(content=content, **settings) for content in contents]


def columns_of(kind):
    return (
        ("ground_truth_answers", "predicted_answers")
        if kind is AnswerExactMatchEvaluator
        else (
            "ground_truth_documents",
            "retrieved_documents",
        )
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_the_documentation_print_its_outputs(name, capsys):
    code, printed = EXAMPLES[name]
    exec(code, {})  # noqa: S102
    assert capsys.readouterr().out == printed


def test_scores_have_haystacks_types():
    answers = AnswerExactMatchEvaluator().run(["a", "b"], ["a", "c"])
    assert list(map(type, answers["individual_scores"])) == [int, int]
    assert type(answers["score"]) is float
    gold = [documents("a"), []]
    for evaluator in DOCUMENTS:
        found = evaluator().run(gold, [documents("a"), documents("b")])
        assert found["individual_scores"] == [1.0, 0.0]
        assert {type(score) for score in found["individual_scores"]} == {type(found["score"])} == {float}


def test_a_question_may_have_several_gold_answers():
    found = AnswerExactMatchEvaluator().run(
        [["Paris", "City of Paris"], ("Lyon",), {"Nice"}, []], ["Paris", "x", "Nice", ""]
    )
    assert found["individual_scores"] == [1, 0, 1, 0]


def test_gold_answers_may_be_numpy_arrays():
    gold = [np.array(["Paris", "City of Paris"]), np.array(["Rome"])]
    assert AnswerExactMatchEvaluator().run(gold, ["City of Paris", "Bern"])["individual_scores"] == [1, 0]


def test_a_letter_of_an_answer_is_no_gold_answer():
    assert AnswerExactMatchEvaluator().run(["Paris"], ["P"])["individual_scores"] == [0]


@pytest.mark.parametrize(
    "answer",
    [GeneratedAnswer("Paris", "?", []), ExtractedAnswer("?", 0.5, data="Paris"), ChatMessage.from_assistant("Paris")],
)
def test_haystacks_answers_are_compared_by_their_text(answer):
    found = AnswerExactMatchEvaluator().run(
        ["Paris", answer, ["Lyon", answer], "Lyon"], [answer, "Paris", answer, answer]
    )
    assert found["individual_scores"] == [1, 1, 1, 0]


@pytest.mark.parametrize("predicted", [["Berlin"], "Berlin", None])
def test_answers_that_are_no_list_are_refused(predicted):
    with pytest.raises(ValueError, match="ground_truth_answers: a list with one entry for each question is expected"):
        AnswerExactMatchEvaluator().run("Berlin", predicted)


def test_several_predicted_answers_are_refused():
    with pytest.raises(karat.errors.RowError, match="predicted_answers: one answer for each question"):
        AnswerExactMatchEvaluator().run(["Berlin"], [["Berlin"]])


@pytest.mark.parametrize("kind", ALL)
def test_empty_lists_are_an_error(kind):
    names = " and ".join(columns_of(kind))
    for columns in ([], []), ([], [[]]), ([[]], []):
        with pytest.raises(ValueError, match=f"{names} must be provided"):
            kind().run(*columns)


@pytest.mark.parametrize("kind", ALL)
def test_lists_of_unequal_length_give_haystacks_message(kind):
    with pytest.raises(ValueError, match=f"The length of {' and '.join(columns_of(kind))} must be the same."):
        kind().run([["a"]], [["a"], ["b"]])


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_flat_list_of_documents_is_refused(kind):
    with pytest.raises(ValueError, match="a list of Documents for each question is expected"):
        kind().run(documents("a"), documents("a"))
    with pytest.raises(ValueError, match=r"retrieved_documents: a list of Documents .* is expected, found 'a'"):
        kind().run([documents("a")], [["a"]])


@pytest.mark.parametrize("kind", DOCUMENTS)
@pytest.mark.parametrize("field", ["contents", "meta", "meta.", "", None, [], ["content", "page"], 3])
def test_a_field_that_does_not_exist_is_refused_at_run_as_in_haystack(kind, field):
    evaluator = kind(document_comparison_field=field)
    with pytest.raises(ValueError, match=r"^Unsupported document_comparison_field: '.*'. Use 'content'"):
        evaluator.run([documents("a")], [documents("a")])


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_cut_off_below_one_is_refused_at_once(kind):
    with pytest.raises(ValueError, match="k=0"):
        kind(k=0)


def test_modes_of_recall_are_those_of_haystack():
    assert DocumentRecallEvaluator("multi_hit").mode is RecallMode.MULTI_HIT
    assert str(DocumentRecallEvaluator().mode) == "single_hit"
    for wrong in ("foo", None):
        with pytest.raises(ValueError, match=rf"Unknown recall mode '{wrong}'. Supported modes are: \['single_hit', '"):
            DocumentRecallEvaluator(wrong)


def test_scores_of_some_ground_truth_documents_only_are_refused():
    mixed = [[Document(content="a", score=1.0), Document(content="b")]]
    for check in (DocumentNDCGEvaluator.validate_inputs, DocumentNDCGEvaluator().run):
        with pytest.raises(
            ValueError, match="Either none or all documents in each list of ground_truth_documents must"
        ):
            check(mixed, mixed)


@pytest.mark.parametrize(
    ("kind", "score"),
    [
        (DocumentMAPEvaluator(k=2), 0.25),
        (DocumentMRREvaluator(k=1), 0.0),
        (DocumentRecallEvaluator(k=1), 0.0),
        (DocumentRecallEvaluator("multi_hit", k=2), 0.5),
        (DocumentNDCGEvaluator(k=2), 1 / math.log2(3) / (1 + 1 / math.log2(3))),
    ],
)
def test_only_the_first_k_count(kind, score):
    assert kind.run([documents("b", "c")], [documents("a", "b", "c")])["score"] == pytest.approx(score)


def test_documents_compare_by_several_fields_together():
    def page(file, number):
        return Document(content=f"chunk {file} {number}", meta={"file": file, "at": {"page": number}})

    gold = [[page("a", 1)], [page(None, 1)], [page(["a"], 1)]]
    found = [[page("a", 2), page("b", 1), page("a", 1)], [page(None, 1)], [page(["a"], 1)]]
    fields = ("meta.file", "meta.at.page")
    assert DocumentMRREvaluator(fields).run(gold, found)["individual_scores"] == [1 / 3, 0.0, 1.0]


@pytest.mark.parametrize("kind", ALL)
def test_the_interval_is_that_of_karat_score(kind):
    hits = [True, False, True, True, False, True, True]
    gold = [["a", "b"] for _ in hits]
    found = [["a", "c"] if hit else ["c", "b"] for hit in hits]
    if kind is AnswerExactMatchEvaluator:
        evaluated = kind(details=True).run([row[0] for row in gold], [row[0] for row in found])
    else:
        evaluated = kind(details=True).run([documents(*row) for row in gold], [documents(*row) for row in found])

    @karat.metric(source="the scores themselves", register=False)
    def same(scores: karat.kinds.Number) -> karat.kinds.Score:
        """What it is given."""
        return scores

    value = karat.score({"scores": evaluated["individual_scores"]}, same).values["same"]
    assert evaluated["score"] == pytest.approx(value.value, rel=1e-15)
    assert evaluated["details"]["interval"] == pytest.approx([value.low, value.high], rel=1e-12)


def test_one_question_has_the_widest_interval():
    assert AnswerExactMatchEvaluator(details=True).run(["a"], ["a"])["details"] == {"interval": [0.0, 1.0]}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_questions_that_cannot_score_are_logged_once(kind, caplog):
    kind(document_comparison_field="meta.page").run([documents("a"), documents("b")], [documents("a"), []])
    recall = kind is DocumentRecallEvaluator  # the one that also speaks of retrieved documents, as in Haystack
    assert [record.levelname for record in caplog.records] == ["WARNING"] * (1 + recall)
    assert "There are no ground truth documents or none of them contain a valid comparison value" in caplog.messages[0]
    assert "in 2 of 2 questions" in caplog.messages[0]
    caplog.clear()
    kind().run([documents("a")] * 3, [[], documents("a"), documents("b")])
    assert ["no retrieved documents" in each and "in 1 of 3" in each for each in caplog.messages] == [True] * recall


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_component_is_stored_and_restored(kind):
    for settings in (
        {},
        {"document_comparison_field": "meta.id", "k": 3, "details": True},
        {"document_comparison_field": ["content", "id"]},
    ):
        data = kind(**settings).to_dict()
        assert settings.items() <= data["init_parameters"].items()
        assert data["init_parameters"]["document_comparison_field"] == settings.get(
            "document_comparison_field", "content"
        )
        assert kind.from_dict(data).to_dict() == data
    assert data["type"] == f"haystack_integrations.components.evaluators.karat.{kind.__name__}"


@component
class Retriever:
    """Returns the same documents for every question."""

    @component.output_types(documents=list[list[Document]], answers=list[str])
    def run(self, questions: list[str]):
        return {"documents": [documents("b", "a") for _ in questions], "answers": ["a" for _ in questions]}


def test_all_evaluators_run_in_one_pipeline_which_is_stored_loaded_and_run_again():
    pipeline = Pipeline()
    pipeline.add_component("retriever", Retriever())
    for kind in ALL:
        pipeline.add_component(kind.__name__, kind())
    pipeline.add_component("by two fields", DocumentMAPEvaluator(["content", "id"], k=2))
    pipeline.connect("retriever.answers", "AnswerExactMatchEvaluator.predicted_answers")
    for name in [*(kind.__name__ for kind in DOCUMENTS), "by two fields"]:
        pipeline.connect("retriever.documents", f"{name}.retrieved_documents")
    gold = [documents("a"), documents("b")]
    data = {"retriever": {"questions": ["1", "2"]}} | {
        kind.__name__: {columns_of(kind)[0]: ["a", ["b", "c"]] if kind is AnswerExactMatchEvaluator else gold}
        for kind in ALL
    }
    data["by two fields"] = {"ground_truth_documents": gold}
    results = pipeline.run(data)
    assert {name: result["score"] for name, result in results.items()} == {
        "AnswerExactMatchEvaluator": 0.5,
        "DocumentMAPEvaluator": 0.75,
        "DocumentMRREvaluator": 0.75,
        "DocumentRecallEvaluator": 1.0,
        "DocumentNDCGEvaluator": pytest.approx((1 + 1 / math.log2(3)) / 2),
        "by two fields": 0.75,
    }
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=[__name__])  # of this module: the retriever
    assert again.run(data) == results
    assert again.dumps() == pipeline.dumps()


def test_without_haystack_the_import_names_the_missing_package():
    code = (
        "import sys; sys.modules['haystack'] = None\n"
        "import karat\n"
        "try:\n    import karat.adapters.haystack\n"
        "except karat.errors.MissingExtra as error:\n    print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "karat.adapters.haystack needs haystack-ai: pip install 'karat[haystack]'\n"
