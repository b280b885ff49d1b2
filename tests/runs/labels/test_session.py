"""A labelling session: its order, its journal, and how it goes on."""

import json
import os
import tempfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import karat
from karat.core.errors import ColumnError, DataError, JoinError, SpecError
from karat.runs.labels.rows_to_label import RowToLabel, open_rows_to_label
from karat.runs.labels.session import FinishedRow, Mark, Session
from karat.runs.labels.table import read_labels

ROWS = [RowToLabel(str(at), None, None) for at in range(30)]
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
        started.label(name, at)
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
    steps = (
        lambda at: started.label("bad", at, "why not"),
        started.skip,
        lambda _: started.undo(),
        lambda at: started.label("good", at),
    )
    for step in steps:
        step(started.current)
        assert path.read_text("utf-8").startswith(before)
        before = path.read_text("utf-8")
    assert len(synced) >= 4
    assert [line["action"] for line in lines(path)] == ["label", "skip", "undo", "label"]
    assert lines(path)[0]["note"] == "why not"


def test_a_label_is_taken_back_also_after_a_pause(path):
    started = session(path)
    first = started.current
    started.label("good", first)
    later = session(path)
    assert later.undo() == first
    assert (later.current, later.finished) == (first, 0)
    assert later.undo() is None
    later.label("bad", first)
    labels = read_labels(path, on="id")
    assert (labels.ids.to_pylist(), labels.scores.tolist()) == ([ROWS[first].id], [[0]])


def test_a_session_goes_on_where_it_was_stopped(path):
    started = session(path)
    for _ in range(7):
        started.label("good", started.current)
    started.skip(started.current)
    upcoming = started.current
    again = session(path)
    assert (again.current, again.finished) == (upcoming, 8)
    assert session(path, "bob").finished == 0


def test_a_line_that_a_power_failure_cut_is_removed(path):
    started = session(path)
    first, second, *_ = started.order
    started.label("good", first)
    started.label("good", second)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    again = session(path)
    assert (again.finished, again.current) == (1, second)
    again.label("bad", second)
    assert [line["label"] for line in lines(path)] == ["good", "bad"]
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))  # a whole line is kept
    last = session(path)
    assert last.finished == 2
    last.skip(last.current)
    assert [line["action"] for line in lines(path)] == ["label", "label", "skip"]
    path.write_bytes(whole[:40])
    with pytest.raises(DataError, match="lines that were there are gone; start again"):
        last.skip(last.order[3])


def test_a_note_that_is_no_text_is_kept_as_well_as_can_be(path):
    started = session(path, "ren\udce9")
    for _ in range(2):
        started.label("good", 3, "caf\udce9")
    assert (started.finished, started.mark(3)) == (1, Mark("good", "caf?"))
    assert [(line["annotator"], line["note"]) for line in lines(path)] == [("ren?", "caf?")]


def test_probabilities_and_systems_reach_the_labels(path):
    rows = [RowToLabel("1", "a", 0.5), RowToLabel("1", "b", 0.25)]
    label_all(session(path, rows=rows))
    for system, probability in (("a", 0.5), ("b", 0.25)):
        labels = read_labels(path, on="id", system=system)
        assert (labels.ids.to_pylist(), labels.probabilities.tolist()) == (["1"], [probability])


def test_a_journal_of_something_else_is_refused(path):
    label_all(session(path))
    with pytest.raises(DataError, match=r"labels.jsonl, line 1: the row '\d+' is not among those to label"):
        session(path, rows=[RowToLabel("x", None, None)])
    with pytest.raises(DataError, match=r"line 1: the label good=1 is not among yes=1, no=0: go on with .*--label-map"):
        Session(ROWS, path, "ada", {"yes": 1, "no": 0})
    for text in ("id,label\n1,good\n", '{"id": "1", "prediction": "a"}', '{"id": "1"}\n{"id": "2"', '{"id'):
        path.write_text(text)
        with pytest.raises(DataError, match="line 1: expected a line that karat label has written; name another file"):
            session(path)
        assert path.read_text() == text


def test_only_known_labels_of_known_rows_are_taken(path):
    started = session(path)
    with pytest.raises(SpecError, match="no label 'goo'; did you mean 'good'"):
        started.label("goo", 0)
    with pytest.raises(SpecError, match="no row 30: a position from 0 to 29"):
        started.skip(30)
    assert not path.exists()
    with pytest.raises(SpecError, match="a name of the annotator"):
        session(path, " ")
    with pytest.raises(DataError, match="there is no folder"):
        session(path.parent / "none" / "labels.jsonl").skip(0)


def test_the_rows_of_an_id_follow_each_other_in_random_order_of_systems(path):
    rows = [RowToLabel(str(at), system, None) for system in "abc" for at in range(200)]
    order = [rows[at] for at in session(path, rows=rows).order]
    triples = [order[at : at + 3] for at in range(0, 600, 3)]
    assert all(len({row.id for row in triple}) == 1 for triple in triples)
    assert [triple[0].id for triple in triples] != [str(at) for at in range(200)]
    firsts = [triple[0].system for triple in triples]
    assert all(45 < firsts.count(system) < 90 for system in "abc")


def test_a_label_is_for_the_row_that_was_shown(path):
    first, second = session(path), session(path)
    at, other = first.order[:2]
    first.label("good", at)
    second.label("good", at)  # the same label again
    with pytest.raises(FinishedRow, match="this row is labelled 'good' already") as refused:
        second.label("bad", at)
    assert (refused.value.at, refused.value.mark, refused.value.current) == (at, Mark("good"), other)
    assert second.undo(at) == at
    assert first.current == at
    first.skip(other)
    with pytest.raises(FinishedRow, match="this row is skipped already"):
        second.label("bad", other)
    assert len(lines(path)) == 3


def test_no_label_of_two_processes_at_once_is_lost_or_doubled(path, python):
    program = """if True:
        from karat.runs.labels.rows_to_label import RowToLabel
        from karat.runs.labels.session import FinishedRow, Session
        rows = [RowToLabel(str(at), None, None) for at in range(30)]
        session = Session(rows, "labels.jsonl", "ada", {"good": 1, "bad": 0})
        while (at := session.current) is not None:
            try:
                session.label("NAME", at)
            except FinishedRow:
                pass
    """
    processes = [python("-c", program.replace("NAME", name)) for name in ("good", "bad")]
    assert [process.wait() for process in processes] == [0, 0]
    assert len(lines(path)) == len({line["id"] for line in lines(path)}) == 30
    assert session(path).finished == 30


class Windows(RuleBasedStateMachine):
    """Two windows of one annotator, one of another, and what the journal should hold of them."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name, "labels.jsonl")
        self.windows = [session(self.path, who, ROWS[:4]) for who in ("ada", "ada", "bob")]
        self.seen = [window.current for window in self.windows]
        self.marks = {"ada": {}, "bob": {}}

    def teardown(self):
        self.windows_and_file_agree()
        given = {
            (str(at), who): CHOICES[label] for who, marks in self.marks.items() for at, label in marks.items() if label
        }
        if given:
            labels = read_labels(self.path, on="id")
            assert given == {
                (row, who): score
                for row, scores in zip(labels.ids.to_pylist(), labels.scores.tolist(), strict=True)
                for who, score in zip(labels.annotators, scores, strict=True)
                if score == score  # noqa: PLR0124  (not NaN)
            }
        self.folder.cleanup()

    @rule(at=st.integers(0, 2))
    def look(self, at):
        self.seen[at] = self.windows[at].current

    @rule(at=st.integers(0, 2), row=st.none() | st.integers(0, 3), label=st.sampled_from(["good", "bad", None]))
    def finish(self, at, row, label):
        window, row = self.windows[at], self.seen[at] if row is None else row
        if row is None:
            return
        marks, finish = self.marks[window.annotator], partial(window.label, label) if label else window.skip
        if marks.get(row, label) != label:
            with pytest.raises(FinishedRow) as refused:
                finish(row)
            assert refused.value.current == window.current
        else:
            finish(row)
            marks.setdefault(row, label)

    @rule(at=st.integers(0, 2), row=st.none() | st.integers(0, 3))
    def undo(self, at, row):
        marks = self.marks[self.windows[at].annotator]
        last = next(reversed(marks), None) if row is None else row if row in marks else None
        assert self.windows[at].undo(row) == last
        marks.pop(last, None)

    @rule(at=st.integers(0, 2))
    def stop_and_go_on(self, at):
        self.windows[at] = session(self.path, self.windows[at].annotator, ROWS[:4])

    @precondition(lambda self: self.path.exists())
    @rule(line=st.sampled_from([b'{"id": "0", "annot', b"\x00\xff"]))
    def lose_power(self, line):
        with self.path.open("ab") as journal:
            journal.write(line)

    @invariant()
    def windows_and_file_agree(self):
        for window in self.windows:
            marks = self.marks[window.annotator]
            assert window.current == next((at for at in window.order if at not in marks), None)
            assert {at: mark.label for at in range(4) if (mark := window.mark(at))} == marks


TestWindows = Windows.TestCase
TestWindows.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)


SHOWN = {"id": ["7", "8"], "question": ["?", "!"], "contexts": [["a", "b"], []], "gold": ["x", None],
         "answer": ["y", "z"], "system": ["s", "s"], "label": ["l", "l"], "judge:correctness": [1.0, 0.0],
         "judge:correctness.explanation": ["so", "so"], "exact_match": [0, 1]}  # fmt: skip


def test_neither_scores_nor_the_system_are_shown():
    opened = open_rows_to_label([SHOWN])
    assert opened.shown == ("question", "contexts", "gold", "answer")
    assert opened.read(0) == {"question": "?", "contexts": ["a", "b"], "gold": "x", "answer": "y"}
    assert opened.rows == [RowToLabel("7", None, None), RowToLabel("8", None, None)]
    assert open_rows_to_label([SHOWN], show=["answer"]).read(1) == {"answer": "z"}


def test_a_run_shows_what_was_scored(path):
    rows = {"qid": ["a", "b"], "said": ["x", "y"], "truth": ["x", "z"], "probability": [0.5, 1]}
    karat.score(rows, "exact_match", map={"prediction": "said", "reference": "truth"}, run="first")
    opened = open_rows_to_label(["first"], on="qid")
    assert opened.shown == ("gold", "answer")
    assert opened.rows == [RowToLabel("a", None, 0.5), RowToLabel("b", None, 1.0)]
    other = path.with_name("other.jsonl")
    other.write_text('{"qid": 7, "said": 1.10, "truth": [1, "b"]}\n')
    both = open_rows_to_label(["first", str(other)], on="qid", show=["said"])
    assert [row.system for row in both.rows] == ["first", "first", str(other)]
    assert [both.read(at)["said"] for at in range(3)] == ["x", "y", "1.10"]
    assert both.shown == ("said",)


def test_proposed_rows_that_have_a_label_are_not_offered_again(path):
    rows = {"id": ["a", "b", "c"], "gold": ["u", "v", "w"], "answer": ["x", "y", "z"], "label": ["good", "", None]}
    rows["probability"] = [0.5, 0.5, 0.25]
    opened = open_rows_to_label([rows])
    assert [row.id for row in opened.rows] == ["b", "c"]
    assert opened.read(1) == {"gold": "w", "answer": "z"}
    label_all(session(path, rows=opened.rows), "bad")
    labels = read_labels(path, on="id")
    assert dict(zip(labels.ids.to_pylist(), labels.probabilities, strict=True)) == {"b": 0.5, "c": 0.25}


@pytest.mark.parametrize(
    ("rows", "more", "error", "message"),
    [
        ({"a": ["1"]}, {}, SpecError, "--on COLUMN .*: no column of dict has the name of an id; its columns are a"),
        (
            {"id": ["1"], "x": ["1"]},
            {},
            ColumnError,
            "known to be the question, the answer, the gold; .*: --show COLUMN",
        ),
        (SHOWN, {"show": ["answr"]}, ColumnError, "no column 'answr'; did you mean 'answer'"),
        (
            {"id": ["1", "1"], "answer": ["x"] * 2},
            {"show": ["answer"]},
            JoinError,
            "row 2: column 'id' has '1' in row 1 too; expected",
        ),
        ({"id": ["1", None], "answer": ["x"] * 2}, {"show": ["answer"]}, JoinError, "row 2: column 'id' is empty"),
        (
            {"id": ["1"], "answer": ["x"], "probability": [0]},
            {"show": ["answer"]},
            DataError,
            "row 1: the probability is 0; expected",
        ),
    ],
)
def test_rows_that_cannot_be_labelled_are_refused(rows, more, error, message):
    with pytest.raises(error, match=message):
        open_rows_to_label([rows], **more)


def test_another_label_takes_the_place_of_the_first_in_one_write(path, monkeypatch):
    started, other = session(path), session(path)
    started.label("good", 3)
    with pytest.raises(SpecError):
        started.label("great", 3, replace=True)
    assert [line["action"] for line in lines(path)] == ["label"]
    synced, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(path.read_text().count("\n")), fsync(handle)))
    started.label("bad", 3, "too long", replace=True)
    assert synced == [3]
    assert [(line["action"], line.get("label")) for line in lines(path)[1:]] == [("undo", None), ("label", "bad")]
    other.skip(3, replace=True)
    assert (started.mark(3), started.finished) == (Mark(None), 1)
    started.skip(3, replace=True)
    assert len(lines(path)) == 5
