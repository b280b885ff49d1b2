"""Whoever labels sees question, answer and gold, under names that say no system, or is told what is missing."""

import csv
import json

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.core.errors import ColumnError
from karat.runs.labels.rows_to_label import open_rows_to_label
from karat.runs.sampling.next_rows import label_next

N = 12
WIDE = {
    "id": [f"q{at}" for at in range(N)],
    "question": [f"what is {at}?" for at in range(N)],
    "golden_answer": [f"number {at}" for at in range(N)],
    "answer_gpt4": [f"gpt says {at}" for at in range(N)],
    "answer_fid": [f"fid says {at}" for at in range(N)],
    "score": [at % 2 for at in range(N)],
}


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("wide.csv", "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
        csv.writer(file).writerows([WIDE, *zip(*WIDE.values(), strict=True)])


def seen(source, **more):
    """What is shown of the first row, as one text; the titles of the columns."""
    rows = open_rows_to_label([source], **more)
    return " | ".join(map(str, rows.read(0).values())), rows.shown


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("gold", ["golden_answer", "truth", "label"])
@pytest.mark.parametrize("answer", ["answer", "answer_gpt4", "gpt4", "reply"])
def test_the_file_of_proposed_rows_shows_the_answer_whatever_its_column_is_called(answer, gold, ending):
    rows = {"id": WIDE["id"], "question": WIDE["question"], gold: WIDE["golden_answer"], answer: WIDE["answer_gpt4"]}
    karat.score(rows, "exact_match", map={"prediction": answer, "reference": gold}, run="gpt4")
    label_next("gpt4", 3, output=f"next.{ending}")
    text, titles = seen(f"next.{ending}")
    assert "gpt says" in text
    assert "number" in text
    assert "what is" in text
    assert "gpt4" not in " ".join(titles)


def test_answers_that_are_not_known_are_asked_for_before_a_file_is_written():
    with pytest.raises(ColumnError, match="known to be the answer; its columns are id, "):
        label_next("wide.csv", 3, metrics="column(score)", output="next.csv")
    shown = ["question", "golden_answer", "answer_fid"]
    words = [word for column in shown for word in ("--show", column)]
    done = CliRunner().invoke(main, ["label", "wide.csv", "--next", "3", "-o", "next.csv", *words])
    assert done.exit_code == 0, done.output
    text, titles = seen("next.csv")
    assert "fid says" in text
    assert "gpt says" not in text
    assert titles == ("question", "golden_answer", "answer")


@pytest.mark.parametrize(
    ("columns", "missing"),
    [
        (["id", "question", "golden_answer"], "the answer"),
        (["id", "question", "golden_answer", "answer_gpt4"], "the answer"),
        (["id", "answer_gpt4"], "the question, the answer, the gold"),
        (["id", "score"], "the question, the answer, the gold"),
        (["id", "question", "output"], "the gold"),
        (["id", "output", "golden_answer"], "the question"),
    ],
)
def test_rows_without_question_answer_or_gold_are_refused_with_what_to_type(columns, missing):
    named = {name: WIDE.get(name, WIDE["answer_fid"]) for name in columns}
    with open("rows.jsonl", "w", encoding="utf-8") as file:  # noqa: PTH123
        file.writelines(
            json.dumps(dict(zip(named, row, strict=True))) + "\n" for row in zip(*named.values(), strict=True)
        )
    message = f"no column is known to be {missing}; its columns are {', '.join(columns)}: .*--show COLUMN"
    with pytest.raises(ColumnError, match=message):
        open_rows_to_label(["rows.jsonl"])
    assert open_rows_to_label(["rows.jsonl"], show=columns[1:]).rows[0].id == "q0"


def test_a_run_without_gold_is_labelled_as_it_was_scored_and_one_of_numbers_alone_is_not():
    rows = {"id": WIDE["id"], "question": WIDE["question"], "said": WIDE["answer_fid"]}
    karat.score(rows, "matches_regex(pattern='says')", map={"prediction": "said"}, run="fid")
    assert open_rows_to_label(["fid"]).shown == ("question", "answer")
    karat.score("wide.csv", "column(score)", run="numbers")
    with pytest.raises(ColumnError, match="known to be the answer"):
        open_rows_to_label(["numbers"])


@pytest.mark.parametrize("show", [(), ("question", "answer"), ("question", "fid seconds", "answer")])
def test_titles_say_no_system(show):
    for name in ("gpt4", "fid"):
        rows = {"id": WIDE["id"], "question": WIDE["question"], "gold": WIDE["golden_answer"]}
        rows |= {"answer": WIDE[f"answer_{name}"], "fid seconds": list(range(N))}
        karat.score(rows, "exact_match", map={"prediction": "answer", "reference": "gold"}, run=name)
    titles = " ".join(open_rows_to_label(["gpt4", "fid"], show=show).shown)
    assert "gpt4" not in titles
    assert "fid" not in titles
