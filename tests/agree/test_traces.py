"""Traces and logs of other tools, read to the counts that were taken from them by hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import karat
from karat.data.open import open_source

DATA = Path(__file__).parents[3] / "shared" / "data" / "traces"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data is not here")
EXPECTED = json.loads((DATA / "expected.json").read_text()) if DATA.is_dir() else {}
TRULENS = [name for name in EXPECTED if name.startswith("trulens")]
KINDS = {"record_root": "CHAIN", "retrieval": "RETRIEVER", "generation": "LLM"}


def rows(source):
    return [row for batch in source.batches() for row in batch.to_pylist()]


@pytest.mark.parametrize("name", TRULENS)
def test_spans_of_trulens(name):
    expected, spans = EXPECTED[name], karat.spans(DATA / f"{name}.csv.gz")
    found = rows(spans)
    roots = [row for row in found if row["parent_id"] is None]
    retrievals = [row for row in found if row["span_kind"] == "RETRIEVER"]
    assert (len(found), len({row["trace_id"] for row in found})) == (expected["spans"], expected["traces"])
    assert spans.kinds == {KINDS.get(kind, kind.upper()): count for kind, count in expected["span_types"].items()}
    assert len(roots) == expected["roots"]
    assert [row["question"] for row in roots] == expected["root_input"]
    assert [row["prediction"] for row in roots] == expected["root_output"]
    assert [len(row["contexts"]) for row in retrievals] == expected["retrieved_contexts_per_retrieval_span"]
    assert {row["span_id"] for row in found} >= {row["parent_id"] for row in found} - {None}
    if retrievals:  # the one lies within the other: one retrieval
        assert roots[0]["contexts"] == retrievals[0]["contexts"] == retrievals[1]["contexts"]
        assert all(text.strip() for text in roots[0]["contexts"])
        assert {row["question"] for row in retrievals} == set(expected["root_input"])
        assert Counter(row["prediction"] for row in found if row["span_kind"] == "LLM") == {
            expected["root_output"][0]: 1
        }


@pytest.mark.parametrize("name", [name for name in EXPECTED if name.startswith("inspect")])
def test_logs_of_inspect(name):
    expected = EXPECTED[name]
    found = rows(open_source(DATA / (name if name.endswith(".eval") else f"{name}.gz")))
    assert len(found) == expected["samples"]
    assert {(row["task"], row["model"]) for row in found} == {(expected["task"], expected["model"])}
    scores = {
        str(row["id"]): {key.removeprefix("score."): value for key, value in row.items() if key.startswith("score.")}
        for row in found
    }
    assert scores == expected["sample_scores"]
    assert all(row["question"] and row["prediction"] and row["reference"] for row in found)
    for result in expected["results"]:  # Inspect's accuracy: the share of C, correct
        right = [row[f"score.{result['scorer']}"] == "C" for row in found]
        assert sum(right) / len(right) == result["metrics"]["accuracy"]


@pytest.mark.parametrize("name", [name for name in EXPECTED if name.startswith("evalscope")])
def test_logs_of_evalscope(name):
    expected, reviews = EXPECTED[name], open_source(DATA / f"{name}_reviews.jsonl.gz")
    found = rows(reviews)
    assert len(found) == len(rows(open_source(DATA / f"{name}_predictions.jsonl.gz"))) == expected["rows"]
    for metric, mean in expected["mean_of_reviews"].items():
        values = [json.loads(row["sample_score"])["score"]["value"][metric] for row in found]
        assert sum(values) / len(values) == pytest.approx(mean)
    if expected["targets"] is None:
        return
    assert [row["target"] for row in found] == expected["targets"]
    given = {"prediction": "sample_score.score.extracted_prediction", "reference": "target"}
    assert karat.score(reviews, "exact_match", map=given).values["exact_match"].value == expected["report_score"]


def test_annotations_of_ragas():
    found = rows(open_source(DATA / "ragas_annotated_data.json.gz"))
    for metric, expected in EXPECTED["ragas_annotated_data.json"].items():
        theirs = [row for row in found if row["metric"] == metric]
        assert len(theirs) == expected["rows"]
        assert sum(row["is_accepted"] for row in theirs) == expected["accepted"]
        assert Counter(str(row["metric_output"]) for row in theirs) == expected["outputs"]
        edited = [any(prompt.get("edited_output") for prompt in json.loads(row["prompts"]).values()) for row in theirs]
        assert sum(edited) == expected["edited"]
