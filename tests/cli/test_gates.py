"""Gates of `karat score` and `karat experiment`: what passes, and what is refused before anything is scored."""

import json

import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.models.testing.fake import FakeServer

ROWS = [
    {
        "id": n,
        "topic": "law" if n < 6 else "a[1]=b",
        "question": f"q{n}",
        "gold": "a",
        "prediction": "a" if n % 3 else "b",
    }
    for n in range(12)
]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    return lambda *words: CliRunner().invoke(main, ["score", "answers.jsonl", *words])


def test_each_question_has_to_be_answered_right_often_enough(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = ["aaab", "aaaa", "abbb", "aab"]
    rows = [{"id": at, "gold": "a", "prediction": [*texts]} for at, texts in enumerate(answers)]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))

    def call(*words):
        return CliRunner().invoke(main, ["score", "answers.jsonl", *words])

    found = call("-m", "pass_at(em)", "-m", "flips(em)", "--fail-case", "3/4")
    lines = found.stderr.splitlines()
    assert found.exit_code == 3, found.output
    assert [line.partition(": ")[2] for line in lines] == [
        "1 of 4 questions are answered right fewer than 3 of 4 times",
        "1 of 4 questions have fewer than 4 answers with a score",
    ]
    assert call("-m", "mean_of(em)", "--fail-case", "1/3").exit_code == 3
    assert call("-m", "mean_of(em)", "--where", "id = 1", "--fail-case", "4/4").exit_code == 0
    assert "-m 'pass_at(em)'" in call("-m", "em(samples=mean)", "--fail-case", "1/3").output
    assert "such as 9/10, found '9'" in call("-m", "pass_at(em)", "--fail-case", "9").output


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ("em[topic=law]=0.66", 0),
        ("em[topic=law]=0.67", 3),
        ("[topic=law].high=0.9", 0),
        ("em[topic=law].low=0.29", 0),
        ("em[topic=law].low=0.4", 3),
        ("em[topic=a[1]=b].worst=0.6", 0),
        ("exact_match(normalize=squad).low=0.4", 3),
        (".low=0.39", 0),
        ("em[topic=lawn]=0", 3),
    ],
)
def test_slices_and_ends_of_intervals_have_gates(run, gate, code):
    result = run("-m", "em", "--by", "topic", "--json", "--fail-under", gate)
    value = json.loads(result.stdout)["metrics"][0]
    assert value["low"] == pytest.approx(0.3906, abs=1e-4)
    assert value["groups"]["law"]["low"] == pytest.approx(0.3, abs=1e-4)
    assert result.exit_code == code, result.stderr


def test_a_gate_of_an_error_rate_is_the_most_that_it_may_be(run):
    assert run("-m", "wer", "--fail-under", "wer.high=1").exit_code == 0
    result = run("-m", "wer", "--fail-under", "wer.low=0.01")
    assert result.exit_code == 3
    assert "wer.low is 0." in result.stderr


def test_the_line_of_a_gate_names_slice_and_end(run):
    result = run("-m", "em", "--by", "topic", "--fail-under", "em[topic=law].low=0.4", "--fail-under", "[topic=lw]=0")
    assert "em[topic=law].low is 0.299993, 0.4 was asked for" in result.stderr
    assert "em[topic=lw] is not known: no row has this value; did you mean 'law'?" in result.stderr


@pytest.mark.parametrize(
    ("gate", "problem"),
    [
        ("em.lwo=0.6", "'lwo' is not an end; did you mean 'low'?"),
        ("emm=0.6", "not among the metrics scored; did you mean 'em'?"),
        ("em[topc=law]=0.6", "topc makes no slices: the slices come from --by topic"),
        ("em[topic=lw]=0.6", "no row has topic = lw; did you mean 'law'?"),
        ("em[topic=law]", "expected a number or SPEC=NUMBER"),
        ("em=nan", "expected a number or SPEC=NUMBER"),
    ],
)
def test_typos_are_found_before_a_judge_is_asked(run, own_replies, gate, problem):
    with FakeServer(lambda _: {"explanation": "…", "label": "correct"}) as server:
        judge = ["-m", "judge:correctness", "--model", "small", "--base-url", server.url, "-m", "em", "--by", "topic"]
        result = run(*judge, "--fail-under", gate)
        assert (result.exit_code, problem in result.stderr) == (2, True), result.stderr
        assert server.calls == 0


def test_a_judge_is_named_with_or_without_its_model(run, own_replies):
    names = ["judge:correctness[topic=law].low", "judge:correctness(model=small)", "em"]
    gates = [word for name in names for word in ("--fail-under", f"{name}=0.5")]
    with FakeServer(lambda _: {"explanation": "…", "label": "correct"}) as server:
        judge = ["-m", "judge:correctness", "--model", "small", "--base-url", server.url, "-m", "em", "--by", "topic"]
        result = run(*judge, *gates, "--fail-under", "em=0.7")
    assert result.stderr.splitlines()[-1] == "em is 0.666667, 0.7 was asked for"


def test_slices_without_by_are_refused(run):
    result = run("-m", "em", "--fail-under", "em[topic=law]=0.6")
    assert (result.exit_code, "topic makes no slices: --by topic" in result.stderr) == (2, True)


@pytest.mark.parametrize(("share", "code"), [("0.25", 0), ("0.2", 3), ("0", 3), ("1", 0)])
def test_so_many_rows_may_have_no_score(run, tmp_path, share, code):
    lines = [json.dumps(row | ({"prediction": None} if row["id"] < 3 else {})) for row in ROWS]
    (tmp_path / "answers.jsonl").write_text("\n".join(lines))
    result = run("-m", "em", "--fail-unscored", share)
    assert result.exit_code == code
    assert ("em: 3 of 12 rows have no score; a share of at most" in result.stderr) == (code == 3)


def test_judges_whose_calls_all_failed_never_end_well(run, own_replies):
    with FakeServer("no JSON") as server:
        judge = ["-m", "judge:correctness", "--model", "small", "--base-url", server.url]
        result = run(*judge, "-m", "em")
        assert result.exit_code == 1
        assert "none of its first 20 replies could be read" in result.stderr
        report = ["judge", "answers.jsonl", *judge, "--ask", "1"]
        result = CliRunner().invoke(main, report)
    assert result.exit_code == 1
    assert "none of its first 20 replies could be read" in result.stderr


def test_experiments_check_gates_before_the_task_is_called(run, tmp_path):
    (tmp_path / "task.py").write_text("def answer(question):\n    open('called', 'w').close()\n    return 'a'\n")
    rows = [{name: cell for name, cell in row.items() if name != "prediction"} for row in ROWS]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ["experiment", "task.py:answer", "--data", "answers.jsonl", "-m", "em", "--by", "topic", "--fail-under"]
    result = CliRunner().invoke(main, [*words, "em[topic=lw]=0.6"])
    assert (result.exit_code, (tmp_path / "called").exists()) == (2, False)
    assert CliRunner().invoke(main, [*words, "em[topic=law]=1"]).exit_code == 0
