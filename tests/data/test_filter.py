"""Conditions: the same rows each time, and names that SQL would take for a calculation."""

from __future__ import annotations

import re
import shlex

import pyarrow as pa
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.data.filter import filter_rows
from karat.data.open import open_source
from karat.data.write import write

ROWS = {
    "id": list(range(200)),
    "prediction": ["a", "b"] * 100,
    "gold": ["a"] * 200,
    "exact-match": [1, 0] * 100,
    "f1 score": [0.9, 0.1] * 100,
    "judge/value": ["yes", "no"] * 100,
    "ndcg@10": [1.0, 0.0] * 100,
    "order": [1, 0] * 100,
    "end": ["yes", "no"] * 100,
}


@pytest.mark.parametrize(
    ("condition", "remedy"),
    [
        ("random() < 0.5", "md5"),
        ("id IN (1, 2) OR random() < 0.5", "md5"),
        ("CASE WHEN id > 3 THEN uuid() < '8' END", "md5"),
        ("gen_random_uuid() IS NOT NULL", "md5"),
        ("now() > TIMESTAMPTZ '2026-01-01'", "TIMESTAMP '"),
        ("today() > DATE '2026-01-01'", "TIMESTAMP '"),
        ("current_date > DATE '2026-01-01'", "TIMESTAMP '"),
        ("CURRENT_TIMESTAMP > TIMESTAMP '2026-01-01'", "TIMESTAMP '"),
        ("age(TIMESTAMP '2020-01-01') > INTERVAL 1 DAY", "TIMESTAMP '"),
        ("get_current_timestamp() IS NOT NULL", "TIMESTAMP '"),
        ("current_setting('threads') = '1'", "md5"),
    ],
)
def test_a_condition_of_chance_or_of_the_clock_is_refused_with_what_to_use(condition, remedy):
    with pytest.raises(karat.errors.DataError, match="chooses other rows each time") as error:
        karat.score(ROWS, "exact_match", where=condition)
    assert remedy in str(error.value)


def test_what_a_condition_of_chance_is_told_to_use_chooses_the_same_half_each_time():
    with pytest.raises(karat.errors.DataError) as error:
        karat.score(ROWS, "exact_match", where="random() < 0.5")
    [remedy] = re.findall(r"such as (md5\(.*?) for about", str(error.value))
    chosen = [karat.score(ROWS, "exact_match", where=remedy).n for _ in range(3)]
    assert len(set(chosen)) == 1
    assert 70 < chosen[0] < 130
    assert (
        karat.score(ROWS | {"made": ["2026-01-01"] * 200}, "exact_match", where="made < '2026-01-31 12:00:00'").n == 200
    )


def test_names_of_clocks_and_functions_may_be_columns():
    rows = ROWS | {"now": [1] * 200, "current_date": [1] * 200, "random": [1] * 200}
    for condition in ("now = 1", "current_date = 1", '"current_date" = 1', "random = 1"):
        assert karat.score(rows, "exact_match", where=condition).n == 200


@pytest.mark.parametrize(
    "condition",
    [
        "exact-match = 1",
        "Exact-Match = 1 AND id >= 0",
        "f1 score > 0.5",
        "judge/value = 'yes'",
        "ndcg@10 = 1",
        "exact-match = 1 AND gold <> 'exact-match'",
        "order = 1",
        "id > 5 AND END = 'yes' OR END = 'yes'",
    ],
)
def test_a_name_that_needs_quotes_is_told_how_and_the_command_works(tmp_path, condition):
    path = tmp_path / "rows.jsonl"
    batch = pa.record_batch(ROWS)
    write([batch], batch.schema, path)
    told = CliRunner().invoke(main, ["score", str(path), "-m", "exact_match", "--where", condition])
    assert told.exit_code == 1
    assert "needs double quotes: --where" in told.output
    option = told.output[told.output.index("--where ") :].strip()
    done = CliRunner().invoke(main, ["score", str(path), "-m", "exact_match", "--json", *shlex.split(option)])
    assert done.exit_code == 0, done.output
    assert '"n": 100' in done.output


def test_quoted_names_and_calculations_are_left_alone():
    assert karat.score(ROWS, "exact_match", where='"exact-match" = 1').n == 100
    assert (
        karat.score(ROWS | {"exact": [3] * 200, "match": [1] * 200}, "exact_match", where="exact - match = 2").n == 200
    )
    with pytest.raises(karat.errors.DataError, match="names with hyphens need double quotes"):
        karat.score(ROWS, "exact_match", where="topic-name = 'x'")


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("anwser = 'a'", "there is no column 'anwser'; did you mean 'answer'?"),
        ("answer =", "it ends where a value is expected"),
    ],
)
def test_a_slip_in_a_condition_is_named(where, said):
    with pytest.raises(karat.errors.DataError, match=re.escape(said)):
        filter_rows(open_source({"answer": ["a"]}), where, None)
