"""What deaths leave: `python bench/kills.py [KILLS [ENGINE…]]`, by default 30, for `processes` and `ray`.

A run of 40 tasks is started, workers and its driver are killed at random moments, and it is resumed, until so many of
each were killed. Each run that is finished must have the bytes and values of an undisturbed one. The metric writes down
which task each call belongs to: a task that was complete, which is one whose state was on the disk, must not be scored
again.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from karat.runs.store.folders import has_manifest, run_folder
from karat.runs.store.parts import PartsFolder
from karat.runs.store.run import open_run

TASKS, ROWS = 40, 50  # rows of a task
PAUSE = 0.1  # seconds of a call
MOST_CALLS = 9  # until the next kill
MOST_DEATHS = 2  # of workers in one driver: a task that may have killed three is taken for the cause
DRIVER = f"""
import sys, time
import karat
from karat.engines import Ray
from karat.runs.scoring.tasks import parts

@karat.metric(source="ours")
def slow(prediction: karat.kinds.Text, question: karat.kinds.Text) -> karat.kinds.Score:
    "1, after a while."
    with open("calls", "a") as calls:
        print(int(question[0].as_py()) // {ROWS}, file=calls)
    time.sleep({PAUSE})
    return [1.0] * len(prediction)

parts.TASK_ROWS = parts.LEAST_ROWS = 1
if __name__ == "__main__":
    name, engine, address = sys.argv[1:]
    karat.score(
        "rows.parquet", ["exact_match", "token_f1", "bleu", slow], by="topic", cluster="topic", run=name, resume=True,
        engine=Ray(address) if engine == "ray" else engine,
    )
"""
MARKS = {"processes": b"spawn_main", "ray": b"ray::karat"}  # in the command lines of workers at work


def start(name: str, engine: str, address: str = "") -> subprocess.Popen[bytes]:
    """Start or resume a run."""
    return subprocess.Popen([sys.executable, "driver.py", name, engine, address])  # noqa: S603


def find_workers(process: int, mark: bytes) -> Iterator[int]:
    """The descendants of a process that have `mark` in their command line."""
    with suppress(OSError):  # it has ended
        for file in Path(f"/proc/{process}/task").glob("*/children"):
            for child in map(int, file.read_text("utf-8").split()):
                if mark in Path(f"/proc/{child}/cmdline").read_bytes():
                    yield child
                yield from find_workers(child, mark)


def find_complete(name: str) -> set[int]:
    """The tasks of an unfinished run whose states are on the disk."""
    return set(PartsFolder(run_folder(name)).list_tasks())


def read_calls() -> list[int]:
    """The task of each call of the metric."""
    return [int(line) for line in Path("calls").read_text("utf-8").split()] if Path("calls").exists() else []


class Kills:
    """Kills workers and drivers of one engine, `each` of both, and counts what was scored again."""

    def __init__(self, engine: str, address: str, each: int) -> None:
        self.engine, self.address = engine, address
        self.left = {"worker": each, "driver": each}
        self.found: Counter[str] = Counter()
        self._complete: dict[int, int] = {}  # how many calls there were when a task was first seen to be complete

    def run(self, name: str) -> None:
        """Carry out one run, however often it is killed."""
        Path("calls").unlink(missing_ok=True)
        self._complete = {}
        while not has_manifest(run_folder(name)):
            with start(name, self.engine, self.address) as driver:
                for kind in ["worker"] * random.randint(0, MOST_DEATHS) + ["driver"]:
                    self._kill(driver, kind, name)
            self.found["failures"] += driver.returncode not in {0, -signal.SIGKILL}
        calls = read_calls()
        self.found["runs"] += 1
        self.found["calls"] += len(calls)
        self.found["again"] += len(calls) - TASKS  # also tasks that were not complete
        self.found["complete again"] += sum(at >= self._complete.get(task, len(calls)) for at, task in enumerate(calls))

    def _kill(self, driver: subprocess.Popen[bytes], kind: str, name: str) -> None:
        """Kill a worker or the driver after some further calls, and note which tasks are complete."""
        root = os.getpid() if self.engine == "ray" else driver.pid
        calls = len(read_calls()) + random.randint(0, MOST_CALLS)
        while self.left[kind] and driver.poll() is None:
            found = list(find_workers(root, MARKS[self.engine]))
            if found and len(read_calls()) >= calls:
                time.sleep(random.uniform(0, PAUSE))
                with suppress(ProcessLookupError):  # it has ended
                    os.kill(driver.pid if kind == "driver" else random.choice(found), signal.SIGKILL)
                    self.left[kind] -= 1
                for task in find_complete(name):
                    self._complete.setdefault(task, len(read_calls()))
                return
            time.sleep(0.02)


@contextmanager
def cluster(engine: str) -> Iterator[str]:
    """The address of a cluster of Ray; empty where none is needed."""
    if engine != "ray":
        yield ""
        return
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray  # noqa: PLC0415  (only for this engine)

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()


def check_same(name: str) -> None:
    """Raise where a run is not the undisturbed one, to the last byte."""
    whole, other = Path(run_folder("whole")), Path(run_folder(name))
    for path in whole.rglob("part-*"):
        if path.is_file() and path.read_bytes() != (other / path.relative_to(whole)).read_bytes():
            raise SystemExit(f"{name}: {path.relative_to(whole)} has other bytes")
    if open_run(name).values != open_run("whole").values:
        raise SystemExit(f"{name} has other values")


def main(kills: int, engines: list[str]) -> None:
    """Print a table."""
    rows = range(TASKS * ROWS)
    columns = {"question": [str(row) for row in rows], "topic": [f"t{row % 5}" for row in rows]}
    columns |= {name: [f"word {row % k} of {row}" for row in rows] for name, k in {"prediction": 7, "gold": 3}.items()}
    pq.write_table(pa.table(columns), "rows.parquet", row_group_size=ROWS)
    Path("driver.py").write_text(DRIVER, "utf-8")
    with start("whole", "threads") as driver:
        pass
    if driver.returncode:
        raise SystemExit("the undisturbed run has failed")
    print("| engine | kills | runs | calls | again | complete again | failures | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for engine in engines:
        started = time.perf_counter()
        with cluster(engine) as address:
            found = Kills(engine, address, kills)
            while any(found.left.values()):
                name = f"{engine}-{found.found['runs']}"
                found.run(name)
                check_same(name)
        counts = " | ".join(str(found.found[key]) for key in ("runs", "calls", "again", "complete again", "failures"))
        print(f"| {engine} | {2 * kills} | {counts} | {time.perf_counter() - started:.0f} |", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["KARAT_RUNS"] = str(Path(folder) / "runs")
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 30, sys.argv[2:] or list(MARKS))
