"""The engine Spark gives the bits of one machine, and what goes wrong on the way to a cluster is said in words."""

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
from karat.engines.spark import Spark
from karat.errors import DataError, MissingExtra, SpecError
from karat.runs.scoring.tasks import parts as parts_module
from karat.runs.store.folders import run_folder

pytest.importorskip("pysail")
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
ROWS, TASKS = 12_000, 6
METRICS = ["exact_match", "token_f1", "bleu"]
MODULE = """
import os, signal
import karat

@karat.metric(source="ours", register=False)
def picky(prediction: karat.kinds.Text) -> karat.kinds.Score:
    "Fails where a prediction is 'bad'."
    if "bad" in prediction.to_pylist():
        raise ValueError("a bad row")
    return [1.0] * len(prediction)

@karat.metric(source="ours", register=False)
def deadly(prediction: karat.kinds.Text) -> karat.kinds.Score:
    "Kills its process at the third call or a later one, where there is a file `kill`."
    with open(f"{os.path.dirname(__file__)}/calls", "a+") as calls:
        print(os.getpid(), file=calls, flush=True)
        calls.seek(0)
        if len(calls.readlines()) >= 3 and os.path.exists(f"{os.path.dirname(__file__)}/kill"):
            os.kill(os.getpid(), signal.SIGKILL)
    return [1.0] * len(prediction)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    (folder / "metrics_of_tests.py").write_text(MODULE)
    return folder


@pytest.fixture(scope="module", params=["serve", pytest.param("serve_apache", marks=pytest.mark.spark)])
def remote(folder, request):
    with request.getfixturevalue(request.param)(folder) as (_, address):
        yield address


@pytest.fixture(autouse=True)
def _small_tasks(tmp_path, folder, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(parts_module, "TASK_ROWS", 2_000)
    monkeypatch.setattr(parts_module, "LEAST_ROWS", 2_000)
    monkeypatch.syspath_prepend(str(folder))


@pytest.fixture(scope="module")
def files(folder):
    """Two files of six row groups."""
    random = np.random.default_rng(5)
    words = np.array(["the", "cat", "sat", "on", "a", "mat", "Zürich", ""])
    texts = [" ".join(words[random.integers(0, 8, size)]) for size in random.integers(1, 9, ROWS)]
    table = pa.table(
        {
            "id": np.arange(ROWS),
            "prediction": [None if at % 17 == 3 else text for at, text in enumerate(texts)],
            "gold": [text if at % 3 else text[::-1] for at, text in enumerate(texts)],
            "meta": [{"topic": f"t{at % 5}", "document": at // 7 if at % 11 else None} for at in range(ROWS)],
        }
    )
    (folder / "rows").mkdir()
    for at in range(2):
        pq.write_table(table.slice(at * ROWS // 2, ROWS // 2), folder / "rows" / f"{at}.parquet", row_group_size=2_000)
    return str(folder / "rows" / "*.parquet")


@pytest.mark.parametrize(
    "settings",
    [
        {"by": "meta.topic"},
        {"cluster": "meta.document"},
        {"where": "\"meta.topic\" <> 't3' AND id % 3 > 0"},
    ],
    ids=str,
)
def test_values_and_intervals_have_the_bits_of_one_machine(files, remote, settings):
    expected = karat.score(files, METRICS, keep=True, **settings)
    finished = []
    result = karat.score(
        files, METRICS, engine=Spark(remote), progress=lambda done, rows: finished.append((done, rows)), **settings
    )
    assert result.as_dict() == expected.as_dict()
    assert finished[-1] == (ROWS, ROWS)


def test_a_run_on_a_shared_folder_is_that_of_one_machine(files, remote):
    there = karat.score(files, METRICS, run="there", engine=Spark(remote)).run
    here = karat.score(files, METRICS, run="here", engine="threads").run
    assert there.values == here.values
    for path in run_folder("here").rglob("part-*"):
        assert path.read_bytes() == (run_folder("there") / path.relative_to(run_folder("here"))).read_bytes()


def test_a_run_in_a_store_has_the_bytes_of_a_disk(files, remote, s3, monkeypatch):
    here = karat.score(files, METRICS, run="a", engine="threads").run
    monkeypatch.setenv("KARAT_RUNS", "s3://lake/runs")
    there = karat.score(files, METRICS, run="a", engine=Spark(remote)).run
    assert there.values == here.values
    for path in filter(Path.is_file, here.path.rglob("part-*")):
        assert read_bytes(f"s3://lake/runs/a/{path.relative_to(here.path)}") == path.read_bytes()


def test_a_task_that_fails_comes_back_with_its_words(files, remote, tmp_path):
    from metrics_of_tests import picky

    table = pa.table({"prediction": ["bad", "good"] * 2_000})
    pq.write_table(table, tmp_path / "bad.parquet", row_group_size=2_000)
    with pytest.raises(DataError, match=r"ValueError.* a bad row \(in the task of .*bad\.parquet, row group \d"):
        karat.score(str(tmp_path / "bad.parquet"), picky, engine=Spark(remote))
    result = karat.score(str(tmp_path / "bad.parquet"), picky, engine=Spark(remote), max_failed_tasks=2)
    assert result.values["picky"].unscored == 4_000


def test_a_run_whose_server_was_killed_goes_on(files, folder, serve):
    from metrics_of_tests import deadly
    from pyspark.sql.connect.session import SparkSession

    (folder / "kill").touch()
    with serve(folder) as (server, address):
        session = SparkSession(connection=address)
        session.client.set_retry_policies([])  # Spark would try for ten minutes
        with pytest.raises(DataError, match=r"^Spark: "):
            karat.score(files, ["exact_match", deadly], run="a", engine=Spark(session=session))
        assert server.wait(10)
    (folder / "kill").unlink()
    (folder / "calls").unlink()
    with serve(folder) as (_, address):
        resumed = karat.score(files, ["exact_match", deadly], run="a", engine=Spark(address), resume=True)
    assert 0 < len((folder / "calls").read_text().splitlines()) < TASKS
    assert resumed.as_dict() == karat.score(files, ["exact_match", deadly], keep=True).as_dict()


SCRIPT = """
import sys, karat
from karat.engines.spark import Spark

@karat.metric(source="ours")
def own(prediction: karat.kinds.Text) -> karat.kinds.Score:
    "Whether a prediction is longer than ten characters."
    return [float(len(text) > LONG) for text in prediction.to_pylist()]

LONG = 10
result = karat.score(sys.argv[1], ["exact_match", own.using()], engine=Spark(sys.argv[2]))
assert result.as_dict() == karat.score(sys.argv[1], ["exact_match", own], keep=True).as_dict()
"""


def test_a_metric_of_a_script_without_a_file_is_sent_to_the_workers(files, remote):
    subprocess.run([sys.executable, "-c", SCRIPT, files, remote], check=True)


def test_an_address_where_nothing_answers_is_an_error_in_seconds(files):
    started = time.monotonic()
    with pytest.raises(DataError, match=r"Spark at sc://127\.0\.0\.1:1: .*refused") as caught:
        karat.score(files, "exact_match", engine=Spark("sc://127.0.0.1:1/;token=secret"))
    assert time.monotonic() - started < 9
    assert "secret" not in str(caught.value)


def test_what_is_not_installed_is_named(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingExtra, match=r"pip install 'karat\[spark\]'"):
        karat.score(files, "exact_match", engine=Spark())


def test_without_a_session_the_flag_is_named(files, monkeypatch):
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    with pytest.raises(DataError, match="--remote sc://"):
        karat.score(files, "exact_match", engine=Spark())


@pytest.fixture
def session(remote):
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession(connection=remote)
    yield session
    session.stop()


@pytest.mark.parametrize(
    "settings", [{}, {"by": "meta.topic"}, {"cluster": "meta.document"}, {"where": "id % 3 > 0"}], ids=str
)
def test_a_frame_has_the_values_of_its_rows_however_they_are_divided(files, session, settings):
    frame = session.read.parquet(str(Path(files).parent))
    result = karat.score(frame, METRICS, id="id", engine=Spark(), **settings)
    assert karat.score(frame.repartition(5), METRICS, id="id", engine=Spark(), **settings).as_dict() == result.as_dict()
    whole = karat.score(files, METRICS, keep=True, **settings)
    assert {name: value.value for name, value in result.values.items()} == {
        name: value.value for name, value in whole.values.items()
    }


def test_a_frame_whose_rows_cannot_be_told_apart_is_an_error(files, session):
    frame = session.read.parquet(str(Path(files).parent))
    with pytest.raises(SpecError, match="id names the column"):
        karat.score(frame, "exact_match", engine=Spark())
    with pytest.raises(karat.errors.JoinError, match="repeats its values"):
        karat.score(frame.union(frame), "exact_match", id="id", engine=Spark())


def test_an_error_in_a_frame_has_its_words(session):
    from metrics_of_tests import picky

    frame = session.createDataFrame([("1", "bad"), ("2", "good")], "id string, prediction string")
    with pytest.raises(ValueError, match="a bad row"):
        karat.score(frame, picky, id="id", engine=Spark())
