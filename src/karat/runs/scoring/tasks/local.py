"""The engines of one machine, threads of this process and processes, and how an engine is found by its name."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from threading import Event, Thread
from typing import Any

from karat.core.context import change_context
from karat.core.errors import SpecError, did_you_mean
from karat.core.parallel import threads
from karat.data.source import Part
from karat.runs.scoring.tasks.engine import Engine, Failed
from karat.runs.scoring.tasks.task import Advance, Recipe, score_part
from karat.runs.store.parts import Done

RETRIES = 3  # times that processes may die in a row without a finished task between


@dataclass(frozen=True)
class Threads:
    """Threads of this process, one a task: what reads, scores and writes leaves the interpreter's lock."""

    workers: int = field(default_factory=threads)
    name: str = "threads"

    def run(self, recipe: Recipe, tasks: Mapping[int, Part], advance: Advance) -> Iterator[Done | Failed]:
        stopped = Event()

        def count(rows: int) -> None:
            if stopped.is_set():
                raise InterruptedError("stopped")
            advance(rows)

        def work(task: int, part: Part) -> Done:
            with change_context(threads=1):
                return score_part(recipe, task, part, count)

        with ThreadPoolExecutor(self.workers, thread_name_prefix="karat") as pool:
            pending = {pool.submit(work, task, part): task for task, part in tasks.items()}
            try:
                yield from _collect(pending)
            finally:
                stopped.set()
                for future in pending:
                    future.cancel()


@dataclass(frozen=True)
class Processes:
    """Processes of this machine, one a task, for metrics in Python, which hold the interpreter's lock.

    A process that dies is replaced, and its task carried out again.
    """

    workers: int = field(default_factory=threads)
    name: str = "processes"

    def run(self, recipe: Recipe, tasks: Mapping[int, Part], advance: Advance) -> Iterator[Done | Failed]:
        del advance  # rows are counted when their task is done
        left, deaths = dict(tasks), 0
        while left:
            try:
                for done in self._run(recipe, left):
                    del left[done.task]
                    deaths = 0
                    yield done
            except BrokenProcessPool as error:
                deaths += 1
                if deaths > RETRIES:
                    yield from (Failed(task, error) for task in left)
                    return

    def _run(self, recipe: Recipe, tasks: Mapping[int, Part]) -> Iterator[Done | Failed]:
        context = get_context("spawn")
        stopped = context.Event()
        with ProcessPoolExecutor(self.workers, context, _start, (recipe, stopped)) as pool:
            try:
                yield from _collect({pool.submit(_work, task, part): task for task, part in list(tasks.items())})
            finally:
                stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)


def _collect(pending: dict[Future[Done], int]) -> Iterator[Done | Failed]:
    for future in as_completed(pending):
        error = future.exception()
        if error is None:
            yield future.result()
        elif isinstance(error, BrokenProcessPool) or not isinstance(error, Exception):
            raise error
        else:
            yield Failed(pending[future], error)


_process: dict[str, Any] = {}  # what a worker process needs for every task


def _start(recipe: Recipe, stopped: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process says when to stop
    os.environ["KARAT_THREADS"] = "1"
    _process.update(recipe=recipe, stopped=stopped)
    if (parent := parent_process()) is not None:
        Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _work(task: int, part: Part) -> Done:
    def check(_rows: int) -> None:
        if _process["stopped"].is_set():
            raise InterruptedError("stopped")

    return score_part(_process["recipe"], task, part, check)


LOCAL: Mapping[str, Callable[[], Engine]] = {"threads": Threads, "processes": Processes}
GROUP = "karat.engines"
"""The group of entry points that name further engines: each is a function without arguments that returns one."""


def find_engine(engine: str | Engine) -> Engine:
    """The engine of this name, or the engine itself; `SpecError` for an unknown name."""
    if not isinstance(engine, str):
        return engine
    if engine in LOCAL:
        return LOCAL[engine]()
    from importlib.metadata import entry_points  # noqa: PLC0415  (slow to import, and seldom needed)

    points = {point.name: point for point in entry_points(group=GROUP)}
    if engine not in points:
        known = [*LOCAL, *sorted(points)]
        raise SpecError(f"there is no engine {engine!r}{did_you_mean(engine, known)}; engines: {', '.join(known)}")
    found: Engine = points[engine].load()()
    return found
