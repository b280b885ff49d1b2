"""Tool calls from files: objects in JSON Lines, structs in Parquet, JSON text in CSV."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from karat.cli.main import main

ROWS = [
    {
        "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": '{"x": "1.0", "n": 1.0}'}}],
        "expected_tool_calls": [{"name": "f", "arguments": {"x": "1.0", "n": 1}}],
    },
    {
        "tool_calls": [{"type": "function", "function": {"name": "g", "arguments": "{}"}}],
        "expected_tool_calls": [{"name": "f", "arguments": {"y": [1, 2]}}, {"name": "g", "arguments": {}}],
    },
    {"tool_calls": [], "expected_tool_calls": []},
]


def write(path, written=ROWS):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in written), "utf-8")
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(written[0])
            rows.writerows([map(json.dumps, row.values()) for row in written])
    else:
        pq.write_table(pa.Table.from_pylist(written), path)
    return str(path)


def run(*arguments):
    return CliRunner().invoke(main, ["score", *arguments])


@pytest.mark.parametrize("name", ["calls.jsonl", "calls.parquet", "calls.csv"])
def test_calls_are_scored_from_every_format(tmp_path, name):
    result = run(write(tmp_path / name), "-m", "tool_call_f1", "-m", "tool_call_match", "--json")
    assert result.exit_code == 0, result.output
    values = {each["spec"]: each["value"] for each in json.loads(result.stdout)["metrics"]}
    assert values == {"tool_call_f1": pytest.approx(4 / 5), "tool_call_match": pytest.approx(2 / 3)}


def test_a_wrong_column_is_an_error_that_says_what_to_type(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"n": {"calls": 1}, "expected_tool_calls": []}\n', "utf-8")
    missing = run(str(path), "-m", "tool_call_f1")
    assert "no column fits 'tool_calls'" in missing.output
    assert "--map tool_calls=COLUMN" in missing.output
    wrong = run(str(path), "-m", "tool_call_f1", "--map", "tool_calls=n")
    assert wrong.exit_code == 1
    assert "tool_calls: found an object with 'calls'; expected: messages with a" in wrong.output


def test_rows_without_calls_that_can_be_read_are_counted_with_the_reason(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"tool_calls": {"foo": 1}, "reference_tool_calls": []}\n' * 2, "utf-8")
    result = run(str(path), "-m", "tool_call_f1")
    assert "tool_calls: found an object with 'foo'; expected: messages with a \"role\"" in result.output
    assert "in 2 of 2 rows" in result.output


@pytest.mark.parametrize("name", ["calls.jsonl", "calls.parquet", "calls.csv"])
def test_gold_without_a_prediction_is_unscored_and_not_an_answer_without_a_call(tmp_path, name):
    gold = [{"id": at, "expected_tool_calls": ROWS[0]["expected_tool_calls"]} for at in range(3)]
    answers = [{"id": 0, "tool_calls": ROWS[0]["tool_calls"]}, {"id": 2, "tool_calls": None}]
    paths = [write(tmp_path / f"{side}-{name}", rows) for side, rows in (("answers", answers), ("gold", gold))]
    result = run(paths[0], "--gold", paths[1], "--on", "id", "-m", "tool_call_match", "-m", "tool_call_f1", "--json")
    assert result.exit_code == 0, result.output
    for each in json.loads(result.stdout)["metrics"]:
        assert (each["n"], each["scored"], each["value"]) == (3, 2, {"tool_call_match": 1 / 2}.get(each["spec"], 2 / 3))
