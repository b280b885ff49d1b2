"""`karat show`: which rows it prints, and how."""

import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from rich.cells import cell_len

import karat
from karat.cli.main import main
from karat.judges import Judge
from karat.models.governor.governor import Governor
from karat.models.testing.fake import FakeModel

ROWS = [
    {"id": "q1", "question": "Capital of France?", "topic": "geo", "gold": ["Paris"], "answer": "It is Paris, France"},
    {"id": "q2", "question": "Capital of Italy?", "topic": "geo", "gold": ["Rome", "Roma"], "answer": "Milan"},
    {"id": "q3", "question": "Two and two?", "topic": "sum", "gold": ["4", "four"], "answer": "Four!"},
    {"id": "q4", "question": "Author?", "topic": "book", "gold": ["George Eliot"], "answer": "Eliot"},
    {"id": "q5", "question": "Nothing?", "topic": "book", "gold": ["x"], "answer": None},
]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("KARAT_RUNS", "COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    karat.score(ROWS, ["token_f1", "exact_match"], run="first", output="scored.csv")
    return lambda *words, **env: CliRunner(env=env).invoke(main, ["show", *words])


def shown_ids(result):
    assert result.exit_code == 0, result.output
    return re.findall(r"^(q\d)  ", result.stdout, re.MULTILINE)


@pytest.mark.parametrize("system", ["first", "karat-runs/first"])
def test_the_worst_rows_come_first_with_the_words_that_differ(run, system):
    result = run(system)
    assert shown_ids(result) == ["q2", "q1", "q4", "q3"]
    assert result.stdout.splitlines()[:9] == [
        "first: 4 rows with the worst scores by token_f1",
        "",
        "q2   token_f1 0.0000   exact_match 0.0000",
        "  question    Capital of Italy?",
        "  reference   [-Rome-]",
        "  reference   [-Roma-]",
        "  prediction  {+Milan+}",
        "",
        "q1   token_f1 0.4000   exact_match 0.0000",
    ]
    assert "  reference   Paris\n  prediction  {+It is+} Paris, {+France+}\n" in result.stdout
    assert "  reference   [-George-] Eliot\n  prediction  Eliot\n" in result.stdout
    assert "  reference   four\n  prediction  Four!\n" in result.stdout


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (["first", "--worst", "1"], ["q2"]),
        (["first", "--best", "2"], ["q3", "q4"]),
        (["first", "--unscored", "9"], ["q5"]),
        (["first", "--where", "topic = 'book'"], ["q4"]),
        (["first", "--where", "topic = 'none'"], []),
        (["first", "-m", "exact_match", "--worst", "2"], ["q1", "q2"]),
        (["scored.csv", "--worst", "2", "--where", "topic <> 'sum'"], ["q2", "q1"]),
    ],
)
def test_which_rows_are_shown(run, words, ids):
    assert shown_ids(run(*words)) == ids


def test_words_are_compared_as_the_metric_compares_them(run):
    karat.score(ROWS, "exact_match", run="strict")
    assert "  reference   [-four-]\n  prediction  {+Four!+}\n" in run("strict").stdout


def test_a_row_without_a_score_has_its_reason(run):
    output = run("first", "--unscored", "1", "--show", "topic").stdout
    assert "q5   token_f1 –   exact_match –\n" in output
    assert "  prediction  (null)\n  topic       book\n  reason      prediction is null\n" in output


def test_a_judge_explains_and_a_panel_votes(run):
    replies = [{"explanation": "it is Rome", "label": "incorrect"}, {"explanation": "yes", "label": "correct"}]
    models = [FakeModel(reply) for reply in replies]
    for model, name in zip(models, "ab", strict=True):
        model.name = name
    judge = Judge("correctness", model=models, governor=Governor())
    karat.score(ROWS[1:2], [judge, "exact_match"], run="judged")
    output = run("judged").stdout
    assert "  explanation  correct: yes / incorrect: it is Rome\n  agreement    0\n  a            incorrect\n" in output
    row = json.loads(run("judged", "--json").stdout)["rows"][0]
    assert row["details"][judge.spec]["input_tokens"] > 0
    assert "input_tokens" not in output


def test_json_has_all_of_each_row(run):
    found = json.loads(run("first", "--worst", "1", "--show", "topic", "--json").stdout)
    assert found == {
        "run": "first",
        "metric": "token_f1",
        "order": "worst",
        "rows": [
            {
                "id": "q2",
                "question": "Capital of Italy?",
                "references": ["Rome", "Roma"],
                "prediction": "Milan",
                "scores": {"token_f1": 0.0, "exact_match": 0.0},
                "reason": None,
                "details": {},
                "columns": {"topic": "geo"},
            }
        ],
    }


def test_long_and_hostile_texts(run):
    hostile = "\x1b]0;owned\x07 \u202egpj.exe </script> [-x-]"
    rows = [{"question": "?\n?", "gold": "東京 " * 400, "answer": hostile}, {"question": "", "gold": "", "answer": ""}]
    karat.score(rows, "token_f1", run="hostile")
    narrow = run("hostile", COLUMNS="40").stdout
    assert max(map(cell_len, narrow.splitlines())) <= 40
    assert not {"\x1b", "\x07", "\u202e"} & set(narrow)
    assert "<U+202E>" in narrow
    assert "… and 600 more" in narrow
    assert "1   token_f1 0.0000" in narrow  # without ids: the number of the row
    assert "\n  question    ?\n              ?\n" in narrow
    assert "(empty)" in narrow
    assert run("hostile", "--whole").stdout.count("東") == 400
    assert "2   token_f1" in run("hostile", "--where", "gold = ''").stdout


def test_colour_takes_the_place_of_signs(run):
    coloured = run("first", "--worst", "1", FORCE_COLOR="1")
    output = coloured.stdout
    assert "{+" not in output
    assert "  prediction  \x1b[32m\x1b[1m\x1b[4mMilan\x1b[0m\n" in output
    assert "\x1b" not in run("first", FORCE_COLOR="1", NO_COLOR="1").stdout


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ([], ["q5", "q4", "q3", "q2", "q1"]),
        (["--first", "1", "--order", "second.token_f1 DESC, first.id"], ["q2"]),
        (["--where", "first.token_f1 > second.token_f1", "--on", "id"], ["q4", "q3", "q1"]),
        (["--where", "second.answer IS NULL -- a remark", "--order", "karat_row DESC -- another"], []),
        (["--where", "note.of = 'b'"], ["q2"]),  # inside an object that only the second has
    ],
)
def test_rows_of_several_runs_stand_below_each_other(run, words, ids):
    rows = [{**row, "answer": "Rome", "note": {"of": "ab"[row["id"] == "q2"]}} for row in ROWS]
    karat.score(rows[::-1], ["token_f1", "exact_match"], run="second")
    assert shown_ids(run("second", "first", *words)) == [name for name in ids for _ in range(2)]
    found = json.loads(run("second", "first", *words, "--json").stdout)
    assert {name: found[name] for name in ("runs", "order")} == {"runs": ["second", "first"], "order": "first"}
    assert [[row["id"] for row in each] for each in found["rows"]] == [[name, name] for name in ids]
    assert [each[0]["prediction"] for each in found["rows"]] == ["Rome"] * len(ids)


def test_matched_rows_have_the_id_that_pairs_them_and_say_what_differs(run):
    for name, order in (("one", [0, 1, 2]), ("two", [2, 0, 1])):
        rows = [{"case": f"c{at}", "prediction": "x", "gold": f"{name[:at]}"} for at in order]
        karat.score(rows, "exact_match", run=name)
    found = json.loads(run("one", "two", "--json", "--on", "case").stdout)
    assert [[row["id"] for row in each] for each in found["rows"]] == [["c0", "c0"], ["c1", "c1"], ["c2", "c2"]]
    assert "scored against different gold: it differs in 2 of 3 rows" in " ".join(found["notes"])
    assert "scored against different gold: it differs in 2 of 3 rows" in run("one", "two", "--on", "case").stdout


def test_rows_of_one_run_in_an_order_of_their_own(run):
    assert shown_ids(run("first", "--order", "length(answer), id DESC", "--where", "topic <> 'sum'"))[:3] == [
        "q4",
        "q2",
        "q1",
    ]
    assert shown_ids(run("scored.csv", "--first", "2")) == ["q1", "q2"]
    assert "first: 2 rows from the first on" in run("first", "--first", "2").stdout


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["frist"], 1, "did you mean 'first'"),
        (["first", "-m", "\x1b]0;a\x07"], 2, "<U+001B>]0;a<U+0007> was not scored"),
        (["first", "--worst", "1", "--best", "1"], 2, "--worst and --best exclude each other"),
        (["first", "-m", "bleu"], 2, "bleu was not scored"),
        (["first", "--show", "topics"], 1, "did you mean 'topic'"),
        (["first", "--where", "topik = 'a'"], 1, "does not work"),
        (["first", "--worst", "0"], 2, "0 is not in the range"),
        (["first", "--worst", "1", "--order", "id"], 2, "--worst and --order exclude each other: --first 1 shows"),
        (["first", "scored.csv", "--best", "1"], 2, "--best is for one run: --first 1 shows"),
        (["first", "scored.csv", "--where", "id = 'q1'"], 1, "the condition \"id = 'q1'\" does not work: Ambiguous"),
        (["first", "--order", "max(id)"], 1, "the order 'max(id)' does not work"),
        (["first", "--order", "(SELECT 1)"], 1, "a subquery does not"),
    ],
)
def test_errors(run, words, code, message):
    result = run(*words)
    assert result.exit_code == code
    assert message in result.output


@pytest.mark.parametrize("system", ["twice", "twice.csv"])
def test_rows_are_counted_by_what_they_share_and_by_score(run, system):
    karat.score([{**row, "id": f"{row['id']}-{time}"} for time in "ab" for row in ROWS], ["token_f1", "exact_match"],
                run="twice", output="twice.csv")  # fmt: skip
    printed = run(system, "--counts", "-m", "exact_match", "--where", "topic <> 'sum'").stdout
    assert ": 8 of 10 rows" in printed
    assert re.search(r"^geo +─+ +4 +4$", printed, re.MULTILINE)
    assert re.search(r"^sum +0 +2$", printed, re.MULTILINE)
    assert re.search(r"^0 to 0.05 +─+ +6 +8$", printed, re.MULTILINE)
    assert re.search(r"^none +─+ +2 +2$", printed, re.MULTILINE)
    counts = json.loads(run(system, "--counts", "--json").stdout)
    assert (counts["n"], counts["metric"], len(counts["histograms"])) == (10, "token_f1", 1)


def test_counts_show_no_rows(run):
    result = run("first", "--counts", "--worst", "3", "--show", "topic")
    assert result.exit_code == 2
    assert "--counts shows no rows: leave out --worst and --show" in result.stderr


def test_the_items_of_lists_are_counted_in_the_rows_that_are_kept(run):
    rows = [
        {"id": n, "set": "ab"[n % 2], "prediction": json.dumps({"x": n % 2, "y": 1}), "reference": '{"x": 0, "y": 1}'}
        for n in range(6)
    ]
    karat.score(rows, "json_fields", run="fields")
    counts = json.loads(run("fields", "--counts", "--where", "set = 'b'", "--json").stdout)
    found = {each["detail"]: {item["value"]: item["kept"] for item in each["values"]} for each in counts["items"]}
    assert found["different"] == {"x": 3}
    assert found["equal"] == {"y": 3}
    printed = run("fields", "--counts", "--where", "set = 'b'").stdout
    assert re.search(r"^json_fields, fields +equal +different", printed, re.MULTILINE)
    assert re.search(r"^x +0 +3 ", printed, re.MULTILINE)
    assert re.search(r"^x +3 +3 ", run("fields", "--counts").stdout, re.MULTILINE)


def test_statements_and_verdicts_on_answers_are_printed_one_a_line(run):
    said = [
        {"answer": 1, "score": 1.0, "label": "correct", "explanation": "as the reference"},
        {"answer": 2, "reason": "prediction is null"},
        {"answer": 3, "score": 0.5, "statements": [{"statement": "s", "reason": "r", "verdict": "supported"}]},
    ]
    table = pa.table({"id": [1], "prediction": ["x"], "judge:correctness": [1.0],
                      "judge:correctness.statements": [json.dumps(said)], "reason": [None]})  # fmt: skip
    pq.write_table(table, "said.parquet")
    shown = run("said.parquet").stdout
    assert re.search(r"^  answer 1 +correct 1: as the reference$", shown, re.MULTILINE)
    assert re.search(r"^  answer 2 +prediction is null$", shown, re.MULTILINE)
    assert re.search(r"^  answer 3 +0.5: \(s: supported: r\)$", shown, re.MULTILINE)
