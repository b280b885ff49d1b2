"""Labels by people: every layout that is read, how they match rows, and what bad ones get."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import karat
from karat.core.errors import ColumnError, DataError, JoinError, SpecError
from karat.runs.labels.choices import judge_choices, parse_label_map
from karat.runs.labels.table import match_labels, read_labels

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write_file(name, text):
        (tmp_path / name).write_text(text, "utf-8")
        return name

    return write_file


def scores(labels):
    return dict(zip(labels.ids.to_pylist(), labels.scores.tolist(), strict=True))


def one(labels):
    return {row: score for row, (score,) in scores(labels).items()}


@pytest.mark.parametrize("column", ["label", "Labels", "score", "human", "Rating", "whatever"])
def test_one_column_of_labels_is_found_by_its_name_or_alone(write, column):
    labels = read_labels(write("l.csv", f"id,{column},note\n007,1,\n8,0.5,why\n9,,\n"), on="id")
    assert one(labels) == {"007": 1, "8": 0.5}
    assert (labels.annotators, labels.choices, labels.source) == ((column,), {}, "l.csv")


def test_long_form_and_wide_form_are_the_same_labels(write):
    long = write("long.csv", "id,annotator,label\na,ann1,1\nb,ann1,0\na,ann2,0\nc,ann2,1\n")
    wide = {"id": ["a", "b", "c"], "ann1": [1, 0, None], "ann2": [0, None, 1]}
    first, second = read_labels(long, on="id"), read_labels(wide, on="id", columns=["ann1", "ann2"])
    assert first.annotators == second.annotators == ("ann1", "ann2")
    np.testing.assert_equal(scores(first), scores(second))
    assert first.mean.tolist() == [0.5, 0, 1]


@pytest.mark.parametrize("names", [("annotator1", "annotator2"), ("rater_1", "rater_2"), ("Human A", "Human B")])
def test_columns_of_several_annotators_are_found_by_their_names(names):
    rows = {"id": [1, 2], "question": ["?", "?"], names[0]: [1, 0], names[1]: [0, None]}
    assert read_labels(rows, on="id").annotators == names


@pytest.mark.parametrize("frame", [list, dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_every_kind_hold_labels(frame):
    rows = {"id": [1, 2, 3], "label": [True, None, False]}
    data = rows if frame is dict else pa.table(rows).to_pylist() if frame is list else frame(rows)
    assert one(read_labels(data, on="id")) == {"1": 1, "3": 0}


def test_labels_in_json_may_be_of_several_types(write):
    lines = [{"id": 1, "label": 1}, {"id": "2", "label": "0.5"}, {"id": 3, "label": True}]
    path = write("l.jsonl", "\n".join(map(json.dumps, lines)))
    assert one(read_labels(path, on="id", label_map={"1": 1, "0.5": 0.5, "true": 0})) == {"1": 1, "2": 0.5, "3": 0}


def test_names_have_the_scores_of_the_map_in_its_order(write):
    path = write("l.csv", "id,label\n1,good\n2,bad\n3,fair\n")
    for label_map in ("bad<fair<good", "bad=0, fair=.5,good=1", {"bad": 0, "fair": 0.5, "good": 1}):
        labels = read_labels(path, on="id", label_map=label_map)
        assert one(labels) == {"1": 1, "2": 0, "3": 0.5}
        assert list(labels.choices) == ["bad", "fair", "good"]


def test_the_score_of_a_name_may_stand_beside_it():
    rows = {"id": [1, 2, 3], "label": ["good", "bad", None], "score": [1, 0, None]}
    assert one(read_labels(rows, on="id")) == {"1": 1, "2": 0}
    assert one(read_labels(rows, on="id", label_map="good=0,bad=1")) == {"1": 0, "2": 1}


def test_a_score_beside_numbers_is_another_one():
    rows = {"id": [1, 2], "label": [0, 1], "score": [1.0, 1.0]}
    assert one(read_labels(rows, on="id")) == {"1": 0, "2": 1}
    journal = {"id": ["1"], "annotator": ["ada"], "action": ["label"], "label": ["5"], "score": [1.0]}
    assert one(read_labels(journal, on="id")) == {"1": 1}


def test_labels_of_a_session_need_no_place_in_the_map(write):
    sheet = write("a.csv", "id,label\n1,good\n2,bad\n")
    journal = write("b.jsonl", '{"id": "3", "annotator": "ada", "action": "label", "label": "correct", "score": 1}\n')
    labels = read_labels([sheet, journal], on="id", label_map="good=1,bad=0")
    assert dict(zip(labels.ids.to_pylist(), labels.mean.tolist(), strict=True)) == {"1": 1, "2": 0, "3": 1}


def test_labels_of_a_session_are_those_of_the_judge_that_has_them_all():
    journal = {"id": ["1"], "annotator": ["ada"], "action": ["label"], "label": ["incorrect"], "score": [0.0]}
    labels = read_labels(journal, on="id", choices=judge_choices([karat.Judge("refusal"), karat.Judge("correctness")]))
    assert set(labels.choices) > {"incorrect"}


def test_numbers_may_be_names_too():
    rows = {"id": [1, 2], "label": [5, 1]}
    assert one(read_labels(rows, on="id", label_map="1<2<3<4<5")) == {"1": 1, "2": 0}


def test_names_may_be_those_of_a_judge():
    judges = judge_choices([karat.Judge("correctness"), karat.Judge("refusal"), karat.metrics.exact_match])
    rows = {"id": [1, 2], "label": ["refused", "answered"]}
    labels = read_labels(rows, on="id", choices=judges)
    assert (one(labels), labels.choices) == ({"1": 1, "2": 0}, {"refused": 1, "answered": 0})
    with pytest.raises(DataError, match="fit several judges"):
        read_labels(rows, on="id", choices=[*judges, {"refused": 0, "answered": 1}])


def test_labels_of_several_rounds_add_up(write):
    first = write("first.csv", "id,label,probability\n1,1,0.5\n2,0,0.5\n")
    second = write("second.jsonl", '{"id": "3", "annotator": "bob", "label": "1", "probability": 0.1}')
    labels = read_labels([first, second], on="id")
    assert labels.probabilities.tolist() == [0.5, 0.5, 0.1]
    assert (labels.annotators, labels.source) == (("label", "bob"), "first.csv, second.jsonl")
    assert [labels.place(at) for at in range(3)] == [
        *("first.csv, row 1 (2 with the header)", "first.csv, row 2 (3 with the header)", "second.jsonl, row 1")
    ]
    assert labels.take(np.array([2])).probabilities.tolist() == [0.1]


def test_a_label_may_stand_twice_where_it_is_the_same():
    labels = read_labels({"id": [1, 1], "label": [0, 0]}, on="id")
    assert (one(labels), labels.rows.tolist()) == ({"1": 0}, [1])


def test_lines_that_were_taken_back_do_not_count(write):
    lines = [("1", "label", "1"), ("1", "undo", None), ("1", "label", "0"), ("2", "skip", None), ("3", "label", "1")]
    keys = ("id", "action", "label")
    text = "\n".join(json.dumps({**dict(zip(keys, line, strict=True)), "annotator": "ada"}) for line in lines)
    assert one(read_labels(write("l.jsonl", text), on="id")) == {"1": 0, "3": 1}


def test_a_column_of_the_rows_is_read_by_row_number():
    labels = read_labels({"prediction": ["x", "y", "z"], "human": [None, 1, 0]}, on=None, columns=["human"])
    assert one(labels) == {"2": 1, "3": 0}


def test_a_probability_in_scored_rows_is_not_that_of_being_proposed():
    rows = {"human": [None, 1, 0], "probability": [0.9, 0.1, 0.6]}
    assert read_labels(rows, on=None, columns=["human"]).probabilities is None


def test_one_system_of_several():
    rows = {"id": [1, 1], "system": ["a", "b"], "label": [1, 0]}
    assert one(read_labels(rows, on="id", system="b")) == {"1": 0}
    with pytest.raises(DataError, match="names 2 systems, one system is expected; there are: a, b"):
        read_labels(rows, on="id")
    with pytest.raises(DataError, match="expected labels of the system 'bb', found none in 2 rows"):
        read_labels(rows, on="id", system="bb")


def test_a_file_with_the_labels_of_one_system_has_none_of_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("both.csv").write_text("id,system,label\n1,a,1\n1,b,0\n")
    Path("one.csv").write_text("id,system,label\n2,b,1\n")
    assert one(read_labels(["both.csv", "one.csv"], on="id", system="a")) == {"1": 1}
    assert one(read_labels(["both.csv", "one.csv"], on="id", system="b")) == {"1": 0, "2": 1}


BAD = {
    "no such column": ("id,label\n1,1\n", {"on": "ids"}, ColumnError, "l.csv: there is no column 'ids'; did you mean"),
    "no such label": ("id,label\n1,1\n", {"columns": ["labl"]}, ColumnError, "no column 'labl'; did you mean 'label'"),
    "two columns": ("id,label,grade\n1,1,1\n", {}, ColumnError, "l.csv: 'label' and 'grade' could hold the labels"),
    "two scores": ("id,label,score\n1,a,1\n2,a,0\n", {}, DataError, "row 1: the label 'a' has the scores 0 and 1"),
    "two annotators": ("id,annotator,rater,label\n1,a,b,1\n", {}, ColumnError, "'annotator' and 'rater' could hold"),
    "no column": ("id,a,b\n1,1,1\n", {}, ColumnError, "l.csv: no column holds labels.*columns are id, a, b.*--label-c"),
    "no labels": ("id,label\n1,\n", {}, DataError, "l.csv: expected labels, found none in 1 rows"),
    "no id": ("id,label\n1,1\n,1\n", {}, JoinError, "l.csv, row 2: column 'id' is empty beside a label"),
    "nobody": ("id,annotator,label\n1,a,1\n2,,1\n", {}, DataError, "l.csv, row 2: column 'annotator' is empty"),
    "a name": ("id,label\n1,good\n", {}, DataError, "l.csv, row 1: the label 'good' has no score: .*-map 'good=…'"),
    "not a number": ("id,label\n1,1\n2,nan\n", {}, DataError, "l.csv, row 2: the label 'nan' has no score"),
    "not in the map": (
        "id,label\n1,good\n2,goood\n", {"label_map": "good=1,bad=0"}, DataError,
        "l.csv, row 2: the label 'goood' is not in the map; did you mean 'good'",
    ),
    "twice": (
        "id,label\n1,1\n2,0\n1,0\n", {}, DataError,
        "row 1 and l.csv, row 3: the row '1' has two labels in column 'label', '1' and '0': keep one .*, or name the",
    ),
    "twice by ada": (
        "id,annotator,label\n1,ada,good\n1,bob,bad\n1,ada,bad\n", {"label_map": "good=1,bad=0"}, DataError,
        "row 1 and l.csv, row 3: 'ada' labelled the row '1' twice, 'good' and 'bad': keep one of them$",
    ),
    "probability 0": ("id,label,probability\n1,1,.5\n2,1,0\n", {}, DataError, "row 2: the probability .* is 0; exp"),
    "probability 2": ("id,label,probability\n1,1,2\n", {}, DataError, "row 1: the probability .* is 2; exp"),
    "no probability": ("id,label,probability\n1,1,\n", {}, DataError, "row 1: the probability of a .* row is missing"),
    "not a probability": ("id,label,probability\n1,1,half\n", {}, ColumnError, "'probability': expected numbers"),
    "two probabilities": (
        "id,annotator,label,probability\n1,a,1,.5\n1,b,1,.25\n", {}, DataError,
        "l.csv, row 1 and l.csv, row 2: the row '1' has the probabilities 0.5 and 0.25",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_labels_are_refused_with_file_row_and_remedy(write, case):
    text, arguments, error, message = BAD[case]
    with pytest.raises(error) as raised:
        read_labels(write("l.csv", text), **{"on": "id", **arguments})
    assert re.search(message, re.sub(r" \(\d+ with the header\)", "", str(raised.value)))


def test_rows_are_also_named_as_a_spreadsheet_counts_them(write):
    with pytest.raises(DataError, match=r"l.csv, row 2 \(3 with the header\): the label 'x'"):
        read_labels(write("l.csv", "id,label\n1,1\n2,x\n"), on="id")
    with pytest.raises(DataError, match=r"l.jsonl, row 1: the label 'x'"):
        read_labels(write("l.jsonl", '{"id": 1, "label": "x"}'), on="id")


def test_lists_are_no_labels(write):
    path = write("l.jsonl", '{"id": 1, "label": ["good"]}')
    with pytest.raises(ColumnError, match=r"column 'label'.*expected one text or number a row"):
        read_labels(path, on="id")


def test_probabilities_in_one_file_of_two_are_refused(write):
    files = [write("a.csv", "id,label\n1,1\n"), write("b.csv", "id,label,probability\n2,1,.5\n")]
    with pytest.raises(ColumnError, match=r"a.csv has no column 'probability', but b.csv has one.*label --next"):
        read_labels(files, on="id")


@pytest.mark.parametrize("text", ["", "good", "good=1,bad", "good=1,good=0", "=1", "a<", "a<b<a", "good=inf"])
def test_a_map_that_cannot_be_read_is_refused(text):
    with pytest.raises(SpecError, match="label map"):
        parse_label_map(text)


@pytest.mark.parametrize("label_map", [{}, {"good": "1"}, {"good": None}])
def test_a_map_needs_scores(label_map):
    with pytest.raises(SpecError, match="label map"):
        read_labels({"id": [1], "label": ["good"]}, on="id", label_map=label_map)


def test_labels_find_their_rows():
    labels = read_labels({"id": [3, 1], "label": [1, 0]}, on="id")
    assert match_labels(labels, pa.chunked_array([["1", None], ["2", None, "3"]]), "rows").tolist() == [4, 0]


def test_labels_of_unknown_rows_are_refused(write):
    labels = read_labels(write("l.csv", "id,label\nq1,1\nq2,0\nx9,1\n"), on="id")
    message = "l.csv: 2 of 3 labelled rows are not in a.jsonl: 'q2' (l.csv, row 2 (3 with the header)); 'x9' (l.csv, "
    with pytest.raises(JoinError, match=re.escape(message)):
        match_labels(labels, pa.array(["q1", "q11"]), "a.jsonl")
    with pytest.raises(JoinError, match=r"; there are: p0000, p0001, .*, p0007 … and 1,992 more; remove them"):
        match_labels(labels, pa.array([f"p{n:04}" for n in range(2000)]), "a.jsonl")


def test_an_id_of_two_rows_is_refused_where_it_is_labelled(write):
    labels = read_labels(write("l.csv", "id,label\n1,1\n2,0\n"), on="id")
    assert match_labels(labels, pa.array(["1", "2", "3", "3", None]), "rows").tolist() == [0, 1]
    with pytest.raises(
        JoinError, match=re.escape("a.jsonl: the id '2' is there more than once, labelled in l.csv, row 2")
    ):
        match_labels(labels, pa.array(["1", "2", "2", "3"]), "a.jsonl")


def test_many_labels_are_read_and_matched_in_any_order():
    ids = np.arange(200_000)
    labels = read_labels({"id": ids[::-1], "label": ids % 2}, on="id")
    assert match_labels(labels, pa.array(ids).cast(pa.large_string()), "rows")[0] == 199_999
    assert labels.mean[:2].tolist() == [0, 1]


def test_labels_have_one_map():
    named = karat.Labels({"id": [1], "label": ["good"]})
    assert karat.Labels.of(named, "good=1") == karat.Labels(named.source, "good=1")
    assert karat.Labels.of(named) is named
    with pytest.raises(SpecError, match=r"^label_map='good=0' beside Labels with 'good=1': one map is expected"):
        karat.Labels.of(karat.Labels(named.source, "good=1"), "good=0")
