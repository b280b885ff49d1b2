"""Rows proposed for the difference of several systems: drawn, labelled, compared, and drawn again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from pyarrow import csv

import karat
from karat.cli.main import main
from karat.core.errors import DataError, SpecError
from karat.runs.labels.rows_to_label import open_rows_to_label
from karat.runs.labels.session import Session
from karat.runs.labels.table import read_labels
from karat.runs.store.run import open_run

N = 300
CHOICES = {"good": 1.0, "bad": 0.0}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Two systems whose rows are in different orders; people accept every answer that begins with yes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    random = np.random.default_rng(3)
    for name, share in (("before", 0.5), ("after", 0.7)):
        order = random.permutation(N)
        says = np.where(random.random(N) < share, np.where(random.random(N) < 0.8, "yes", "yes it is"), "no")
        rows = {"id": [f"q{at}" for at in order], "question": ["is it?"] * N, "gold": ["yes"] * N}
        karat.score({**rows, "prediction": says.tolist()}, ["exact_match", "token_f1"], run=name)
    return ["before", "after"]


def label_all(source, output):
    rows = open_rows_to_label([source])
    session = Session(rows.rows, output, "ada", CHOICES)
    while (at := session.current) is not None:
        session.label("good" if rows.read(at)["prediction"].startswith("yes") else "bad", at)
    return rows


def test_each_row_is_drawn_with_the_answers_of_all_systems(runs):
    table = karat.label_next(runs, 30, output="next.csv").table
    assert table.column_names == ["id", "system", "label", "probability", "question", "gold", "prediction"]
    lines = table.to_pylist()
    assert len(lines) == 60
    assert {(line["id"], line["system"]) for line in lines} == {(line["id"], run) for line in lines for run in runs}
    answers = {
        (run, row["id"]): row["prediction"]
        for run in runs
        for row in open_run(run).read(["id", "prediction"]).to_pylist()
    }
    assert all(line["prediction"] == answers[line["system"], line["id"]] for line in lines)
    assert np.allclose(table["probability"], 0.1)


def test_two_rounds_are_labelled_blind_and_compared(runs):
    karat.label_next(runs, 40, output="next.csv")
    rows = label_all("next.csv", "first.jsonl")
    assert {row.system for row in rows.rows} == set(runs)
    assert "system" not in rows.read(0)
    second = karat.label_next(
        runs, 30, by="active", metrics="exact_match", human="first.jsonl", output="more.csv"
    ).table
    assert second["label"].null_count == 60
    assert second.num_rows == 140
    label_all("more.csv", "second.jsonl")
    for system in runs:
        labels = read_labels(["more.csv", "second.jsonl"], on="id", system=system, label_map=CHOICES)
        assert len(labels) == 70
        assert len(set(labels.probabilities.tolist())) > 2
    compared = karat.compare(*runs, metrics="exact_match", human=["more.csv", "second.jsonl"], label_map=CHOICES)
    found = compared.findings[0].corrected
    assert (found.labelled, found.weight > 0) == (70, True)
    people = [
        np.mean([text.startswith("yes") for text in open_run(run).column("prediction").to_pylist()]) for run in runs
    ]
    assert found.low < people[1] - people[0] < found.high


def test_answers_that_are_missing_beside_a_label_are_asked_for(runs):
    table = karat.label_next(runs, 20).table
    given = table.to_pylist()
    gone = given[0:10:2]
    lines = [{**line, "label": "good"} for line in given if line not in gone]
    done = karat.label_next(runs, 10, human=lines, label_map=CHOICES).table.to_pylist()
    empty = [(line["id"], line["system"]) for line in done if line["label"] is None]
    assert len(done) == 60
    assert len(empty) == 25
    assert set(empty[:5]) == {(line["id"], line["system"]) for line in gone}
    assert np.allclose([line["probability"] for line in done], 0.1)


def test_rows_with_a_doubtful_difference_are_preferred(runs):
    """In the first half of the rows both answers are right, in the second half the stricter metric is often wrong."""
    rows = {"id": [f"q{at}" for at in range(N)], "gold": ["yes"] * N}
    doubtful = ["yes" if at < N // 2 else "yes it is" if at % 2 else "no" for at in range(N)]
    systems = [karat.score({**rows, "prediction": each}, "exact_match", keep=True) for each in (["yes"] * N, doubtful)]
    filled = [
        {**line, "label": "good" if line["prediction"].startswith("yes") else "bad"}
        for line in karat.label_next(systems, 60).table.to_pylist()
    ]
    fresh = karat.label_next(systems, 30, by="active", human=filled, label_map=CHOICES).table.to_pylist()[120:]
    chances = [
        {line["probability"] for line in fresh if (int(line["id"][1:]) < N // 2) == sure} for sure in (True, False)
    ]
    assert max(chances[0]) * 1.5 < min(chances[1])


def test_scores_alone_can_choose(runs):
    table = karat.label_next(runs, 30, by="disagreement").table
    assert table["probability"].to_numpy().max() > 1.5 * table["probability"].to_numpy().min()
    with pytest.raises(SpecError, match="for probabilities of a good label, which 10 labels or more have to show"):
        karat.label_next(runs, 30, by="uncertainty", metrics="token_f1")


def test_the_command(runs):
    def run(*words):
        result = CliRunner().invoke(main, ["label", *runs, *words])
        assert result.exit_code == 0, result.output
        return result.output

    assert run("--next", "30", "-o", "next.csv") == (
        "next.csv: 30 rows to label, each with the answers of before and after, "
        "drawn with probabilities from 0.1 to 0.1\n"
    )
    label_all("next.csv", "first.jsonl")
    shown = run("--next", "20", "--by", "active", "-m", "exact_match", "--human", "first.jsonl", "-o", "more.csv")
    assert "more.csv: 20 rows to label after the 30 that are labelled, each with the answers of" in shown
    assert "rows drawn uniformly, as the labels of 30 rows show" in shown
    for name in runs:
        rows = [row for row in csv.read_csv("next.csv").to_pylist() if row["system"] == name]
        text = "\n".join(f"{row['id']},{int(row['prediction'].startswith('yes'))}" for row in rows[:20])
        Path(f"{name}.csv").write_text(f"id,label\n{text}\n")
    shown = run("--next", "5", "--human", "before=before.csv", "--human", "after=after.csv", "-o", "third.csv")
    assert "5 rows to label after the 20 that are labelled" in shown


@pytest.mark.parametrize(
    ("human", "more", "error", "message"),
    [
        ([{"id": "q1", "label": "good"}], {}, SpecError, "of which system are these labels"),
        (None, {"on": "gold"}, DataError, "column 'gold' has 'yes' more than once"),
        (
            {run: [{"id": f"q{len(run)}", "label": "good", "probability": 0.5}] for run in ("before", "after")}, {},
            DataError, "drawn for each system on its own",
        ),
        (
            [{"id": "q1", "system": "before", "label": "good", "probability": 0.5},
             {"id": "q1", "system": "after", "label": "good", "probability": 0.25}], {},
            DataError, "drawn with a probability of 0.25 here, for another system 0.5",
        ),
        (None, {"by": "active", "metrics": "exact_match"}, SpecError, "10 labels or more .*, found 0 in all systems"),
    ],
)  # fmt: skip
def test_bad_input(runs, human, more, error, message):
    with pytest.raises(error, match=message):
        karat.label_next(runs, 5, human=human, label_map=CHOICES, **more)


def test_systems_may_call_the_column_that_pairs_their_rows_differently():
    asked, gold = [f"what {at}" for at in range(20)], ["x"] * 20
    first = karat.score({"question": asked, "gold": gold, "prediction": asked}, "exact_match", keep=True)
    other = karat.score({"query": asked[::-1], "gold": gold, "prediction": asked[::-1]}, "exact_match", keep=True)
    drawn = karat.label_next([first, other], 3).table.to_pylist()
    assert [line["question"] for line in drawn] == [line["prediction"] for line in drawn]
    assert [line["system"] for line in drawn] == ["A", "B"] * 3
    labelled = [{**line, "label": float(line["system"] == "B")} for line in drawn]
    assert karat.compare(first, other, human=labelled).findings[0].corrected.labelled == 3
    assert karat.label_next([first, other], 2, human=labelled).table.num_rows == 10
    apart = {name: [line for line in labelled if line["system"] == name] for name in "AB"}
    apart["B"] = [{"query" if name == "question" else name: cell for name, cell in line.items()} for line in apart["B"]]
    assert karat.compare(first, other, human=apart).findings[0].corrected.labelled == 3


def test_what_differs_between_the_systems_is_said(runs):
    rows = open_run("after").read(["id", "question", "gold", "prediction"]).to_pydict()
    karat.score({**rows, "gold": ["yes", *["Yes!"] * (N - 1)]}, ["exact_match", "token_f1"], run="other")
    done = CliRunner().invoke(main, ["label", "before", "other", "--next", "5", "-o", "next.csv"])
    assert done.exit_code == 0, done.output
    note = f"before and other were scored against different gold: it differs in {N - 1} of {N} rows"
    assert note in done.output
    assert any(note in each for each in karat.label_next(["before", "other"], 5).notes)
