from __future__ import annotations

import json

import pytest

from karat.core.errors import DataError, RowError
from karat.data.open import open_source

SQUAD = {
    "version": "v2.0",
    "data": [
        {
            "title": "T",
            "paragraphs": [
                {
                    "context": "C",
                    "qas": [
                        {
                            "id": "1",
                            "question": "Q1",
                            "answers": [{"text": "b"}, {"text": "the c"}, {"text": "."}],
                            "is_impossible": False,
                        },
                        {"id": "2", "question": "Q2", "answers": [], "is_impossible": True},
                    ],
                }
            ],
        }
    ],
}


def rows(data, **settings):
    return [row for batch in open_source(data, **settings).as_values().batches() for row in batch.to_pylist()]


@pytest.fixture
def put(tmp_path):
    def put(document):
        path = tmp_path / "d.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    return put


def test_squad_2_layout_is_one_row_a_question_with_the_answers_its_script_accepts(put):
    same = {"title": "T", "context": "C"}
    assert rows(put(SQUAD)) == [
        {"id": "1", **same, "question": "Q1", "references": ["b", "the c"], "is_impossible": False},
        {"id": "2", **same, "question": "Q2", "references": [""], "is_impossible": True},
    ]


def test_squad_1_layout_keeps_every_answer(put):
    questions = [{"id": "1", "question": "Q", "answers": [{"text": "."}, {"text": "a"}]}]
    assert rows(put({"data": [{"paragraphs": [{"qas": questions}]}]}))[0]["references"] == [".", "a"]


def test_squad_layout_without_questions_says_which(put):
    with pytest.raises(RowError, match="question 1: not SQuAD's layout"):
        rows(put({"data": [{"paragraphs": [{"qas": [{"id": "1"}]}]}]}))


@pytest.mark.parametrize(
    ("document", "role", "expected"),
    [
        ({"q1": "007", "q2": ""}, "prediction", [{"id": "q1", "prediction": "007"}, {"id": "q2", "prediction": ""}]),
        ({"q1": "a"}, "reference", [{"id": "q1", "reference": "a"}]),
        ({"q1": ["a"], "q2": []}, "prediction", [{"id": "q1", "references": ["a"]}, {"id": "q2", "references": []}]),
        ({"id": ["1"], "answer": ["x"]}, "prediction", [{"id": "1", "answer": "x"}]),
        (
            {"question": "Q", "prediction": "007", "gold": ["x"], "n": 1.5},
            "reference",
            [{"question": "Q", "prediction": "007", "gold": ["x"], "n": 1.5}],
        ),
        ('{\n  "id": "1",\n  "answer": null\n}\n', "prediction", [{"id": "1", "answer": None}]),
        ([{"a": 1}, {"b": "x"}], "prediction", [{"a": 1, "b": None}, {"a": None, "b": "x"}]),
        ('{"a": "1"}\n{"a": "2"}\n', "prediction", [{"a": "1"}, {"a": "2"}]),
    ],
)
def test_a_document_is_read_by_its_layout(put, document, role, expected):
    assert rows(put(document), role=role) == expected


@pytest.mark.parametrize("document", ["3", '"x"', "{}", '{"a": {"b": "c"}}', '{"a": 1}', '{"a": "x", "b": ["y"]}'])
def test_other_layouts_are_refused_with_a_list_of_those_read(put, document):
    with pytest.raises(DataError, match=r"d\.json: expected an array of objects, JSON Lines, SQuAD's"):
        rows(put(document))


def test_an_id_that_is_there_twice_is_refused(put):
    with pytest.raises(RowError, match="key 'q1' occurs twice"):
        rows(put('{"q1": "a", "q1": "b"}'))


@pytest.mark.parametrize(
    ("document", "reason"), [('[{"a": 1}, {"a": 1,]', "not valid JSON"), ('[{"a": 1}, 3]', "item 2")]
)
def test_a_broken_array_is_named(put, document, reason):
    with pytest.raises(RowError, match=reason):
        rows(put(document))
