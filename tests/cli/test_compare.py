"""`karat compare` and `karat power`: what they print, and how they end."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main

N = 80
random = np.random.default_rng(1)
RIGHT = {"before": random.random(N) < 0.3, "after": random.random(N) < 0.8}
RIGHT["again"] = np.roll(RIGHT["before"], 1)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KARAT_RUNS", raising=False)
    for name, right in RIGHT.items():
        rows = [
            {
                "id": row,
                "question": f"is it {row}?",
                "topic": "ab"[row % 2],
                "gold": "yes",
                "prediction": ["no", "yes"][ok],
            }
            for row, ok in enumerate(right.tolist())
        ]
        karat.score(rows, ["exact_match", "token_f1"], run=name, output=f"{name}.parquet")
    return lambda *words: CliRunner().invoke(main, list(words))


def test_a_table_and_a_verdict_in_words(run):
    result = run("compare", "before", "after")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == "80 rows, compared row by row, by id"
    assert lines[1].split()[:4] == ["metric", "before", "after", "difference"]
    row = next(line for line in lines if line.startswith("exact_match ")).split()
    assert row[1:4] == [f"{RIGHT['before'].mean():.4f}", f"{RIGHT['after'].mean():.4f}", f"{row[3]}"]
    assert "mcnemar" in row
    assert any(line.startswith("exact_match: after is better than before by ") for line in lines)
    assert any("after Holm over 2" in line for line in lines)


def test_several_systems_have_a_line_each_against_the_first(run):
    result = run("compare", "before", "after", "again", "-m", "exact_match", "--by", "topic")
    rows = [line.split()[:2] for line in result.output.splitlines() if line.startswith(("exact_match ", "  "))]
    assert rows == [[label, system] for system in ("after", "again") for label in ("exact_match", "a", "b")]


def test_files_are_compared_like_runs(run):
    numbers = [
        [each["difference"] for each in json.loads(run("compare", *systems, "--json").stdout)["findings"]]
        for systems in (("before", "after"), ("before.parquet", "after.parquet"))
    ]
    assert numbers[0] == numbers[1]


def test_flipped_rows_are_shown_with_question_and_both_predictions(run):
    result = run("compare", "before", "after", "-m", "exact_match", "--flipped", "1")
    won = int(np.flatnonzero(RIGHT["after"] & ~RIGHT["before"]).astype(str).tolist() and
              min(np.flatnonzero(RIGHT["after"] & ~RIGHT["before"]).astype(str).tolist()))  # fmt: skip
    shown = (
        f"{won}   exact_match 0.0000 → 1.0000\n  question  is it {won}?\n  before    [-no-]\n  after     {{+yes+}}\n"
    )
    assert shown in result.output


@pytest.mark.parametrize(
    ("systems", "code"), [(("after", "before"), 4), (("before", "after"), 0), (("before", "again"), 0)]
)
def test_fail_if_worse_ends_with_4_only_where_a_system_is_worse(run, systems, code):
    assert run("compare", *systems, "--fail-if-worse").exit_code == code
    assert run("compare", *systems).exit_code == 0


@pytest.mark.parametrize(("margin", "code"), [("0.3", 0), ("f1=0.3", 0), ("0.03", 3), ("f1=0.03", 3)])
def test_fail_unless_no_worse_passes_only_where_it_is_shown(run, margin, code):
    result = run("compare", "before", "again", "--fail-unless-no-worse", margin)
    assert result.exit_code == code
    shown = "that again is no worse than before by 3.0 points or more could not be shown"
    assert (shown in result.stderr) == bool(code)
    assert (" rows would show it with a chance of 80 % if the two do not differ" in result.stderr) == bool(code)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--margin", "x"), "expected a number or SPEC=NUMBER, such as 0.02, found 'x'"),
        (("--margin", "0.1", "--fail-unless-no-worse", "0.2"), "one margin of a metric expected"),
        (("--rank", "--fail-unless-no-worse", "0.2"), "--fail-unless-no-worse compares each system with A"),
    ],
)
def test_what_is_no_gate_of_a_margin(run, words, said):
    result = run("compare", "before", "again", *words)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_fail_if_worse_sees_any_system_and_says_which(run):
    result = run("compare", "after", "after", "before", "-m", "exact_match", "--fail-if-worse", "--json")
    assert result.exit_code == 4
    assert result.stderr.startswith("exact_match: before is worse than after by ")
    assert json.loads(result.stdout)["findings"][1]["verdict"] == "worse"


def test_fail_if_worse_does_not_pass_where_nothing_could_be_compared(run):
    rows = [{"id": row, "gold": "yes", "prediction": None} for row in range(N)]
    karat.score(rows, ["exact_match", "bleu"], run="broken")
    karat.score([{**row, "prediction": "no"} for row in rows], ["exact_match", "bleu"], run="whole")
    for metric, spec in (("exact_match", "exact_match"), ("bleu", "bleu")):
        result = run("compare", "whole", "broken", "-m", metric, "--fail-if-worse")
        assert result.exit_code == 1
        assert (
            f"Error: {spec}, broken: nothing can be said of whole and broken: no row is scored in both" in result.stderr
        )


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("before",), 2, "at least two systems"),
        (("before", "afterr"), 1, "did you mean 'after'"),
        (("before", "after", "-m", "rouge_l"), 2, "rouge_l was not scored"),
        (("before", "after", "--on", "topic"), 1, "more than once"),
        (("before", "after", "--by", "topik"), 1, "did you mean 'topic'"),
    ],
)
def test_what_cannot_be_compared_is_told(run, words, code, said):
    result = run("compare", *words)
    assert result.exit_code == code
    assert said in result.stderr


def test_other_settings_need_allow_different(run):
    karat.score("before.parquet", "exact_match(normalize=squad)", map={"reference": "gold"}, run="strict")
    refused = run("compare", "strict", "after", "-m", "exact_match(normalize=squad)")
    assert (refused.exit_code, "normalize='squad'" in refused.stderr) == (1, True)
    assert run("compare", "strict", "after", "--allow-different").exit_code == 0


def test_power_says_how_many_rows_are_needed_and_what_these_can_see(run):
    one = run("power", "--run", "before", "--difference", "0.02", "-m", "exact_match")
    assert one.output.startswith("exact_match: ")
    assert "if two systems correlate by 0.5; with 80 rows" in one.output
    two = json.loads(run("power", "--run", "before", "--run", "after", "--difference", "0.02", "--json").stdout)
    assert two["exact_match"]["n"] == N
    assert two["exact_match"]["rows"] > 1000
    more = json.loads(
        run("power", "--run", "before", "--run", "after", "--difference", ".02", "--power", ".9", "--json").stdout
    )
    assert more["exact_match"]["rows"] > two["exact_match"]["rows"]
    assert run("power", "--run", "before", "--difference", "0").exit_code == 2


def test_a_comparison_is_written_to_files(run, tmp_path):
    files = ("-o", "out.tex", "-o", "out.json", "--percent", "--plus-minus")
    result = run("compare", "before", "after", "-m", "exact_match", *files, "--json")
    assert json.loads(result.stdout)["n"] == N
    assert json.loads(result.stdout) == json.loads((tmp_path / "out.json").read_text())
    value, text = 100 * RIGHT["before"].mean(), (tmp_path / "out.tex").read_text()
    assert rf"exact\_match & {value:.1f} & \textbf{{" in text
    for words, code, problem in (
        (["-o", "out.md", "-o", "out.pdf"], 1, "expected a name that ends in .md"),
        (["-o", "before.parquet"], 1, "is an input file"),
        (["--percent"], 2, "--percent is about the file of -o OUT"),
    ):
        result = run("compare", "before.parquet", "after.parquet", *words)
        assert (result.exit_code, problem in result.stderr) == (code, True)


def test_a_comparison_of_rows_without_scores_never_ends_well(run, tmp_path):
    (tmp_path / "a.csv").write_text("id,exact_match\n1,\n2,\n")
    for flags in ([], ["--json"], ["--fail-if-worse"]):
        result = run("compare", "a.csv", "a.csv", *flags)
        assert (result.exit_code, "no row is scored in both" in result.stderr) == (1, True)
