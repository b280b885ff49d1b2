"""Scoring in tasks: the same bits as scoring row by row, whoever carries the tasks out and however often they die."""

import os
import signal
import subprocess
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.engines import Ray, Spark
from karat.errors import DataError, SpecError
from karat.runs.scoring.arguments import Selection
from karat.runs.scoring.plan import plan_run
from karat.runs.scoring.tasks import parts as parts_module
from karat.runs.scoring.tasks.engine import Failed
from karat.runs.scoring.tasks.local import Processes, Threads
from karat.runs.scoring.tasks.task import make_recipe, score_part
from karat.runs.store.folders import STATES, partial_folder, run_folder
from karat.stats.inference import Inference

ROWS, FILES = 9_000, 3  # more than one batch
METRICS = ["exact_match", "token_f1", "bleu"]


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(5)
    words = np.array(["the", "cat", "sat", "on", "a", "mat", "Zürich", ""])
    texts = [" ".join(words[random.integers(0, 8, size)]) for size in random.integers(1, 9, ROWS)]
    gold = [text if right else text[::-1] for text, right in zip(texts, random.random(ROWS) < 0.6, strict=True)]
    return pa.table(
        {
            "id": np.arange(ROWS),
            "prediction": [None if at % 17 == 3 else text for at, text in enumerate(texts)],
            "gold": gold,
            "meta": [{"topic": f"t{at % 5}", "document": at // 7 if at % 11 else None} for at in range(ROWS)],
            "seconds": random.gamma(2, 1, ROWS) * 1e6,
        }
    )


@pytest.fixture
def files(table, tmp_path, monkeypatch):
    """Three files with row groups of several sizes; the last lacks a column."""
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(parts_module, "LEAST_ROWS", 1)
    cuts = [0, 3_375, 3_376, ROWS]
    for at in range(FILES):
        piece = table.slice(cuts[at], cuts[at + 1] - cuts[at])
        if at == 2:
            piece = piece.drop_columns("seconds")
        pq.write_table(piece, tmp_path / f"{at}.parquet", row_group_size=2_625)
    return str(tmp_path / "*.parquet")


def whole(files, metrics=METRICS, **settings):
    return karat.score(files, metrics, keep=True, **settings)


SETTINGS = {
    "plain": {},
    "groups": {"by": "meta.topic"},
    "clusters": {"cluster": "meta.document"},
    "condition": {"where": "\"meta.topic\" <> 't3' AND id % 9 > 0", "by": "meta.topic"},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_tasks_of_any_size_give_the_bits_of_the_rows_in_their_order(files, settings, monkeypatch):
    expected = whole(files, **settings).as_dict()
    assert karat.score(files, METRICS, keep=False, **settings).as_dict() == expected
    monkeypatch.setattr(parts_module, "TASK_ROWS", 3_000)
    assert karat.score(files, METRICS, engine=Threads(3), **settings).as_dict() == expected


def test_processes_give_the_same_bits_and_take_metrics_of_modules(files):
    metrics = [*METRICS, "column(seconds, low=0, direction=minimize)"]
    assert karat.score(files, metrics, engine="processes").as_dict() == whole(files, metrics).as_dict()


def test_a_run_in_parts_has_the_rows_values_and_counts_of_a_run_in_one_file(files):
    parts = karat.score(files, METRICS, by="meta.topic", run="parts", engine="threads").run
    one = karat.score(files, METRICS, by="meta.topic", run="one", keep=True).run
    assert len(parts.files) > 2
    assert parts.values == one.values
    assert parts.schema == one.schema
    assert parts.read(parts.schema.names).equals(one.read(one.schema.names))
    np.testing.assert_array_equal(parts.statistics("bleu"), one.statistics("bleu"))
    found = karat.compare("parts", "one", on="id")
    assert {each.comparison.difference for each in found.findings} == {0.0}
    assert parts.manifest.n == ROWS


class Stops:
    """An engine that carries out some tasks, and then fails."""

    name, workers = "stops", 4

    def __init__(self, after):
        self.after, self.done = after, []

    def run(self, recipe, tasks, advance):
        for task, part in tasks.items():
            if len(self.done) < self.after:
                self.done.append(task)
                yield score_part(recipe, task, part, advance)
            else:
                yield Failed(task, OSError("the disk is full"))


def test_a_run_that_was_stopped_goes_on_without_scoring_a_part_again(files):
    with pytest.raises(DataError, match=r"OSError: the disk is full \(in the task of .*\.parquet, row group"):
        karat.score(files, METRICS, run="a", engine=Stops(2))
    with pytest.raises(DataError, match="not finished"):
        karat.score(files, METRICS, run="a", engine="threads")
    rest = Stops(99)
    resumed = karat.score(files, METRICS, run="a", engine=rest, resume=True)
    assert rest.done
    assert not {0, 1} & set(rest.done)
    assert resumed.as_dict() == whole(files).as_dict()
    assert resumed.run.read(["id"]).column(0).to_pylist() == list(range(ROWS))


def test_a_part_that_is_written_twice_is_the_same_bytes(files, tmp_path):
    karat.score(files, METRICS, run="a", engine=Threads(2))  # as many tasks as those of two processes
    karat.score(files, METRICS, run="b", engine=Processes(2))
    for path in (tmp_path / "runs" / "a").rglob("part-*"):
        other = tmp_path / "runs" / "b" / path.relative_to(tmp_path / "runs" / "a")
        assert path.read_bytes() == other.read_bytes(), path


def test_a_changed_file_is_named_when_a_run_goes_on(files, tmp_path, table):
    with pytest.raises(DataError):
        karat.score(files, METRICS, run="a", engine=Stops(1))
    pq.write_table(table.slice(0, 20), tmp_path / "1.parquet")
    with pytest.raises(DataError, match=r"1\.parquet has changed since; resume with the same files"):
        karat.score(files, METRICS, run="a", engine="threads", resume=True)
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(DataError, match=r"1\.parquet is gone"):
        karat.score(files, METRICS, run="a", engine="threads", resume=True)


def test_a_file_that_changes_while_it_is_scored_is_an_error(files, tmp_path, table):
    recipe, parts = planned(files)
    pq.write_table(table.slice(0, 20), tmp_path / "0.parquet")
    with pytest.raises(DataError, match=r"0\.parquet has changed since it was opened"):
        score_part(recipe, 0, parts[0])


def test_a_file_that_is_replaced_while_it_is_read_is_an_error(files, tmp_path, table):
    recipe, parts = planned(files)
    batches = recipe.open(parts[0]).source.batches()
    pq.write_table(table.slice(0, 20), tmp_path / "new")
    next(batches)
    (tmp_path / "new").replace(tmp_path / "0.parquet")
    with pytest.raises(DataError, match=r"0\.parquet has changed since it was opened"):
        list(batches)


def planned(files):
    plan = plan_run(Selection(files), METRICS, Inference())
    return make_recipe(plan, None), plan.base.parts


def test_a_state_that_was_damaged_is_an_error(files):
    with pytest.raises(DataError):
        karat.score(files, METRICS, run="a", engine=Stops(2))
    state = next((partial_folder(run_folder("a")) / STATES).iterdir())
    content = bytearray(state.read_bytes())
    content[-9] ^= 1
    state.write_bytes(content)
    with pytest.raises(DataError, match=r"states/part-\d+ is damaged: expected the CRC-32"):
        karat.score(files, METRICS, run="a", engine="threads", resume=True)


def test_tasks_that_fail_are_unscored_rows_where_that_is_allowed(files):
    result = karat.score(files, METRICS, engine=Stops(3), max_failed_tasks=99)
    value = result.values["exact_match"]
    (failed,) = (count for reason, count in result.reasons["exact_match"].items() if reason.startswith("its task"))
    assert value.n == ROWS
    assert 0 < failed < value.unscored < ROWS
    assert value.worst < value.value < value.best


def test_rows_of_a_failed_task_are_never_missing_from_a_run(files):
    with pytest.raises(DataError, match="the disk is full"):
        karat.score(files, METRICS, run="a", engine=Stops(3), max_failed_tasks=99)
    assert not run_folder("a").exists()


def test_a_bad_cell_is_named_with_its_row_in_the_whole(files, tmp_path, table):
    bad = table.set_column(2, "gold", [pa.array([[text] for text in table["gold"].to_pylist()])])
    pq.write_table(bad.slice(0, 9), tmp_path / "9.parquet")
    with pytest.raises(karat.errors.ColumnError, match="gold"):
        karat.score(files, METRICS, engine="threads")


KILLED = """
import os, signal
import karat

first = [True]

@karat.metric(source="ours", register=False)
def deadly(prediction: karat.kinds.Text) -> karat.kinds.Score:
    "Kills its process, the first time that it is called in a run."
    if not os.path.exists("killed"):
        open("killed", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return [1.0] * len(prediction)
"""


def test_a_process_that_is_killed_is_replaced(files, tmp_path, monkeypatch):
    (tmp_path / "deadly_module.py").write_text(KILLED)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.syspath_prepend(str(tmp_path))
    from deadly_module import deadly

    (tmp_path / "killed").unlink(missing_ok=True)
    result = karat.score(files, ["exact_match", deadly], engine=Processes(2))
    assert (tmp_path / "killed").exists()
    assert result.values["exact_match"] == whole(files).values["exact_match"]


DRIVER = """
import sys, karat
from karat.runs.scoring.tasks import parts
parts.LEAST_ROWS = 1
karat.score(sys.argv[1], ["exact_match", "token_f1", "bleu"], run="a", engine=sys.argv[2], resume=True,
            progress=lambda done, total: print(done, flush=True))
"""


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_a_killed_driver_leaves_whole_parts(files, tmp_path, engine, python):
    lines = 0
    while not run_folder("a").exists():
        lines += 3
        with python("-c", DRIVER, files, engine, stdout=subprocess.PIPE, text=True) as process:
            for _, line in zip(range(lines), process.stdout, strict=False):
                assert int(line) <= ROWS
            process.send_signal(signal.SIGKILL)
    karat.score(files, METRICS, run="b", engine="threads")
    for path in (tmp_path / "runs" / "b").rglob("part-*"):
        assert path.read_bytes() == (run_folder("a") / path.relative_to(run_folder("b"))).read_bytes()


@pytest.mark.parametrize(
    ("data", "settings", "reason"),
    [
        ([{"prediction": "a", "gold": "a"}], {}, "a list is not in Parquet files|is not in Parquet files"),
        (None, {"limit": 5}, "limit"),
        (None, {"output": "scored.parquet"}, "written to one file"),
        (None, {"keep": True}, "kept in memory"),
        (None, {"engine": None, "max_failed_tasks": 2}, r"\(--max-failed-tasks\) counts tasks, but rows are kept"),
        (None, {"engine": None, "max_failed_tasks": 2, "keep": False, "limit": 3}, "counts tasks, but limit"),
        ([{"prediction": "a", "gold": "a"}], {"engine": None, "max_failed_tasks": 2, "keep": False}, "not in Parquet"),
    ],
)
def test_what_cannot_be_scored_in_tasks_says_why(files, data, settings, reason):
    with pytest.raises(SpecError, match=reason):
        karat.score(data or files, "exact_match", **{"engine": "threads"} | settings)


@pytest.mark.parametrize("engine", [Threads, Processes, Ray, Spark])
def test_an_engine_has_its_own_name(engine):
    with pytest.raises(TypeError, match="'name'"):
        engine(name="mine")
    assert engine().name == engine.__name__.lower()


@pytest.mark.parametrize(
    ("engine", "settings", "reason"),
    [
        ("threads", {"model": "a/folder"}, "runs a model, which keeps all cores busy"),
        ("processes", {"model": "any", "endpoint": True}, "waits for another process"),
    ],
)
def test_models_are_not_run_where_that_is_slower_or_leaves_the_machine(files, engine, settings, reason):
    with pytest.raises(SpecError, match=reason):
        karat.score(files, karat.metrics.semantic_similarity.using(**settings), engine=engine, keep=False)


def test_an_unknown_engine_is_an_error_with_the_nearest_name(files):
    with pytest.raises(SpecError, match="did you mean 'processes'"):
        karat.score(files, "exact_match", engine="proceses")
    with pytest.raises(SpecError, match=r"no engine 'x'; there are: processes, ray, spark, threads$"):
        karat.score(files, "exact_match", engine="x")


def test_tasks_of_small_files_may_fail_too(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"prediction": ["a", "b"], "gold": ["a", "a"]}), path)
    assert karat.score(path, "exact_match", keep=False, max_failed_tasks=1).values["exact_match"].value == 0.5


@pytest.mark.parametrize("engine", [None, "threads", "processes", "ray", "spark"])
def test_a_file_without_rows_is_scored_without_tasks(files, tmp_path, engine):
    pq.write_table(pa.table({"prediction": ["a"], "gold": ["a"]}).slice(1), tmp_path / "none")
    (tmp_path / "none").replace(tmp_path / "none.parquet")
    result = karat.score(tmp_path / "none.parquet", "exact_match", engine=engine, run="none", max_failed_tasks=1)
    assert (result.n, result.run.read(["gold"]).num_rows) == (0, 0)


@pytest.mark.parametrize("listed", [0, 2])
def test_lists_of_numbers_in_text_are_looked_for_in_the_first_rows_of_all(tmp_path, listed):
    for at in range(3):
        cells = ["[1, 2]" if at == listed else "x"] * 9
        pq.write_table(pa.table({"prediction": cells, "gold": cells}), tmp_path / f"{at}.parquet")
    warned = pytest.warns(UserWarning, match="looks like JSON lists but is text") if listed == 0 else nullcontext()
    with warned:
        assert (
            karat.score(str(tmp_path / "*.parquet"), "exact_match", engine="threads").values["exact_match"].value == 1
        )


def test_a_recipe_reads_only_the_columns_that_are_scored(files):
    recipe, parts = planned(files)
    assert recipe.columns == {"id", "prediction", "gold"}  # ids: where they repeat, intervals go by them
    assert recipe.open(parts[0]).source.schema.names == ["id", "prediction", "gold"]
    assert replace(recipe, columns=None).open(parts[0]).source.schema.names[0] == "id"
