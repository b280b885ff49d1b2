"""`karat compare --rank`: what it prints, as tables and as JSON, and which flags go together."""

import json

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, right in (("low", 4), ("middle", 9), ("high", 19)):
        lines = [f"{n},{float(n < right)},{'xy'[n % 2]}" for n in range(20)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,score,topic", *lines]) + "\n")
    verdicts = ["a,b,winner", *["m,n,m"] * 3, *["n,m,n"] * 3, "m,n,n", "n,m,tie"]
    (tmp_path / "verdicts.csv").write_text("\n".join(verdicts) + "\n")
    return ["low.csv", "middle.csv", "high.csv"]


def run(*words):
    return CliRunner().invoke(main, ["compare", "--rank", *words])


def test_scored_files_are_ranked_and_pairs_shown(files):
    shown = run(*files, "--on", "id", "-m", "column(score, low=0, high=1)", "--pairs")
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    assert lines[0] == "20 rows, matched by id"
    assert [line.split()[:6] for line in lines[4:7]] == [
        ["high.csv", "a", "1", "1", "to", "1"],
        ["middle.csv", "b", "2", "2", "to", "2"],
        ["low.csv", "c", "3", "3", "to", "3"],
    ]
    assert "3 of 3 pairs are separated: McNemar's test, p corrected for 3 tests (Holm) at most 0.05" in shown.output
    assert any(line.startswith("high.csv     low.csv") and line.endswith("yes") for line in lines)


def test_json_is_that_of_the_library(files):
    words = ["--on", "id", "-m", "column(score)", "--by", "topic", "--correction", "bh", "--json"]
    shown = json.loads(run(*files, *words).output)
    assert shown == karat.rank(*files, on="id", metrics="column(score)", by="topic", correction="bh").as_dict()


def test_verdicts_are_ranked(files):
    shown = run("--verdicts", "verdicts.csv")
    assert "bradley_terry: 8 verdicts" in shown.output
    assert "the one that stands first wins" in shown.output
    found = json.loads(
        run("--verdicts", "verdicts.csv", "--no-order-effect", "--json", "--map", "a=b", "--map", "b=a").output
    )
    assert found == karat.rank_verdicts("verdicts.csv", order_effect=False, map={"a": "b", "b": "a"}).as_dict()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["low.csv"], "at least two systems"),
        (["low.csv", "high.csv", "--map", "a=b"], "--map says how verdicts are read"),
        (["low.csv", "--verdicts", "verdicts.csv"], "names the systems itself, found low.csv"),
        (["low.csv", "high.csv", "--fail-if-worse"], "--fail-if-worse compares each system with A"),
        (["low.csv", "high.csv", "--label-map", "a=1"], "--label-map says how verdicts are read"),
        (["--verdicts", "verdicts.csv", "-m", "exact_match"], "--metric is of scored rows"),
        (["--verdicts", "verdicts.csv", "--map", "a"], "expected ROLE=COLUMN"),
    ],
)
def test_flags_that_do_not_go_together_are_wrong_usage(files, words, message):
    shown = run(*words)
    assert (shown.exit_code, message in shown.output) == (2, True)


def test_rankings_are_written_to_files_of_many_kinds(files, tmp_path):
    words = [*files, "--on", "id", "-m", "column(score, low=0, high=1)"]
    for name in ("out.md", "out.tex", "out.html", "out.json", "out.csv"):
        assert run(*words, "-o", name, "--percent", "--plus-minus").exit_code == 0
    assert (tmp_path / "out.md").read_text().splitlines()[:5] == [
        r"### 3 systems: column(score, high=1, low=0), 20 rows".replace("_", r"\_"),
        "",
        r"| system | column(score, high=1, low=0) | 95 % interval | rank | may be |",
        "|---|---:|---:|---:|---:|",
        "| high.csv | **95.0**<sup>a</sup> | 76.4 to 99.1 | 1 | 1 to 1 |",
    ]
    row = r"high.csv & \textbf{95.0}\textsuperscript{a} $\pm$ 11.4 & 1 & 1 to 1 \\"
    assert row in (tmp_path / "out.tex").read_text()
    assert "share a letter" in (tmp_path / "out.html").read_text()
    assert json.loads((tmp_path / "out.json").read_text()) == json.loads(run(*words, "--json").output)
    assert (
        (tmp_path / "out.csv")
        .read_text()
        .splitlines()[1]
        .startswith('"column(score, high=1, low=0)",,"high.csv",1,1,1,"a"')
    )
    assert run(*words, "-o", "out.pdf").exit_code == 1
    both = run(*words, "--by", "topic", "-o", "out.md")
    assert "&emsp;high.csv" in (tmp_path / "out.md").read_text(), both.output


def test_rows_without_scores_are_no_ranking(files, tmp_path):
    (tmp_path / "empty.csv").write_text("id,exact_match\n1,\n2,\n")
    result = run("empty.csv", "empty.csv", "--json")
    assert json.loads(result.stdout)
    assert (result.exit_code, "nothing was ranked by exact_match" in result.stderr) == (1, True)
