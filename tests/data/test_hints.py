"""What messages about columns tell to type: followed, it gives the right value, or another message that is right."""

from __future__ import annotations

import csv
import json
import re
import shlex

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main

pd = pytest.importorskip("pandas")

GOLD = ["Paris", "Bern", "yen", "4"]
ANSWERS = ["Paris", "Zürich", "yen", "4"]


def options(message):
    """The options that a message tells to type, those of `--map` one by one."""
    maps = re.findall(r"--map [a-z_]+=[^ ;,]+", message)
    return maps or re.findall(r'-m "[^"]+"', message)


def follow(path, option, metric="exact_match"):
    arguments = shlex.split(option)
    chosen = [] if arguments[0] == "-m" else ["-m", metric]
    done = CliRunner().invoke(main, ["score", str(path), "--json", *chosen, *arguments])
    if done.exit_code:
        return done.output
    return json.loads(done.stdout)["metrics"][0]["value"]


def refused(path, metric="exact_match"):
    done = CliRunner().invoke(main, ["score", str(path), "-m", metric])
    assert done.exit_code == 1
    return done.output


@pytest.mark.parametrize("orient", ["columns", "index", "records", "split", "table"])
def test_tables_of_pandas_are_read_in_every_orientation(tmp_path, orient):
    path = tmp_path / "frame.json"
    pd.DataFrame({"response": ANSWERS, "reference": GOLD, "n": range(4)}).to_json(path, orient=orient)
    value = karat.score(path, "exact_match").values["exact_match"]
    assert (value.value, value.n) == (0.75, 4)


@pytest.mark.parametrize("rows", [slice(0, 1), slice(1, 4, 2)])
def test_some_rows_of_a_frame_are_a_table_too(tmp_path, rows):
    path, frame = tmp_path / "frame.json", pd.DataFrame({"response": ANSWERS, "reference": GOLD}).iloc[rows]
    frame.to_json(path)
    assert karat.score(path, "exact_match").n == len(frame)
    assert karat.score(frame.to_dict(), "exact_match").values == karat.score(path, "exact_match").values


def test_a_row_of_objects_is_one_row(tmp_path):
    path = tmp_path / "row.json"
    path.write_text(json.dumps({"inputs": {"q": "Q"}, "outputs": {"text": "a"}, "reference": {"text": "a"}}))
    assert karat.score(path, "exact_match").n == 1


def test_every_column_that_fits_is_a_way_to_go_on(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame({"answer": ANSWERS, "expected": GOLD, "expected_output": ["x"] * 4}).to_csv(path, index=False)
    message = refused(path)
    assert [follow(path, option) for option in options(message)] == [0.75, 0.0]


def test_every_key_of_an_object_is_a_way_to_go_on(tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = (
        {"outputs": {"draft": "?", "final": answer}, "gold": gold} for answer, gold in zip(ANSWERS, GOLD, strict=True)
    )
    path.write_text("\n".join(map(json.dumps, rows)))
    assert [follow(path, option) for option in options(refused(path))] == [0.0, 0.75]


def test_of_many_keys_none_is_put_forward(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"outputs": {f"q{at}": "a" for at in range(9)}, "gold": "a"}))
    [option] = options(refused(path))
    assert option == "--map prediction=outputs.KEY"
    assert "no column 'outputs.KEY'" in follow(path, option) or "leads nowhere" in follow(path, option)


def test_lists_of_lists_and_objects_lead_to_paths_that_work(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prediction": "a", "gold": [["b"], ["a"]]}\n{"prediction": "b", "gold": [["c"]]}')
    [option] = options(refused(path))
    assert follow(path, option) == 0.5


def test_a_list_of_answers_names_the_setting_that_chooses_among_them(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prediction": ["x", "a"], "gold": "a"}\n{"prediction": ["b", "c"], "gold": "b"}')
    message = refused(path)
    assert karat.score(path, "exact_match(samples='first')").values.popitem()[1].value == 0.5
    assert "samples='first'" in message


@pytest.mark.parametrize(("form", "tool"), [("jsonl", "lm-evaluation-harness"), ("parquet", "lighteval")])
def test_choices_by_likelihood_lead_to_the_score_of_the_tool(tmp_path, form, tool):
    path = tmp_path / f"log.{form}"
    if form == "jsonl":
        rows = [
            {"doc_id": at, "target": str(at), "arguments": {}, "resps": [[["-0.1", "False"]]], "filter": "none"}
            | {"filtered_resps": [["-0.1", "False"], ["-0.5", "True"]], "metrics": ["acc", "acc_norm"]}
            | {"acc": float(at == 0), "acc_norm": float(at > 0)}
            for at in range(4)
        ]
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        doc = {"query": "Q", "choices": ["a", "b"], "gold_index": [0]}
        answer = {"text": [], "text_post_processed": [], "logprobs": [-1.0]}
        rows = [
            {"doc": doc, "model_response": answer, "metric": {"acc": at == 0, "acc_norm": at > 0}} for at in range(4)
        ]
        pq.write_table(pa.Table.from_pylist(rows), path)
    message = refused(path)
    assert f"{tool} asked for the likelihood of each choice" in message
    assert [follow(path, option) for option in options(message)] == [0.25, 0.75]


def test_columns_without_any_value_do_not_compete(tmp_path):
    path = tmp_path / "goldens.csv"
    with path.open("w", newline="") as file:
        names = ["input", "actual_output", "expected_output", "expectations", "prediction"]
        csv.writer(file).writerows([names, *(["Q", a, g, "", ""] for a, g in zip(ANSWERS, GOLD, strict=True))])
    result = karat.score(path, "exact_match")
    assert (result.values["exact_match"].value, result.mapping) == (
        0.75,
        {"prediction": "actual_output", "reference": "expected_output"},
    )
    rows = [
        {"actual_output": a, "expected_output": g, "expectations": None} for a, g in zip(ANSWERS, GOLD, strict=True)
    ]
    assert karat.score(rows, "exact_match").values["exact_match"].value == 0.75
    late = [*rows * 50, {"actual_output": "a", "expected_output": None, "expectations": "a"}]
    with pytest.raises(karat.errors.ColumnError, match="expectations and expected_output fit 'reference'"):
        karat.score(late, "exact_match")
