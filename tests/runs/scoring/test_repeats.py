"""Answers that come one a row: scored, grouped and compared by question."""

import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import karat
from karat.data.storage import batches
from karat.errors import ColumnError, JoinError, SpecError
from karat.runs.compare.rows_needed import plan_more_answers

ROWS = {
    "id": ["q1", "q2", "q1", "q2", "q1", "q2"],
    "topic": ["a", "b", "a", "b", "a", "b"],
    "prediction": ["Paris", "Rome", "Lyon", "Rome", "Paris", None],
    "gold": ["Paris", "Rome", "Paris", "Rome", "Paris", "Rome"],
    "passed": [True, True, False, True, True, False],
}
SPECS = ["pass_at@2", "majority", "pass_all(column(passed))@2"]
EXPECTED = [[1.0, 1.0], [1.0, 1.0], [1 / 3, 1 / 3]]


def scores(result):
    return [result.table.column(spec).to_pylist() for spec in (metric.spec for metric in result.metrics)]


def samples(seed, right, questions=60, answers=8):
    """Answers of a system that is right on hard questions less often, in no order."""
    draw = random.Random(seed)  # noqa: S311
    rows = [{"id": f"q{q}", "topic": "ab"[q % 2], "gold": str(q % 7)} for q in range(questions) for _ in range(answers)]
    for row in rows:
        row["prediction"] = row["gold"] if draw.random() < right * int(row["id"][1:]) / questions else "x"
    draw.shuffle(rows)
    return rows


@pytest.mark.parametrize("form", ["frame", "jsonl", "csv", "parquet"])
def test_rows_that_share_an_id_are_one_question(tmp_path, form):
    data, table = ROWS, pa.table(ROWS)
    if form == "jsonl":
        data = tmp_path / "rows.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()), "utf-8")
    if form == "csv":
        data = tmp_path / "rows.csv"
        pyarrow.csv.write_csv(table, data)
    if form == "parquet":
        data = tmp_path / "rows.parquet"
        pq.write_table(table, data, row_group_size=2)
    specs, expected = SPECS, EXPECTED
    if form == "csv":  # it has no nulls: the last answer is the empty text
        expected = [[1.0, 1.0], [1.0, 1.0], [1 / 3, 1 / 3]]
    result = karat.score(data, specs, by="topic", keep=True)
    assert result.gathered == "6 rows are answers to 2 questions, by id"
    assert [pytest.approx(each) for each in expected] == scores(result)
    assert {label: value.n for label, value in result.groups["majority"].items()} == {"a": 1, "b": 1}
    assert result.table.column("topic").to_pylist() == ["a", "b"]


def test_gold_in_a_second_table():
    data = {name: ROWS[name] for name in ("id", "prediction")}
    gold = {"id": ["q2", "q1"], "gold": ["Rome", "Paris"]}
    result = karat.score(data, "pass_at@2", gold=gold, on="id")
    assert scores(result) == [[1.0, 1.0]]
    same = {"id": ["q1", "q1"], "reply": ["Paris", "Paris"]}
    result = karat.score(same, "pass_at@2", gold=gold, on="id", map={"prediction": "reply"})
    assert scores(result) == [[None, 1.0]]
    assert result.gathered == "2 rows are answers to 1 question, by id"


def test_the_column_of_questions():
    rows = {"id": range(4), "question": ["1+1?", "1+1?", "2+2?", "2+2?"], "prediction": ["2", "3", "4", "4"]}
    rows |= {"gold": ["2", "2", "4", "4"], "set": ["x", "x", "x", "x"], "topic": ["t"] * 4}
    assert karat.score(rows, "pass_all").gathered == "4 rows are answers to 2 questions, by question"
    named = karat.score(rows, "mean_of(f1)", map={"question": "id"})
    assert (named.n, named.gathered) == (4, "4 rows are answers to 4 questions, by id")
    with pytest.raises(ColumnError, match=r"'gold' \(reference\) differs in rows with the same 'set'.*--map question="):
        karat.score(rows, "pass_at", map={"question": "set"})
    with pytest.raises(JoinError, match="null or empty in row 2"):
        karat.score(rows | {"task": ["a", None, "b", "b"]}, "pass_at", map={"question": "task"})


def test_nothing_is_gathered_without_need():
    listed = {"id": [1, 1], "prediction": [["a", "b"], ["a"]], "gold": ["a", "a"]}
    assert karat.score(listed, "pass_at").gathered == ""
    assert karat.score({"id": [1, 2], "prediction": ["a", "b"], "gold": ["a", "a"]}, "pass_at").n == 2
    assert karat.score({"id": [1, 1], "prediction": ["a", "b"], "gold": ["a", "a"]}, "exact_match").n == 2


def test_other_metrics_beside_say_which_answer_counts():
    with pytest.raises(ColumnError, match=r"several a row\. Which of them counts"):
        karat.score(ROWS, ["pass_at", "exact_match"])
    assert karat.score(ROWS, ["pass_at", "exact_match(samples=mean)"]).n == 2


def test_runs_are_compared_by_question(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    specs = ["pass_at@4", "majority", "mean_of(exact_match)", "intraclass_correlation"]
    for name, right in (("weak", 0.6), ("strong", 0.9)):
        karat.score(samples(name, right), specs, run=name, by="topic")
    compared = karat.compare("weak", "strong", by="topic")
    assert compared.n == 60
    assert compared.by == "id"
    whole = {finding.metric: finding for finding in compared.findings if finding.slice is None}
    assert whole["mean_of(exact_match)"].verdict == "better"
    assert whole["pass_at@4"].comparison.scored == 60
    lists = (
        pa.Table.from_pylist(samples("weak", 0.6)).group_by("id").aggregate([("prediction", "list"), ("gold", "one")])
    )
    lists = lists.rename_columns({"prediction_list": "prediction", "gold_one": "gold"})
    values = [karat.score(rows, specs).values.values() for rows in (lists, samples("weak", 0.6))]
    assert [value.value for value in values[0]] == pytest.approx([value.value for value in values[1]])


def test_what_halves_the_standard_error_of_a_run(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    rows = {"id": range(4), "passed": [[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 0, 1], [0, 1, 0, 0]]}
    karat.score(rows, ["intraclass_correlation(column(passed))", "mean_of(column(passed))"], run="four")
    (plan,) = plan_more_answers("four").values()
    assert (plan.questions, plan.answers, plan.questions_needed, plan.answers_needed) == (4, 4.0, 16, None)
    assert plan.error == pytest.approx(np.std([0.75, 0.25, 0.75, 0.25], ddof=1) / 2)
    karat.score(rows, "mean_of(column(passed))", run="mean")
    with pytest.raises(SpecError, match=r"score it with -m 'intraclass_correlation\(METRIC\)'"):
        plan_more_answers("mean")


def test_a_stopped_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    monkeypatch.setattr(batches, "rows_per_batch", lambda *_: 100)

    def stop(done, _all):
        if done > 30:
            raise KeyboardInterrupt

    rows = samples("weak", 0.6)
    with pytest.raises(KeyboardInterrupt):
        karat.score(rows, SPECS[:2], run="stopped", progress=stop)
    found = karat.score(rows, SPECS[:2], run="stopped", resume=True)
    assert found.values == karat.score(rows, SPECS[:2]).values
    assert found.n == 60


def test_answers_of_an_experiment(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    rows = {"question": ["1+1?", "2+2?"], "gold": ["2", "4"]}
    result = karat.experiment(
        rows, lambda question: {"1+1?": "2", "2+2?": "5"}[question], SPECS[:2], repetitions=3, run="x"
    )
    assert result.gathered == "6 rows are answers to 2 questions, by row"
    assert scores(result) == [[1.0, 0.0], [1.0, 0.0]]


def test_an_engine_takes_answers_in_lists(tmp_path):
    pq.write_table(pa.table(ROWS), tmp_path / "rows.parquet")
    with pytest.raises(SpecError, match="put those to a question in a list"):
        karat.score(tmp_path / "rows.parquet", "pass_at", engine="threads", run="x")
