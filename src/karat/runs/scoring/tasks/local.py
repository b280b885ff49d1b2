"""The engines of one machine, threads of this process and processes, and how an engine is found by its name."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from ctypes import c_bool
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from time import sleep
from typing import Any

from karat.core.context import change_context
from karat.core.errors import DataError, SpecError, did_you_mean
from karat.core.parallel import Cancellation, threads
from karat.data.source import Part
from karat.runs.scoring.tasks.engine import Engine, Failed, portable_error
from karat.runs.scoring.tasks.task import Advance, Recipe, score_part
from karat.runs.store.parts import Done

DEATHS = 2  # of processes, while a task may have been running, before it runs alone
GRACE = 1.0  # seconds that a task has to stop before its process ends


@dataclass(frozen=True)
class InTurn:
    """The thread that calls, one task after the other: a metric waits for other processes where Ctrl-C arrives."""

    workers: int = field(default=1, init=False)
    name: str = field(default="in turn", init=False)

    def run(self, recipe: Recipe, tasks: Mapping[int, Part], advance: Advance) -> Iterator[Done | Failed]:
        for task, part in tasks.items():
            yield score_part(recipe, task, part, advance)


@dataclass(frozen=True)
class Threads:
    """Threads of this process, one a task: what reads, scores and writes leaves the interpreter's lock."""

    workers: int = field(default_factory=threads)
    name: str = field(default="threads", init=False)

    def run(self, recipe: Recipe, tasks: Mapping[int, Part], advance: Advance) -> Iterator[Done | Failed]:
        stopped = Cancellation()

        def count(rows: int) -> None:
            if stopped.is_set():
                raise InterruptedError("stopped")
            advance(rows)

        def work(task: int, part: Part) -> Done:
            with change_context(threads=1, stop=stopped):
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

    A process that dies is replaced, and its task carried out again, the third time alone: where that kills its process
    too, the task has failed.
    """

    workers: int = field(default_factory=threads)
    name: str = field(default="processes", init=False)

    def run(self, recipe: Recipe, tasks: Mapping[int, Part], advance: Advance) -> Iterator[Done | Failed]:
        del advance  # rows are counted when their task is done
        left, deaths = dict(tasks), Counter[int]()
        while left:
            suspect = next((task for task in left if deaths[task] >= DEATHS), None)
            try:
                for each in self._run(recipe, left if suspect is None else {suspect: left[suspect]}):
                    del left[each.task]
                    yield each
            except BrokenProcessPool as error:
                if suspect is None:
                    deaths.update(islice(left, self.workers))  # tasks start in order: these may have been running
                    continue
                del left[suspect]
                problem = DataError("its process died, even with no other task beside it; perhaps memory ran out")
                problem.__cause__ = error
                yield Failed(suspect, problem)

    def _run(self, recipe: Recipe, tasks: Mapping[int, Part]) -> Iterator[Done | Failed]:
        context = get_context("spawn")
        # no locks: a process that is killed while it holds one would stop the others
        started, stopped = context.RawValue(c_bool, False), context.RawValue(c_bool, False)
        pending, workers = dict[Future[Done], int](), set[Any]()
        with ProcessPoolExecutor(self.workers, context, _start, (recipe, started, stopped)) as pool:
            try:
                for task, part in list(tasks.items()):
                    pending[pool.submit(_work, task, part)] = task  # it raises where one has ended already
                    workers |= {*active_children()}
                yield from _collect(pending)
            except BrokenProcessPool as error:
                if started.value or not any((each.exitcode or 0) > 0 for each in workers):  # one was killed
                    raise
                remedy = 'in a script, write `if __name__ == "__main__":` around the call, or use engine="threads"'
                raise SpecError(f"a process ended before its first task, with the error above: {remedy}") from error
            finally:
                stopped.value = True
                pool.shutdown(wait=False, cancel_futures=True)


def _collect(pending: dict[Future[Done], int]) -> Iterator[Done | Failed]:
    """What comes back; where a process has died the error is raised last, so that no finished task is done again."""
    broken: BrokenProcessPool | None = None
    for future in as_completed(pending):
        error = future.exception()
        if error is None:
            yield future.result()
        elif isinstance(error, BrokenProcessPool):
            broken = error
        elif isinstance(error, Exception):
            yield Failed(pending[future], error)
        else:
            raise error
    if broken is not None:
        raise broken


_process: dict[str, Any] = {}  # what a worker process needs for every task


def _start(recipe: Recipe, started: Any, stopped: Any) -> None:
    started.value = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process says when to stop
    os.environ["KARAT_THREADS"] = "1"
    _process.update(recipe=recipe, stopped=stopped)
    Thread(target=_end, args=(stopped,), daemon=True).start()
    if (parent := parent_process()) is not None:
        Thread(target=_follow, args=(parent,), daemon=True).start()


def _end(stopped: Any) -> None:
    """End this process where its task does not stop by itself, as a metric that waits forever."""
    while not stopped.value:
        sleep(GRACE / 10)
    sleep(GRACE)
    os._exit(1)


def _follow(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _work(task: int, part: Part) -> Done:
    def check(_rows: int) -> None:
        if _process["stopped"].value:
            raise InterruptedError("stopped")

    try:
        return score_part(_process["recipe"], task, part, check)
    except Exception as error:
        if (sent := portable_error(error)) is error:
            raise
        raise sent from error


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
        raise SpecError(f"there is no engine {engine!r}{did_you_mean(engine, [*LOCAL, *points])}")
    loaded: Engine = points[engine].load()()
    return loaded
