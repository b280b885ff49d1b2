"""karat's own event loop, in a thread of its own: synchronous code may ask whether or not a loop runs around it."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import wait
from typing import Any, TypeVar

from karat.core.errors import KaratError

T = TypeVar("T")

GRACE = 30.0  # seconds that calls under way get to end after Ctrl-C
LOOK = 0.2  # seconds between looks for Ctrl-C, on systems where waiting does not see it


class _Thread:
    """The loop and its thread, begun when first wanted."""

    def __init__(self) -> None:
        self.forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)  # threads do not survive a fork

    def forget(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_serve, args=(self._loop,), name="karat models", daemon=True).start()
                atexit.register(self.end)
            return self._loop

    def end(self) -> None:
        """Let clients close their connections, and stop."""
        loop, self._loop = self._loop, None
        if loop is not None:
            wait([asyncio.run_coroutine_threadsafe(loop.shutdown_asyncgens(), loop)], timeout=1)
            loop.call_soon_threadsafe(loop.stop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped: what some work means to end the process with is for who waits for that work."""
    while True:
        try:
            return loop.run_forever()
        except (KeyboardInterrupt, SystemExit):
            continue


_thread = _Thread()


def run(work: Coroutine[Any, Any, T], *, drain: Callable[[], None]) -> T:
    """Run `work` in karat's loop, in the caller's context, and wait for it.

    On Ctrl-C `drain` is called in that loop, `work` gets a grace period to end in its own way, and the interrupt
    is raised again; a second Ctrl-C cancels at once.
    """
    loop = _thread.loop()
    if asyncio._get_running_loop() is loop:  # noqa: SLF001
        work.close()
        raise KaratError("a synchronous call that waits for karat's own event loop was made inside it: await instead")
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        while not future.done():
            wait([future], timeout=LOOK)
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(drain)
        try:
            wait([future], timeout=GRACE)
        finally:
            future.cancel()
        raise
    return future.result()


async def join(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in karat's loop, in the caller's context, and await it in whichever loop this is."""
    loop = _thread.loop()
    if asyncio.get_running_loop() is loop:
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))
