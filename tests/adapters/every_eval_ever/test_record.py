"""Records are what the format's own schema accepts, and say what the run says."""

import json
from pathlib import Path

import pytest

import karat
from karat.adapters.every_eval_ever import write_record
from karat.core.errors import DataError
from karat.judges.rubric import load

Draft7Validator = pytest.importorskip("jsonschema").Draft7Validator

VALIDATOR = Draft7Validator(json.loads((Path(__file__).parent / "eval.schema.json").read_text()))
ROWS = {"prediction": ["a b", "a", None], "reference": ["a b", "a c", "a"], "question": ["?"] * 3}
ABOUT = {"model": "acme/answers-7b", "dataset": "openqa", "organization": "Acme"}


def record(result, path, **about):
    write_record(result, path, **ABOUT, **about)
    found = json.loads(path.read_text("utf-8"))
    VALIDATOR.validate(found)
    return found


def test_a_record_has_values_ranges_and_intervals(tmp_path):
    result = karat.score(ROWS, ["exact_match", "wer"])
    found = record(
        result, tmp_path / "record.json", hf_repo="acme/openqa", relationship="first_party", developer="Acme"
    )
    assert found["model_info"] == {"name": "answers-7b", "id": "acme/answers-7b", "developer": "Acme"}
    first, second = found["evaluation_results"]
    value = result.values["exact_match"]
    assert first["evaluation_name"] == "openqa: exact_match"
    assert first["source_data"] == {"dataset_name": "openqa", "source_type": "hf_dataset", "hf_repo": "acme/openqa"}
    assert first["score_details"] == {
        "score": 0.5,
        "details": {"rows": "3", "unscored": "1"},
        "uncertainty": {
            "num_samples": 2,
            "confidence_interval": {"lower": value.low, "upper": value.high, "confidence_level": 0.95},
        },
    }
    assert (first["metric_config"]["min_score"], first["metric_config"]["max_score"]) == (0, 1)
    assert first["metric_config"]["additional_details"]["signature"] == result.metrics[0].signature
    assert second["metric_config"]["lower_is_better"]
    assert second["metric_config"]["additional_details"]["max_score"] == "unbounded"


def test_a_judge_is_named_with_its_prompt(tmp_path):
    (tmp_path / "scored.jsonl").write_text(json.dumps({"judge:conciseness(model='acme/small')": 1.0}))
    (found,) = record(tmp_path / "scored.jsonl", tmp_path / "record.json")["evaluation_results"]
    told = found["metric_config"]["llm_scoring"]
    assert told["judges"] == [{"model_info": {"name": "small", "id": "acme/small"}}]
    assert told["input_prompt"] == load("conciseness").task


@pytest.mark.parametrize(
    ("rows", "about", "expected"),
    [
        ({**ROWS, "prediction": [None] * 3}, {}, "exact_match has no value"),
        (ROWS, {"relationship": "friend"}, "relationship: expected first_party, .*, found 'friend'"),
    ],
)
def test_what_the_format_cannot_hold_is_refused(tmp_path, rows, about, expected):
    with pytest.raises(DataError, match=expected):
        record(karat.score(rows, "exact_match"), tmp_path / "record.json", **about)
    assert not (tmp_path / "record.json").exists()
