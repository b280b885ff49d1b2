"""The requests to one model: gathered into files, uploaded as batches, and waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import cast
from uuid import uuid4

from karat.models.batch.journal import BatchJournal
from karat.models.batch.provider import BYTES, FINAL, REQUESTS, TOKEN_LIMIT, BatchState, Provider
from karat.models.batch.results import read_results
from karat.models.batch.uploader import Timing, Uploader
from karat.models.governor.faults import Fault, ModelError
from karat.models.governor.task_group import TaskGroup
from karat.models.request import Reply


@dataclass(frozen=True)
class Hooks:
    """What a queue calls.

    `price` gives a reply its cost, from what was estimated; `count_unasked` gets the outcome of each request for which
    nobody waits, None if it was not sent, and its estimated cost; `report` gets a line when a batch starts or ends.
    """

    price: Callable[[Reply, float | None], Reply]
    count_unasked: Callable[[Reply | Fault | None, float], None]
    report: Callable[[str], None]


@dataclass
class _Item:
    """A request: how to write its line in a file, its estimated cost, who waits for its outcome, and the line."""

    write: Callable[[], bytes]
    cost: float
    future: asyncio.Future[Reply | Fault] | None = None
    line: bytes = b""


class BatchQueue:
    """Sends requests to one model in batches: those that come until none comes for a while go together.

    `waiting` holds the state of each batch that is waited for. `proven`: whether a request that was sent by itself has
    a reply; `proving` ends when it is known.
    """

    def __init__(self, provider: Provider, journal: BatchJournal, timing: Timing, hooks: Hooks) -> None:
        self._provider, self.journal, self._timing, self._hooks = provider, journal, timing, hooks
        self.waiting: dict[str, BatchState | None] = {}
        self.proven, self.proving = False, cast("asyncio.Future[None] | None", None)
        self._uploader = Uploader(provider, journal, timing, hooks.report)
        self._queued: dict[str, _Item] = {}
        self._bytes = 0
        self._sender: asyncio.Task[None] | None = None
        self._awaited: dict[str, dict[str, _Item]] = {}  # by batch and key
        self._watchers: dict[str, asyncio.Task[None]] = {}
        self._limit, self._one_at_a_time = REQUESTS, False

    def holds(self, key: str) -> bool:
        """Whether a request is in a batch that has not ended, or waits for the next one."""
        return key in self._queued or self.journal.find(key) is not None

    async def ask(self, key: str, write: Callable[[], bytes], cost: float) -> Reply | Fault:
        """The outcome of a request, from the batch that holds it, else from the next one."""
        future: asyncio.Future[Reply | Fault] = asyncio.get_running_loop().create_future()
        try:
            self._put(key, _Item(write, cost, future))
            return await future
        finally:
            self._drop(key)

    async def collect(self, key: str, write: Callable[[], bytes], cost: float) -> None:
        """Take a request whose outcome nobody waits for yet."""
        self._put(key, _Item(write, cost))
        if self._full():
            await self.flush(rest=False)

    async def flush(self, *, rest: bool = True) -> None:
        """Upload what has been taken so far; without `rest` only as much as fills whole files."""
        while sending := self._start(0.0, rest=rest):
            await asyncio.shield(sending)

    def _start(self, quiet: float, *, rest: bool = True) -> asyncio.Task[None] | None:
        """Start to upload unless an upload is under way; None if there is nothing to do."""
        if self._sender is not None and self._sender.done():  # cancelled before it began
            self._sender = None
        if self._sender is None and self._is_due(rest=rest):
            self._sender = asyncio.create_task(self._send(quiet, rest=rest))
        return self._sender

    def _put(self, key: str, item: _Item) -> None:
        if held := self.journal.find(key):
            self._awaited.setdefault(held[0], {})[key] = item
            self._watch(held[0])
            return
        self._queued[key], item.line = item, item.write()
        self._bytes += len(item.line)
        if item.future is not None:
            self._start(self._timing.quiet)

    def _drop(self, key: str) -> None:
        """Forget a request for which nobody waits any more, and each batch that holds no other one."""
        if item := self._queued.pop(key, None):
            self._bytes -= len(item.line)
        for name, items in list(self._awaited.items()):
            items.pop(key, None)
            if not items:
                del self._awaited[name]
                if watcher := self._watchers.pop(name, None):
                    watcher.cancel()
                self.waiting.pop(name, None)

    def _full(self) -> bool:
        return len(self._queued) >= self._limit or self._bytes >= BYTES

    def _is_due(self, *, rest: bool) -> bool:
        return self._full() or (rest and bool(self._queued))

    async def _send(self, quiet: float, *, rest: bool = True) -> None:
        """Upload everything, once nothing new has come for `quiet` seconds; without `rest` only whole files."""
        part: dict[str, _Item] = {}
        try:
            while self._is_due(rest=rest):
                before = -1
                while quiet and before != len(self._queued) and not self._full():
                    before = len(self._queued)
                    await asyncio.sleep(quiet)
                while self._one_at_a_time and (others := [each for each in self._watchers.values() if not each.done()]):
                    await asyncio.wait(others)
                if part := self._take():
                    with TaskGroup.current().calling():
                        await self._submit(part)
                part = {}
        except Exception as error:
            awaited = [item.future for item in (*part.values(), *self._queued.values()) if item.future]
            self._queued.clear()
            _fail(awaited, error)
            if not awaited:
                raise
        finally:
            self._sender = None

    def _take(self) -> dict[str, _Item]:
        """The first of the waiting requests, as many as go into one file."""
        part: dict[str, _Item] = {}
        size = 0
        for key, item in self._queued.items():
            size += len(item.line)
            if part and (len(part) >= self._limit or size > BYTES):
                break
            part[key] = item
        for key, item in part.items():
            del self._queued[key]
            self._bytes -= len(item.line)
        return part

    async def _submit(self, part: Mapping[str, _Item]) -> None:
        """Upload requests as one batch; each step is on disk before the next one begins."""
        name = uuid4().hex
        new = self.journal.prepare(name, {key: item.cost for key, item in part.items()})
        for key in part.keys() - new:  # another process was faster
            if reply := self.journal.store.get(key):
                _resolve(part[key], reply)
            else:
                self._put(key, part[key])
        if not new:
            return
        self._awaited[name] = {key: item for key, item in part.items() if key in new and item.future}
        lines = [item.line for key, item in part.items() if key in new]
        for item in part.values():
            item.line = b""
        await self._uploader.upload(name, lines)
        if self._awaited.get(name):
            self._watch(name)

    def _watch(self, name: str) -> None:
        """Wait for a batch, unless somebody does."""
        if (watcher := self._watchers.get(name)) is None or watcher.done():
            self._watchers[name] = asyncio.create_task(self._follow(name))

    async def _follow(self, name: str) -> None:
        """Wait until a batch has ended, and hand out its results."""
        try:
            await self._wait_for(name)
        except Exception as error:  # noqa: BLE001  (whoever waits for the batch raises it)
            _fail([item.future for item in self._awaited.pop(name, {}).values() if item.future], error)
        finally:
            if self._watchers.get(name) is asyncio.current_task():
                del self._watchers[name]
            self.waiting.pop(name, None)

    async def _wait_for(self, name: str) -> None:
        stored, self.waiting[name] = self.journal.batch(name), None
        batch = None if stored is None else stored.id or await self._uploader.recover(stored)
        if batch is None:
            self._hand_out(name, {})
            return
        pause = self._timing.first_poll
        while (state := await self._provider.state(batch)).status not in FINAL:
            self.waiting[name] = state
            await asyncio.sleep(pause)
            pause = min(self._timing.longest_poll, pause * 1.5)
        if state.status == "failed" and not state.files:
            await self._handle_failure(name, state)
            return
        files = {file: await self._provider.download(file) for file in state.files}
        if not (costs := self.journal.costs(name)):  # another process has read them
            self._hand_out(name, {})
            return
        results = read_results(files, costs.keys(), batch)
        outcomes = {
            key: self._hooks.price(outcome, costs[key]) if isinstance(outcome, Reply) else outcome
            for key, outcome in results.outcomes.items()
        }
        self.journal.finish(name, outcomes, state.status)
        self._count_unasked(name, costs, outcomes)
        replies = sum(isinstance(outcome, Reply) for outcome in outcomes.values())
        ended = f"{batch}: {state.status}, {replies} of {len(costs)} requests have a reply"
        self._hooks.report(ended)
        if results.problems or state.status == "cancelled":
            more = f" (and {len(results.problems) - 1} more)" if len(results.problems) > 1 else ""
            raise ModelError(results.problems[0] + more if results.problems else f"{ended}; somebody has cancelled it")
        if self._one_at_a_time:
            self._limit = min(REQUESTS, self._limit * 5 // 4 + 1)
        self._hand_out(name, outcomes)

    def _count_unasked(
        self, name: str, costs: Mapping[str, float | None], outcomes: Mapping[str, Reply | Fault]
    ) -> None:
        for key in costs.keys() - self._awaited.get(name, {}).keys():
            if (cost := costs[key]) is not None:
                self._hooks.count_unasked(outcomes.get(key), cost)

    def _hand_out(self, name: str, outcomes: Mapping[str, Reply | Fault]) -> None:
        """Give each request of a batch its outcome; those without one are asked again."""
        for key, item in self._awaited.pop(name, {}).items():
            if outcome := outcomes.get(key) or self.journal.store.get(key):
                _resolve(item, outcome)
            else:
                self._put(key, item)

    async def _handle_failure(self, name: str, state: BatchState) -> None:
        """A batch that was not executed: in smaller parts, one by one, if it was too much at a time; else an error."""
        costs = self.journal.costs(name)
        self.journal.release(name, state.status)
        self._count_unasked(name, costs, {})
        if TOKEN_LIMIT not in state.codes:
            raise ModelError(f"{state.id} has failed: {state.problem}")
        self._one_at_a_time = True
        if len(self._watchers) == 1:
            if len(costs) == 1:
                raise ModelError(f"{state.id} has failed, with a single request: {state.problem}")
            self._limit = max(1, len(costs) // 2)
            await asyncio.sleep(self._timing.longest_poll)
        self._hooks.report(f"{state.id}: too many tokens for the endpoint's queue; smaller batches follow one by one")
        self._hand_out(name, {})


def _resolve(item: _Item, outcome: Reply | Fault) -> None:
    if item.future is not None and not item.future.done():
        item.future.set_result(outcome)


def _fail(futures: Iterable[asyncio.Future[Reply | Fault]], error: Exception) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(error)
