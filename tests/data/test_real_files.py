from __future__ import annotations

from pathlib import Path

import pytest

from karat.core.columns.json_text import decode_text
from karat.core.errors import RowError
from karat.data.join.join import join
from karat.data.open import open_source
from karat.data.roles import map_columns

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data is not here")
OPENQA = DATA / "qa_human_openqa_eval"
SQUAD = DATA / "squad"


def rows(path, **settings):
    return [row for batch in open_source(path, **settings).batches() for row in batch.to_pylist()]


def test_twelve_systems_read_and_map():
    files = sorted((OPENQA / "model_outputs").glob("*.jsonl.gz"))
    sources = [open_source(file) for file in files]
    assert sorted(source.rows for source in sources) == [301] * 2 + [3610] * 10
    for source in sources:
        mapping = map_columns(source.schema.names, ["prediction", "reference", "question"])
        assert mapping == {"prediction": "prediction", "reference": "answer", "question": "question"}


def test_predictions_that_are_now_text_now_a_list_all_come():
    source = open_source(OPENQA / "model_outputs" / "NQ301_text-davinci-003_fewshot-n64.jsonl.gz")
    (batch,) = source.batches()
    assert decode_text(batch.column("prediction")).to_pylist()[:2] == [["Bobby Scott", "Bob Russell"], ["Baylor Bears"]]


@pytest.mark.parametrize(("name", "columns"), [("BEM", 6), ("gpt-4", 5), ("human", 7)])
def test_verdicts_read_whole(name, columns):
    found = rows(OPENQA / f"NQ301_{name}.tsv.gz")
    assert (len(found), len(found[0])) == (1490, columns)
    assert not any(value is None for row in found for value in row.values())


def test_empty_verdicts_stay_empty_and_quotes_in_plain_tsv_stay():
    assert sum(row["Acceptable?"] == "" or row["gpt-4"] == "" for row in rows(OPENQA / "NQ301_gpt-4.tsv.gz")) == 2
    human = rows(OPENQA / "NQ301_human.tsv.gz")
    assert sum(row["annotator3"] != "" for row in human) == 223
    assert human[93]["Model answer"].startswith('"Mercy Mercy Me (The Ecology)" by')
    assert rows(OPENQA / "NQ301_BEM.tsv.gz")[2]["Model answer"] == "washington, d. c."


def test_a_lost_tab_is_named():
    with pytest.raises(RowError, match=r"davinci-003\.tsv\.gz, line 2: expected 5 cells as in the header, found 4"):
        rows(OPENQA / "NQ301_text-davinci-003.tsv.gz")


def test_squad_layouts_and_joins():
    assert open_source(SQUAD / "gold_dev_2.0.json.gz").rows == 11_873
    impossible = rows(SQUAD / "gold_dev_2.0.json.gz", where="is_impossible")
    assert len(impossible) == 5_945
    assert all(row["references"] == [""] for row in impossible)
    gold = open_source(SQUAD / "gold_dev_1.1.json.gz", role="reference")
    joined = join(open_source(SQUAD / "pred_1.1_logistic_regression_baseline.json.gz"), gold, "id")
    assert (joined.rows, joined.match().missing.rows, joined.match().unknown.rows) == (10_570, 13, 28)
    table = [row for batch in joined.batches() for row in batch.to_pylist()]
    assert [row["id"] for row in table] == [row["id"] for batch in gold.batches() for row in batch.to_pylist()]
    assert sum(row["prediction"] is None for row in table) == 13


def test_answers_by_id_join():
    folder = DATA / "qa_nq500_flan_t5_adaptive_rag"
    gold = open_source(folder / "ground_truth.json", role="reference")
    joined = join(open_source(folder / "prediction.json"), gold, "id")
    assert (joined.rows, joined.match().missing.rows, joined.match().unknown.rows) == (500, 0, 0)
    assert map_columns(joined.schema.names, ["prediction", "reference"], sides=joined.sides) == {
        "prediction": "prediction",
        "reference": "references",
    }


@pytest.mark.parametrize(
    ("file", "count"),
    [("bench_eval_data", 20), ("bench_eval_data_2", 15), *((f"unified_bench_eval_type{n}", None) for n in range(1, 7))],
)
def test_dataflow_inputs_read(file, count):
    path = DATA / "dataflow_bench_examples" / f"{file}.jsonl"
    found = rows(path)
    assert len(found) == (count or path.read_text(encoding="utf-8").strip().count("\n") + 1)
