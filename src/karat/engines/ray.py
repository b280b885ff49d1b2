"""Ray: tasks of Ray Core for files, and blocks of rows of Ray Data for a dataset."""

from __future__ import annotations

import logging
import os
import pickle
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pyarrow as pa

from karat.core.errors import DataError, MissingExtra, SpecError
from karat.core.parallel import threads
from karat.data.join.buckets import HalfPart
from karat.data.source import Part
from karat.engines.judges import Borrowing, Lending, lend_permits, score_judged_part
from karat.engines.worker import divide_packed_half, pack_recipe, score_packed_bucket, score_packed_frame
from karat.runs.scoring.tasks.engine import Failed
from karat.runs.scoring.tasks.frames import Frame
from karat.runs.scoring.tasks.task import Advance, Recipe
from karat.runs.store.parts import Done

RETRIES = 3  # times that a task is carried out again after its process died
TASKS_A_CORE = 2  # that are handed to Ray at the same time
REACHABLE = 10  # seconds in which a cluster answers
GPU_ROWS = 1 << 18  # of a dataset at a time on a GPU, where Ray asks for a number
SEEN = 1_000  # rows of pandas by which the types of their columns are known


@dataclass(frozen=True)
class Ray:
    """A cluster of Ray: `karat.score("s3://bucket/*.parquet", "f1", engine=Ray("ray://head:10001"))`.

    `address` is what `ray.init` takes: `"ray://HOST:10001"` for a cluster elsewhere, `"auto"` for the one here,
    `"local"` for a new one. By default it is `$RAY_ADDRESS`, else the one of this machine, else a new one, which is
    stopped after the work. Where the program has called `ray.init` already, that connection is used, and left open.

    `gpus` is for metrics that run a model, such as `semantic_similarity`: how many GPUs each process has, a whole
    number, or a fraction of one that processes share. As many processes as have room start as actors, which keep
    their GPUs, and the model that they have loaded, until the end.
    With `judges` the machines of the cluster ask models, all under the limits and caps of one governor.
    """

    address: str | None = None
    _: KW_ONLY
    gpus: float = 0
    judges: bool = False
    name: str = field(default="ray", init=False)
    workers: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if not (0 <= self.gpus <= 1 or (self.gpus > 0 and float(self.gpus).is_integer())):
            raise SpecError(f"gpus={self.gpus}: a whole number is expected, or a fraction of one GPU, such as 0.5")

    def run(self, recipe: Recipe, tasks: Mapping[int, Part], advance: Advance) -> Iterator[Done | Failed]:
        """Yield what comes back from each task, as it finishes; tasks wait here until the cluster has room for them."""
        del advance  # rows are counted when their task is done
        with _connect(self.address) as ray:
            lending = lend_permits(ray, recipe.plan.metrics)
            packed = ray.put(pack_recipe(recipe, ray.cloudpickle.dumps))
            if self.gpus:
                yield from _score_on_gpus(ray, packed, tasks, lending, self.gpus)
            else:
                yield from _score_on_cores(ray, packed, tasks, lending)

    def run_buckets(self, recipe: Recipe, halves: Mapping[int, HalfPart]) -> Iterator[Done | Failed]:
        """Yield what comes back from each bucket, whose rows the shuffle of Ray Data brings together."""
        number = next(iter(halves.values())).buckets
        with _connect(self.address) as ray, _quiet_data() as data:
            packed = pack_recipe(recipe, ray.cloudpickle.dumps)
            divided = data.from_arrow([pa.table({"half": [task]}) for task in halves]).map_batches(
                _divide_half, fn_args=(packed, dict(halves)), batch_format="pyarrow", batch_size=None
            )
            scored = divided.groupby("bucket", num_partitions=number).map_groups(
                _BucketScorer if self.gpus else _score_shuffled,
                fn_args=(packed,),
                batch_format="pyarrow",
                **self._on_gpus(ray),
            )
            yield from _read_outcomes(scored)

    def _on_gpus(self, ray: Any) -> dict[str, Any]:
        """Where Ray Data runs what scores, if it is to have GPUs."""
        return {"num_gpus": self.gpus, "concurrency": (1, _count_rooms(ray, self.gpus))} if self.gpus else {}

    def open_frame(self, data: Any) -> Frame | None:
        """The rows of a `ray.data.Dataset`."""
        if type(data).__module__.partition(".")[0] != "ray" or not hasattr(data, "map_batches"):
            return None

        def work(recipe: Recipe) -> Iterator[Done]:
            import ray  # noqa: PLC0415  (the dataset has imported it)

            packed = pack_recipe(recipe, ray.cloudpickle.dumps)
            states = data.select_columns(recipe.schema_read.names).map_batches(
                _BlockScorer if self.gpus else _score_block,
                fn_args=(packed,),
                batch_format="pyarrow",
                zero_copy_batch=True,
                batch_size=GPU_ROWS if self.gpus else None,
                **self._on_gpus(ray),
            )
            for done in _read_outcomes(states):
                if isinstance(done, Failed):
                    raise done.error
                yield done

        def read() -> Iterator[pa.RecordBatch]:
            raise DataError("values inside JSON text of a Ray Dataset: add a column with them first, by map_batches")

        return Frame("the Ray Dataset", _find_schema(data), None, read, work=work)


def _score_on_cores(ray: Any, packed: Any, tasks: Mapping[int, Part], lending: Lending) -> Iterator[Done | Failed]:
    """A task of Ray for each task, by processes that Ray chooses, a core each."""
    score = ray.remote(num_cpus=1, max_retries=RETRIES)(score_judged_part)
    waiting, running = iter(tasks.items()), dict[Any, int]()
    try:
        with lending as lent:
            while True:
                for task, part in waiting:
                    running[score.options(name=f"karat {task}").remote(packed, lent, task, part)] = task
                    if len(running) >= _window(ray):
                        break
                if not running:
                    return
                (ready, *_), _ = ray.wait(list(running))
                yield _collect(ray, ready, running.pop(ready))
    finally:
        for reference in running:
            ray.cancel(reference, force=True)


def _score_on_gpus(
    ray: Any, packed: Any, tasks: Mapping[int, Part], lending: Lending, gpus: float
) -> Iterator[Done | Failed]:
    """Each task by the next idle actor; one for which the cluster has no room yet gets none."""
    start = ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=-1, max_task_retries=RETRIES)(_Scorer).remote
    waiting, running = dict(tasks), dict[Any, int]()
    actors, busy = list[Any](), dict[Any, Any]()
    try:
        with lending as lent:
            while waiting or running:
                while len(actors) < min(_count_rooms(ray, gpus), len(waiting) + len(running)):
                    actors.append(start())
                    busy[actors[-1].begin.remote()] = actors[-1]
                (ready, *_), _ = ray.wait(list(busy))
                actor = busy.pop(ready)
                if ready in running:
                    yield _collect(ray, ready, running.pop(ready))
                else:
                    ray.get(ready)
                if waiting:
                    task = next(iter(waiting))
                    reference = actor.score.remote(packed, lent, task, waiting.pop(task))
                    busy[reference], running[reference] = actor, task
    finally:
        for actor in actors:
            ray.kill(actor)


class _Scorer:
    """An actor, which keeps what its tasks have loaded."""

    def begin(self) -> None:
        """Nothing: it is done when the actor has started."""

    def score(self, packed: bytes, lent: Borrowing | None, task: int, part: Part) -> Done | Failed:
        return score_judged_part(packed, lent, task, part)


@contextmanager
def _quiet_data() -> Iterator[Any]:
    """The module `ray.data`, which shows nothing of its progress."""
    import ray.data  # noqa: PLC0415

    context, log = ray.data.DataContext.get_current(), logging.getLogger("ray.data")
    before = context.enable_progress_bars, log.level
    context.enable_progress_bars = False
    log.setLevel(logging.ERROR)
    try:
        yield ray.data
    finally:
        context.enable_progress_bars = before[0]
        log.setLevel(before[1])


def _read_outcomes(scored: Any) -> Iterator[Done | Failed]:
    return (pickle.loads(row["done"]) for row in scored.iter_rows())  # noqa: S301  (written by this code on a worker)


def _divide_half(block: pa.Table, packed: bytes, halves: Mapping[int, HalfPart]) -> Iterator[pa.Table]:
    for task in block["half"].to_pylist():
        for rows in divide_packed_half(packed, task, halves[task]):
            yield pa.Table.from_batches([rows])


def _score_shuffled(rows: pa.Table, packed: bytes) -> pa.Table:
    return pa.table({"done": [pickle.dumps(score_packed_bucket(packed, rows))]})


class _BucketScorer:
    """Ray Data runs classes in actors."""

    def __call__(self, rows: pa.Table, packed: bytes) -> pa.Table:
        return _score_shuffled(rows, packed)


def _score_block(block: pa.Table, packed: bytes) -> pa.Table:
    import ray  # noqa: PLC0415  (a machine of the cluster)

    return pa.table({"done": [ray.cloudpickle.dumps(score_packed_frame(packed, block.to_batches(1 << 16)))]})


class _BlockScorer:
    """Ray Data runs classes in actors."""

    def __call__(self, block: pa.Table, packed: bytes) -> pa.Table:
        return _score_block(block, packed)


def _find_schema(data: Any) -> pa.Schema:
    schema = data.schema().base_schema
    if isinstance(schema, pa.Schema):
        return schema
    return data.take_batch(SEEN, batch_format="pyarrow").schema  # blocks of pandas, which know Python's objects only


def _window(ray: Any) -> int:
    """How many tasks the cluster has at the same time; it may grow and shrink."""
    return max(1, TASKS_A_CORE * int(ray.cluster_resources().get("CPU", 1)))


def _count_rooms(ray: Any, gpus: float) -> int:
    """How many processes with so many GPUs the cluster has room for; `DataError` for none: Ray would wait for ever."""
    machines = [node["Resources"].get("GPU", 0) for node in ray.nodes() if node["Alive"]]
    if rooms := sum(int(own * int(1 / gpus) if gpus < 1 else own // gpus) for own in machines):
        return rooms
    most = max(machines, default=0)
    problem = f"gpus={gpus:g} (--gpus): no machine of the Ray cluster has so many, the most is {most:g}"
    request = f"ray.autoscaler.sdk.request_resources(bundles=[{{'GPU': {gpus:g}}}])"
    raise DataError(f"{problem}; where machines are added on demand, {request} asks for one first")


def _collect(ray: Any, reference: Any, task: int) -> Done | Failed:
    try:
        outcome: Done | Failed = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        return Failed(task, error.cause)
    except ray.exceptions.RayError as error:
        return Failed(task, DataError(f"its process died {1 + RETRIES} times: {type(error).__name__}: {error}"))
    return outcome


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
        token = "" if os.environ.get("RAY_AUTH_MODE") else "; does it ask for a token? Set RAY_AUTH_MODE=token"
        raise DataError(f"no connection to Ray at {address or 'this machine'}: {error}{token}") from error
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
