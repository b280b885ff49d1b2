"""Spark: rows of a DataFrame name the tasks of files; the rows of a user's own DataFrame are scored where they are.

Apache Spark, Databricks and Sail serve alike, by Spark Connect; a session of Apache Spark without it does too.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from threading import Semaphore
from typing import Any
from uuid import uuid4

import pyarrow as pa

from karat.core.errors import DataError, MissingExtra
from karat.core.parallel import threads
from karat.data.join.buckets import HalfPart
from karat.data.source import Part
from karat.engines.worker import (
    divide_packed_half,
    pack_recipe,
    score_packed_bucket,
    score_packed_frame,
    score_packed_part,
)
from karat.runs.scoring.tasks.engine import Failed
from karat.runs.scoring.tasks.frames import Frame
from karat.runs.scoring.tasks.task import Advance, Recipe
from karat.runs.store.parts import Done

Rows = Iterable[pa.RecordBatch]
OUTCOME, SHUFFLED_COLUMNS = "outcome binary", "bucket int, at bigint, side string, data binary"


@dataclass(frozen=True)
class Spark:
    """Carries out tasks on a Spark cluster, one task a partition; Spark repeats those whose worker dies.

    `remote` is the address of a Spark Connect server, such as `sc://host:15002`: a session is opened there for the time
    of a run. Without it the tasks run in `session`, else in the session that is active, as in a notebook of Databricks,
    else at the address `$SPARK_REMOTE`, else in a session of Apache Spark on this machine. `workers` is how many tasks
    run at the same time, if you know it.
    """

    remote: str | None = None
    session: Any = None
    workers: int | None = None
    name: str = field(default="spark", init=False)

    def run(self, recipe: Recipe, tasks: Mapping[int, Part], advance: Advance) -> Iterator[Done | Failed]:
        """Yield what comes back from each task, in any order."""
        del advance  # rows are counted when their task is done
        if not tasks:
            return
        with self._open() as session:
            outcomes = _spread(session, tasks).mapInArrow(partial(_score_tasks, _pack(recipe)), OUTCOME)
            yield from _collect(session, outcomes)

    def run_buckets(self, recipe: Recipe, halves: Mapping[int, HalfPart]) -> Iterator[Done | Failed]:
        """Yield what comes back from each bucket, whose rows Spark's shuffle brings together."""
        packed = _pack(recipe)
        with self._open() as session:
            divided = _spread(session, halves).mapInArrow(partial(_divide_halves, packed), SHUFFLED_COLUMNS)
            # few buckets a partition, as a batch of Arrow holds at most 2 GB of binary values
            placed = divided.repartition(next(iter(halves.values())).buckets, "bucket")
            scored = placed.groupBy("bucket").applyInArrow(lambda rows: _score_shuffled(packed, rows), OUTCOME)
            yield from _collect(session, scored)

    def open_frame(self, data: Any) -> Frame | None:
        """The rows of a `pyspark.sql.DataFrame`; they are scored in its own session."""
        if type(data).__module__.partition(".")[0] != "pyspark" or not hasattr(data, "mapInArrow"):
            return None

        def work(recipe: Recipe) -> Iterator[Done]:
            columns = data.select(*(f"`{name.replace('`', '``')}`" for name in recipe.schema_read.names))
            with _spark_errors(None):
                scored = columns.mapInArrow(partial(_score_rows, _pack(recipe)), OUTCOME)
                for outcome in _collect(data.sparkSession, scored):
                    if isinstance(outcome, Failed):
                        raise outcome.error
                    yield outcome

        def read() -> Iterator[pa.RecordBatch]:
            raise DataError("values inside JSON text of a Spark DataFrame: add a column with them first, by from_json")

        with _spark_errors(None):
            schema = data.limit(0).toArrow().schema
        return Frame("the Spark DataFrame", schema, None, read, work=work)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        """The session, which is stopped in the end where it was opened here."""
        with _imports():
            from pyspark.sql import SparkSession  # noqa: PLC0415  (only where this engine runs)

            session = self.session or (None if self.remote else SparkSession.getActiveSession())
        remote = None if session else self.remote or os.environ.get("SPARK_REMOTE")
        with _spark_errors(remote):
            if remote is None:
                yield session or SparkSession.builder.getOrCreate()
                return
            session = _connect(remote)
            try:
                yield session
            finally:
                session.client.set_retry_policies([])  # also where the server is gone
                session.stop()


@contextmanager
def _imports() -> Iterator[None]:
    """Errors of imports as `MissingExtra`.

    The parts of Spark Connect end a process without a main file, as in `python -c`, unless it is interactive: they take
    it for their own tests.
    """
    try:
        with warnings.catch_warnings(), _as_interactive():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")  # none of it is used
            yield
    except ImportError as error:
        raise MissingExtra("pyspark", extra="spark", need="engine 'spark'") from error


@contextmanager
def _as_interactive() -> Iterator[None]:
    known = hasattr(sys, "ps1")
    if not known:
        sys.ps1 = ">>> "
    try:
        yield
    finally:
        if not known:
            del sys.ps1


def _connect(remote: str) -> Any:
    """A session at an address; raises in seconds where no server answers, which Spark tries for minutes."""
    with _imports():
        from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415

    session = SparkSession(connection=remote)
    policies = session.client.get_retry_policies()
    session.client.set_retry_policies([])
    try:
        session.version  # noqa: B018  (asks the server)
    except Exception as error:
        if re.search("failed to connect|errors resolving|UNIMPLEMENTED", str(error)):
            raise
    session.client.set_retry_policies(policies)
    return session


@contextmanager
def _spark_errors(remote: str | None) -> Iterator[None]:
    """Errors of Spark as `DataError`, with the words that a user needs of their stack traces."""
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except PySparkException as error:
        address = "" if remote is None else f" at {remote.partition(';')[0].rstrip('/')}"  # a token may stand behind it
        raise DataError(f"Spark{address}: {_explain(str(error))}") from error


def _explain(text: str) -> str:
    """The words that matter in the text of an error of Spark, which may hold the stack traces of two languages."""
    if missing := re.search(r"No module named '([\w.]+)'", text):
        return f"Python on its workers lacks {missing[1]}: install there what is installed here"
    if "CONNECT_URL_NOT_SET" in text:
        return "there is no session: name a server, remote='sc://host:15002' (--remote sc://host:15002)"
    if details := re.search(r'details = "(.*)"', text):  # of gRPC
        return details[1]
    raised = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception): .*", text, re.MULTILINE)  # in Python on a worker
    return raised[-1] if "Traceback" in text and raised else text.strip().partition("\n")[0]


def _pack(recipe: Recipe) -> bytes:
    from pyspark import cloudpickle  # noqa: PLC0415  (any version that workers have)

    return pack_recipe(recipe, cloudpickle.dumps)


def _spread(session: Any, tasks: Mapping[int, Part]) -> Any:
    """A frame of the tasks, a partition each."""
    rows = session.createDataFrame([(pickle.dumps(each),) for each in tasks.items()], "task binary")
    return rows.coalesce(1).repartition(len(tasks))  # from one partition each row goes to one of its own


def _collect(session: Any, outcomes: Any) -> Iterator[Done | Failed]:
    """The outcomes in a frame, in any order; the work is stopped where nobody waits for them."""
    tag = f"karat-{uuid4()}"
    session.addTag(tag)
    try:
        # Without Spark Connect an iterator would start one partition after the other.
        for row in outcomes.toLocalIterator() if "connect" in type(session).__module__ else outcomes.collect():
            yield pickle.loads(row.outcome)  # noqa: S301  (written by this code on a worker)
    except (GeneratorExit, KeyboardInterrupt):
        session.interruptTag(tag)
        raise
    finally:
        session.removeTag(tag)


_OUTCOMES = pa.schema({"outcome": pa.binary()})
_running = Semaphore(threads())  # Sail starts all partitions at once, in threads of one process


def _score_tasks(packed: bytes, batches: Rows) -> Rows:
    """On a worker: the outcomes of the tasks in its rows."""
    for batch in batches:
        for row in batch.column(0).to_pylist():
            with _running:
                outcome = score_packed_part(packed, *pickle.loads(row))  # noqa: S301  (the driver wrote it)
            yield _to_row(outcome)


def _divide_halves(packed: bytes, batches: Rows) -> Rows:
    """On a worker: the rows to shuffle of the halves in its rows."""
    for batch in batches:
        for row in batch.column(0).to_pylist():
            with _running:
                yield from divide_packed_half(packed, *pickle.loads(row))  # noqa: S301  (the driver wrote it)


def _score_shuffled(packed: bytes, rows: pa.Table) -> pa.Table:
    """On a worker: the outcome of a bucket."""
    with _running:
        return pa.Table.from_batches([_to_row(score_packed_bucket(packed, rows))])


def _score_rows(packed: bytes, batches: Rows) -> Rows:
    """On a worker: the outcome of the rows of a partition, if it has any."""
    rest = iter(batches)
    if (first := next(rest, None)) is not None:
        yield _to_row(score_packed_frame(packed, chain([first], rest)))


def _to_row(outcome: Done | Failed) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"outcome": [pickle.dumps(outcome)]}, _OUTCOMES)
