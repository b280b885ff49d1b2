"""`column(NAME)`: numbers and yes and no of the data as a metric, however they are stored, and what bad ones get."""

import json
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.core.errors import ColumnError, DataError, RowError, SpecError
from karat.core.metric.spec import parse
from karat.metrics import column


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write_file(name, rows):
        if name.endswith(".parquet"):
            pq.write_table(pa.Table.from_pylist(rows), name)
        elif name.endswith(".jsonl"):
            (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        else:
            cells = [list(rows[0]), *([("" if cell is None else str(cell)) for cell in row.values()] for row in rows)]
            (tmp_path / name).write_text("".join(",".join(row) + "\n" for row in cells), "utf-8")
        return name

    return write_file


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1))
def test_any_name_of_a_column_is_restored_from_its_spec(name):
    metric = column.using(name=name, direction="minimize")
    assert parse(metric.spec) == metric
    assert parse(metric.spec).definition.inputs.named == {f"column({name})": name}
    assert pickle.loads(pickle.dumps(metric)).spec == metric.spec  # noqa: S301


@settings(max_examples=30)
@given(
    st.sampled_from(["a b", "a.b", "it's", 'a "b"', "größe", "模型", "ﬁ", "None", "true", "a=1", "a,b", "(a)", "x@3"])
)
def test_columns_of_any_name_are_scored(name):
    result = karat.score({name: [1.0, None, 0.0], "prediction": ["?"] * 3}, column.using(name=name))
    (spec,) = result.values
    assert (result.values[spec].value, result.values[spec].unscored) == (0.5, 1)
    assert result.reasons[spec] == {f"column({name}) is null": 1}
    assert karat.score({name: [1.0, 0.0]}, spec).values[spec].value == 0.5


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("column(gpt4)", "column(gpt4)"),
        ("column('gpt4')", "column(gpt4)"),
        ("column(name=gpt4)", "column(gpt4)"),
        ("column(seconds, direction=minimize)", "column(seconds, direction='minimize')"),
        ("column('GPT 4', low=0, high=1)", "column('GPT 4', high=1, low=0)"),
        ("column('true')", "column('true')"),
        ("column(größe)", "column('größe')"),
    ],
)
def test_a_spec_names_its_column_first(text, spec):
    assert parse(text).spec == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("column", r"needs the name of a column of numbers: column\(NAME\)"),
        ("column()", "needs the name of a column"),
        ("column(direction=minimize)", "needs the name of a column"),
        ("column(a, b)", "is not a metric"),
        ("column(a, name=b)", "is not a metric"),
        ("column(my score)", "put text that is more than a word in quotes"),
        ("column(a, direction=down)", "there are: maximize, minimize"),
        ("column(a, low=1, high=0)", "low=1 is not below high=0"),
        ("column(2024)", "str is expected"),
        ("token_f1(squad)", "is not a metric"),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(text, message):
    with pytest.raises(SpecError, match=message):
        parse(text)


def test_the_signature_says_that_the_scores_are_given():
    assert parse("column(a)").signature == "column(a, direction='maximize', high=None, low=None)|version=1|scores=given"


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_every_format_gives_the_same_values(write, name):
    rows = [{"id": f"q{n}", "half": n / 2, "passed": n % 3 == 0, "gap": None if n == 4 else n} for n in range(9)]
    specs = ["column(half)", "column(passed)", "column(gap, direction=minimize, low=0, high=8)"]
    half, passed, gap = karat.score(write(name, rows), specs).values.values()
    assert half.value == 2
    assert half.worst == half.best == 2
    assert (passed.value, passed.low > 0, passed.high < 1) == (1 / 3, True, True)  # Wilson's, of a share
    assert (gap.value, gap.unscored) == (4, 1)
    assert gap.worst == pytest.approx((32 + 8) / 9)  # less is better: the worst score is the highest
    assert gap.best == pytest.approx(32 / 9)


def test_yes_and_no_have_a_range_and_numbers_have_one_if_it_is_set(write):
    rows = [{"said": "Yes", "score": 1}, {"said": "no", "score": 0}, {"said": None, "score": None}]
    values = karat.score(write("a.csv", rows), ["column(said)", "column(score)", "column(score, low=0, high=1)"]).values
    said, score, ranged = values.values()
    assert said == ranged
    assert (said.worst, said.best) == (1 / 3, 2 / 3)
    assert (score.value, score.worst, score.best) == (0.5, None, None)


def test_slices_and_clusters_are_those_of_any_metric():
    rows = {"gpt4": [True, False, True, True], "topic": ["a", "a", "b", "b"], "label": [1, 0, 1, 1]}
    result = karat.score(rows, "column(gpt4)", by="topic", human="label")
    assert {label: value.value for label, value in result.groups["column(gpt4)"].items()} == {"a": 0.5, "b": 1}
    assert result.corrected["column(gpt4)"].value == pytest.approx(0.75)


def test_a_column_beside_metrics_of_the_same_column_is_apart():
    rows = {"prediction": ["1", "0"], "reference": ["1", "1"], "relevant": [0.25, 0.75]}
    result = karat.score(rows, ["exact_match", "column(prediction)", "column(relevant)"])
    assert [value.value for value in result.values.values()] == [0.5, 0.5, 0.5]


def test_a_path_leads_into_objects(write):
    name = write("a.jsonl", [{"scores": {"gpt4": 1}}, {"scores": {"gpt4": 0}}])
    assert karat.score(name, "column('scores.gpt4')").values["column('scores.gpt4')"].value == 0.5


@pytest.mark.parametrize(
    ("name", "cells", "message"),
    [
        ("a.csv", [1, "n/a"], r"a.csv, row 2 \(3 with the header\), column 'x': expected a number, yes or no, found "),
        ("a.csv", [1, "1_000"], "found '1_000'"),
        ("a.jsonl", [1, "much"], "a.jsonl, row 2, column 'x': expected a number, yes or no, found 'much'"),
        ("a.csv", [1, "inf"], r"row 2 .*expected a finite number, found inf"),
        ("a.jsonl", [1, {"a": 1}], "column 'x'.*an object"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_named_with_file_row_and_column(write, name, cells, message):
    file = write(name, [{"x": cell, "y": 0} for cell in cells])
    with pytest.raises(DataError, match=message):
        karat.score(file, "column(x)")


def test_a_decimal_comma_is_not_guessed(tmp_path):
    (tmp_path / "a.csv").write_text('x\n"0,5"\n')
    with pytest.raises(RowError, match="found '0,5'; write a decimal point"):
        karat.score(tmp_path / "a.csv", "column(x)")


def test_the_row_is_right_in_a_later_batch_and_where_rows_are_chosen(tmp_path):
    (tmp_path / "a.csv").write_text("x\n" + "1\n" * 70_000 + "bad\n")
    with pytest.raises(RowError, match=r"row 70001 \(70002 with the header\)"):
        karat.score(tmp_path / "a.csv", "column(x)")
    with pytest.raises(RowError, match=r"row 70001 \(70002 with the header\)"):
        karat.score(tmp_path / "a.csv", "column(x)", where="x = 'bad'")


def test_a_column_that_is_not_there_is_named_with_the_nearest():
    with pytest.raises(ColumnError, match=r"no column 'gpt' for column\(gpt\); did you mean 'gpt4'"):
        karat.score({"gpt4": [1]}, "column(gpt)")
    with pytest.raises(SpecError, match=r"there is no metric 'gpt4'.*a column of numbers is a metric too"):
        karat.score({"gpt4": [1]}, "gpt4")


def test_a_score_beyond_the_range_is_an_error():
    with pytest.raises(SpecError, match="2, outside its range of 0 to 1: set low= and high="):
        karat.score({"x": [0, 2]}, "column(x, low=0, high=1)")


def test_nan_is_unscored():
    value = karat.score({"x": np.array([1.0, np.nan])}, "column(x)").values["column(x)"]
    assert (value.value, value.unscored) == (1, 1)
