"""A dictionary of Arrow that has a value twice: figures, groups and files are those of plain text."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import karat
from karat.cli.options.count_table import count_matched_rows
from karat.runs.store.run import open_run
from karat.viewer.rows.display import show_rows
from karat.viewer.rows.facets import count_facets, keep_others, list_facets
from karat.viewer.rows.fields import Condition, Field, Order
from karat.viewer.rows.filters import keep_rows, sort_rows
from karat.viewer.rows.table import match_rows

METRICS = ["exact_match", "token_f1", "label_f(labels=['a','b','c'])", "bleu", "cer"]
VALUES, CODES = ["a", "b", "a", "c d", "b", "a"], [0, 1, 2, 3, 4, 5, None, 0, 2, 1]


def encoded(values, codes):
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(values))


def rows(column):
    """The same column in every place, in two batches with dictionaries of their own."""
    gold = pa.array(["a", "a", "a", "c", "b", "a", "x", "b", "a", "b"])
    named = {"id": pa.array([f"q{row}" for row in range(10)]), "reference": gold}
    table = pa.table({**named, "prediction": column, "topic": column, "label": column})
    return pa.concat_tables([table, table.slice(1, 4).set_column(0, "id", pa.array(list("wxyz")))])


@pytest.fixture
def both(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "kept"))
    repeated = encoded(VALUES, CODES)
    return rows(repeated), rows(repeated.dictionary_decode())


def test_figures_groups_and_clusters(both):
    for settings in ({}, {"by": "topic"}, {"cluster": "topic"}, {"where": "topic <> 'b'"}):
        one, plain = (karat.score(each, METRICS, **settings) for each in both)
        assert one.as_dict() == plain.as_dict()
        assert one.table["exact_match"].equals(plain.table["exact_match"])


def test_joins_and_repeats(both):
    answers = pa.table({"k": encoded(["a", "b", "a"], [1, 2]), "prediction": ["x", "y"]})
    gold = pa.table({"k": encoded(["b", "a", "b"], [2, 1]), "reference": ["x", "y"]})
    assert karat.score(answers, "exact_match", gold=gold, on="k").values["exact_match"].value == 1
    one, plain = (
        karat.score(
            {"question": each["label"], "prediction": each["prediction"], "gold": ["a"] * len(each)},
            "majority(exact_match)",
        )
        for each in (table.drop_null() for table in both)
    )
    assert one.as_dict() == plain.as_dict()


def test_pandas(both):
    one, plain = (karat.score(each, "exact_match").to_pandas() for each in both)
    assert one.astype(object).where(one.notna(), None).equals(plain.astype(object).where(plain.notna(), None))
    again = karat.score(one.drop(columns=["exact_match", "reason"]), METRICS, by="topic")
    assert again.values == karat.score(both[1], METRICS, by="topic").values


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet", "arrow"])
def test_files(both, tmp_path, ending):
    texts = []
    for at, each in enumerate(both):
        result = karat.score(each, "exact_match", output=tmp_path / f"{at}.{ending}")
        texts.append([[str(cell) for cell in column] for column in result.table.columns])
    assert texts[0] == texts[1]


def test_runs_are_shown_counted_and_compared(both):
    for name, each in zip(("one", "plain"), both, strict=True):
        karat.score(each, METRICS, run=name)
    assert not karat.compare("one", "plain", by="topic").notes
    shown = []
    for name in ("one", "plain"):
        table = match_rows([open_run(name)])
        counted = count_facets(table, keep_others(table, []), list_facets(table))
        ordered = sort_rows(table, Order(Field("column", "topic"))).tolist()
        kept = keep_rows(table, [Condition(Field("column", "topic"), "in", ("a",))]).tolist()
        found = count_matched_rows([open_run(name)], "exact_match").as_dict()
        shown.append([table.facets, counted, ordered, kept, show_rows(table, np.arange(14)), found])
    assert json.dumps(shown[0], default=str).replace("one", "plain") == json.dumps(shown[1], default=str)
