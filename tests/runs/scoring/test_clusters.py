"""Rows that share an id, or a question and its gold, are taken together by every command, but with `--cluster none`."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyarrow import csv

import karat
from karat.cli.main import main
from karat.runs.compare.rows_needed import plan_rows


def make(ids=40, answers=8, seed=0, **columns):
    """Answers to questions of which some are hard: those to one question are alike."""
    random = np.random.default_rng(seed)
    item = np.repeat(np.arange(ids), answers)
    right = random.random(ids * answers) < random.beta(0.7, 0.7, ids)[item]
    table = {"prediction": np.where(right, "yes", "no").tolist(), "gold": ["yes"] * len(item)}
    made = {name: make_one(item) for name, make_one in columns.items()}
    return {**made, **table}


def by_item(item):
    return item.tolist()


def by_row(item):
    return [f"u{at}" for at in range(len(item))]


def asked(item):
    return [f"What is number {at}?" for at in item]


def ends(result):
    value = result.values["em"]
    return value.low, value.high


@pytest.mark.parametrize(
    ("columns", "cluster"),
    [
        ({"id": by_item}, "id"),
        ({"qid": by_item}, "qid"),
        ({"question": asked}, "question"),
        ({"id": by_row, "question": asked}, "question"),
        ({"uuid": by_row, "task_id": by_item, "question": asked}, "question"),
        ({"id": by_item, "question": asked}, "id"),
        ({"id": by_row}, None),
        ({"topic": by_item}, None),
        ({"id": lambda item: [7] * len(item)}, None),
    ],
    ids=lambda each: "+".join(each) if isinstance(each, dict) else str(each),
)
def test_an_id_or_a_question_that_repeats_is_the_cluster(columns, cluster):
    rows = make(**columns)
    found = karat.score(rows, "em")
    assert (found.clusters and (found.clusters.column, found.clusters.count)) == (cluster and (cluster, 40))
    assert ends(found) == ends(karat.score(rows, "em", cluster=cluster or "none"))
    alone = ends(karat.score(rows, "em", cluster="none"))
    assert (ends(found) == alone) == (cluster is None)


def test_a_question_with_other_gold_is_another_item():
    asks = {"id": range(60), "question": ["Is it so?", "Which one?", "When?"] * 20, "prediction": ["a"] * 60}
    assert karat.score({**asks, "gold": [f"{at % 7}" for at in range(60)]}, "em").clusters is None
    listed = {**asks, "gold": [["a", f"{at % 3}"] for at in range(60)]}
    assert karat.score(listed, "em").clusters.column == "question"
    listed["gold"][5] = ["another"]
    assert karat.score(listed, "em").clusters is None
    assert karat.score(listed, "em", cluster="question").clusters.count == 3


def test_the_number_of_an_answer_is_not_a_question():
    rows = {"question": [f"q{at // 4}" for at in range(80)], "sample_id": [at % 4 for at in range(80)]}
    rows |= {"prediction": ["a"] * 80, "gold": [f"g{at // 4}" for at in range(80)]}
    assert karat.score(rows, "em").clusters.column == "question"


def test_rows_without_a_value_are_alone():
    rows = make(id=lambda item: [None if at < 4 else "" if at == 4 else int(at) for at in item.tolist()])
    rows["id"] = [None if each is None else str(each) for each in rows["id"]]
    assert karat.score(rows, "em").clusters.count == 35 + 40


def test_metrics_that_gather_the_answers_to_a_question_are_not_clustered_again():
    found = karat.score(make(id=by_item), "pass_at(exact_match)@4")
    assert (found.n, found.clusters) == (40, None)


def test_every_source_has_the_same_clusters(tmp_path):
    rows = make(id=by_item, question=asked)
    table = pa.table(rows)
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    csv.write_csv(table, tmp_path / "a.csv")
    results = [karat.score(each, "em") for each in (table, table.to_pandas(), *map(str, sorted(tmp_path.iterdir())))]
    assert {each.clusters.column for each in results} == {"id"}
    assert len({ends(each) for each in results}) == 1


def test_a_join_has_the_clusters_of_its_rows():
    rows = make(id=by_row, question=asked)
    predictions, gold = (
        {name: rows[name] for name in ("id", *each)} for each in (["prediction"], ["question", "gold"])
    )
    found = karat.score(predictions, "em", gold=gold, on="id")
    assert (found.clusters.column, ends(found)) == ("question", ends(karat.score(rows, "em")))


def test_rows_in_any_batches_parts_and_order_have_the_same_clusters(tmp_path):
    rows = make(ids=5_000, answers=40, id=by_row, question_id=by_item)
    table = pa.table(rows).take(np.random.default_rng(1).permutation(200_000))
    for at in range(2):
        part = table.slice(at * 100_000, 100_000)
        pq.write_table(part, tmp_path / f"{at}.parquet", row_group_size=20_000)
    one, parts = karat.score(table, "em", keep=False), karat.score(str(tmp_path / "*.parquet"), "em", keep=False)
    named = karat.score(table, "em", cluster="question_id", keep=False)
    assert one.clusters == parts.clusters == named.clusters
    assert one.clusters.count == pytest.approx(5_000, rel=0.05)
    assert one.values == parts.values == named.values


@pytest.mark.parametrize("as_run", [True, False])
def test_runs_files_and_results_are_compared_ranked_and_planned_by_cluster(as_run, tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    systems = []
    for at in range(3):
        rows = make(id=by_row, question=asked, seed=at)
        systems.append(karat.score(rows, "em", run=f"run{at}") if as_run else karat.score(rows, "em"))
    given = [each.run.name if as_run else each for each in systems]
    for call in (karat.compare, karat.rank):
        found, named, alone = (call(*given, cluster=each) for each in (None, "question", "none"))
        shown = "320 rows have 40 values of question: intervals and tests go by question"
        assert any(shown in note for note in found.notes)
        drop = ("notes", "aligned_by")
        one, two, three = ({k: v for k, v in each.as_dict().items() if k not in drop} for each in (found, named, alone))
        assert one == two != three
        assert not any("go by" in note for note in alone.notes)
    assert plan_rows(given[0], 0.05)["em"].rows > plan_rows(
        karat.score(make(id=by_row, seed=0), "em"), 0.05
    )["em"].rows  # fmt: skip


def test_a_run_that_was_scored_by_row_stays_so(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    for at in range(2):
        karat.score(make(id=by_row, question=asked, seed=at), "em", run=f"run{at}", cluster="none")
    assert karat.compare("run0", "run1").findings[0].comparison.test == "mcnemar"
    assert karat.compare("run0", "run1", cluster="question").findings[0].comparison.test == "student"


def test_the_command_names_the_column_and_the_number_of_clusters(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    pq.write_table(pa.table(make(id=by_item)), tmp_path / "a.parquet")
    told = CliRunner().invoke(main, ["score", str(tmp_path / "a.parquet"), "-m", "em", "--run", "one"]).output
    line = "320 rows have 40 values of id: intervals and tests go by id, not by row (--cluster none)"
    assert line in " ".join(told.split())
    assert line in " ".join(CliRunner().invoke(main, ["runs", "show", "one"]).output.split())
    alone = CliRunner().invoke(main, ["score", str(tmp_path / "a.parquet"), "-m", "em", "--cluster", "none"]).output
    assert "values of id" not in alone


def test_intervals_of_repeated_ids_hold_the_truth_in_95_of_100_samples():
    held = 0
    for seed in range(300):
        low, high = ends(karat.score(make(id=by_item, seed=seed), "em", keep=False))
        held += low <= 0.5 <= high
    assert 0.925 <= held / 300 <= 0.985
