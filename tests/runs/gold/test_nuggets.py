"""People edit a nugget bank: what follows from their verdicts, and what is no bank."""

import json

import pytest

from karat.errors import DataError, SpecError
from karat.runs.gold.nuggets import NuggetSession, open_nugget_bank

BANK = [
    {
        "qid": "1",
        "query": {"qid": "1", "text": "Why?"},
        "nuggets": [
            {"text": "a", "importance": "vital", "reasoning": "x"},
            {"text": "b", "importance": "failed"},
            {"text": "c", "importance": "okay"},
        ],
    },
    {"qid": "2", "query": "How?", "nuggets": []},
]


@pytest.fixture(autouse=True)
def _bank(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(BANK)


def write(lines):
    with open("bank.jsonl", "w", encoding="utf-8") as file:  # noqa: PTH123
        file.writelines(json.dumps(line) + "\n" for line in lines)


def begin(annotator="ada"):
    return NuggetSession(open_nugget_bank("bank.jsonl"), "edited.jsonl", annotator)


def edited():
    bank = open_nugget_bank("edited.jsonl").questions
    return [[f"{each['importance']} {each['text']}" for each in line["nuggets"]] for line in bank.values()]


def test_an_edited_bank_follows_from_every_verdict_at_once():
    session = begin()
    session.label("okay", 0)
    assert edited() == [["okay a", "failed b", "okay c"], []]
    session.label("edit", 1, new=["vital: b, exactly", "+ okay: b as well"])
    session.label("drop", 2)
    session.label("edit", 3, new=["+ vital: first"])
    assert edited() == [["okay a", "vital b, exactly", "okay b as well"], ["vital first"]]
    line = open_nugget_bank("edited.jsonl").questions["1"]
    assert (line["query"], line["nuggets"][0]["reasoning"]) == (BANK[0]["query"], "x")
    session.undo(2)
    session.skip(2)
    assert edited()[0][-1] == "okay c"
    assert begin().finished == 4


def test_a_nugget_on_which_people_disagree_stays():
    begin().label("drop", 0)
    other = begin("bob")
    other.label("vital", 0)
    other.label("drop", 1)
    assert edited() == [["vital a", "okay c"], []]
    assert other.disputed == ["1"]


def test_a_person_sees_the_question_and_its_other_nuggets():
    bank = open_nugget_bank("bank.jsonl")
    assert bank.read(1) == {"question": "Why?", "other nuggets": ["vital: a", "okay: c"], "nugget": "failed: b"}
    assert bank.read(3) == {"question": "How?", "nugget": "none yet: edit adds some"}


@pytest.mark.parametrize(
    ("at", "name", "new", "message"),
    [
        (0, "edit", [], "edit needs one"),
        (0, "vital", ["vital: b"], "another text goes with edit"),
        (0, "edit", ["b"], "expected vital: TEXT or okay: TEXT"),
        (0, "edit", ["vital: b", "okay: c"], "one text takes the place of a nugget"),
        (3, "edit", ["vital: b"], "there is no nugget yet"),
        (3, "vital", [], "there is no nugget yet"),
    ],
)
def test_what_says_nothing_of_a_nugget_is_refused(at, name, new, message):
    with pytest.raises(SpecError, match=message):
        begin().label(name, at, new=new)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"nuggets": []}, r"line 3: expected an id of its own \(qid, id, topic_id\), but it has none"),
        ({"qid": 1, "nuggets": []}, "line 3: .*1 is there before"),
        ({"qid": 3}, "line 3: nuggets: a list such as"),
        ({"qid": 3, "nuggets": [{"text": "a"}]}, "line 3: nuggets: item 1 has importance None"),
        ([], "line 3: expected an id"),
    ],
)
def test_what_is_no_bank(line, message):
    write([*BANK, line])
    with pytest.raises(DataError, match=message):
        begin()


def test_a_file_without_its_journal_is_not_overwritten():
    write(BANK)
    with pytest.raises(DataError, match="but not the journal"):
        NuggetSession(open_nugget_bank("bank.jsonl"), "bank.jsonl", "ada")
