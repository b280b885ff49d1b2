"""Runs sympy in processes of their own, with limits of time and memory; a process that hangs is killed and replaced.

A request and an answer (the verdict, or the reason why there is none) are a line of JSON each. Threads share processes.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from importlib.util import find_spec
from queue import Empty, LifoQueue
from typing import Any

from karat.core.errors import MissingExtra

MEMORY = 1 << 30
"""Bytes that a worker may allocate after it has started."""
START = 120.0
"""Seconds a worker may take to start."""


class Worker:
    """One process; it answers one request at a time."""

    def __init__(self) -> None:
        paths = os.pathsep.join(path for path in sys.path if path)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from karat.metrics.answers.algebra.worker import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths},
            text=True,
        )
        self.ready = self._line(START) is not None

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """The answer, or None if the process ran out of time or died; it cannot be used again then."""
        if self.process.stdin is None:
            return None
        with contextlib.suppress(OSError):
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        line = self._line(seconds)
        return None if line is None else json.loads(line)

    def _line(self, seconds: float) -> str | None:
        timer = threading.Timer(seconds, self.process.kill)
        timer.daemon = True
        timer.start()
        try:
            return (self.process.stdout and self.process.stdout.readline()) or None
        finally:
            timer.cancel()

    def end(self) -> None:
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
        self.process.wait()


class Pool:
    """Idle workers; a new one is started where none is idle."""

    def __init__(self) -> None:
        self.idle: LifoQueue[Worker] = LifoQueue()

    def ask(self, request: dict[str, Any], seconds: float) -> bool | str:
        """The verdict, or the reason why there is none. Raises `MissingExtra` if sympy is not installed."""
        if find_spec("sympy") is None:
            raise MissingExtra("sympy", extra="math", need="math_match on formulas that only sympy can compare")
        worker = self._take()
        if not worker.ready:
            worker.end()
            return "the sympy process did not start"
        answer = worker.ask(request, seconds)
        if answer is None or answer.get("spent"):
            worker.end()
        else:
            self.idle.put(worker)
        if answer is None:
            return f"sympy took longer than {seconds:g} s or too much memory"
        return answer["verdict"] if "verdict" in answer else str(answer["reason"])

    def _take(self) -> Worker:
        try:
            worker = self.idle.get_nowait()
        except Empty:
            return Worker()
        if worker.process.poll() is None:
            return worker
        worker.end()
        return self._take()

    def end(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                self.idle.get_nowait().end()


POOL = Pool()
atexit.register(POOL.end)


def _forget_workers() -> None:
    POOL.idle = LifoQueue()  # a forked child must not use its parent's workers


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)


def serve() -> None:
    """The loop of a worker process, until its parent closes the pipe."""
    import sympy  # noqa: F401, PLC0415  (before memory is limited and time is measured)

    from karat.metrics.answers.algebra.equivalence import Equivalence  # noqa: PLC0415
    from karat.metrics.answers.algebra.rounding import Rounding  # noqa: PLC0415
    from karat.metrics.answers.algebra.symbolic import decide  # noqa: PLC0415
    from karat.text.latex import NotAFormula, TooComplex, parse_formula  # noqa: PLC0415

    _limit_memory()
    print("{}", flush=True)  # noqa: T201
    for request in map(json.loads, sys.stdin):
        answer: dict[str, Any]
        try:
            rounding = Rounding(request["places"], request["relative"])
            equivalence = Equivalence(decide, rounding, ranges=request["ranges"])
            predicted, expected = parse_formula(request["prediction"]), parse_formula(request["reference"])
            answer = {"verdict": equivalence.same_answer(predicted, expected)}
        except (TooComplex, NotAFormula) as error:
            answer = {"reason": str(error)}
        except MemoryError:
            answer = {"reason": "sympy took too much memory", "spent": True}
        except Exception as error:  # noqa: BLE001  (sympy may raise anything)
            answer = {"reason": f"sympy failed: {type(error).__name__}"}
        print(json.dumps(answer), flush=True)  # noqa: T201


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415  (not everywhere)
        from pathlib import Path  # noqa: PLC0415

        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        limit = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
