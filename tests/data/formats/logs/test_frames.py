"""Frames and traces of platforms: columns for members, traces as JSON, outputs of systems beside each other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import karat
from karat.core.errors import ColumnError, DataError, RowError
from karat.data.formats.logs.rows import records
from karat.data.open import open_source

SAMPLES = Path(__file__).parents[1] / "samples"
FRAME = {
    "inputs.question": "2+2?",
    "outputs.answer": "4",
    "reference.answer": "4",
    "error": None,
    "execution_time": 0.1,
}
TRACE = json.loads((SAMPLES / "mlflow_traces.jsonl").read_text().splitlines()[0])


def rows(path):
    return [row for batch in open_source(path).batches() for row in records(batch, batch.schema.names)]


@pytest.mark.parametrize("inputs", ["inputs", "input"])
def test_members_of_langsmith_that_are_columns_have_roles(inputs):
    row = {re.sub("^inputs", inputs, key): value for key, value in FRAME.items()}
    result = karat.score([row], "em")
    assert result.mapping == {"prediction": "outputs.answer", "reference": "reference.answer"}
    assert (result.values["em"].value, result.tools) == (1.0, ("LangSmith",))


def test_of_several_members_the_one_with_a_known_name_is_the_answer():
    result = karat.score([{**FRAME, "outputs.sources": "a"}], "em")
    assert result.mapping["prediction"] == "outputs.answer"


def test_members_that_do_not_tell_are_named_with_what_to_type():
    row = {**FRAME, "outputs.draft": "a", "outputs.final": "b"}
    del row["outputs.answer"]
    with pytest.raises(ColumnError, match=r"--map prediction=outputs\.draft or --map prediction=outputs\.final"):
        karat.score([row], "em")


@pytest.mark.parametrize("form", ["lines", "array", "one", "frame"])
def test_traces_of_mlflow_are_rows(tmp_path, form):
    path = tmp_path / ("traces.jsonl" if form == "lines" else "traces.json")
    path.write_text(json.dumps([TRACE] if form == "array" else {"traces": [TRACE]} if form == "frame" else TRACE))
    [row] = rows(path)
    assert json.loads(row.pop("trace")) == TRACE
    assert row.pop("contexts") == ["Paris is the answer"]
    assert row["exact_match/value"] is True
    assert row["expected_response/value"] == "Paris"
    assert karat.score(path, ["em", "column('exact_match/value')"]).values["em"].value == 1.0


def test_an_assessment_of_mlflow_that_was_replaced_does_not_count(tmp_path):
    info = TRACE["info"]
    newer = {
        "assessment_name": "expected_response",
        "expectation": {"serialized_value": {"value": '["Paris", "Paname"]'}},
    }
    older = {**newer, "expectation": {"value": "old"}, "valid": False}
    path = tmp_path / "traces.jsonl"
    path.write_text(json.dumps({**TRACE, "info": {**info, "assessments": [*info["assessments"], newer, older]}}))
    assert rows(path)[0]["expected_response/value"] == ["Paris", "Paname"]


def test_a_trace_that_is_not_as_mlflow_writes_it_names_its_row(tmp_path):
    path = tmp_path / "traces.jsonl"
    path.write_text("\n".join(map(json.dumps, [TRACE, {**TRACE, "data": {"spans": [7]}}])))
    with pytest.raises(RowError, match=r"traces\.jsonl, row 2: not as MLflow writes it: AttributeError"):
        karat.score(path, "em")


def test_promptfoos_csv_has_a_row_for_each_output():
    first, second, *_ = found = rows(SAMPLES / "promptfoo.csv")
    assert (len(found), first["vars"], second["vars"]["expected"]) == (
        8,
        {"expected": "Paris", "question": first["vars"]["question"]},
        "Paris",
    )
    assert [
        (row["provider"]["id"], row["promptIdx"], row["response"]["output"], row["success"]) for row in (first, second)
    ] == [
        ("openai:gpt-4o-mini", 0, "Paris", True),
        ("echo", 1, "What is the capital of France?", False),
    ]
    with pytest.raises(DataError, match=r"4 documents several times, by provider\.id \('echo', 'openai:gpt-4o-mini'\)"):
        karat.score(SAMPLES / "promptfoo.csv", "em")


def test_an_output_of_promptfoo_that_failed_is_null_and_named_metrics_are_columns(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text(
        "expected,Answer,Status,Score,Named Scores,Metric: tone,Grader Reason,Comment\n"
        'a,a,PASS,1.00,"{""tone"":0.5}",0.50,,\n'
        "b,rate limit,ERROR,0.00,,,,\n"
    )
    first, second = rows(path)
    assert (first["prompt"], first["Metric: tone"], first["provider"]) == ({"label": "Answer"}, "0.50", {"id": ""})
    assert (second["response"], second["error"]) == ({"output": None}, "rate limit")
    value = karat.score(path, "em").values["em"]
    assert (value.n, value.scored, value.value) == (2, 1, 1.0)


@pytest.mark.parametrize(
    ("name", "content", "remedy"),
    [
        (
            "results.json",
            {"results": {}, "configs": {}, "versions": {}, "n-shot": {}},
            "score the samples, samples_TASK",
        ),
        (
            "results.json",
            {"config_general": {}, "results": {}, "versions": {}},
            "score the details, details/MODEL/TIME",
        ),
        ("d.json", {"dataset_name": "d", "model_name": "m", "metrics": [{"name": "acc"}]}, "score the reviews"),
        ("report.json", {"metrics": ["exact_match"], "score": [0.5]}, "score the answers, detailed_report"),
        (
            "p.jsonl",
            {"index": 0, "model": "m", "model_output": {}, "messages": []},
            "score the reviews of the same run",
        ),
        (
            "goldens.jsonl",
            {"actual_output": None, "context": [], "expected_output": "a", "retrieval_context": []},
            "no answers",
        ),
    ],
)
def test_files_without_answers_or_gold_say_what_to_score(tmp_path, name, content, remedy):
    path = tmp_path / name
    path.write_text(json.dumps(content))
    with pytest.raises(ColumnError, match=rf"{name}: .*{remedy}"):
        karat.score(path, "em")


def test_of_two_systems_beside_each_other_both_columns_are_named():
    row = {"question": "Q", "ground_truth_answers": "a", "v1_predicted_answers": "a", "v2_predicted_answers": "b"}
    with pytest.raises(
        ColumnError, match="--map prediction=v1_predicted_answers or --map prediction=v2_predicted_answers"
    ):
        karat.score([row], "em")


@pytest.mark.parametrize("form", ["json", "jsonl", "frame"])
def test_rows_of_an_experiment_of_langsmith(tmp_path, form):
    found = [
        {
            "run": {"id": str(at), "inputs": {"question": "Q"}, "outputs": {"answer": answer}},
            "example": {"inputs": {"question": "Q"}, "outputs": {"answer": "4"}},
            "evaluation_results": {"results": [{"key": "exact", "score": int(answer == "4")}]},
        }
        for at, answer in enumerate(["4", "5"])
    ]
    path = tmp_path / f"rows.{form}"
    path.write_text(json.dumps(found) if form == "json" else "\n".join(map(json.dumps, found)))
    data = found if form == "frame" else path
    result = karat.score(data, ["em", "column('evaluation_results.results[key=exact].score')"])
    assert [value.value for value in result.values.values()] == [0.5, 0.5]
    assert result.mapping["reference"] == "example.outputs.answer"
