"""`math_match` on answers whose verdict is known: by construction, and case by case beside Math-Verify."""

import json
import runpy
from collections import Counter
from pathlib import Path

import pytest

from karat.metrics import math_match

PAIRS = runpy.run_path(str(Path(__file__).with_name("math_pairs.py")))
CASES = [json.loads(line) for line in (Path(__file__).parent / "math_cases.jsonl").read_text("utf-8").splitlines()]
PATIENT = math_match.using(seconds=60.0)  # enough on a busy machine


@pytest.mark.parametrize("seed", range(4))
def test_generated_pairs_have_the_verdict_that_they_were_built_with(seed):
    pytest.importorskip("sympy")
    pairs = list(PAIRS["generate"](20 * len(PAIRS["SHAPES"]), seed))
    scores = PATIENT([pair.prediction for pair in pairs], [pair.gold for pair in pairs]).to_pylist()
    assert [pair for pair, score in zip(pairs, scores, strict=True) if score != float(pair.equal)] == []
    assert min(Counter(pair.shape for pair in pairs).values()) == 20


def test_every_case_has_its_verdict():
    pytest.importorskip("sympy")
    scores = PATIENT([case["prediction"] for case in CASES], [case["gold"] for case in CASES]).to_pylist()
    assert [case for case, score in zip(CASES, scores, strict=True) if score != float(case["equal"])] == []


def test_math_verify_differs_in_the_cases_that_give_a_reason():
    math_verify = pytest.importorskip("math_verify")

    def differs(case):
        given = [math_verify.parse(case[side], parsing_timeout=None) for side in ("gold", "prediction")]
        return bool(math_verify.verify(*given, timeout_seconds=None)) != case["equal"]

    assert [case for case in CASES if "differs" in case and not differs(case)] == []


@pytest.mark.parametrize(
    ("prediction", "strict", "score"),
    [
        ("I do not know; see page 12", False, 1.0),
        ("I do not know; see page 12", "answer", 0.0),
        ("The answer is 12.", "answer", 1.0),
        (r"So \boxed{12}", "answer", 1.0),
        ("12", "answer", 1.0),
        ("The answer is 12.", True, 0.0),
    ],
)
def test_strict_says_where_an_answer_may_stand(prediction, strict, score):
    assert math_match.using(strict=strict)([prediction], ["12"]).to_pylist() == [score]


@pytest.mark.parametrize(
    ("prediction", "reference", "relative", "score"),
    [
        ("6.62e-34", "6.63e-34", 0.0, 0.0),
        ("6.62e-34", "6.63e-34", 0.01, 1.0),
        ("3.14", r"$\pi$", 0.001, 1.0),
        ("3.1", r"$\pi$", 0.001, 0.0),
        ("$(3.14, 1)$", r"$(\pi, 1)$", 0.001, 1.0),
        ("0", "4.1e-08", 0.01, 0.0),
    ],
)
def test_relative_is_a_tolerance(prediction, reference, relative, score):
    assert math_match.using(relative=relative)([prediction], [reference]).to_pylist() == [score]
