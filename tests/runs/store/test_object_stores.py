"""Runs in an object store: the bytes of those on a disk, also where the store fails or a process is killed."""

import os
import signal
import time
from itertools import islice
from pathlib import Path
from threading import Thread

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.data.join import parts as joined_parts
from karat.data.write import write
from karat.errors import DataError
from karat.runs.match.systems import open_systems
from karat.runs.scoring.tasks import parts as parts_module
from karat.runs.scoring.tasks.task import score_part
from karat.runs.store import lock as locks
from karat.runs.store import tail
from karat.runs.store.folders import run_names, unfinished_runs
from karat.runs.store.kept import list_runs, remove_run
from karat.runs.store.lock import lock
from karat.runs.store.parts import PartsFolder
from karat.runs.store.run import open_run

TASKS, ROWS = 6, 20  # rows of a task
STORE = "s3://lake/runs"


@pytest.fixture
def rows(s3, tmp_path, monkeypatch):
    """A Parquet file in six tasks, and runs in a store."""
    monkeypatch.setenv("KARAT_RUNS", STORE)
    monkeypatch.setattr(parts_module, "TASK_ROWS", ROWS)
    monkeypatch.setattr(parts_module, "LEAST_ROWS", 1)
    monkeypatch.setattr(locks, "BEAT", 0.5)
    monkeypatch.setattr(locks, "EXPIRY", 1.5)
    random = np.random.default_rng(5)
    words = np.array(["a", "b", "c", "Zürich"])
    texts = [" ".join(words[random.integers(0, 4, 5)]) for _ in range(TASKS * ROWS)]
    gold = [text if at % 3 else text[::-1] for at, text in enumerate(texts)]
    ids = [f"q{at}" for at in range(TASKS * ROWS)]
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": ids, "prediction": texts, "gold": gold}), path, row_group_size=ROWS)
    return path


def stored(s3):
    """The content of each file in the folder of the runs, by its path in it."""
    listed = s3.client.list_objects_v2(Bucket="lake", Prefix="runs/").get("Contents", [])
    names = [each["Key"] for each in listed if not each["Key"].endswith("/")]
    return {name[len("runs/") :]: s3.client.get_object(Bucket="lake", Key=name)["Body"].read() for name in names}


def on_disk(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def without_manifests(files):
    return {name: content for name, content in files.items() if "manifest" not in name}


def score_beside(rows, monkeypatch, tmp_path, **settings):
    """The files of the same run on a disk."""
    with monkeypatch.context() as patch:
        patch.setenv("KARAT_RUNS", str(tmp_path / "disk"))
        karat.score(rows, **settings)
    return without_manifests(on_disk(tmp_path / "disk"))


@pytest.mark.parametrize("engine", [None, "processes"])
def test_a_run_has_the_files_of_one_on_a_disk_and_nothing_else(rows, s3, tmp_path, monkeypatch, engine):
    data = pq.read_table(rows).to_reader(max_chunksize=7) if engine is None else rows
    settings = {"metrics": ["exact_match", "bleu"], "run": "a", "engine": engine}
    run = karat.score(data, **settings).run
    data = pq.read_table(rows).to_reader(max_chunksize=7) if engine is None else rows
    files, beside = stored(s3), settings | {"engine": engine and "threads"}
    assert without_manifests(files) == score_beside(data, monkeypatch, tmp_path, **beside)
    assert set(files) - set(without_manifests(files)) == {"a/manifest.json"}
    assert run.path == f"{STORE}/a"
    assert run.statistics("bleu").shape[0] == TASKS * ROWS
    with pytest.raises(DataError, match=r"run a exists already, in s3://lake/runs/a: choose another name"):
        karat.score(rows, "exact_match", run="a")


def test_predictions_that_tasks_share_are_ordered_in_the_store(rows, s3, tmp_path, monkeypatch):
    monkeypatch.setattr(joined_parts, "BATCH_ROWS", 1)
    monkeypatch.setattr(parts_module, "TASK_ROWS", 2 * ROWS)
    table = pq.read_table(rows)
    order = np.random.default_rng(1).permutation(len(table))
    pq.write_table(table.select(["id", "gold"]), tmp_path / "gold.parquet", row_group_size=ROWS)
    answers = table.select(["id", "prediction"]).take(order)
    write(answers.to_batches(ROWS), answers.schema, "s3://lake/answers.parquet")
    settings = {"metrics": ["exact_match", "bleu"], "gold": tmp_path / "gold.parquet", "on": "id", "run": "a"}
    s3.requests.clear()
    karat.score("s3://lake/answers.parquet", engine="threads", **settings)
    assert any("predictions/part-" in path for method, path, _ in s3.requests if method == "PUT")
    beside = score_beside("s3://lake/answers.parquet", monkeypatch, tmp_path, engine="threads", **settings)
    assert without_manifests(stored(s3)) == beside


def run_karat(*words):
    result = CliRunner().invoke(main, words, catch_exceptions=False)
    return result.output


def test_commands_find_runs_in_a_store_by_name(rows, s3, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parts_module, "TASK_ROWS", TASKS * ROWS // 2)
    for name, metrics in {"a": ["exact_match", "bleu"], "b": ["exact_match", "bleu", "token_f1"]}.items():
        karat.score(rows, metrics, run=name, engine="threads")
    assert [run.name for run in list_runs()] == ["a", "b"] == run_names()
    assert "a" in run_karat("runs")
    assert "in s3://lake/runs/a" in run_karat("runs", "show", "a")
    assert [run.path for run in open_systems(["a", "b"])] == [f"{STORE}/a", f"{STORE}/b"]
    run_karat("runs", "export", "a", "-o", "a.csv")
    assert "q119" in Path("a.csv").read_text("utf-8")
    assert "the page shows runs of a disk" in CliRunner().invoke(main, ["view", "--no-open"]).output
    run_karat("runs", "remove", "a", "b")
    assert stored(s3) == {}
    assert "no run is kept in s3://lake/runs" in run_karat("runs")
    with pytest.raises(DataError, match="there is no run 'a' in s3://lake/runs"):
        remove_run("a")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("https://host/runs", "KARAT_RUNS is https://host/runs: expected a folder, or an address s3://"),
        ("hf://datasets/mine/runs", "expected a folder, or an address s3://, gs:// or az://"),
        ("az://box/runs?sig=abc", r"KARAT_RUNS is az://box/runs: .*without a query"),
        ("s3://sea/runs", "there is no bucket 'sea'"),
    ],
)
def test_other_addresses_are_refused_before_anything_is_scored(rows, monkeypatch, address, message):
    monkeypatch.setenv("KARAT_RUNS", address)
    with pytest.raises(DataError, match=message):
        karat.score(rows, "exact_match", run="a")


def test_an_experiment_says_that_its_answers_need_a_disk(rows):
    with pytest.raises(DataError, match="KARAT_RUNS is s3://lake/runs, and an experiment stores each answer"):
        karat.experiment(rows, lambda prediction: prediction, "exact_match", run="a")


DRIVER = """
import os, signal, sys
import pyarrow.parquet as pq
import karat
from karat.runs.scoring.tasks import parts
from karat.runs.scoring.tasks.task import score_part
from karat.runs.store import tail
from karat.runs.store import lock as locks

parts.TASK_ROWS, parts.LEAST_ROWS = 20, 1
tail.MIN_SECONDS = tail.MIN_SHARE = tail.PAUSE = 0.0
locks.BEAT, locks.EXPIRY = 0.4, 1.5
path, kind, last = sys.argv[1], sys.argv[2], int(sys.argv[3])

def die(at):
    if at == last:
        os.kill(os.getpid(), signal.SIGKILL)

class Dies:
    name, workers = "dies", 1

    def run(self, recipe, tasks, advance):
        for at, (task, part) in enumerate(tasks.items()):
            die(at)
            yield score_part(recipe, task, part, advance)

@karat.metric(source="ours", register=False)
def first(prediction: karat.kinds.Text) -> karat.kinds.Score:
    "Whether it begins with a."
    sys.stdout.write(f"{len(prediction)}\\n")
    sys.stdout.flush()
    return [float(text.startswith("a")) for text in prediction.to_pylist()]

def progress(done, total):
    if kind == "stream":
        die(done // 15)

def score():
    data, engine = (path, Dies()) if kind == "parts" else (pq.read_table(path).to_reader(max_chunksize=15), None)
    karat.score(data, ["exact_match", "bleu", first], run="a", engine=engine, resume=True, progress=progress)

score()
sys.stdout = sys.stderr
os.environ["KARAT_RUNS"] = "disk"
score()
"""


@pytest.fixture
def drive(python):
    """How many rows a process scored until it ended, and how; the same run is on the disk then."""

    def run(rows, kind, last=-1):
        ended = python.run("-c", DRIVER, rows, kind, last, cwd=rows.parent)
        return sum(map(int, ended.stdout.split())), ended.returncode

    return run


@pytest.mark.parametrize("kind", ["parts", "stream"])
def test_a_killed_driver_goes_on_and_scores_nothing_twice_that_was_complete(
    rows, s3, tmp_path, monkeypatch, kind, drive
):
    before, code = drive(rows, kind, last=4)
    assert code == -signal.SIGKILL
    assert (run_names(), unfinished_runs()) == ([], ["a"])
    for name in ("a", f"{STORE}/a"):
        run = open_run(name)
        assert len(run.scores("exact_match")) == run.manifest.n > 0
        assert run.state in {"running", "stopped"}  # its lease has not expired yet, or it has
    with pytest.raises(DataError, match="run a was not finished: continue it with --resume"):
        karat.score(rows, "exact_match", run="a", engine="threads" if kind == "parts" else None)
    scored, code = drive(rows, kind)
    assert code == 0
    if kind == "parts":
        assert (before, scored) == (80, 40)
    else:  # further batches may have been scored, and not yet written
        assert scored == 60
    resumed, found = open_run("a"), stored(s3)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "disk"))
    whole = open_run("a")
    assert resumed.values == whole.values
    assert resumed.manifest.digests == whole.manifest.digests
    assert resumed.read(resumed.schema.names).equals(whole.read(whole.schema.names))
    if kind == "parts":
        assert without_manifests(found) == without_manifests(on_disk(tmp_path / "disk"))


class Stops:
    """Carries out two tasks, and stops."""

    name, workers = "stops", 1

    def run(self, recipe, tasks, advance):
        for task, part in islice(tasks.items(), 2):
            yield score_part(recipe, task, part, advance)
        raise KeyboardInterrupt


def test_other_files_are_refused_by_name(rows):
    with pytest.raises(KeyboardInterrupt):
        karat.score(rows, ["exact_match", "bleu"], run="a", engine=Stops())
    os.utime(rows)
    with pytest.raises(DataError, match=r"run a: .*rows\.parquet has changed since; resume with the same files"):
        karat.score(rows, ["exact_match", "bleu"], run="a", engine="threads", resume=True)


def test_passing_faults_leave_no_trace_and_others_a_run_that_goes_on(rows, s3, tmp_path, monkeypatch):
    settings = {"metrics": ["exact_match", "bleu"], "run": "a", "engine": "threads"}
    s3.match, s3.faults = "part-", [500, None, "slow", 503, None, None, "reset"]
    karat.score(rows, **settings)
    assert not s3.faults
    whole = score_beside(rows, monkeypatch, tmp_path, **settings)
    assert without_manifests(stored(s3)) == whole
    remove_run("a")
    for match in ("rows/part-000003", "states/part-000002", "a/values", "a/manifest"):
        s3.match, s3.faults = match, [403] * 9
        with pytest.raises(DataError, match="access is denied"):
            karat.score(rows, resume=True, **settings)
        s3.faults = []
        assert run_names() == []
    karat.score(rows, resume=True, **settings)
    assert without_manifests(stored(s3)) == whole


def test_a_part_that_is_written_is_not_scored_again_in_the_same_run(rows):
    class Twice:
        """Carries out each task again, as a cluster does where the first outcome was lost."""

        name, workers = "twice", 1

        def run(self, recipe, tasks, advance):
            for task, part in tasks.items():
                first, again = (score_part(recipe, task, part, advance) for _ in range(2))
                assert again == first
                yield again

    scored = []

    @karat.metric(source="ours", register=False)
    def count(prediction: karat.kinds.Text) -> karat.kinds.Score:
        """1 for each row."""
        scored.append(len(prediction))
        return [1.0] * len(prediction)

    assert karat.score(rows, [count], run="a", engine=Twice()).values["count"].n == TASKS * ROWS
    assert sum(scored) == TASKS * ROWS


def hold(seconds, found):
    try:
        with lock(f"{STORE}/.a.lock", "a") as check:
            time.sleep(seconds)
            check()
        found.append("held")
    except DataError as error:
        found.append(str(error))


def test_of_two_writers_at_most_one_goes_on(s3, rows, monkeypatch):
    monkeypatch.setattr(locks, "BEAT", 1.1)  # a store tells seconds apart
    monkeypatch.setattr(locks, "EXPIRY", 4)
    found = []
    first = Thread(target=hold, args=(4, found))
    first.start()
    time.sleep(0.5)
    with pytest.raises(DataError, match=rf"run a is being written by another process \({os.getpid()} on "):
        karat.score(rows, "exact_match", run="a")
    first.join()
    assert found == ["held"]
    assert stored(s3) == {}


def test_a_writer_that_was_taken_for_killed_does_not_finish(s3, rows):
    with lock(f"{STORE}/.a.lock", "a") as check:
        check()
        for name in stored(s3):
            s3.client.delete_object(Bucket="lake", Key=f"runs/{name}")
        with pytest.raises(DataError, match=r"run a: this process was not heard of for 1\.5 s"):
            check()
    assert stored(s3) == {}


def test_rows_behind_a_part_that_is_gone_are_scored_again(rows, s3, monkeypatch):
    for name in ("MIN_SECONDS", "MIN_SHARE", "PAUSE", "MOST_BYTES"):  # a part a batch
        monkeypatch.setattr(tail, name, 0.0)
    whole = karat.score(pq.read_table(rows), "exact_match", run="whole").run

    def stop(done, _):
        if done > 60:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        karat.score(pq.read_table(rows).to_reader(max_chunksize=30), "exact_match", run="a", progress=stop)
    assert PartsFolder(f"{STORE}/a").count_rows() > 30
    s3.client.delete_object(Bucket="lake", Key="runs/.a.partial/states/part-000001")
    assert 0 < PartsFolder(f"{STORE}/a").count_rows() <= 30
    run = karat.score(pq.read_table(rows).to_reader(max_chunksize=30), "exact_match", run="a", resume=True).run
    assert run.values == whole.values
    assert run.read(run.schema.names).equals(whole.read(whole.schema.names))
