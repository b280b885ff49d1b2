"""Upload a file of requests and create its batch, so that each step is on disk before the next one begins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import time
from typing import NoReturn

from karat.models.batch.journal import BatchJournal, PendingBatch
from karat.models.batch.provider import Provider, RejectedError


@dataclass(frozen=True)
class Timing:
    """Seconds: the first pause between two looks at a batch, and the longest; without a new request before an upload;
    and after which a batch that a stopped process was uploading is continued by this one.
    """

    first_poll: float = 5.0
    longest_poll: float = 60.0
    quiet: float = 1.0
    settle: float = 30.0


class Uploader:
    """Uploads batches that the journal holds. `report` is called with a line for each."""

    def __init__(
        self, provider: Provider, journal: BatchJournal, timing: Timing, report: Callable[[str], None]
    ) -> None:
        self._provider, self._journal, self._timing, self._report = provider, journal, timing, report

    async def upload(self, name: str, lines: Sequence[bytes]) -> None:
        """Upload the requests of a batch, and create it. A batch that the endpoint refuses is released."""
        async with self._touching(name):
            try:
                file = await self._provider.upload(name, lines)
            except Exception:
                self._journal.release(name, "not uploaded")
                raise
            await self._create(name, file)

    async def recover(self, stored: PendingBatch) -> str | None:
        """The id of a batch that a process has begun to upload; None if there is nothing to be found of it.

        While that process may still be uploading it, or the endpoint may still be working on what it sent, wait.
        """
        while True:
            if batch := await self._provider.find_batch(stored.name, stored.file, stored.started):
                self._journal.record(stored.name, "id", batch)
                return batch
            age = time() - stored.touched
            if age >= self._timing.settle and self._journal.touch(stored.name, stored.touched):
                break
            await asyncio.sleep(max(0.0, min(self._timing.first_poll, self._timing.settle - age)))
            again = self._journal.batch(stored.name)
            if again is None or again.id is not None:
                return None if again is None else again.id
            stored = again
        async with self._touching(stored.name):
            file = stored.file or await self._provider.find_file(stored.name, stored.started)
            if file is None:
                self._journal.release(stored.name, "not uploaded")
                return None
            return await self._create(stored.name, file)

    async def _create(self, name: str, file: str) -> str:
        """The id of a new batch of the requests in a file."""
        self._journal.record(name, "file", file)
        try:
            batch = await self._provider.create(name, file)
        except RejectedError:
            self._journal.release(name, "not created")
            raise
        self._journal.record(name, "id", batch)
        self._report(f"{batch}: its requests are uploaded")
        return batch

    @asynccontextmanager
    async def _touching(self, name: str) -> AsyncIterator[None]:
        """Within the block, no other process takes the batch for one that was left behind."""

        async def touch() -> NoReturn:
            while True:
                self._journal.touch(name)
                await asyncio.sleep(self._timing.settle / 5)

        beat = asyncio.create_task(touch())
        try:
            yield
        finally:
            beat.cancel()
