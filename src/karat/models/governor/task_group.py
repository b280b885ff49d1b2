"""Rows under way together: a bounded number at a time, stopped together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeVar

from karat.core.context import change_context, current_context

In = TypeVar("In")
Out = TypeVar("Out")


class Batch:
    """The rows of one `Governor.map`, which every question asked for them finds here, however deep it is asked."""

    def __init__(self) -> None:
        self._stop: BaseException | None = None
        self._calls = 0
        self._quiet = asyncio.Event()
        self._waiting: set[asyncio.Task[object] | None] = set()

    @staticmethod
    def current() -> Batch:
        """The batch that the running code works for; a question of its own is one by itself."""
        return current_context().task_group or Batch()

    def stop(self, error: BaseException) -> None:
        """Let no further call be made."""
        self._stop = self._stop or error
        for task in self._waiting:
            if task is not None:
                task.cancel()

    def drain(self) -> None:
        """Let no further call be made, and those under way end."""
        self.stop(asyncio.CancelledError())

    @contextmanager
    def wait(self) -> Iterator[None]:
        """Around every wait that is not a call: it ends when the batch stops."""
        self._go_on()
        task = asyncio.current_task()
        self._waiting.add(task)
        try:
            yield
        finally:
            self._waiting.discard(task)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Around every call, which is not made once the batch has stopped."""
        self._go_on()
        self._calls += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self._quiet.set()

    async def run(
        self,
        work: Callable[[In], Awaitable[Out]],
        items: Iterable[In],
        *,
        concurrency: int,
        progress: Callable[[int], None] | None = None,
    ) -> list[Out]:
        """`await work(item)` of every item, in the items' order, at most `concurrency` at a time."""
        results: dict[int, Out] = {}
        queue = enumerate(items)

        async def rows() -> None:
            for place, item in queue:
                results[place] = await work(item)
                if progress:
                    progress(1)
                if self._stop is not None:
                    return
                if not place % 64:
                    await asyncio.sleep(0)  # rows that never wait still let others have a turn

        size = min(concurrency, len(items)) if isinstance(items, Sized) else concurrency
        with change_context(task_group=self):
            workers = [asyncio.create_task(rows()) for _ in range(size)]
        try:
            if workers:
                await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            await self._end(workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return [results[place] for place in range(len(results))]

    def _go_on(self) -> None:
        if self._stop is not None:
            raise asyncio.CancelledError

    async def _end(self, workers: list[asyncio.Task[None]]) -> None:
        """Raise what stopped the batch, if anything did."""
        for worker in workers:
            if worker.done() and not worker.cancelled() and (error := worker.exception()) is not None:
                self.stop(error)
        if isinstance(self._stop, asyncio.CancelledError) and self._calls:
            await self._quiet.wait()  # what is paid for is kept, though no row may wait for it any more
        if self._stop is not None:
            raise self._stop
