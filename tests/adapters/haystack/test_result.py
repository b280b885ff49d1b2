"""The reports of an evaluation run against Haystack's, and the intended differences."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import csv

import pytest

pytest.importorskip("haystack")

from haystack.evaluation import EvaluationRunResult as Theirs

from karat.adapters.haystack import EvaluationRunResult

INPUTS = {"question": ["Capital?", "Río?"], "contexts": [["a"], ["b", "c"]]}
RESULTS = {
    "em": {"individual_scores": [1, 0], "score": 0.5, "interval": [0.1, 0.9]},
    "mrr": {"individual_scores": [1, 0.5], "score": 0.75},
}
OTHER = {"em": {"individual_scores": [0, 0], "score": 0.0}, "sas": {"individual_scores": [0.1, 0.2], "score": 0.15}}


@pytest.mark.parametrize("output_format", ["json", "df", "csv"])
@pytest.mark.parametrize(
    "report",
    [
        lambda kind, **to: kind("a", INPUTS, RESULTS).aggregated_report(**to),
        lambda kind, **to: kind("a", INPUTS, RESULTS).detailed_report(**to),
        lambda kind, **to: kind("a", INPUTS, RESULTS).comparative_detailed_report(kind("b", INPUTS, OTHER), **to),
        lambda kind, **to: kind("a", INPUTS, RESULTS).comparative_detailed_report(
            kind("b", INPUTS, OTHER), keep_columns=["question"], **to
        ),
        lambda kind, **to: kind("a", INPUTS, RESULTS).comparative_detailed_report(
            kind("b", {**INPUTS, "more": [1, 2]}, OTHER), **to
        ),
    ],
)
def test_reports_equal_haystacks(report, output_format, tmp_path):
    ours, theirs = tmp_path / "ours.csv", tmp_path / "theirs.csv"
    to = {"csv_file": str(ours)} if output_format == "csv" else {}
    made = report(EvaluationRunResult, output_format=output_format, **to)
    expected = report(Theirs, output_format=output_format, **({"csv_file": str(theirs)} if to else {}))
    if output_format == "df":
        assert made.equals(expected)
        assert list(made.columns) == list(expected.columns)
    elif output_format == "csv":
        assert made == f"Data successfully written to {ours}"
        assert ours.read_bytes() == theirs.read_bytes()
    else:
        assert made == expected
        assert list(made) == list(expected)


def error_of(call):
    with pytest.raises(ValueError) as raised:  # noqa: PT011  (the words are what is compared)
        call()
    return str(raised.value)


@pytest.mark.parametrize(
    ("inputs", "results"),
    [
        ({}, RESULTS),
        ({"a": [1], "b": [1, 2]}, {}),
        (INPUTS, {"em": {"individual_scores": [1, 0]}}),
        (INPUTS, {"em": {"score": 1}}),
        (INPUTS, {"em": {"score": 1, "individual_scores": [1]}}),
    ],
)
def test_invalid_runs_give_haystacks_messages(inputs, results):
    assert error_of(lambda: EvaluationRunResult("a", inputs, results)) == error_of(lambda: Theirs("a", inputs, results))


@pytest.mark.parametrize("settings", [{"output_format": "xml"}, {"output_format": "csv"}])
def test_a_wrong_format_gives_haystacks_message(settings):
    assert error_of(lambda: EvaluationRunResult("a", INPUTS, RESULTS).detailed_report(**settings)) == error_of(
        lambda: Theirs("a", INPUTS, RESULTS).detailed_report(**settings)
    )


def test_a_run_is_one_of_haystacks():
    ours, theirs = EvaluationRunResult("a", INPUTS, RESULTS), Theirs("b", INPUTS, OTHER)
    assert isinstance(ours, Theirs)
    assert ours.comparative_detailed_report(theirs) == Theirs("a", INPUTS, RESULTS).comparative_detailed_report(theirs)
    assert theirs.comparative_detailed_report(ours) == theirs.comparative_detailed_report(Theirs("a", INPUTS, RESULTS))


def test_only_runs_are_compared():
    with pytest.raises(TypeError, match="Comparative scores can only be computed between"):
        EvaluationRunResult("a", INPUTS, RESULTS).comparative_detailed_report(RESULTS)


def test_a_run_keeps_its_own_copy():
    inputs = {"question": ["a"]}
    run = EvaluationRunResult("a", inputs, {})
    inputs["question"].append("b")
    assert run.inputs == {"question": ["a"]}


def test_a_file_is_written_in_utf_8_and_a_failure_is_raised(tmp_path):
    run = EvaluationRunResult("a", INPUTS, RESULTS)
    run.detailed_report("csv", tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file))[2] == ["Río?", "['b', 'c']", "0", "0.5"]
    with pytest.raises(OSError, match="missing"):
        run.detailed_report("csv", tmp_path / "missing" / "out.csv")


def test_an_unscored_row_is_reported_although_haystack_fails():
    results = {"em": {"individual_scores": [None, 1.0], "score": 1.0}}
    with pytest.raises(TypeError):
        Theirs("a", INPUTS, results).detailed_report()
    assert EvaluationRunResult("a", INPUTS, results).detailed_report()["em"] == [None, 1.0]


def test_equal_names_are_refused_although_haystack_keeps_one_of_two():
    run = EvaluationRunResult("a", INPUTS, RESULTS)
    with pytest.raises(ValueError, match="both runs are named 'a'"):
        run.comparative_detailed_report(EvaluationRunResult("a", INPUTS, OTHER))
    with pytest.raises(ValueError, match="'question' is an input and a metric"):
        EvaluationRunResult("a", INPUTS, {"question": RESULTS["em"]})
    with pytest.raises(ValueError, match="two columns would be named 'a_b_em'"):
        EvaluationRunResult("a_b", INPUTS, OTHER).comparative_detailed_report(
            EvaluationRunResult("a", INPUTS, {"b_em": RESULTS["em"]})
        )


def test_runs_of_unequal_length_are_refused():
    short = EvaluationRunResult("b", {"question": ["Capital?"]}, {"em": {"individual_scores": [1], "score": 1}})
    with pytest.raises(ValueError, match="'a' and 'b' have different lengths"):
        EvaluationRunResult("a", INPUTS, RESULTS).comparative_detailed_report(short)


def test_a_column_to_keep_that_is_no_input_is_refused():
    run = EvaluationRunResult("a", INPUTS, RESULTS)
    with pytest.raises(ValueError, match="there is no input 'questions'; did you mean 'question'"):
        run.comparative_detailed_report(EvaluationRunResult("b", INPUTS, OTHER), keep_columns=["questions"])
