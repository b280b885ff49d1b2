"""`math_match` equals Math-Verify's, MATH's and GSM8K's own results."""

import gzip
import json
from pathlib import Path

import pytest

from karat.metrics import math_match, numeric_match

DATA = Path(__file__).parents[2] / "../shared/data/math"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the data folder is not here")
PLACES = {133: 2, 139: 4, 188: 5, 189: 5}  # Math-Verify's `precision` of these cases, by row
RANGES = {186}  # its `allow_set_relation_comp`


def rows_of(name):
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def expected():
    return json.loads((DATA / "expected.json").read_text("utf-8"))


def notation(call):
    return "latex" if "['latex']" in call else "plain" if "['expr']" in call else "any"


def test_every_result_of_math_verifys_own_cases():
    pytest.importorskip("sympy")
    rows = rows_of("math_verify_cases.jsonl")
    wrong = [
        (index, row["gold"][-80:], row["pred"][-80:], row["expected"])
        for index, row in enumerate(rows)
        if math_match(
            [row["pred"]],
            [row["gold"]],
            notation=notation(row["call"]),
            places=PLACES.get(index, 6),
            ranges=index in RANGES,
        ).to_pylist()
        != [float(row["expected"])]
    ]
    assert len(rows) == expected()["math_verify_test_all"]["rows"]
    assert wrong == []


def test_the_stricter_cases_of_math():
    rows = rows_of("hendrycks_is_equiv_cases.jsonl")
    scores = math_match([row["pred"] for row in rows], [row["gold"] for row in rows], strict=True).to_pylist()
    assert scores == [float(row["expected"]) for row in rows]
    assert len(rows) == expected()["hendrycks_is_equiv"]["rows"]


@pytest.mark.parametrize("system", ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"])
@pytest.mark.parametrize("metric", [numeric_match, math_match], ids=lambda m: m.name)
def test_the_accuracies_of_gsm8k(metric, system):
    with gzip.open(DATA / "gsm8k_example_model_solutions.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    given, references = (
        [text.rpartition("A:")[2].strip() for text in texts]
        for texts in ([row[system]["solution"] for row in rows], [row["ground_truth"] for row in rows])
    )
    scores = metric(given, references).to_pylist()
    assert scores == [float(row[system]["is_correct"]) for row in rows]
    assert sum(scores) / len(scores) == pytest.approx(expected()["gsm8k_example_model_solutions"][system]["accuracy"])
