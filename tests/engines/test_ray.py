"""Ray: the bits and bytes of one machine, from files and from datasets, also where processes die."""

import os
import random
import runpy
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.data.storage.remote_files import read_bytes
from karat.engines import Ray
from karat.runs.scoring.tasks import parts as parts_module
from karat.runs.store.folders import STATES, partial_folder, run_folder
from karat.runs.store.run import open_run

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")

pytestmark = pytest.mark.filterwarnings("ignore")  # what Ray warns of is Ray's
ROWS = 24_000
KILLS = int(os.environ.get("KARAT_KILLS", "2"))
METRICS = ["exact_match", "token_f1", "bleu"]


@pytest.fixture(scope="module", autouse=True)
def cluster(store):
    """A cluster on this machine, which all tests share."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # its addresses stay 127.0.0.1 for the drivers
    ray.init(
        "local", num_cpus=2, num_gpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1"
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(5)
    words = np.array(["the", "cat", "sat", "on", "a", "mat", "Zürich", ""])
    texts = [" ".join(words[random.integers(0, 8, size)]) for size in random.integers(1, 9, ROWS)]
    gold = [text if right else text[::-1] for text, right in zip(texts, random.random(ROWS) < 0.6, strict=True)]
    topics = [f"t{at % 5}" for at in range(ROWS)]
    return pa.table({"qid": [f"q{at}" for at in range(ROWS)], "prediction": texts, "gold": gold, "topic": topics})


@pytest.fixture
def files(table, tmp_path, monkeypatch):
    """Two files, in six tasks."""
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    for name in ("TASK_ROWS", "LEAST_ROWS"):
        monkeypatch.setattr(parts_module, name, 4_000)
    for at in range(2):
        pq.write_table(table.slice(at * ROWS // 2, ROWS // 2), tmp_path / f"{at}.parquet", row_group_size=4_000)
    return str(tmp_path / "*.parquet")


def test_files_give_the_bits_and_bytes_of_one_machine(files):
    @karat.metric(source="ours", finish=lambda totals: totals[..., 0] / totals[..., 1], register=False)
    def long(prediction: karat.kinds.Text, *, least: int = 9) -> karat.kinds.Counts:
        """The share of long answers: a metric that no other process can import."""
        return np.array([[len(text) >= least, 1.0] for text in prediction.to_pylist()])

    metrics, seen = [*METRICS, long.using(least=12)], []
    there = karat.score(files, metrics, by="topic", run="there", engine=Ray(), progress=lambda *rows: seen.append(rows))
    here = karat.score(files, metrics, by="topic", run="here", engine="threads")
    assert there.as_dict() == here.as_dict() == karat.score(files, metrics, by="topic", keep=True).as_dict()
    assert seen[-1] == (ROWS, ROWS)
    written = [path for path in run_folder("here").rglob("part-*") if path.is_file()]
    assert len(written) == 12
    for path in written:
        assert path.read_bytes() == (run_folder("there") / path.relative_to(run_folder("here"))).read_bytes()


def test_files_and_runs_in_a_store_give_the_bytes_of_a_disk(files, s3, monkeypatch):
    here = karat.score(files, METRICS, run="a", engine="threads").run
    for at in range(2):
        s3.put(f"log/{at}.parquet", Path(files).with_name(f"{at}.parquet").read_bytes())
    monkeypatch.setenv("KARAT_RUNS", "s3://lake/runs")
    there = karat.score("s3://lake/log/*.parquet", METRICS, run="a", engine=Ray()).run
    assert there.path == "s3://lake/runs/a"
    assert there.values == here.values
    for path in filter(Path.is_file, here.path.rglob("part-*")):
        assert read_bytes(f"{there.path}/{path.relative_to(here.path)}") == path.read_bytes()


def test_a_dataset_gives_the_bits_of_its_table_whatever_its_order(table):
    dataset = ray.data.from_arrow(table).random_shuffle(seed=1).repartition(3)
    settings = {"id": "qid", "by": "topic", "where": "topic <> 't3'"}
    there = karat.score(dataset, METRICS, engine=Ray(), **settings)
    assert there.as_dict() == karat.score(table, METRICS, **settings).as_dict()
    assert there.n == ROWS * 4 // 5


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (None, "have no order: id names the column that tells them apart, id='COLUMN'; qid may do"),
        ("topic", "'topic' .id. repeats its values"),
        ("empty", r"'empty' .id. is null or empty in (\d+) of \1 rows"),
        ("qld", "no column 'qld'; did you mean 'qid'"),
    ],
)
def test_rows_of_a_dataset_need_an_id(table, column, message):
    few = table.slice(0, 4_000).append_column("empty", pa.nulls(4_000, pa.string()))
    with pytest.raises(karat.KaratError, match=message):
        karat.score(ray.data.from_arrow(few), "exact_match", id=column, engine=Ray())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"limit": 3}, "without limit: its rows have no order"),
        ({"run": "a"}, "its rows stay where they are; write them to Parquet files"),
        ({"gold": "gold.parquet", "on": "qid"}, "without gold: join it with the rows first"),
        ({"engine": "threads"}, "engine 'threads' does not score a MaterializedDataset of ray"),
        ({"max_failed_tasks": 1}, "it counts tasks of files"),
    ],
)
def test_what_a_dataset_cannot_do_says_why(table, settings, message):
    with pytest.raises(karat.errors.SpecError, match=message):
        karat.score(ray.data.from_arrow(table), "exact_match", **{"id": "qid", "engine": Ray()} | settings)


def test_rows_of_pandas_are_scored_as_well(table):
    frame = table.slice(0, 500).to_pandas().assign(gold=lambda rows: [[text, "x"] for text in rows["gold"]])
    there = karat.score(ray.data.from_pandas(frame), "token_f1", id="qid", engine=Ray())
    assert there.as_dict() == karat.score(frame, "token_f1", id="qid").as_dict()


def test_a_task_whose_process_is_killed_is_carried_out_again(files, tmp_path):
    mark = str(tmp_path / "killed")

    @karat.metric(source="ours", register=False)
    def deadly(prediction: karat.kinds.Text) -> karat.kinds.Score:
        """Kills its process, once."""
        if not os.path.exists(mark):  # noqa: PTH110
            open(mark, "w").close()  # noqa: PTH123
            os.kill(os.getpid(), signal.SIGKILL)
        return [1.0] * len(prediction)

    result = karat.score(files, ["exact_match", deadly], engine=Ray())
    assert os.path.exists(mark)  # noqa: PTH110
    assert result.values["exact_match"] == karat.score(files, "exact_match", keep=True).values["exact_match"]


def test_an_error_names_its_rows_and_stops_the_other_tasks(files, tmp_path):
    begun = tmp_path / "begun"
    begun.mkdir()
    folder = str(begun)

    @karat.metric(source="ours", register=False)
    def slow_or_wrong(prediction: karat.kinds.Text, qid: karat.kinds.Text) -> karat.kinds.Score:
        """Fails on the first rows, and takes long over others."""
        open(f"{folder}/{qid[0]}", "w").close()  # noqa: PTH123
        if qid[0].as_py() == "q0":
            raise ZeroDivisionError("oh")
        time.sleep(60)
        return [1.0] * len(prediction)

    with pytest.raises(
        karat.errors.DataError, match=r"ZeroDivisionError: oh \(in the task of .*0\.parquet, row group 0\)"
    ):
        karat.score(files, slow_or_wrong, map={"qid": "qid"}, engine=Ray())
    assert len(list(begun.iterdir())) < 6
    allowed = karat.score(files, "exact_match", engine=Ray())  # the cores are free again
    assert allowed.n == ROWS


def test_an_address_without_a_cluster_is_an_error_at_once(files, tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    started = time.monotonic()
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text(f"127.0.0.1:{port}")  # it was killed
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    for address in (f"ray://127.0.0.1:{port}", f"127.0.0.1:{port}", None, "auto"):
        with pytest.raises(karat.errors.DataError, match=r"no Ray cluster answers at .*is its port right"):
            karat.score(files, "exact_match", engine=Ray(address))
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("mode", ["", "token"])
def test_a_cluster_that_refuses_says_what_to_set(files, monkeypatch, mode):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda *_, **__: (_ for _ in ()).throw(ConnectionError("refused")))
    monkeypatch.setenv("RAY_AUTH_MODE", mode)
    with pytest.raises(karat.errors.DataError, match="no connection to Ray at local: refused") as error:
        karat.score(files, "exact_match", engine=Ray("local"))
    assert ("Set RAY_AUTH_MODE=token" in str(error.value)) == (mode == "")


def test_without_ray_the_message_names_the_extra(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(karat.errors.MissingExtra, match=r"engine 'ray' needs ray: pip install 'karat\[ray\]'"):
        karat.score(files, "exact_match", engine=Ray())


def letters(loads):
    """A model that is loaded when it is first used: a file in a folder for each time, named by the process."""
    loaded = []

    def encode(texts):
        if not loaded:
            loaded.append("abc")
            (loads / f"{os.getpid()} {time.monotonic_ns()} {os.environ.get('CUDA_VISIBLE_DEVICES')}").touch()
        return [[1 + text.count(letter) for letter in loaded[0]] for text in texts]

    return encode


@pytest.mark.parametrize("gpus", [0, 0.5])
def test_a_model_is_loaded_once_in_each_process(files, table, tmp_path, gpus):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    metrics = [karat.metrics.semantic_similarity.using(model=letters(each)) for each in (there, here)]
    result = karat.score(files, metrics[0], by="topic", engine=Ray(gpus=gpus))
    expected = karat.score(files, metrics[1], by="topic", keep=False)
    assert result.values.popitem()[1] == expected.values.popitem()[1]
    loads = [path.name.split() for path in there.iterdir()]
    assert 1 <= len({process for process, *_ in loads}) == len(loads) <= 2 * len(os.sched_getaffinity(0))
    assert all((device in "01") == bool(gpus) for *_, device in loads)


def test_rows_of_a_dataset_are_scored_on_gpus(table):
    dataset = ray.data.from_arrow(table.slice(0, 500)).repartition(3)
    there = karat.score(dataset, "token_f1", id="qid", engine=Ray(gpus=1))
    assert there.as_dict() == karat.score(table.slice(0, 500), "token_f1", id="qid").as_dict()


@pytest.mark.parametrize(("gpus", "error"), [(3, "has so many, the most is 2"), (1.5, "a whole number is expected")])
def test_gpus_that_no_machine_has_are_an_error_at_once(files, gpus, error):
    with pytest.raises(karat.KaratError, match=error):
        karat.score(files, "exact_match", engine=Ray(gpus=gpus))


def test_a_process_with_a_gpu_that_is_killed_is_started_again(files, tmp_path):
    mark = str(tmp_path / "killed")

    @karat.metric(source="ours", register=False)
    def deadly(prediction: karat.kinds.Text) -> karat.kinds.Score:
        """Kills its process, once."""
        if not os.path.exists(mark):  # noqa: PTH110
            open(mark, "w").close()  # noqa: PTH123
            os.kill(os.getpid(), signal.SIGKILL)
        return [1.0] * len(prediction)

    result = karat.score(files, ["exact_match", deadly], engine=Ray(gpus=1))
    assert result.values["exact_match"] == karat.score(files, "exact_match", keep=True).values["exact_match"]


def test_a_judge_is_not_scored_by_an_engine(files):
    with pytest.raises(
        karat.errors.SpecError, match="judge:conciseness waits for another process, such as an endpoint: leave"
    ):
        karat.score(files, "judge:conciseness", engine=Ray(), map={"question": "qid"})


DRIVER = """
import sys, time
import karat
from karat.engines import Ray
from karat.runs.scoring.tasks import parts

@karat.metric(source="ours")
def slow(prediction: karat.kinds.Text) -> karat.kinds.Score:
    "1, after a while."
    time.sleep(0.1)
    return [1.0] * len(prediction)

parts.TASK_ROWS = 1
if __name__ == "__main__":
    karat.score(
        "rows.parquet", ["exact_match", "token_f1", "bleu", slow], by="topic", cluster="topic", run=sys.argv[1],
        resume=True, engine=Ray(sys.argv[2]), progress=lambda done, total: print(done, flush=True),
    )
"""


def start(name, address):
    return subprocess.Popen([sys.executable, "driver.py", name, address], stdout=subprocess.PIPE, text=True)


def parent(process):
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def workers():
    """The processes of this test's cluster that carry out a task."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(b"ray::karat") and parent(
                parent(folder.name)
            ) == os.getpid():
                yield int(folder.name)
        except OSError:  # it has ended
            pass


def finished(name):
    """When the rows of each finished part were written."""
    folder = partial_folder(run_folder(name))
    states = [path.name for path in (folder / STATES).glob("part-*")]
    return {state: (folder / "run" / "rows" / f"{state}.parquet").stat().st_mtime_ns for state in states}


def test_killed_workers_and_drivers_leave_the_bytes_of_an_undisturbed_run(table, files, tmp_path, monkeypatch):
    """`KARAT_KILLS` says how many are killed, drivers and workers in turn; no task that is finished is done again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parts_module, "LEAST_ROWS", 1)
    pq.write_table(table.slice(0, 8_000), "rows.parquet", row_group_size=200)
    (tmp_path / "driver.py").write_text(DRIVER)
    address = ray.get_runtime_context().gcs_address
    metrics = ["exact_match", "token_f1", "bleu", runpy.run_path("driver.py")["slow"]]
    karat.score("rows.parquet", metrics, by="topic", cluster="topic", run="run0", engine="threads")
    whole, chance, kills, number = run_folder("run0"), random.Random(), 0, 1  # noqa: S311
    while kills < KILLS:
        name, done = f"run{number}", {}
        while not run_folder(name).exists():
            before, done = done, finished(name)
            assert before.items() <= done.items()
            with start(name, address) as process:
                for _ in range(chance.randrange(1, 40)):
                    process.stdout.readline()
                if kills < KILLS and process.poll() is None:
                    os.kill(chance.choice([*workers(), process.pid] if kills % 2 else [process.pid]), signal.SIGKILL)
                    kills += 1
                process.stdout.read()
            assert process.returncode in (0, -signal.SIGKILL), "the driver failed by itself"
        for path in filter(Path.is_file, whole.rglob("part-*")):
            other = run_folder(name) / path.relative_to(whole)
            assert path.read_bytes() == other.read_bytes(), path
            if path.parent.name == "rows" and path.stem in done:
                assert other.stat().st_mtime_ns == done[path.stem]
        assert open_run(name).values == open_run("run0").values
        number += 1
