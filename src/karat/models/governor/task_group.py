"""A group of rows that are processed concurrently and stop together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeVar

from karat.core.context import change_context, current_context

In = TypeVar("In")
Out = TypeVar("Out")


class TaskGroup:
    """The rows of one `Governor.map`. Code that runs for a row finds its group in the context."""

    def __init__(self) -> None:
        self._error: BaseException | None = None
        self._ended = False
        self._calls, self._idle = 0, asyncio.Event()
        self._waiting: set[asyncio.Task[object] | None] = set()

    @staticmethod
    def current() -> TaskGroup:
        """The group of the running code; a new one outside of any group."""
        return current_context().task_group or TaskGroup()

    def stop(self, error: BaseException) -> None:
        """Start no further calls, and let `run` raise `error`."""
        self._error = self._error or error
        self._cancel_waiting()

    def end(self) -> None:
        """Start no further calls, and let the running ones end; `run` then returns the results that there are."""
        self._ended = True
        self._cancel_waiting()

    def drain(self) -> None:
        """Start no further calls, and let the running ones end."""
        self.stop(asyncio.CancelledError())

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """For every wait that is not a call: it is cancelled when the group stops."""
        self._raise_if_stopped()
        task = asyncio.current_task()
        self._waiting.add(task)
        try:
            yield
        finally:
            self._waiting.discard(task)

    @contextmanager
    def calling(self) -> Iterator[None]:
        """For every call: it does not start once the group has stopped."""
        self._raise_if_stopped()
        self._calls += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self._idle.set()

    async def run(
        self,
        work: Callable[[In], Awaitable[Out]],
        items: Iterable[In],
        *,
        concurrency: int,
        progress: Callable[[int], None] | None = None,
    ) -> list[Out]:
        """The results of `await work(item)` in the items' order, at most `concurrency` at a time.

        Items are taken when a worker is free for them.
        """
        results: dict[int, Out] = {}
        queue = enumerate(items)

        async def process_rows() -> None:
            for place, item in queue:
                results[place] = await work(item)
                if progress:
                    progress(1)
                if self._error is not None:
                    return
                if not place % 64:
                    await asyncio.sleep(0)  # lets other tasks run if no row ever waits

        size = min(concurrency, len(items)) if isinstance(items, Sized) else concurrency
        with change_context(task_group=self):
            workers = [asyncio.create_task(process_rows()) for _ in range(size)]
        try:
            if workers:
                await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            for worker in workers:
                if worker.done() and not worker.cancelled() and (error := worker.exception()) is not None:
                    self.stop(error)
            if self._calls and (self._ended or isinstance(self._error, asyncio.CancelledError)):
                await self._idle.wait()  # so that replies that are paid for reach the cache
            if self._error is not None:
                raise self._error
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return [results[place] for place in sorted(results)]

    def _cancel_waiting(self) -> None:
        for task in self._waiting:
            if task is not None:
                task.cancel()

    def _raise_if_stopped(self) -> None:
        if self._error is not None or self._ended:
            raise asyncio.CancelledError
