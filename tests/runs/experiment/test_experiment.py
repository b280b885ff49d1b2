"""A task answers every row, and what it gives is scored: no row lost, none asked twice."""

import asyncio
import json
import sys
import threading
from datetime import date
from functools import partial

import pyarrow as pa
import pytest

import karat
from karat.runs.experiment.experiment import experiment
from karat.runs.store.folders import runs_folder
from karat.runs.store.kept import remove_run
from karat.runs.store.run import open_run

ROWS = [{"id": row, "question": f"What is {row}?", "gold": f"word {row % 3}"} for row in range(30)]


def folders():
    return sorted(path.name for path in runs_folder().iterdir())


def by_row(row):
    return f"word {row['id'] % 2}"


def by_columns(id, *, seed=0):  # noqa: A002
    return f"word {(id + seed) % 2}"


async def awaited(row):
    await asyncio.sleep(0.001)
    return by_row(row)


async def awaited_columns(id):  # noqa: A002
    return by_columns(id)


class Callable:
    async def __call__(self, row):
        return by_row(row)


@pytest.mark.parametrize(
    "task",
    [
        by_row,
        by_columns,
        awaited,
        awaited_columns,
        Callable(),
        partial(by_columns, seed=2),
        lambda row, /, *rest: awaited(row),
        lambda **row: by_row(row),
        lambda row, /: by_row(row),
    ],
)
def test_any_function_of_the_row_or_of_its_columns_is_a_task(task):
    predictions = [by_row(row) for row in ROWS]
    scored = karat.score(
        [{**row, "prediction": said} for row, said in zip(ROWS, predictions, strict=True)], "exact_match"
    )
    result = experiment(ROWS, task, "exact_match")
    assert result.table.column("prediction").to_pylist() == predictions
    assert result.values == scored.values


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (lambda qestion, id: "", "no column 'qestion'; did you mean 'question'?"),  # noqa: A006
        (lambda: "", "neither the row"),
        ("nothing.py", "expected FILE.py:FUNCTION"),
        ("nothing.txt:answer", "not a Python file"),
        (7, "found int"),
    ],
)
def test_what_is_no_task_is_told_before_anything_is_asked(task, said):
    with pytest.raises(karat.errors.SpecError, match=said.replace("?", r"\?")):
        experiment(ROWS, task, "exact_match")


def test_a_task_may_give_columns_lists_numbers_and_nothing():
    given = {
        0: {"prediction": "a", "contexts": ["x", "y"], "tokens": 3},
        1: {"prediction": ["b", "c"]},
        2: 1.5,
        3: None,
    }
    table = experiment(ROWS[:4], lambda id: given[id], "exact_match(samples='first')").table  # noqa: A006
    assert table.column("contexts").to_pylist() == [["x", "y"], None, None, None]
    assert table.column("tokens").to_pylist() == [3, None, None, None]
    assert table.column("prediction").to_pylist() == ['"a"', '["b", "c"]', "1.5", None]  # JSON as it is spelled
    assert table.column("exact_match(samples='first')").null_count == 1


def test_numpys_values_are_those_of_python():
    np = pytest.importorskip("numpy")
    rows = [{"gold": ["d1"]}]
    result = experiment(rows, lambda row: {"retrieved": np.array(["d1", "d2"]), "seconds": np.float32(0.5)}, "recall@1",
                        map={"relevant": "gold"})  # fmt: skip
    assert result.values["recall@1"].value == 1
    assert result.table.column("retrieved").to_pylist() == [["d1", "d2"]]


def test_an_exception_is_its_rows_error_and_no_other_rows():
    def task(id):  # noqa: A002
        if id == 3:
            raise KeyError("verdict")
        if id == 4:
            sys.exit("no")
        if id == 5:
            raise karat.errors.DataError("bad")
        if id == 6:
            raise asyncio.CancelledError
        if id == 7:
            raise StopIteration
        return object() if id == 8 else "\ud800" if id == 9 else float("nan") if id == 10 else f"word {id % 3}"

    with pytest.warns(UserWarning, match="failed on 8 of 30 rows"):
        result = experiment(ROWS, task, "exact_match")
    errors = result.table.column("error").to_pylist()
    assert [at for at, error in enumerate(errors) if error] == [3, 4, 5, 6, 7, 8, 9, 10]
    assert errors[3] == "KeyError: 'verdict'"
    assert errors[4] == "SystemExit: no"
    assert errors[5] == "bad"
    assert errors[8] == "TypeError: the task returned object; expected text, numbers, lists or a dict of columns"
    assert result.table.column("prediction").to_pylist()[3:11] == [None] * 8
    assert result.table.column("reason").to_pylist()[2:5] == [
        None,
        "prediction is null: KeyError: 'verdict'",
        "prediction is null: SystemExit: no",
    ]
    assert (result.values["exact_match"].value, result.values["exact_match"].unscored, result.n) == (1, 8, 30)


def test_every_row_may_fail():
    rows = ROWS * 7  # more than a governor bears of a model

    async def task(row):
        raise ConnectionError("down")

    with pytest.warns(UserWarning, match="210 of 210"):
        result = experiment(rows, task, "exact_match", attempts=1)
    assert result.values["exact_match"].value is None
    assert set(result.table.column("error").to_pylist()) == {"ConnectionError: down (attempts: 1)"}


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_row_that_takes_too_long_is_asked_again_and_then_in_error(kind):
    calls = []
    ended = threading.Event()

    def waits(id):  # noqa: A002
        calls.append(id)
        if id == 2:
            ended.wait(20)
        return "word 0"

    async def sleeps(id):  # noqa: A002
        calls.append(id)
        if id == 2:
            await asyncio.sleep(20)
        return "word 0"

    with pytest.warns(UserWarning, match="failed on 1 of 5 rows"):
        result = experiment(ROWS[:5], waits if kind == "sync" else sleeps, "exact_match", timeout=0.2, attempts=2)
    ended.set()
    assert result.table.column("error").to_pylist()[2] == "TimeoutError: no answer within 0.2 s (attempts: 2)"
    assert sorted(calls) == [0, 1, 2, 2, 3, 4]


def test_errors_that_may_pass_are_tried_again_and_others_are_not():
    calls = []

    class Refused(Exception):
        status_code = 429

    class NotFound(Exception):
        status_code = 404

    def task(id):  # noqa: A002
        calls.append(id)
        if calls.count(id) < 3 and id in (1, 2):
            raise ConnectionResetError if id == 1 else Refused("slow down")
        if id == 4:
            raise NotFound("no such document")
        return "word 0"

    with pytest.warns(UserWarning, match="HTTP 404: no such document"):
        result = experiment(ROWS[:6], task, "exact_match")
    assert {each: calls.count(each) for each in calls} == {0: 1, 1: 3, 2: 3, 3: 1, 4: 1, 5: 1}
    assert [at for at, error in enumerate(result.table.column("error").to_pylist()) if error] == [4]


def test_at_most_so_many_rows_are_under_way():
    under_way, most = 0, 0

    async def task(row):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.005)
        under_way -= 1
        return "word 0"

    experiment(ROWS, task, "exact_match", concurrency=4)
    assert most == 4


def test_repetitions_are_told_apart_and_are_one_unit_of_the_intervals():
    turns = []

    def task(id):  # noqa: A002
        turns.append(id)
        return f"word {(id + turns.count(id)) % 2}"

    result = experiment(ROWS, task, "exact_match", repetitions=4)
    table = result.table
    assert turns.count(0) == 4
    assert table.column("row").to_pylist() == [row for row in range(1, 31) for _ in range(4)]
    assert table.column("repetition").to_pylist() == [1, 2, 3, 4] * 30
    assert table.column("question").to_pylist() == [row["question"] for row in ROWS for _ in range(4)]
    plain = table.drop_columns(["exact_match", *({"reason"} & set(table.column_names))])
    assert result.values == karat.score(plain, "exact_match", cluster="row").values
    independent = karat.score(plain, "exact_match", cluster="none").values["exact_match"]
    assert result.values["exact_match"].low != independent.low
    with pytest.raises(karat.errors.SpecError, match="repetitions need the gold in the rows"):
        experiment(ROWS, task, "exact_match", repetitions=2, gold=ROWS, on="id")


def test_types_and_spelling_of_the_rows_are_kept(tmp_path):
    (tmp_path / "q.jsonl").write_text('{"id": 1, "gold": 1.10}\n{"id": 2, "gold": 2e3}\n')
    result = experiment("q.jsonl", lambda gold: {1.1: "1.10", 2000.0: "2000.0"}[gold], "exact_match")
    assert result.table.column("exact_match").to_pylist() == [1, 0]
    (tmp_path / "gold.jsonl").write_text('{"id": 2, "gold": 7.0}\n{"id": 1, "gold": "a"}\n')
    result = experiment(
        "q.jsonl", lambda row: "7.0", "exact_match", gold="gold.jsonl", on="id", map={"reference": "gold_gold"}
    )
    assert result.table.column("exact_match").to_pylist() == [1, 0]
    rows = [{"id": 1, "retrieved": ["a"], "relevant": {"a": 2}, "label": 1.5}]
    (tmp_path / "r.json").write_text(json.dumps(rows))
    result = experiment("r.json", lambda row: 1.5, ["ndcg", "numeric_match"], map={"reference": "label"})
    assert [value.value for value in result.values.values()] == [1, 1]
    table = pa.table({"gold": ["a"], "day": pa.array([date(2024, 2, 29)]), "raw": pa.array([b"\xff"]),
                      "kind": pa.array(["x"]).dictionary_encode()})  # fmt: skip
    result = experiment(table, lambda day: str(day.year), "exact_match")
    assert result.table.select(table.column_names).schema == table.schema


def test_the_task_does_not_see_gold_of_a_second_table():
    seen = []
    questions = [{"id": row["id"], "question": row["question"]} for row in ROWS]
    result = experiment(questions, lambda row: seen.append(dict(row)) or by_row(row), "exact_match", gold=ROWS, on="id")
    assert sorted(seen, key=lambda row: row["id"]) == questions
    assert result.values["exact_match"].value == experiment(ROWS, by_row, "exact_match").values["exact_match"].value


@pytest.mark.parametrize(
    ("rows", "task", "said"),
    [
        ([{"gold": "a", "error": ""}], lambda row: "", "'error', which an experiment adds"),
        ([{"gold": "a", "prediction": ""}], lambda row: "a", "returned 'prediction', which the rows already have"),
        ([{"id": 1}], lambda row: pytest.fail("asked"), "reference"),
        (pa.table({"gold": pa.array([], pa.string())}), lambda row: "a", "has no rows"),
    ],
)
def test_columns_that_are_missing_or_there_twice(rows, task, said):
    with pytest.raises(karat.errors.DataError, match=said):
        experiment(rows, task, "exact_match")


def test_a_run_says_which_task_made_it(tmp_path):
    (tmp_path / "beside.py").write_text("def say(row): return 'word 0'\n")
    (tmp_path / "task.py").write_text("from beside import say\n\ndef answer(row):\n    return say(row)\n")
    result = experiment(ROWS, "task.py:answer", ["exact_match", "bleu"], run="first")
    run = open_run("first")
    assert run.values == result.as_dict()
    assert run.manifest.sources == {"data": "list", "task": "task.py:answer"}
    assert len(run.manifest.settings["digest"]) == 32
    assert folders() == ["first"]
    with pytest.raises(karat.errors.DataError, match="run first exists already"):
        experiment(ROWS, lambda row: pytest.fail("asked"), "exact_match", run="first")
    remove_run("first")
    assert folders() == []


@pytest.mark.parametrize(
    ("source", "error", "said"),
    [
        ("def answer(row) return 1", karat.errors.DataError, "cannot be loaded: SyntaxError"),
        ("1 / 0", karat.errors.DataError, "cannot be loaded: ZeroDivisionError"),
        ("def answers(row): return 1", karat.errors.SpecError, "did you mean 'answers'"),
    ],
)
def test_a_file_without_the_task(tmp_path, source, error, said):
    (tmp_path / "task.py").write_text(source)
    with pytest.raises(error, match=said):
        experiment(ROWS, "task.py:answer", "exact_match")
    with pytest.raises(karat.errors.DataError, match="No such file"):
        experiment(ROWS, "absent.py:answer", "exact_match")


def test_progress_counts_answers_and_then_scored_rows():
    said = []
    experiment(ROWS, by_row, "exact_match", progress=lambda done, total: said.append((done, total)))
    assert said[:30] == [(done, 30) for done in range(1, 31)]
    assert said[-1] == (30, 30)


def test_it_works_inside_a_running_loop():
    async def main():
        return experiment(ROWS, awaited, "exact_match")

    assert asyncio.run(main()).n == 30
