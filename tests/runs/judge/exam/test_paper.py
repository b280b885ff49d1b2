"""The exam as a table: the same answers in whatever order rows come, and nothing in it that might be right."""

import random

import pytest

from karat.core.errors import ColumnError, DataError, SpecError
from karat.runs.judge.exam.answers.classes import CLASSES
from karat.runs.judge.exam.answers.guard import contains_words
from karat.runs.judge.exam.paper import make_exam
from karat.runs.scoring.arguments import Selection

FIRST = ("Ada", "Grace", "Alan", "Emmy", "Carl", "Sofia", "Paul", "Marie", "Niels", "Lise")
LAST = ("Byron", "Hopper", "Turing", "Noether", "Gauss", "Kovalevska", "Dirac", "Curie", "Bohr", "Meitner")
MONTHS = ("January", "March", "May", "July")


def rows(n=60):
    """Questions on persons, numbers, dates and lists."""
    made = []
    for at in range(n):
        first, last = FIRST[at % 10], LAST[(at * 7 + at // 10) % 10]
        gold = [f"{first} {last}", f"{13 * at + 40} km", f"{at % 27 + 1} {MONTHS[at % 4]} {1700 + 3 * at}"][at % 3]
        text = ["Who wrote work number", "How long is river number", "When began war number"][at % 3]
        made.append({"id": at, "question": f"{text} {at}?", "gold": [gold, f"{gold}, it is said"], "answer": "so what"})
    return made


def test_each_answer_has_its_class_its_truth_and_its_edit():
    paper = make_exam(rows(), questions=40)
    table = paper.table.to_pylist()
    assert paper.questions == 40
    assert sum(paper.asked.values()) == len(table)
    assert {row["exam_class"]: row["exam_truth"] for row in table} == {
        name: CLASSES[name].truth for name, count in paper.asked.items() if count
    }
    assert all(row["exam_edit"] and row["exam_question"] == row["question"] for row in table)
    assert len({row["exam_id"] for row in table}) == len(table)
    of_class = {}
    for row in table:
        of_class.setdefault(row["exam_class"], []).append(row["question"])
    assert all(len(set(questions)) == len(questions) for questions in of_class.values())  # independent trials
    assert paper.source.mapping == {"question": "question", "reference": "gold", "prediction": "answer"}


def test_no_wrong_answer_names_a_reference_but_those_that_must():
    for row in make_exam(rows(), questions=60).table.to_pylist():
        if not row["exam_truth"] and row["exam_class"] not in {"negation", "hedge"}:
            assert not any(contains_words(row["prediction"], each) for each in row["reference"]), row


def test_swapped_gold_has_the_true_answer_beside_a_wrong_reference():
    asked = {row["question"]: row["gold"] for row in rows()}
    table = make_exam(rows(), classes=["swapped gold"]).table.to_pylist()
    assert table
    assert all(row["prediction"] == asked[row["question"]][0] and len(row["reference"]) == 1 for row in table)
    assert all(row["reference"][0] not in asked[row["question"]] for row in table)


def test_the_order_of_rows_does_not_matter_and_a_seed_draws_others():
    shuffled = rows()
    random.Random(3).shuffle(shuffled)  # noqa: S311
    assert make_exam(rows(), questions=25).table.equals(make_exam(shuffled, questions=25).table)
    first, other = (set(make_exam(rows(), questions=25, seed=seed).table["question"].to_pylist()) for seed in (0, 1))
    assert first != other


def test_more_rows_keep_the_questions_that_come_first_and_most_of_their_answers():
    few, many = (make_exam(rows(n), questions=500).table.to_pylist() for n in (57, 60))
    known = {row["exam_id"]: row for row in many}
    assert {row["question"] for row in few} <= {row["question"] for row in many}
    own = [
        row for row in few if row["exam_class"] in {"gold", "sentence", "harmless change", "changed number", "negation"}
    ]
    assert all(known[row["exam_id"]] == row for row in own)  # these are made from the row alone
    assert sum(known[row["exam_id"]] == row for row in few) > 0.6 * len(few)


def test_rows_of_one_question_are_one_and_rows_without_gold_are_counted():
    table = {"question": ["a?", "a?", "b?", "c?"], "gold": ["x", "y", "", None], "answer": ["1", "2", "3", "4"]}
    paper = make_exam(table, classes=["right"])
    assert (paper.questions, paper.source.rows, paper.source.without_gold) == (1, 4, 2)
    assert set(paper.table["prediction"].to_pylist()) >= {"x", "y"}


def test_gold_alone_suffices_and_contexts_are_shown():
    assert make_exam({"gold": ["copper", "tin"]}, classes=["gold"]).table.column_names[-2:] == [
        "reference",
        "prediction",
    ]
    table = make_exam({"question": ["q"], "gold": ["a"], "context": [["one", "two"]]}, classes=["gold"]).table
    assert table["contexts"].to_pylist() == [["one", "two"]]
    with_map = make_exam(Selection({"frage": ["q"], "gold": ["a"]}, map={"question": "frage"}), classes=["gold"])
    assert with_map.table["question"].to_pylist() == ["q"]


def test_what_cannot_be_an_exam_is_refused():
    with pytest.raises(ColumnError, match="no column fits 'reference'"):
        make_exam({"question": ["q"], "text": ["a"]})
    with pytest.raises(DataError, match="column 'gold' is empty in every row"):
        make_exam({"question": ["q"], "gold": [None]})
    with pytest.raises(SpecError, match="a whole number from 1"):
        make_exam({"question": ["q"], "gold": ["a"]}, questions=0)
