"""Systems that do not have the same rows: `karat.compare(…, common=True)`."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.errors import JoinError

random = np.random.default_rng(3)
RIGHT = random.random((3, 60)) < [[0.4], [0.6], [0.7]]
PARTS = {"a": range(50), "b": range(10, 60), "c": range(5, 45)}


def rows(name, part=None):
    at, right = list(PARTS[name] if part is None else part), RIGHT["abc".index(name)]
    predictions = ["x" if right[row] else "y" for row in at]
    return {"id": [f"q{row}" for row in at], "gold": ["x"] * len(at), "prediction": predictions}


def labels(name, at):
    return [{"id": f"q{row}", "label": float(RIGHT["abc".index(name)][row])} for row in at]


@pytest.mark.parametrize(("names", "shared"), [("ab", range(10, 50)), ("abc", range(10, 45)), ("cab", range(10, 45))])
def test_the_common_rows_alone_are_compared(names, shared):
    results = [karat.score(rows(name), "exact_match", keep=True) for name in names]
    alone = [karat.score(rows(name, shared), "exact_match", keep=True) for name in names]
    found, expected = karat.compare(*results, common=True), karat.compare(*alone)
    assert found.findings == expected.findings
    assert found.n == len(shared)
    counts = {letter: len(PARTS[name]) - len(shared) for letter, name in zip("ABC", names, strict=False)}
    assert found.left_out == found.as_dict()["left_out"] == {name: count for name, count in counts.items() if count}
    assert all(f"{count} of {name}" in found.notes[0] for name, count in found.left_out.items())
    assert "left_out" not in expected.as_dict()
    assert karat.compare(*alone, common=True) == expected


def test_labels_of_other_rows_are_counted_and_not_used():
    results = [karat.score(rows(name), "exact_match", keep=True) for name in "ab"]
    inside = {"A": labels("a", range(10, 40)), "B": labels("b", range(20, 50))}
    both = {"A": [*labels("a", range(4)), *inside["A"]], "B": [*inside["B"], *labels("b", [59])]}
    expected = karat.compare(*results, common=True, human=inside)
    found = karat.compare(*results, common=True, human=both)
    assert found.findings == expected.findings
    assert found.notes[1] == "rows with labels by people: 30 of A, 30 of B, 20 in both"
    assert found.notes[2] == "labelled rows that are left out, since not all systems have them: 4 of A and 1 of B"
    assert len(expected.notes) == 2


def test_the_message_and_the_command_name_the_way(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        karat.score(rows(name), "exact_match", run=name)
    refused = CliRunner().invoke(main, ["compare", "a", "b"])
    assert "Take the 40 rows that all have with --common (in Python, common=True)" in refused.stderr
    printed = CliRunner().invoke(main, ["compare", "a", "b", "--common", "--json"])
    assert json.loads(printed.stdout)["left_out"] == {"a": 10, "b": 10}
    karat.score(rows("b", range(50, 60)), "exact_match", run="other")
    with pytest.raises(JoinError, match=r"50 of 50 rows only in a .*Score both on the same rows"):
        karat.compare("a", "other", common=True)


def test_a_label_map_turned_round_is_named_alike_wherever_labels_are_read():
    random = np.random.default_rng(5)
    right = random.random(80) < 0.6
    seen = np.where(random.random(80) < 0.9, right, ~right) * 1
    human = {"id": range(80), "label": np.where(right, "good", "bad")}
    path, spec, reader = {"id": range(80), "seen": seen}, "column(seen, low=0, high=1)", {"human": human, "on": "id"}
    for label_map, shown in (("good=0,bad=1", True), ("good=1,bad=0", False)):
        people = reader | {"label_map": label_map}
        notes = (karat.score(path, spec, **people).human or {}).get("notes", [])
        assert any("falls where people's labels rise (correlation -0." in note for note in notes) == shown
        sentences = karat.examine(path, spec, **people).judges[0].sentences
        assert any("falls where people's labels rise" in each for each in sentences) == shown
        results = [karat.score(path, spec, keep=True), karat.score(path, spec, keep=True)]
        compared = karat.compare(*results, human={"A": human, "B": human}, label_map=label_map, on="id")
        assert [note.partition(":")[0] for note in compared.notes if "falls where" in note] == ["A", "B"] * shown


def test_flipped_rows_of_given_scores_show_the_answers_there_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, score in (("a", 1.0), ("b", 0.0)):
        for kind, answer in (("", {"answer": [f"by {name}"] * 8}), ("bare_", {})):
            given = {"id": range(8), "question": [f"why {at}?" for at in range(8)], **answer, "gpt4": [score] * 8}
            karat.score(given, "column(gpt4)", run=kind + name)
    shown = CliRunner().invoke(main, ["compare", "a", "b", "--flipped", "1"]).output
    assert "question  why 0?" in shown
    assert "by a\n" in shown
    assert "by {+b+}\n" in shown
    bare = CliRunner().invoke(main, ["compare", "bare_a", "bare_b", "--flipped", "1"]).output
    assert "question  why 0?" in bare
    assert "null" not in bare
