"""Systems that do not have the same rows: `karat.compare(…, common=True)`."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import karat
from karat import JoinError
from karat.cli.main import main

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
    results = [karat.score(rows(name), "em", keep=True) for name in names]
    alone = [karat.score(rows(name, shared), "em", keep=True) for name in names]
    found, expected = karat.compare(*results, common=True), karat.compare(*alone)
    assert found.findings == expected.findings
    assert found.n == len(shared)
    counts = {letter: len(PARTS[name]) - len(shared) for letter, name in zip("ABC", names, strict=False)}
    assert found.left_out == found.as_dict()["left_out"] == {name: count for name, count in counts.items() if count}
    assert all(f"{count} of {name}" in found.notes[0] for name, count in found.left_out.items())
    assert "left_out" not in expected.as_dict()
    assert karat.compare(*alone, common=True) == expected


def test_labels_of_other_rows_are_counted_and_not_used():
    results = [karat.score(rows(name), "em", keep=True) for name in "ab"]
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
        karat.score(rows(name), "em", run=name)
    refused = CliRunner().invoke(main, ["compare", "a", "b"])
    assert "Compare the 40 rows that all have with karat compare --common (in Python, common=True)" in refused.stderr
    printed = CliRunner().invoke(main, ["compare", "a", "b", "--common", "--json"])
    assert json.loads(printed.stdout)["left_out"] == {"a": 10, "b": 10}
    karat.score(rows("b", range(50, 60)), "em", run="other")
    with pytest.raises(JoinError, match=r"50 of 50 rows only in a .*Score both on the same rows"):
        karat.compare("a", "other", common=True)
