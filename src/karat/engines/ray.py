"""Ray: tasks of Ray Core for files, and blocks of rows of Ray Data for a dataset."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pyarrow as pa

from karat.core.errors import DataError, MissingExtra
from karat.core.parallel import threads
from karat.data.source import Part
from karat.engines.worker import pack_recipe, score_packed_frame, score_packed_part
from karat.runs.scoring.tasks.engine import Failed
from karat.runs.scoring.tasks.frames import Frame
from karat.runs.scoring.tasks.task import Advance, Recipe
from karat.runs.store.parts import Done

RETRIES = 3  # times that a task is carried out again after its process died
TASKS_A_CORE = 2  # that are handed to Ray at the same time
REACHABLE = 10  # seconds in which a cluster answers
SEEN = 1_000  # rows of pandas by which the types of their columns are known


@dataclass(frozen=True)
class Ray:
    """A cluster of Ray: `karat.score("s3://bucket/*.parquet", "f1", engine=Ray("ray://head:10001"))`.

    `address` is what `ray.init` takes: `"ray://HOST:10001"` for a cluster elsewhere, `"auto"` for that of this machine,
    `"local"` for a new one. By default it is `$RAY_ADDRESS`, else the one of this machine, else a new one, which is
    stopped after the work. Where the program has called `ray.init` already, that connection is used, and left open.
    """

    address: str | None = None
    name: str = field(default="ray", init=False)
    workers: int | None = field(default=None, init=False)

    def run(self, recipe: Recipe, tasks: Mapping[int, Part], advance: Advance) -> Iterator[Done | Failed]:
        """Yield what comes back from each task, as it finishes; tasks wait here until the cluster has room for them."""
        del advance  # rows are counted when their task is done
        with _connect(self.address) as ray:
            score = ray.remote(num_cpus=1, max_retries=RETRIES)(score_packed_part)
            packed = ray.put(pack_recipe(recipe, ray.cloudpickle.dumps))
            waiting, running = iter(tasks.items()), dict[Any, int]()
            try:
                while True:
                    for task, part in waiting:
                        running[score.options(name=f"karat {task}").remote(packed, task, part)] = task
                        if len(running) >= _window(ray):
                            break
                    if not running:
                        return
                    (ready, *_), _ = ray.wait(list(running))
                    yield _collect(ray, ready, running.pop(ready))
            finally:
                for reference in running:
                    ray.cancel(reference, force=True)

    def open_frame(self, data: Any) -> Frame | None:
        """The rows of a `ray.data.Dataset`."""
        if type(data).__module__.partition(".")[0] != "ray" or not hasattr(data, "map_batches"):
            return None

        def work(recipe: Recipe) -> Iterator[Done]:
            import ray  # noqa: PLC0415  (the dataset has imported it)

            packed = pack_recipe(recipe, ray.cloudpickle.dumps)
            states = data.select_columns(recipe.schema_read.names).map_batches(
                _score_block, fn_args=(packed,), batch_format="pyarrow", batch_size=None, zero_copy_batch=True
            )
            for row in states.iter_rows():
                done = ray.cloudpickle.loads(row["done"])
                if isinstance(done, Failed):
                    raise done.error
                yield done

        def read(_text: frozenset[str]) -> Iterator[pa.RecordBatch]:
            raise DataError("values inside JSON text of a Ray Dataset: add a column with them first, by map_batches")

        return Frame("the Ray Dataset", _find_schema(data), None, read, work=work)


def _score_block(block: pa.Table, packed: bytes) -> pa.Table:
    import ray  # noqa: PLC0415  (a machine of the cluster)

    return pa.table({"done": [ray.cloudpickle.dumps(score_packed_frame(packed, block.to_batches(1 << 16)))]})


def _find_schema(data: Any) -> pa.Schema:
    schema = data.schema().base_schema
    if isinstance(schema, pa.Schema):
        return schema
    return data.take_batch(SEEN, batch_format="pyarrow").schema  # blocks of pandas, which know Python's objects only


def _window(ray: Any) -> int:
    """How many tasks the cluster has at the same time; it may grow and shrink."""
    return max(1, TASKS_A_CORE * int(ray.cluster_resources().get("CPU", 1)))


def _collect(ray: Any, reference: Any, task: int) -> Done | Failed:
    try:
        found: Done | Failed = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        return Failed(task, error.cause)
    except ray.exceptions.RayError as error:
        return Failed(task, DataError(f"its process died {1 + RETRIES} times: {type(error).__name__}: {error}"))
    return found


@contextmanager
def _connect(address: str | None) -> Iterator[Any]:
    """The module `ray`, connected to a cluster; a connection that was made here is closed at the end."""
    try:
        import ray  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise MissingExtra("ray", extra="ray", need="engine 'ray'") from None
    if ray.is_initialized():
        yield ray
        return
    address = address or os.environ.get("RAY_ADDRESS") or None
    _check_reachable(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # karat reports nothing to anyone
    own = {"num_cpus": threads(), "include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address, logging_level=logging.ERROR, log_to_driver=False, **own)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise DataError(f"no connection to Ray at {address or 'this machine'}: {error}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_reachable(address: str | None) -> None:
    """Raise `DataError` at once where nothing answers at HOST:PORT; Ray itself tries for minutes."""
    recent = Path(os.environ.get("RAY_TMPDIR") or gettempdir(), "ray", "ray_current_cluster")  # `ray start` writes it
    if address in (None, "auto") and recent.exists():
        address = recent.read_text("utf-8").strip()
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACHABLE).close()
    except OSError as error:
        problem = f"no Ray cluster answers at {address} ({error})"
        raise DataError(f"{problem}; is its port right? `ray stop` forgets one that is dead") from None
