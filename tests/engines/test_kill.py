"""Workers and drivers of Ray killed at random instants: the bytes of an undisturbed run, and no task scored twice.

`KARAT_KILLS` says how many are killed.
"""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from karat.runs.store.folders import STATES, partial_folder, run_folder
from karat.runs.store.run import open_run

ray = pytest.importorskip("ray")

pytestmark = pytest.mark.filterwarnings("ignore")  # what Ray warns of is Ray's
KILLS = int(os.environ.get("KARAT_KILLS", "2"))
ROWS, TASKS = 8_000, 40
DRIVER = """
import sys, time
import karat
from karat.engines import Ray
from karat.runs.scoring.tasks import parts

@karat.metric(source="ours")
def slow(prediction: karat.Text) -> karat.Score:
    "1, after a while."
    time.sleep(0.1)
    return [1.0] * len(prediction)

parts.TASK_ROWS = 1
if __name__ == "__main__":
    karat.score(
        "rows.parquet", ["em", "f1", "bleu", slow], by="topic", cluster="topic", run=sys.argv[1], resume=True,
        engine=Ray(sys.argv[2]), progress=lambda done, total: print(done, flush=True),
    )
"""


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """The address of a cluster on this machine, in a folder with rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    at = np.arange(ROWS)
    words = np.array(["the", "cat", "sat", ""])
    table = {"prediction": words[at % 4], "gold": words[at % 3], "topic": [f"t{each}" for each in at % 7]}
    pq.write_table(pa.table(table), "rows.parquet", row_group_size=ROWS // TASKS)
    Path("driver.py").write_text(DRIVER)
    started = ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
    yield started.address_info["address"]
    ray.shutdown()


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


def test_killed_workers_and_drivers_leave_the_bytes_of_an_undisturbed_run(cluster):
    with start("whole", cluster) as process:
        assert process.stdout.read().splitlines()[-1] == str(ROWS)
    chance, kills, done, number = random.Random(), {"driver": 0, "worker": 0}, {}, 0  # noqa: S311
    while sum(kills.values()) < KILLS or done:
        name = f"run{number}"
        with start(name, cluster) as process:
            for _ in range(chance.randrange(1, TASKS)):
                process.stdout.readline()
            if sum(kills.values()) < KILLS:
                victims = list(workers())
                if kills["worker"] < kills["driver"] and victims:
                    os.kill(chance.choice(victims), signal.SIGKILL)
                    kills["worker"] += 1
                elif process.poll() is None:
                    process.kill()
                    kills["driver"] += 1
            process.stdout.read()
        if not run_folder(name).exists():
            now = finished(name)
            assert done.items() <= now.items()  # nothing that was finished was written again
            done = now
            continue
        open_run(name)
        for path in run_folder("whole").rglob("part-*"):
            other = run_folder(name) / path.relative_to(run_folder("whole"))
            assert path.read_bytes() == other.read_bytes(), path
            assert (
                path.parent.name != "rows" or done.get(path.stem, other.stat().st_mtime_ns) == other.stat().st_mtime_ns
            )
        assert open_run(name).values == open_run("whole").values
        done, number = {}, number + 1
