"""Files of labels as people have them: ids under any name, karat's own files, systems named as files are."""

import csv
import re

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.core.errors import ColumnError, DataError, SpecError
from karat.runs.labels.rows_to_label import open_rows_to_label
from karat.runs.labels.session import Session
from karat.runs.sampling.next_rows import label_next

N = 40
QUESTIONS = [f"who is {row}" for row in range(N)]
GOOD = [row % 3 > 0 for row in range(N)]
TOPICS = ["a", "b"] * (N // 2)


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, shift in (("first", 0), ("second", 1)):
        judged = ["Yes" if GOOD[(row + shift) % N] else "No" for row in range(N)]
        rows = zip(QUESTIONS, TOPICS, ["x"] * N, ["y"] * N, judged, strict=True)
        write(f"{name}.csv", ["question", "topic", "answer", "gold", "gpt4"], rows)
    both = [(QUESTIONS[row], system, GOOD[row]) for row in range(0, N, 2) for system in ("first", "second")]
    write("both.csv", ["question", "system", "label"], ((q, s, int(good)) for q, s, good in both))


def write(name, header, rows):
    with open(name, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
        csv.writer(file).writerows([header, *rows])


def label_all(path, *sources):
    rows = open_rows_to_label(sources)
    session = Session(rows.rows, path, "ann", {"good": 1, "bad": 0})
    for at in range(len(rows.rows)):
        session.label("good" if at % 3 else "bad", at)


def run(*words):
    found = CliRunner().invoke(main, [*map(str, words)])
    assert found.exit_code == 0, found.output
    return found.output


@pytest.mark.parametrize("on", [None, "question", "question=id"])
def test_a_journal_of_labels_is_read_by_its_own_id_whatever_the_rows_call_theirs(on):
    label_next("first.csv", 12, output="next.csv")
    label_all("labels.jsonl", "next.csv")
    human = ["labels.jsonl"] if on == "question=id" else ["next.csv", "labels.jsonl"]
    found = karat.score("first.csv", "column(gpt4)", human=human, on=on)
    assert found.corrected["column(gpt4)"].labelled == 12


@pytest.mark.parametrize("on", [None, "question", "question=id"])
def test_a_journal_of_two_systems_corrects_their_difference(on):
    label_all("labels.jsonl", "first.csv", "second.csv")
    compared = karat.compare("first.csv", "second.csv", metrics="column(gpt4)", human="labels.jsonl", on=on)
    assert compared.findings[0].corrected.labelled == N


def test_proposed_rows_are_shown_with_their_gold_and_keep_their_id():
    label_next("first.csv", 5, metrics="column(gpt4)", output="next.csv")
    opened = open_rows_to_label(["next.csv"])
    assert (set(opened.shown), opened.rows[0].id in QUESTIONS) == ({"question", "gold", "answer"}, True)
    karat.score("first.csv", "column(gpt4)", run="kept")
    assert set(open_rows_to_label(["kept"]).shown) == {"question", "gold", "answer"}
    write("numbered.csv", ["nr", "question", "answer"], zip(range(N), QUESTIONS, ["x"] * N, strict=True))
    label_next("numbered.csv", 5, on="nr", output="more.csv")
    assert {row.id for row in open_rows_to_label(["more.csv"]).rows} <= set(map(str, range(N)))


def test_a_topic_that_repeats_is_no_id():
    write("topics.csv", ["topic", "question", "answer", "gold"], zip(TOPICS, QUESTIONS, *[["x"] * N] * 2, strict=True))
    assert open_rows_to_label(["topics.csv"]).rows[3].id == QUESTIONS[3]


def test_systems_are_named_as_files_are_with_or_without_folder_and_ending(tmp_path):
    one, other = tmp_path / "first.csv", tmp_path / "second.csv"
    words = ["compare", one, other, "-m", "column(gpt4)"]
    in_one_file = run(*words, "--human", "both.csv")
    for system in ("first", "second"):
        rows = ([QUESTIONS[row], int(GOOD[row])] for row in range(0, N, 2))
        write(f"labels_{system}.csv", ["question", "label"], rows)
    in_two = run(*words, "--human", "first=labels_first.csv", "--human", f"{other}=labels_second.csv")
    assert in_one_file.replace("both.csv", "") == in_two.replace("labels_first.csv", "")
    found = CliRunner().invoke(main, [*map(str, words), "--human", "third=both.csv"])
    assert f"there is no system 'third'; there are {one}, {other}" in found.output


@pytest.mark.parametrize("command", [
    ["score", "first.csv"], ["power", "--width", "0.5", "--run", "first.csv"], ["judge", "first.csv"],
    ["label", "first.csv", "--next", "3", "-o", "next.csv"],
])  # fmt: skip
def test_of_a_file_with_labels_of_two_systems_the_scored_one_is_taken(command):
    words = [*command, "-m", "column(gpt4)", "--human"]
    own, named = run(*words, "both.csv"), run(*words, "first=both.csv")
    assert own == named
    judged = zip(QUESTIONS, ["Yes", "No"] * (N // 2), ["x"] * N, strict=True)
    write("third.csv", ["question", "gpt4", "answer"], judged)
    words = [word.replace("first.csv", "third.csv") for word in words]
    refused = CliRunner().invoke(main, [*words, "both.csv"])
    assert re.search(r"names first, second.*--human first=", refused.output)
    run(*words, "first=both.csv")


def test_labels_of_unknown_systems_say_which_there_are():
    karat.score("first.csv", "column(gpt4)", run="a")
    karat.score("second.csv", "column(gpt4)", run="b")
    with pytest.raises(SpecError, match="known to be of a: their column 'system' names first, second"):
        karat.compare("a", "b", human="both.csv")
    with pytest.raises(
        DataError, match="the system 'a', found none in 40 rows; the column 'system' names first, second"
    ):
        karat.examine("a", human="both.csv")


def test_a_missing_id_says_what_to_type():
    write("plain.csv", ["text", "gpt4"], zip(QUESTIONS, ["Yes", "No"] * (N // 2), strict=True))
    with pytest.raises(
        SpecError, match=r"^say which column tells the rows apart, --on COLUMN .*columns are text, gpt4"
    ):
        karat.score("plain.csv", "column(gpt4)", human="both.csv")
    with pytest.raises(ColumnError, match=r"both.csv: there is no column 'text'; .*--on LEFT=RIGHT"):
        karat.score("plain.csv", "column(gpt4)", human=karat.Labels("both.csv", system="first"), on="text")


def test_every_command_takes_a_column_of_labels_by_name():
    write("labels.csv", ["question", "x", "y"], ((QUESTIONS[row], int(GOOD[row]), "") for row in range(0, N, 2)))
    for command in (["power", "--width", "0.5", "--run"], ["label", "--next", "3", "-o", "next.csv"], ["judge"]):
        run(*command, "first.csv", "-m", "column(gpt4)", "--human", "labels.csv", "--label-column", "x")


def test_annotators_whose_names_differ_in_case_are_pointed_out():
    people = [(QUESTIONS[row], ("Ann", "ann")[row % 2], int(GOOD[row])) for row in range(N)]
    write("labels.csv", ["question", "annotator", "label"], people)
    for command in ("score", "judge"):
        assert "'Ann' and 'ann' differ only in case" in run(
            command, "first.csv", "-m", "column(gpt4)", "--human", "labels.csv"
        )


def test_a_column_of_yes_and_no_needs_no_place_in_the_map_of_people():
    rows = ((QUESTIONS[row], ("bad", "good")[GOOD[row]]) for row in range(0, N, 2))
    write("labels.csv", ["question", "label"], rows)
    words = ["judge", "first.csv", "--human", "labels.csv", "--label-map", "good=1,bad=0"]
    column, metric = run(*words, "--column", "gpt4"), run(*words, "-m", "column(gpt4)")
    assert column.split("\n")[1].removeprefix("gpt4") == metric.split("\n")[1].removeprefix("column(gpt4)")
