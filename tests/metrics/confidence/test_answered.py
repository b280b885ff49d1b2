"""`answered`: SimpleQA's measures, SQuAD 2.0's figures of its own predictions, and what counts as declining."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.core.errors import SpecError
from karat.core.metric.spec import parse
from karat.metrics import answered

MEASURES = ("coverage", "accuracy", "f", "correct", "score")
GRADES = st.lists(st.sampled_from(["CORRECT", "INCORRECT", "NOT_ATTEMPTED"]), min_size=1, max_size=30)


def values(rows, *specs):
    found = karat.score(rows, list(specs))
    return [value.value for value in found.values.values()]


def simpleqa(grades):
    """The aggregation of SimpleQA in simple-evals: shares of grades, accuracy given attempted, and F."""
    correct, incorrect = (grades.count(each) / len(grades) for each in ("CORRECT", "INCORRECT"))
    attempted = correct + incorrect
    accuracy = correct / attempted if attempted else None
    f = 2 * accuracy * correct / (accuracy + correct) if accuracy else 0
    return {"coverage": attempted, "accuracy": accuracy, "f": f, "correct": correct, "score": correct - incorrect}


@given(GRADES)
def test_the_measures_of_graded_answers_are_those_of_simpleqa(grades):
    rows = {"grade": grades, "right": [each == "CORRECT" for each in grades]}
    specs = [f"answered(column(right), column=grade, abstain=['NOT_ATTEMPTED'], measure={each})" for each in MEASURES]
    for found, expected in zip(values(rows, *specs), simpleqa(grades).values(), strict=True):
        assert found == (expected if expected is None else pytest.approx(expected, abs=1e-9))


@given(GRADES, st.floats(0, 0.95))
def test_the_penalty_of_a_threshold_makes_a_guess_at_that_confidence_worth_nothing(grades, threshold):
    rows = {"grade": grades, "right": [each == "CORRECT" for each in grades]}
    spec = f"answered(column(right), column=grade, abstain=['NOT_ATTEMPTED'], measure=score, threshold={threshold!r})"
    points = {"CORRECT": 1, "INCORRECT": -threshold / (1 - threshold), "NOT_ATTEMPTED": 0}
    assert values(rows, spec) == [pytest.approx(np.mean([points[each] for each in grades]), abs=1e-9)]


def test_declining_is_the_whole_of_a_prediction():
    declines = [
        *("", "  ", "I don't know.", "i do not know the answer", "I'm sorry, but I cannot answer this question."),
        *("Sorry, I don’t know!", "I can't answer that question", "Unanswerable", "no answer"),
        *("Not enough information.", "I am unable to answer", "The question cannot be answered."),
    ]
    attempts = ["I don't know, perhaps Paris", "Nobody knows", "unknown", "None", "N/A", "No", "It has no answer"]
    texts = declines + attempts
    assert answered(texts, ["gold"] * len(texts)).to_pylist() == [0.0] * len(declines) + [1.0] * len(attempts)
    own = answered.using(abstain=[".*knows.*", "n/a"])
    assert own(["Nobody knows", "N/A", "I don't know"], ["a", "b", "c"]).to_pylist() == [0.0, 0.0, 1.0]


def test_rows_are_labelled_and_counted_beside_every_measure():
    rows = {
        "prediction": ["a", "x", "no answer", "", "y", "the cat sat", None],
        "reference": [["a"], ["a"], ["a"], [], [""], ["cat sat down"], ["a"]],
    }
    result = karat.score(rows, "answered(f1, measure=accuracy)")
    labels = ["correct", "wrong", "not attempted", "declined the unanswerable", "answered the unanswerable"]
    spec = "answered(token_f1, measure='accuracy')"
    assert result.table[f"{spec}.label"].to_pylist() == [*labels, "partly correct", None]
    assert result.counts[spec]["label"] == dict.fromkeys([*labels, "partly correct"], 1)
    assert result.values[spec].value == pytest.approx((1 + 0.8) / 4)
    assert (result.values[spec].scored, result.values[spec].unscored) == (6, 1)


def test_a_row_without_a_prediction_declines_if_told():
    rows = {"prediction": ["a", None], "reference": ["a", "a"]}
    (value,) = karat.score(rows, "answered(exact_match, null=declines)").values.values()
    assert (value.value, value.scored) == (0.5, 2)
    (value,) = karat.score(rows, "answered(exact_match)").values.values()
    assert (value.value, value.scored) == (1.0, 1)


def test_declining_the_answerable_and_the_unanswerable_are_apart():
    rows = {"prediction": ["", "a", "", "x", ""], "reference": [["a"], ["a"], [], [], []]}
    found = values(
        rows, *(f"answered(exact_match, measure={each})" for each in ("declined_answerable", "declined_unanswerable"))
    )
    assert found == [0.5, pytest.approx(2 / 3)]
    assert parse("answered(exact_match, measure=declined_answerable)").definition.direction == "minimize"
    assert values(
        {"prediction": ["a"], "reference": ["a"]}, "answered(exact_match, measure=declined_unanswerable)"
    ) == [None]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("answered(column(right))", "reads no prediction; column=NAME"),
        ("answered(exact_match, threshold=1)", "from 0 to 0.999"),
        ("answered(exact_match, threshold=0.5, penalty=2)", "give one of them"),
        ("answered(wer)", "scores from 0 to 1 is expected"),
        ("answered(exact_match, measure=recall)", "not one of its values"),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(spec, message):
    with pytest.raises(SpecError, match=message):
        parse(spec)


def test_patterns_that_are_none_are_refused():
    with pytest.raises(SpecError, match="are not patterns"):
        answered.using(abstain=["("])(["a"], ["a"])


def test_runs_are_compared(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    for name, wrong in (("a", "b"), ("b", "I don't know")):
        rows = {"id": range(60), "prediction": ["a"] * 30 + [wrong] * 30, "reference": ["a"] * 60}
        karat.score(rows, ["answered(exact_match, measure=score)", "answered(exact_match)"], run=name)
    better, fewer = karat.compare("a", "b").findings
    assert (better.verdict, better.comparison.difference) == ("better", pytest.approx(0.5))
    assert (fewer.comparison.difference, math.isclose(fewer.comparison.a, 1)) == (-0.5, True)


def test_squad_2_apart_for_questions_with_and_without_an_answer(real_data, expected):
    folder, figures = real_data("squad"), expected("squad")["2.0/bidaf_selfattn_elmo_single"]
    gold, predictions = folder / "gold_dev_2.0.json.gz", folder / "pred_2.0_bidaf_selfattn_elmo_single.json.gz"
    names = {}
    for inner, figure in (("exact_match(normalize=squad)", "exact"), ("token_f1", "f1")):
        names[f"answered({inner}, measure=correct, abstain=[])"] = figure
        names[f"answered({inner}, measure=answerable, abstain=[])"] = f"HasAns_{figure}"
        names[f"answered({inner}, measure=declined_unanswerable, abstain=[])"] = f"NoAns_{figure}"
    result = karat.score(predictions, list(names), gold=gold, on="id")
    for value, figure in zip(result.values.values(), names.values(), strict=True):
        assert 100 * value.value == pytest.approx(figures[figure], abs=1e-9, rel=0)
    assert sum(next(iter(result.counts.values()))["label"].values()) == figures["total"]
