"""The evaluation of a RAG pipeline with Haystack's components and with karat's: the same code, another import."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import re
from contextlib import closing
from importlib import import_module

import pytest

pytest.importorskip("haystack")

from haystack import Document, Pipeline
from haystack.components.builders import PromptBuilder
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from karat.adapters.haystack.component import INTEGRATION
from karat.models.testing.fake import FakeServer

PASSAGES = [
    "The river Elbe flows through Dresden and Hamburg.",
    "The river Spree flows through Berlin.",
    "Mount Rainier is a volcano near Seattle.",
]
QUESTIONS = ["Which river flows through Berlin?", "Which volcano is near Seattle?"]
GOLD_ANSWERS = ["The Spree", "Mount Rainier"]
ANSWERS = ["The Spree", "Rainier"]
GOLD = [[Document(content=PASSAGES[1], score=1.0)], [Document(content=PASSAGES[2], score=0.5)]]
FAITHFUL = {"statements": ["a", "b"], "statement_scores": [1, 0]}
HAYSTACK = {"evaluators": "haystack.components.evaluators", "result": "haystack.evaluation"}
KARAT = {"evaluators": INTEGRATION, "result": INTEGRATION}


@pytest.fixture(scope="module")
def retrieved():
    store = InMemoryDocumentStore()
    store.write_documents([Document(content=passage) for passage in PASSAGES])
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=2))
    pipeline.add_component(
        "prompt", PromptBuilder("{% for each in documents %}{{ each.content }}{% endfor %}{{ question }}")
    )
    pipeline.connect("retriever", "prompt.documents")
    inputs = [{"retriever": {"query": question}, "prompt": {"question": question}} for question in QUESTIONS]
    return [pipeline.run(each, include_outputs_from={"retriever"})["retriever"]["documents"] for each in inputs]


@pytest.fixture
def judge(monkeypatch):
    def reply(messages):
        return {"relevant_statements": ["a"]} if "relevant_statements" in messages[-1]["content"] else FAITHFUL

    with FakeServer(reply, key="mine") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "mine")
        yield


def evaluate(modules, retrieved, load=Pipeline.loads):
    """Each evaluator in one pipeline, stored and loaded; then the reports of the run."""
    evaluators, evaluation = (import_module(modules[name]) for name in ("evaluators", "result"))
    documents = {"ground_truth_documents": GOLD, "retrieved_documents": retrieved}
    answers = {"ground_truth_answers": GOLD_ANSWERS, "predicted_answers": ANSWERS}
    asked = {"questions": QUESTIONS, "contexts": [[each.content for each in found] for found in retrieved]}
    inputs = {
        "DocumentMAPEvaluator": documents,
        "DocumentMRREvaluator": documents,
        "DocumentNDCGEvaluator": documents,
        "DocumentRecallEvaluator": documents,
        "AnswerExactMatchEvaluator": answers,
        "ContextRelevanceEvaluator": asked,
        "FaithfulnessEvaluator": {**asked, "predicted_answers": ANSWERS},
    }
    pipeline = Pipeline()
    for name in inputs:
        pipeline.add_component(name, getattr(evaluators, name)())
    with closing(load(pipeline.dumps())) as loaded:
        results = loaded.run(inputs)
    run = evaluation.EvaluationRunResult("rag", {**answers, "questions": QUESTIONS}, results)
    other = evaluation.EvaluationRunResult("other", {**answers, "questions": QUESTIONS}, results)
    return {
        "outputs": {
            name: {key: found for key, found in outputs.items() if key != "meta"} for name, outputs in results.items()
        },
        "aggregated": run.aggregated_report(),
        "detailed": run.detailed_report(),
        "compared": run.comparative_detailed_report(other),
    }


@pytest.mark.usefixtures("judge")
def test_a_rag_pipeline_is_evaluated_as_with_haystack(retrieved):
    theirs, ours = (evaluate(modules, retrieved) for modules in (HAYSTACK, KARAT))
    assert ours == theirs
    assert ours["outputs"]["AnswerExactMatchEvaluator"] == {"individual_scores": [1, 0], "score": 0.5}
    assert [ours["outputs"][f"{name}Evaluator"]["score"] for name in ("Faithfulness", "DocumentMRR")] == [0.5, 1.0]


@pytest.mark.usefixtures("judge")
def test_a_pipeline_stored_by_haystack_is_run_by_karat(retrieved):
    def load(stored):
        changed = re.sub(r"haystack\.components\.evaluators\.\w+\.(?=\w+Evaluator)", f"{INTEGRATION}.", stored)
        assert changed.count(INTEGRATION) == 7
        return Pipeline.loads(changed)

    assert evaluate(HAYSTACK, retrieved, load) == evaluate(HAYSTACK, retrieved)
