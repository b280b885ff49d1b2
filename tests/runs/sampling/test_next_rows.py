"""`karat.label_next` and `karat label --next`: what is proposed, what is written, how rounds add up, and bad input."""

from __future__ import annotations

import re
from typing import get_args

import numpy as np
import pyarrow.csv as pc
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.cli.people.label import label
from karat.core.errors import ColumnError, DataError, JoinError, SpecError
from karat.runs.labels.rows_to_label import open_rows_to_label
from karat.runs.labels.table import match_labels, read_labels
from karat.runs.sampling.next_rows import By
from karat.runs.store.run import open_run

N = 400
ANSWERS = [f"{'yes' if at % 3 else 'no'} it is" if at % 4 else "yes" for at in range(N)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    rows = {
        "id": [f"q{at}" for at in range(N)],
        "question": ["is it?"] * N,
        "prediction": ANSWERS,
        "gold": ["yes"] * N,
        "topic": ["tea" if at < 100 else "pie" for at in range(N)],
    }
    karat.score(rows, ["em", "token_f1"], run="before")
    return "before"


def fill(table, share=1.0):
    """The rows as an annotator would fill them in, the first `share` of those that are empty."""
    rows = table.to_pylist()
    empty = [row for row in rows if row["label"] is None]
    for row in empty[: round(share * len(empty))]:
        row["label"] = "good" if row["prediction"].startswith("yes") else "bad"
    return rows


def test_rows_are_proposed_blind_and_with_their_probability(run):
    table = karat.label_next(run, 40).table
    assert table.column_names == ["id", "label", "probability", "question", "gold", "prediction"]
    assert table.num_rows == len(set(table["id"].to_pylist())) == 40
    assert table["label"].null_count == 40
    assert np.allclose(table["probability"], 0.1)
    assert karat.label_next(run, 40).table == table
    assert karat.label_next(run, 40, seed=1).table != table


@pytest.mark.parametrize("by", ["uniform", "active", "slice", "uncertainty"])
def test_a_second_round_holds_both(run, by):
    first = fill(karat.label_next(run, 40).table)
    settings = {"slice": {"slices": "topic"}, "uniform": {}}.get(by, {}) | {"metrics": "token_f1"}
    table = karat.label_next(run, 30, by=by, human=first, label_map="good=1,bad=0", **settings).table
    assert table.num_rows == 70
    assert table["id"].to_pylist()[:40] == [row["id"] for row in first]
    assert table["label"].to_pylist() == [row["label"] for row in first] + [None] * 30
    labels = read_labels(fill(table), on="id", label_map="good=1,bad=0")
    assert len(labels) == 70
    assert 1 / labels.probabilities.mean() < N / 70 * 1.6
    total = (1 / labels.probabilities).sum()
    assert total == pytest.approx(N, rel=1e-9 if by == "uniform" else 0.35)


def test_labels_of_several_people_stay_apart(run):
    first = [
        {"id": row["id"], "annotator": who, "label": label, "probability": row["probability"]}
        for row in karat.label_next(run, 20).table.to_pylist()
        for who, label in (("ada", 1), ("bob", 0))
    ]
    table = karat.label_next(run, 10, human=first).table
    assert table.num_rows == 50
    assert table["annotator"].to_pylist()[:2] == ["ada", "bob"]
    assert table["label"].to_pylist()[:2] == ["1", "0"]
    again = read_labels(table.slice(0, 40), on="id")
    assert again.annotators == ("ada", "bob")
    assert np.nanmean(again.scores) == 0.5


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_only_rows_without_a_label_are_offered_for_labelling(run, tmp_path, ending):
    first = [
        {"id": row["id"], "annotator": who, "label": "good", "probability": row["probability"]}
        for row in karat.label_next(run, 20).table.to_pylist()
        for who in ("ada", "bob")
    ]
    out = tmp_path / f"next.{ending}"
    table = karat.label_next(run, 10, human=first, label_map="good=1,bad=0", output=out).table
    rows = open_rows_to_label([str(out)])
    assert [row.id for row in rows.rows] == table["id"].to_pylist()[40:]
    assert rows.rows[0].probability == table["probability"][40].as_py()
    assert rows.read(9)["prediction"] == table["prediction"][49].as_py()


def test_a_uniform_draw_needs_no_scores(tmp_path):
    (tmp_path / "rows.csv").write_text("id,question,answer\n" + "".join(f"q{at},?,yes\n" for at in range(20)))
    table = karat.label_next(tmp_path / "rows.csv", 5).table
    assert table.column_names == ["id", "label", "probability", "question", "answer"]
    assert np.allclose(table["probability"], 0.25)
    with pytest.raises(DataError, match="holds no scores"):
        karat.label_next(tmp_path / "rows.csv", 5, by="uncertainty")


def test_rows_on_which_metrics_disagree_are_preferred(run):
    table = karat.label_next(run, 60, by="disagreement", metrics=["em", "token_f1"]).table
    chances = dict(zip(table["prediction"].to_pylist(), table["probability"].to_pylist(), strict=True))
    assert chances["yes it is"] > 3 * chances["yes"]
    assert min(chances.values()) == pytest.approx(0.25 * 60 / N)


def test_slices_in_which_the_judge_errs_are_preferred(run):
    first = fill(karat.label_next(run, 100).table)
    for row in first:
        row["label"] = "good" if (int(row["id"][1:]) < 100) != (row["prediction"] == "yes") else "bad"
    table = karat.label_next(
        run, 50, by="slice", slices="topic", metrics="em", human=first, label_map="good=1,bad=0"
    ).table
    fresh = table.slice(100).to_pylist()
    chances = {int(row["id"][1:]) < 100: row["probability"] for row in fresh}
    assert chances[True] > 1.3 * chances[False]


def test_the_command_writes_what_people_fill_in(run, tmp_path):
    out, more = tmp_path / "labels.csv", tmp_path / "more.csv"
    done = CliRunner().invoke(main, ["label", run, "--next", "40", "-o", str(out)])
    assert done.output == f"{out}: 40 rows to label, drawn with probabilities from 0.1 to 0.1\n"
    filled = fill(pc.read_csv(out, convert_options=pc.ConvertOptions(null_values=[""], strings_can_be_null=True)), 0.5)
    lines = ["id,label,probability", *(f"{row['id']},{row['label'] or ''},{row['probability']}" for row in filled)]
    out.write_text("\n".join(lines))
    again = CliRunner().invoke(main, ["label", run, "--next", "10", "-o", str(out)])
    assert again.exit_code == 1
    assert "holds labels of 20 rows" in again.stderr
    assert "would be replaced" in again.stderr
    options = ["--by", "active", "-m", "em", "--human", str(out), "--label-map", "good=1,bad=0", "-o", str(more)]
    done = CliRunner().invoke(main, ["label", run, "--next", "10", *options])
    assert done.output.startswith(f"{more}: 10 rows to label after the 20 that are labelled, drawn with probabilities")
    labels = read_labels(more, on="id", label_map="good=1,bad=0")
    assert len(labels) == 20
    ids = karat.label_next(run, 1).table["id"].type
    assert len(match_labels(labels, labels.ids.cast(ids), "more")) == 20


@pytest.mark.parametrize(
    ("by", "errs", "shown"),
    [
        ("active", "short", r"^worth about (\d+) rows drawn uniformly, as the labels of 100 rows show"),
        ("active", "evenly", "^no gain over --by uniform: worth about (\\d+) rows drawn uniformly"),
        ("active", "never", "^no gain over --by uniform: the labels so far show no error"),
        ("disagreement", None, "^whether that gains over --by uniform is not known: labels of 10 rows or more"),
        (
            "uncertainty",
            "evenly",
            "^no gain over --by uniform: worth about (\\d+) rows .*, as the labels of 100 rows show",
        ),
    ],
)
def test_the_command_says_what_the_proposed_rows_are_worth(run, tmp_path, by, errs, shown):
    """The judge errs on every second short answer, on a fifth of all answers, or all labels are the same."""
    options = ["-m", "token_f1", "--by", by, *(["-m", "em"] if by == "disagreement" else [])]
    if errs is not None:
        first = karat.label_next(run, 100).table
        scores = dict(zip(*(open_run(run).column(name).to_pylist() for name in ("id", "token_f1")), strict=True))
        lines = ["id,label"]
        for at, row in enumerate(first.to_pylist()):
            wrong = row["prediction"] == "yes" and at % 2 if errs == "short" else at % 5 == 0
            label = 1 if errs == "never" else abs(scores[row["id"]] - (0.5 if wrong else 0))
            lines.append(f"{row['id']},{label}")
        (tmp_path / "first.csv").write_text("\n".join(lines))
        options += ["--human", str(tmp_path / "first.csv")]
    done = CliRunner().invoke(main, ["label", run, "--next", "50", "-o", str(tmp_path / "next.csv"), *options])
    assert done.exit_code == 0, done.output
    found = re.search(shown, done.output, re.MULTILINE)
    assert found, done.output
    if found.groups():
        assert (int(found.group(1)) > 52) != found.group(0).startswith("no gain")


def test_the_command_has_every_way():
    option = next(each for each in label.params if each.name == "by")
    assert tuple(option.type.choices) == get_args(By)


def test_the_command_finds_ids_of_another_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = {"question_id": [f"q{at}" for at in range(20)], "prediction": ["yes", "no"] * 10, "gold": ["yes"] * 20}
    karat.score(rows, "em", output="rows.jsonl")
    done = CliRunner().invoke(main, ["label", "rows.jsonl", "--next", "5", "-o", "next.csv"])
    assert done.output == "next.csv: 5 rows to label, drawn with probabilities from 0.25 to 0.25\n"


@pytest.mark.parametrize(
    ("count", "settings", "error", "problem"),
    [
        (0, {}, SpecError, "count=0: expected 1 or more"),
        (401, {}, DataError, "before: 401 rows to label expected, found 400 without a label"),
        (5, {"by": "activ"}, SpecError, r"by='activ': expected one of .*; did you mean 'active'\?"),
        (5, {"by": "active"}, SpecError, "by='active' needs one metric, found em"),
        (5, {"by": "active", "metrics": "em"}, SpecError, "by='active' learns from 10 labels or more"),
        (5, {"by": "slice"}, SpecError, "by='slice' needs a column of slices"),
        (5, {"slices": "topic"}, SpecError, "by='uniform' does not use slices"),
        (5, {"by": "slice", "slices": "topik", "metrics": "em"}, ColumnError, "no column 'topik'"),
        (5, {"by": "disagreement", "metrics": "em"}, SpecError, "by='disagreement' needs two metrics or more"),
        (5, {"by": "uncertainty", "metrics": "em"}, SpecError, "the scores of em are all at their bounds"),
        (
            5,
            {"by": "uncertainty", "metrics": "token_f1"},
            SpecError,
            "probabilities .*10 labels or more .*, found 0: label",
        ),
        (5, {"on": "key"}, ColumnError, "before: there is no column 'key'"),
        (5, {"human": [{"id": "q999", "label": 1}]}, JoinError, "1 of 1 labelled rows are not in before: 'q999'"),
        (5, {"output": "rows.xlsx"}, DataError, "rows.xlsx: expected a name that ends in"),
    ],
)
def test_bad_input(run, count, settings, error, problem):
    with pytest.raises(error, match=problem):
        karat.label_next(run, count, **settings)
