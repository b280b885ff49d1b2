"""A labelling session: its order, its journal, and how it goes on."""

import json
import os

import pytest

import karat
from karat.core.errors import ColumnError, DataError, JoinError, SpecError
from karat.runs.labels.labels import read_labels
from karat.runs.labels.rows import Row, open_rows
from karat.runs.labels.session import Session

ROWS = [Row(str(at), None, None) for at in range(30)]
CHOICES = {"good": 1.0, "bad": 0.0}


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "labels.jsonl"


def session(path, annotator="ada", rows=ROWS, **more):
    return Session(rows, path, annotator, CHOICES, **more)


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def label_all(started, name="good"):
    order = []
    while (at := started.current) is not None:
        order.append(at)
        started.label(name)
    return order


def test_every_annotator_sees_all_rows_in_the_order_of_the_seed(path):
    first, second = label_all(session(path)), label_all(session(path, "bob"), "bad")
    assert first == second
    assert sorted(first) == list(range(30))
    assert first != label_all(session(path, "eve", seed=1))
    labels = read_labels(path, on="id")
    assert (labels.annotators, labels.choices) == (("ada", "bob", "eve"), {"bad": 0, "good": 1})
    assert labels.scores.tolist() == [[1, 0, 1]] * 30


def test_each_key_is_on_the_disk_at_once_and_no_line_changes(path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    started, before = session(path), ""
    for step in (lambda: started.label("bad", "why not"), started.skip, started.undo, lambda: started.label("good")):
        step()
        assert path.read_text("utf-8").startswith(before)
        before = path.read_text("utf-8")
    assert len(synced) >= 4
    assert [line["action"] for line in lines(path)] == ["label", "skip", "undo", "label"]
    assert lines(path)[0]["note"] == "why not"


def test_a_label_is_taken_back_also_after_a_pause(path):
    started = session(path)
    first = started.current
    started.label("good")
    later = session(path)
    later.undo()
    assert (later.current, later.finished) == (first, 0)
    later.undo()  # nothing is left to take back
    later.label("bad")
    labels = read_labels(path, on="id")
    assert (labels.ids.to_pylist(), labels.scores.tolist()) == ([ROWS[first].id], [[0]])


def test_a_session_goes_on_where_it_was_stopped(path):
    started = session(path)
    for _ in range(7):
        started.label("good")
    started.skip()
    upcoming = started.current
    again = session(path)
    assert (again.current, again.finished) == (upcoming, 8)
    assert session(path, "bob").finished == 0


def test_a_line_that_a_power_failure_cut_is_removed(path):
    started = session(path)
    started.label("good")
    started.label("good")
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    again = session(path)
    assert again.finished == 1
    again.label("bad")
    assert [line["label"] for line in lines(path)] == ["good", "bad"]
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))  # a whole line is kept
    last = session(path)
    assert last.finished == 2
    last.skip()
    assert [line["action"] for line in lines(path)] == ["label", "label", "skip"]


def test_a_note_that_is_no_text_is_kept_as_well_as_can_be(path):
    session(path).label("good", "caf\udce9")
    assert lines(path)[0]["note"] == "caf?"


def test_probabilities_and_systems_reach_the_labels(path):
    rows = [Row("1", "a", 0.5), Row("1", "b", 0.25)]
    label_all(session(path, rows=rows))
    for system, probability in (("a", 0.5), ("b", 0.25)):
        labels = read_labels(path, on="id", system=system)
        assert (labels.ids.to_pylist(), labels.probabilities.tolist()) == (["1"], [probability])


def test_a_journal_of_something_else_is_refused(path):
    label_all(session(path))
    with pytest.raises(DataError, match=r"labels.jsonl, line 1: the row '\d+' is not among those to label"):
        session(path, rows=[Row("x", None, None)])
    with pytest.raises(DataError, match=r"line 1: the label good=1 is not among yes=1, no=0; name another file"):
        Session(ROWS, path, "ada", {"yes": 1, "no": 0})
    for text in ("id,label\n1,good\n", '{"id": "1", "prediction": "a"}', '{"id": "1"}\n{"id": "2"', '{"id'):
        path.write_text(text)
        with pytest.raises(DataError, match="line 1: expected a line that karat label has written"):
            session(path)
        assert path.read_text() == text


def test_only_known_labels_are_taken(path):
    started = session(path)
    with pytest.raises(SpecError, match="no label 'goo'; did you mean 'good'"):
        started.label("goo")
    assert not path.exists()
    label_all(started)
    with pytest.raises(SpecError, match="all rows are labelled"):
        started.skip()
    with pytest.raises(SpecError, match="a name of the annotator"):
        session(path, " ")


SHOWN = {"id": ["7", "8"], "question": ["?", "!"], "contexts": [["a", "b"], []], "gold": ["x", None],
         "answer": ["y", "z"], "system": ["s", "s"], "label": ["l", "l"], "judge:correctness": [1.0, 0.0],
         "judge:correctness.explanation": ["so", "so"], "exact_match": [0, 1]}  # fmt: skip


def test_neither_scores_nor_the_system_are_shown():
    opened = open_rows([SHOWN])
    assert opened.shown == ("question", "contexts", "gold", "answer")
    assert opened.read(0) == {"question": "?", "contexts": ["a", "b"], "gold": "x", "answer": "y"}
    assert opened.rows == [Row("7", None, None), Row("8", None, None)]
    assert open_rows([SHOWN], show=["answer"]).read(1) == {"answer": "z"}


def test_a_run_shows_what_was_scored(path):
    rows = {"qid": ["a", "b"], "said": ["x", "y"], "truth": ["x", "z"], "probability": [0.5, 1]}
    karat.score(rows, "em", map={"prediction": "said", "reference": "truth"}, run="first")
    opened = open_rows(["first"], on="qid")
    assert opened.shown == ("truth", "said")
    assert opened.rows == [Row("a", None, 0.5), Row("b", None, 1.0)]
    other = path.with_name("other.jsonl")
    other.write_text('{"qid": 7, "said": 1.10, "truth": [1, "b"]}\n')
    both = open_rows(["first", str(other)], on="qid", show=["said"])
    assert [row.system for row in both.rows] == ["first", "first", str(other)]
    assert [both.read(at)["said"] for at in range(3)] == ["x", "y", "1.10"]


def test_proposed_rows_that_have_a_label_are_not_offered_again(path):
    rows = {"id": ["a", "b", "c"], "answer": ["x", "y", "z"], "label": ["good", "", None]}
    rows["probability"] = [0.5, 0.5, 0.25]
    opened = open_rows([rows])
    assert [row.id for row in opened.rows] == ["b", "c"]
    assert opened.read(1) == {"answer": "z"}
    label_all(session(path, rows=opened.rows), "bad")
    labels = read_labels(path, on="id")
    assert dict(zip(labels.ids.to_pylist(), labels.probabilities, strict=True)) == {"b": 0.5, "c": 0.25}


@pytest.mark.parametrize(
    ("rows", "more", "error", "message"),
    [
        ({"a": ["1"]}, {}, ColumnError, "no column has the name of an id, .*columns are a. Say which: --on COLUMN"),
        ({"id": ["1"], "x": ["1"]}, {}, ColumnError, "no column to show has a known name; .*: --show COLUMN"),
        (SHOWN, {"show": ["answr"]}, ColumnError, "no column 'answr'; did you mean 'answer'"),
        ({"id": ["1", "1"], "answer": ["x"] * 2}, {}, JoinError, "row 2: has '1' in row 1 too; expected an id of its"),
        ({"id": ["1", None], "answer": ["x"] * 2}, {}, JoinError, "column 'id', row 2: is empty"),
        ({"id": ["1"], "answer": ["x"], "probability": [0]}, {}, DataError, "row 1: the probability is 0; expected"),
    ],
)
def test_rows_that_cannot_be_labelled_are_refused(rows, more, error, message):
    with pytest.raises(error, match=message):
        open_rows([rows], **more)
