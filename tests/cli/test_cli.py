import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from karat.cli.main import main

ANSWERS = """{"prediction": "Paris", "gold": "Paris", "topic": "towns"}
{"prediction": "the Seine", "gold": "Seine", "topic": "rivers"}
{"prediction": null, "gold": "Nile", "topic": "rivers"}
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.jsonl").write_text(ANSWERS)

    def invoke(*words, **options):
        return CliRunner().invoke(main, list(words), **options)

    return invoke


def test_a_table_of_values_with_the_mapping(run):
    result = run("score", "answers.jsonl", "-m", "em", "-m", "token_f1")
    assert result.exit_code == 0
    assert "prediction ← prediction  reference ← gold" in result.output
    line = next(line for line in result.output.splitlines() if line.startswith("token_f1"))
    assert line.split() == ["token_f1", "1.0000", *line.split()[2:5], "3", "1", "0.6667", "to", "1.0000"]


def test_exact_match_and_f1_by_one_rule(run):
    def score(*metrics):
        return run("score", "answers.jsonl", *(word for each in metrics for word in ("-m", each))).output

    for metrics in (["squad"], ["preset:squad"], ["em", "f1"], ["EM", "F1"]):
        lines = [line.split()[:2] for line in score(*metrics).splitlines() if line.startswith(("em", "f1"))]
        assert lines == [["em", "1.0000"], ["f1", "1.0000"]]
        assert "character by character" not in score(*metrics)
    assert "em is the exact match after SQuAD's" in score("em", "f1", "exact_match")
    assert "token_f1 ignores case, punctuation and articles; -m em does so too" in score("exact_match", "token_f1")
    assert "em is given twice" in score("exact_match(normalize=squad)", "em")
    assert all(part in run("metrics", "squad").output for part in ("preset:squad", "\n  f1\n", "evaluate-v2.0.py"))
    assert "preset:squad " in run("metrics").output


def test_json_is_one_object_with_the_documented_fields(run):
    result = run("score", "answers.jsonl", "-m", "exact_match", "--by", "topic", "--json")
    said = json.loads(result.stdout)
    assert list(said) == ["n", "mapping", "metrics"]
    fields = ["value", "low", "high", "n", "scored", "unscored", "worst", "best"]
    ends = ["all_low", "all_high"]  # where rows are unscored
    assert list(said["metrics"][0]) == ["spec", "signature", *fields, *ends, "groups", "caution"]
    assert list(said["metrics"][0]["groups"]["rivers"]) == [*fields, *ends]
    assert (said["metrics"][0]["value"], said["metrics"][0]["groups"]["rivers"]["value"]) == (0.5, 0.0)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet", "arrow", "tsv.gz", "json.zst"])
def test_scored_rows_are_written_and_can_be_scored_again(run, ending):
    assert run("score", "answers.jsonl", "-m", "em", "-o", f"out.{ending}").exit_code == 0
    again = run("score", f"out.{ending}", "-m", "f1", "--json", "--where", "topic = 'towns'")
    assert json.loads(again.stdout)["metrics"][0]["value"] == 1.0


def test_standard_input_and_globs(run, tmp_path):
    piped = run("score", "-", "-m", "em", "--json", input=ANSWERS)
    assert json.loads(piped.stdout)["n"] == 3
    (tmp_path / "more.jsonl").write_text(ANSWERS)
    assert json.loads(run("score", "*.jsonl", "-m", "em", "--json").stdout)["n"] == 6


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["score", "answers.jsonl"], 2, "Missing option '-m' / '--metric'. -m em -m f1, for example"),
        (["score", "answers.jsonl", "-m", "exact_mtch"], 2, "did you mean 'exact_match'"),
        (["score", "answers.jsonl", "-m", "em(normalise=squad)"], 2, "did you mean 'normalize'"),
        (["score", "answers.jsonl", "-m", "em", "--map", "prediction"], 2, "expected ROLE=COLUMN"),
        (["score", "answers.jsonl", "-m", "em", "--map", "reference=golt"], 1, "did you mean 'gold'"),
        (["score", "nowhere.jsonl", "-m", "em"], 1, "nowhere.jsonl"),
        (["score", "answers.jsonl", "-m", "em", "-o", "out.xlsx"], 1, ".parquet"),
        (["score", "answers.jsonl", "-m", "em", "--fail-under", "high"], 2, "expected a number or SPEC=NUMBER"),
        (["score", "answers.jsonl", "-m", "em", "--fail-under", "f1=0.5"], 2, "not among the metrics"),
        (["score", "answers.jsonl", "-m", "em", "--confidence", "95"], 2, "confidence"),
        (["metrics", "exakt_match"], 2, "did you mean 'exact_match'"),
    ],
)
def test_what_cannot_be_done_says_what_to_do(run, words, code, said):
    result = run(*words)
    assert result.exit_code == code
    assert said in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("floors", "code"),
    [
        (["0.4"], 0),
        (["1.1"], 3),
        (["token_f1=0.9"], 0),
        (["exact_match(normalize=squad)=1.1"], 3),
        (["em=0.5", "f1=1"], 0),
        (["em=0.5", "f1=1.01"], 3),
    ],
)
def test_fail_under_has_an_exit_code_of_its_own(run, floors, code):
    flags = [word for floor in floors for word in ("--fail-under", floor)]
    result = run("score", "answers.jsonl", "-m", "em", "-m", "f1", "--json", *flags)
    assert result.exit_code == code
    assert json.loads(result.stdout)["n"] == 3
    assert ("was asked for" in result.stderr) == (code == 3)


def test_metrics_are_listed_and_explained_from_their_definitions(run):
    listed = run("metrics").output
    assert "token_f1" in listed
    assert "F1 between the bags of tokens" in listed
    explained = run("metrics", "f1").output
    for part in ("also: f1", "normalize = 'squad'", "of 'v2', 'v1'", "arXiv:1806.03822", "signature  token_f1("):
        assert part in explained


def test_doctor_says_what_is_there_and_how_to_mend_what_is_not(run):
    said = run("doctor").output
    assert "karat.text.kernel is " in said
    assert "pyarrow" in said


def test_a_hostile_pattern_cannot_hang_a_run(run, tmp_path):
    (tmp_path / "long.jsonl").write_text(json.dumps({"prediction": "a" * 5000 + "!"}) + "\n")
    result = run("score", "long.jsonl", "-m", "matches_regex(pattern='(a+)+$')", "--json")
    assert json.loads(result.stdout)["metrics"][0]["value"] == 0.0


def test_nothing_but_the_result_goes_to_a_pipe(tmp_path):
    (tmp_path / "answers.jsonl").write_text(ANSWERS)
    command = [sys.executable, "-m", "karat", "score", "answers.jsonl", "-m", "em", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, env=os.environ)
    assert json.loads(done.stdout)["n"] == 3
    assert done.stderr == ""


def test_text_that_looks_like_markup_stays_text(run, tmp_path):
    (tmp_path / "odd.jsonl").write_text('{"prediction": "a", "gold": "a", "[b]": "[/x]"}\n')
    result = run("score", "odd.jsonl", "-m", "matches_regex(pattern='[a-z]+')", "--by", "[b]", "--confidence", "0.995")
    assert result.exit_code == 0
    for part in ("[a-z]+", "[/x]", "[b]", "99.5 % interval"):
        assert part in result.output


def test_a_command_in_which_nothing_was_scored_never_ends_well(run, tmp_path):
    result = run("score", "answers.jsonl", "-m", "em", "--where", "topic = 'none'")
    assert (result.exit_code, "nothing was scored by em: none of 0 rows" in result.stderr) == (1, True)
    (tmp_path / "empty.jsonl").write_text('{"prediction": null, "gold": "a"}\n' * 2)
    result = run("score", "empty.jsonl", "-m", "em", "-m", "f1", "--json")
    assert json.loads(result.stdout)["n"] == 2
    assert result.exit_code == 1
    assert "by em, f1: none of 2 rows has a score; prediction is null" in result.stderr


def test_reasons_are_counted_under_the_table(run):
    assert "\nprediction is null in 1 of 3 rows" in run("score", "answers.jsonl", "-m", "em").output
