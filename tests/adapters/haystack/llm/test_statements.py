"""Haystack's evaluators of statements: scores, invalid replies, both forms of replies, stored pipelines."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import json
import math
from copy import deepcopy

import pytest

pytest.importorskip("haystack")

from haystack import Pipeline, component, default_from_dict, default_to_dict
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage

from karat.adapters.haystack import (
    ContextRelevanceEvaluator,
    EvaluationError,
    EvaluationRunResult,
    FaithfulnessEvaluator,
    LLMEvaluator,
)


@component
class Scripted:
    """A chat generator whose reply is a function of the row's inputs."""

    def __init__(self, say=lambda row: {"score": 0}, meta=None):
        self.say, self.meta, self.prompts = say, meta, []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]):
        self.prompts.append(messages[-1].text)
        said = self.say(json.loads(messages[-1].text.rpartition("Inputs:\n")[2].partition("\nOutputs:")[0]))
        text = said if isinstance(said, str) else json.dumps(said)
        return {"replies": [ChatMessage.from_assistant(text, meta=self.meta)]}

    def to_dict(self):
        return default_to_dict(self, meta=self.meta)

    @classmethod
    def from_dict(cls, data):
        return default_from_dict(cls, data)


ANSWERS = {"questions": ["q1", "q2", "q3"], "contexts": [["c"]] * 3, "predicted_answers": ["a1", "a2", "a3"]}


def statements(*scores):
    return {"statements": [f"s{n}" for n, _ in enumerate(scores)], "statement_scores": list(scores)}


def test_faithfulness_of_several_rows():
    replies = {"q1": statements(1, 0, 1, 1), "q2": statements(), "q3": statements(1.0, True)}
    found = FaithfulnessEvaluator(
        progress_bar=False, details=True, chat_generator=Scripted(lambda row: replies[row["questions"]])
    ).run(**ANSWERS)
    assert found["individual_scores"] == [0.75, 0.0, 1.0]
    assert found["score"] == pytest.approx(1.75 / 3)
    assert found["results"][0] == replies["q1"] | {"score": 0.75, "status": "evaluated"}
    low, high = found["details"]["interval"]
    assert 0 <= low < found["score"] < high <= 1
    assert all(type(score) is float for score in [found["score"], *found["individual_scores"]])


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ({"statements": ["s"], "statement_scores": [1, 0]}, "1 statements have 2 statement_scores"),
        ({"statements": ["s"], "statement_scores": []}, "1 statements have 0 statement_scores"),
        (statements(5), "a list of numbers from 0 to 1 is expected"),
        (statements(-0.5), "a list of numbers from 0 to 1 is expected"),
        (statements("1"), "a list of numbers from 0 to 1 is expected"),
        (statements(None), "a list of numbers from 0 to 1 is expected"),
        ({"statements": ["s"], "statement_scores": 1}, "a list of numbers from 0 to 1 is expected"),
        ({"statements": "s", "statement_scores": [1]}, "statements: a list of texts is expected, found 's'"),
        ({"statements": [7], "statement_scores": [1]}, "statements: a list of texts is expected"),
        ({"statements": None, "statement_scores": [1]}, "statements: a list of texts is expected"),
        ({"relevant_statements": ["s"]}, "Missing expected keys in JSON"),
        ('{"statements": ["s"], "statement_scores": [NaN]}', "NaN is not valid JSON"),
    ],
)
def test_invalid_scores_are_an_error_of_the_row(reply, why, caplog):
    def say(row):
        return reply if row["questions"] == "q2" else statements(1)

    generator = Scripted(say)
    evaluator = FaithfulnessEvaluator(
        progress_bar=False, raise_on_failure=False, chat_generator=generator, details=True
    )
    found = evaluator.run(**ANSWERS)
    assert found["score"] == 1.0
    assert [math.isnan(score) for score in found["individual_scores"]] == [False, True, False]
    failed = found["results"][1]
    assert math.isnan(failed.pop("score"))
    assert failed == {"statements": [], "statement_scores": [], "status": "error"}
    assert why in found["details"]["reasons"][1]
    assert found["details"]["unscored"] == 1
    assert "1 query(s) failed and were excluded from the score." in caplog.text
    with pytest.raises(EvaluationError, match="row 2"):
        FaithfulnessEvaluator(progress_bar=False, chat_generator=Scripted(say)).run(**ANSWERS)


def test_without_a_successful_row_there_is_no_score(caplog):
    options = {"progress_bar": False, "raise_on_failure": False, "details": True}
    found = FaithfulnessEvaluator(**options, chat_generator=Scripted()).run(**ANSWERS)
    assert math.isnan(found["score"])
    assert all(map(math.isnan, found["details"]["interval"]))


def test_context_relevance_reads_both_forms_of_replies():
    replies = {
        "q1": statements(1, 0, 0, 0),
        "q2": {**statements(0, 0), "relevant_statements": ["s"]},  # Haystack reads what it asks for
        "q3": {"relevant_statements": []},
    }
    found = ContextRelevanceEvaluator(
        progress_bar=False, chat_generator=Scripted(lambda row: replies[row["questions"]])
    ).run(questions=ANSWERS["questions"], contexts=ANSWERS["contexts"])
    assert found["individual_scores"] == [0.25, 1.0, 0.0]
    assert found["results"][1] == replies["q2"] | {"score": 1.0, "status": "evaluated"}


@pytest.mark.parametrize("reply", [{"relevant_statements": "none"}, {"relevant_statements": None}, {"statements": []}])
def test_a_reply_without_a_list_of_texts_fails_its_row(reply, caplog):
    options = {"progress_bar": False, "raise_on_failure": False}
    found = ContextRelevanceEvaluator(**options, chat_generator=Scripted(lambda row: reply)).run(
        questions=["q"], contexts=[["c"]]
    )
    (failed,) = found["results"]
    assert math.isnan(failed.pop("score"))
    assert failed == {"relevant_statements": [], "status": "error"}


def test_the_default_examples_are_valid_replies():
    for kind in (FaithfulnessEvaluator, ContextRelevanceEvaluator):
        evaluator = kind(chat_generator=Scripted())
        names = [name for name, _ in evaluator.inputs]
        for example in evaluator.examples:
            assert [*example["inputs"]] == names
            assert evaluator._read(json.dumps(example["outputs"]))["score"] in {0.0, 1.0, 0.5}


@pytest.mark.parametrize("kind", [FaithfulnessEvaluator, ContextRelevanceEvaluator])
def test_dicts_of_haystacks_components_are_restored(kind, monkeypatch):
    import haystack.components.evaluators as theirs

    monkeypatch.setenv("OPENAI_API_KEY", "x")
    stored = getattr(theirs, kind.__name__)(chat_generator=OpenAIChatGenerator(model="m")).to_dict()
    before = deepcopy(stored)
    again = kind.from_dict(stored)
    assert stored == before
    assert isinstance(again._chat_generator, OpenAIChatGenerator)
    assert again.to_dict()["init_parameters"] == stored["init_parameters"]


def test_a_pipeline_is_stored_loaded_and_run():
    pipeline = Pipeline()
    pipeline.add_component("faith", FaithfulnessEvaluator(progress_bar=False, chat_generator=Scripted(meta={"a": 1})))
    pipeline.add_component("relevance", ContextRelevanceEvaluator(progress_bar=False, chat_generator=Scripted()))
    rating = {"instructions": "Is it fine?", "inputs": [("answers", list[str])], "outputs": ["score"], "examples": []}
    pipeline.add_component("llm", LLMEvaluator(**rating, progress_bar=False, chat_generator=Scripted()))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=[Scripted.__module__])
    assert again.dumps() == pipeline.dumps()
    for name, reply in (("faith", statements(1, 0)), ("relevance", statements(1)), ("llm", {"score": 1})):
        again.get_component(name)._chat_generator.say = lambda row, reply=reply: reply
    asked_for = {key: ANSWERS[key] for key in ("questions", "contexts")}
    inputs = {"faith": ANSWERS, "relevance": asked_for, "llm": {"answers": ["a"]}}
    found = again.run(inputs)
    assert (found["faith"]["score"], found["relevance"]["score"]) == (0.5, 1.0)
    assert found["llm"]["results"] == [{"score": 1}]
    report = EvaluationRunResult("run", ANSWERS, {name: found[name] for name in ("faith", "relevance")})
    assert report.aggregated_report() == {"metrics": ["faith", "relevance"], "score": [0.5, 1.0]}
