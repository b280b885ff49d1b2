"""karat's own event loop, in its own thread: synchronous code can wait for it, even inside another running loop."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import wait
from contextlib import suppress
from typing import Any, TypeVar

from karat.core.errors import KaratError

T = TypeVar("T")

GRACE = 30.0  # seconds that running calls get to end after Ctrl-C
POLL = 0.2  # seconds between checks for Ctrl-C, on systems where a wait cannot be interrupted


class _LoopThread:
    """The event loop and its thread, started at the first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._of_parents: list[asyncio.AbstractEventLoop] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)  # threads do not survive a fork

    def _forget(self) -> None:
        """Start anew in a forked process. The loop is kept: to close it would close what the parent process uses."""
        if self._loop is not None:
            self._of_parents.append(self._loop)
        self._lock, self._loop = threading.Lock(), None

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(target=_run_forever, args=(self._loop,), name="karat models", daemon=True)
                thread.start()
                atexit.register(self._stop, self._loop, thread)
            return self._loop

    def _stop(self, loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
        """At the end of the process: let tasks and asynchronous generators end, then stop and close the loop."""
        if loop is not self._loop:
            return  # a parent process's
        self._loop = None
        wait([asyncio.run_coroutine_threadsafe(_end_tasks(loop), loop)], timeout=1)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=1)
        if not loop.is_running():
            loop.close()


async def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what still runs in a loop, as `asyncio.run` does."""
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task(loop)}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await loop.shutdown_asyncgens()


def _run_forever(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is stopped; what a task raises to end the process is raised in the caller that waits."""
    while True:
        with suppress(KeyboardInterrupt, SystemExit):
            return loop.run_forever()


_thread = _LoopThread()


def run_coroutine(work: Coroutine[Any, Any, T], *, drain: Callable[[], None]) -> T:
    """Run a coroutine in karat's event loop, with the caller's context, and wait for its result.

    On Ctrl-C, or a signal that raises SystemExit, `drain` is called in that loop, the coroutine gets a grace period to
    end by itself, and the exception is raised. A second signal cancels it at once.
    """
    loop = _thread.loop()
    if asyncio._get_running_loop() is loop:  # noqa: SLF001
        work.close()
        raise KaratError("a synchronous call inside karat's own event loop would wait for itself: use await instead")
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        while not future.done():
            wait([future], timeout=POLL)
    except (KeyboardInterrupt, SystemExit):
        loop.call_soon_threadsafe(drain)
        try:
            wait([future], timeout=GRACE)
        finally:
            future.cancel()
        raise
    return future.result()


async def await_coroutine(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in karat's event loop, with the caller's context, and await it in any other loop."""
    loop = _thread.loop()
    if asyncio.get_running_loop() is loop:
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))
