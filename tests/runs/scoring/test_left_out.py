"""Rows that a rule left out at random are neither rows of the value nor unscored, in all that reads a run."""

from pathlib import Path

import pyarrow as pa
import pytest

import karat
from karat.core.metric.rows import LEFT_OUT, collect_rows
from karat.kinds import Rows, Text
from karat.runs.columns.output import find_left_out
from karat.runs.compare.run_values import RunValues, value_of
from karat.runs.compare.scored_rows import find_rows
from karat.runs.export.one_file import export_run
from karat.runs.match.systems import open_system
from karat.runs.scoring.arguments import Selection
from karat.runs.scoring.plan import plan_run
from karat.runs.scoring.tasks.batches import score_batches
from karat.runs.scoring.tasks.progress import RowCounter
from karat.runs.scoring.totals.totals import Totals
from karat.stats.inference import Inference
from karat.viewer.report.chosen_rows import MetricScores, choose_rows


@karat.metric(source="this test", register=False)
def asked(prediction: Text, other: Text) -> Rows:
    """What stands in the other column: a score, "?" for a row that was left out, "!" for one that failed."""
    words = {"?": f"{LEFT_OUT} (width 0.1) ended it", "!": "no reply"}
    return collect_rows([words.get(each) or float(each) for each in other.to_pylist()])


def table(*scores):
    rows = range(len(scores))
    columns = {"id": [f"q{at}" for at in rows], "gold": ["x"] * len(rows), "prediction": ["x"] * len(rows)}
    return {**columns, "other": scores, "topic": ["a" if at % 2 else "b" for at in rows]}


FIRST = table("1", "0", "?", "!", "1", "?", "1", "1")
SECOND = table("0", "0", "1", "1", "?", "?", "0", "1")


def test_they_are_counted_apart():
    result = karat.score(FIRST, ["em", asked], by="topic")
    value = result["asked"]
    assert (value.value, value.n, value.scored, value.unscored, value.not_asked) == (0.8, 6, 5, 1, 2)
    assert value.worst == pytest.approx(4 / 6)
    assert result.reasons["asked"] == {"no reply": 1}
    assert {label: each.not_asked for label, each in result.groups["asked"].items()} == {"a": 1, "b": 1}
    (entry,) = [each for each in result.as_dict()["metrics"] if each["spec"] == "asked"]
    assert entry["not_asked"] == 2
    assert "not_asked" not in result.as_dict()["metrics"][0]


def test_totals_of_parts_are_those_of_all_rows():
    plan = plan_run(Selection(FIRST), [asked], Inference())
    (batch,) = score_batches(plan, RowCounter(None, None), {})
    whole, parts = Totals(plan), [Totals(plan), Totals(plan)]
    for totals, first, size in ((whole, 0, 8), (parts[0], 0, 3), (parts[1], 3, 5)):
        scored = [each.slice(first, size) for each in batch.scored]
        totals.add(batch.rows.slice(first, size), scored, {}, batch.numbers[first : first + size])
    merged = Totals(plan)
    for each in parts:
        merged.merge_bytes(each.to_bytes())
    assert merged.metrics["asked"].whole.value() == whole.metrics["asked"].whole.value()
    assert merged.metrics["asked"].whole.not_asked == 2


@pytest.mark.parametrize("specs", [[asked], ["em", asked]])
def test_a_run_knows_them(specs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = karat.score(FIRST, specs, run="first")
    run = open_system("first")
    assert run.left_out("asked").nonzero()[0].tolist() == [2, 5]
    assert specs == [asked] or run.left_out("em") is None
    assert value_of(run, "asked") == result["asked"]
    again = RunValues(run, Inference(0.9)).value("asked")
    assert (again.n, again.unscored, again.not_asked) == (6, 1, 2)


def test_systems_are_compared_on_the_rows_that_all_asked():
    one, other = (karat.score(rows, ["em", asked]) for rows in (FIRST, SECOND))
    found = {each.metric: each.comparison for each in karat.compare(one, other).findings}
    assert (found["asked"].n, found["asked"].scored, found["asked"].missing_a, found["asked"].missing_b) == (5, 4, 1, 0)
    assert found["em"].n == 8
    kept = [0, 1, 3, 6, 7]
    alone = [karat.score({name: [each[at] for at in kept] for name, each in rows.items()}, ["em", asked])
             for rows in (FIRST, SECOND)]  # fmt: skip
    expected = {each.metric: each.comparison for each in karat.compare(*alone).findings}
    assert found["asked"] == expected["asked"]
    assert [each.scored for each in karat.rank(one, other).rankings] == [8, 4]


def test_what_shows_unscored_rows_leaves_them_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    karat.score(FIRST, ["em", asked], run="first")
    run = karat.open_run("first")
    assert [row.id for row in find_rows(run, "asked", "unscored", 9)] == ["q3"]
    export_run(run, "first.xml")
    assert 'name="asked" tests="8" failures="1" errors="1" skipped="2"' in Path("first.xml").read_text()
    scores = MetricScores("asked", run.scores("asked")[None], minimize=False, left_out=run.left_out("asked")[None])
    assert choose_rows([scores], 30, 0).counts["unscored"] == 1
    karat.report("first", output="first.html")


@pytest.mark.parametrize("reasons", [pa.nulls(2), pa.array([[1], None]), pa.array([1, 2])])
def test_a_column_of_reasons_that_holds_no_text_leaves_none_out(reasons):
    assert find_left_out(pa.chunked_array([reasons]), "asked").tolist() == [False, False]
