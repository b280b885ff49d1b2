"""Logs with a likelihood for each choice: the most likely choice is the answer, and exact match the tool's accuracy."""

from __future__ import annotations

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.core.errors import ColumnError

CHOICES = ["Paris", "Bern", "Rome"]
BEST = [0, 1, 2, 0]
GOLD = [0, 1, 0, 1]


def lm_eval(target=str, arguments=dict, pairs=str, before="Q", choices=CHOICES, unconditioned=0):
    for doc, (best, gold) in enumerate(zip(BEST, GOLD, strict=True)):
        found = [[pairs(-0.5 if at == best else -2.5), pairs(at == best)] for at in range(3)]
        found += [[pairs(-0.1), pairs(False)]] * unconditioned
        requests = [[before, f" {choice}"] for choice in choices] + [["", f" {choice}"] for choice in choices][
            :unconditioned
        ]
        named = {f"gen_args_{at}": {"arg_0": one, "arg_1": two} for at, (one, two) in enumerate(requests)}
        yield {"doc_id": doc, "target": target(gold), "arguments": named if arguments is dict else requests} | {
            "resps": [[each] for each in found],
            "filtered_resps": found,
            "filter": "none",
            "metrics": ["acc"],
            "acc": float(best == gold),
        }


def written(folder, rows):
    path = folder / "samples_qa.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.mark.parametrize("arguments", [dict, list])
@pytest.mark.parametrize("pairs", [str, lambda value: value])
@pytest.mark.parametrize("target", [str, int, CHOICES.__getitem__, lambda gold: f" {CHOICES[gold]}"])
def test_the_most_likely_choice_of_lm_eval_is_its_answer(tmp_path, target, arguments, pairs):
    path = written(tmp_path, lm_eval(target, arguments, pairs))
    result = karat.score(path, ["em", "column(acc)"])
    assert [value.value for value in result.values.values()] == [0.5, 0.5]
    assert result.tools == ("lm-evaluation-harness",)


def test_likelihoods_that_mutual_information_subtracts_are_no_choices(tmp_path):
    assert karat.score(written(tmp_path, lm_eval(unconditioned=3)), "em").values["em"].value == 0.5


def test_one_of_several_right_choices_is_right(tmp_path):
    path = written(tmp_path, lm_eval(target=lambda gold: str([gold, 2])))
    assert karat.score(path, "em").values["em"].value == 0.75


def test_a_target_that_names_no_choice_leaves_the_row_unscored(tmp_path):
    result = karat.score(written(tmp_path, lm_eval(target=lambda gold: str(-100 if gold else 0))), "em").values["em"]
    assert (result.n, result.scored, result.value) == (4, 2, 0.5)


@pytest.mark.parametrize("rows", [{"choices": ["the same"] * 3}, {"choices": ["Paris"]}])
def test_where_the_gold_is_not_in_the_log_the_scores_of_the_tool_are_named(tmp_path, rows):
    path = written(tmp_path, lm_eval(**rows))
    with pytest.raises(ColumnError, match=r"take its own scores: -m \"column\(acc\)\""):
        karat.score(path, "em")


def test_choices_in_cells_of_text_are_read(tmp_path):
    path = tmp_path / "samples.csv"
    with path.open("w", newline="") as file:
        rows = list(lm_eval())
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert karat.score(path, "em").values["em"].value == 0.5


@pytest.mark.parametrize("form", ["parquet", "jsonl", "json"])
@pytest.mark.parametrize("marks", ["", "__"])
@pytest.mark.parametrize("index", [lambda gold: gold, lambda gold: [gold]])
def test_the_most_likely_choice_of_lighteval_is_its_answer(tmp_path, marks, index, form):
    rows = [
        {
            f"{marks}doc{marks}": {"query": "Q", "choices": CHOICES, "gold_index": index(gold)},
            f"{marks}model_response{marks}": {
                "text": [],
                "text_post_processed": [],
                "logprobs": [-0.5 if at == best else -2.5 for at in range(3)],
            },
            f"{marks}metric{marks}": {"acc": int(best == gold)},
        }
        for best, gold in zip(BEST, GOLD, strict=True)
    ]
    path = tmp_path / f"details.{form}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text(json.dumps(rows) if form == "json" else "\n".join(map(json.dumps, rows)))
    result = karat.score(path, ["em", f"column('{marks}metric{marks}.acc')"])
    assert [value.value for value in result.values.values()] == [0.5, 0.5]
    assert result.tools == ("lighteval",)
