"""Several systems' answers in the columns of one table."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main

GOLD = ["Paris", "Rome", "Berlin", "Madrid", "Vienna", "Athens", "Lisbon", "Prague"]
TABLE = {
    "id": [f"q{at}" for at in range(8)],
    "question": [f"What is the capital, number {at}?" for at in range(8)],
    "gold": GOLD,
    "answer_good": GOLD,
    "answer_half": [*GOLD[:4], *["?"] * 4],
    "answer_bad": ["?"] * 8,
}


def wide(names, **more):
    answers = dict(zip(names, (TABLE["answer_good"], TABLE["answer_half"], TABLE["answer_bad"]), strict=True))
    return {"id": TABLE["id"], "gold": GOLD, **answers, **more}


def test_each_column_is_scored_as_it_would_be_alone():
    results = karat.score_systems(TABLE, ["exact_match", "token_f1"], "answer_*")
    for name, result in results.items():
        alone = karat.score(TABLE, ["exact_match", "token_f1"], map={"prediction": f"answer_{name}"})
        assert result.as_dict() == alone.as_dict()
        assert result.mapping["prediction"] == f"answer_{name}"
    assert list(results) == ["good", "half", "bad"]
    assert karat.compare(*results.values()).systems == ("good", "half", "bad")


@pytest.mark.parametrize(
    ("columns", "wanted", "names"),
    [
        (["good.answer", "half.answer", "bad.answer"], "*.answer", ["good", "half", "bad"]),
        (["gpt-4", "fid", "r2d2"], ["r2d2", "gpt-4", "fid"], ["r2d2", "gpt-4", "fid"]),
        (["out:a/1", "out:b/1", "out:c/1"], "out:*", ["a", "b", "c"]),
        (["pred1", "pred2", "pred3"], "pred*", ["pred1", "pred2", "pred3"]),
        (["answer_a_b", "answer_a", "answer_c"], "answer_*", ["a_b", "a", "c"]),
        (["answer_x", "answer.x", "answer y"], "answer*", ["answer_x", "answer.x", "answer y"]),
    ],
)
def test_systems_are_named_by_what_their_columns_do_not_share(columns, wanted, names):
    assert list(karat.score_systems(wide(columns), "exact_match", wanted)) == names


def test_a_pattern_leaves_out_gold_and_runs_have_the_systems_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    table = wide(["a_answer", "b c_answer", "ü_answer"], gold_answer=GOLD)
    results = karat.score_systems(table, "exact_match", "*_answer", map={"reference": "gold"}, run="nq")
    assert [result.run.name for result in results.values()] == ["nq-a", "nq-b-c", "nq-system"]


def test_gold_in_another_file_and_rankings():
    gold = {"id": TABLE["id"], "gold": GOLD}
    data = {name: column for name, column in TABLE.items() if name != "gold"}
    joined = karat.score_systems(data, "exact_match", "answer_*", gold=gold, on="id")
    assert [result.values["exact_match"].value for result in joined.values()] == [1, 0.5, 0]
    ranked = {"relevant": [["a"]], "retrieved_bm25": [["b", "a"]], "retrieved_dense": [["a", "b"]]}
    values = karat.score_systems(ranked, "ndcg", "retrieved_*")
    assert values["dense"].values["ndcg"].value == 1 > values["bm25"].values["ndcg"].value


@pytest.mark.parametrize(
    ("predictions", "options", "message"),
    [
        ("answr_*", {}, "no column has such a name; the columns are id, question"),
        (["answer_goood"], {}, "did you mean 'answer_good'"),
        ("answer_*", {"output": "x.csv"}, "keep the rows with run"),
        ("answer_*", {"human": "labels.csv"}, "give them to karat compare"),
    ],
)
def test_what_cannot_be_scored_says_what_to_type(predictions, options, message):
    with pytest.raises(karat.KaratError, match=message.replace("(", r"\(")):
        karat.score_systems(TABLE, "exact_match", predictions, **options)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    rows = [dict(zip(TABLE, row, strict=True)) for row in zip(*TABLE.values(), strict=True)]
    Path("wide.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "wide.jsonl"


def run(*words, **more):
    return CliRunner().invoke(main, list(words), **more)


def test_the_command_prints_each_system_and_compares_them(file):
    shown = run("score", file, "--predictions", "answer_*", "-m", "exact_match", "--run", "r")
    assert shown.exit_code == 0, shown.output
    assert "good\nprediction ← answer_good" in shown.output
    assert "r-bad is worse than r-good by 100.0 points" in shown.output
    assert run("compare", "r-good", "r-bad").exit_code == 0
    assert run("show", "r-half").exit_code == 0


def test_the_command_prints_one_object_and_reads_standard_input(file):
    words = ("score", "-", "--predictions", "answer_good", "--predictions", "answer_bad", "-m", "exact_match", "--json")
    found = json.loads(run(*words, input=Path(file).read_bytes()).stdout)
    assert {name: each["metrics"][0]["value"] for name, each in found["systems"].items()} == {"good": 1, "bad": 0}
    assert found["compared"]["systems"] == ["good", "bad"]


def test_a_gate_holds_for_every_system(file):
    failed = run("score", file, "--predictions", "answer_*", "-m", "exact_match", "--fail-under", "0.4")
    assert failed.exit_code == 3
    assert "bad: exact_match" in failed.stderr
    assert "good: exact_match" not in failed.stderr
