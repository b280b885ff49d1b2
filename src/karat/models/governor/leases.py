"""Permits that one process lends to others: all workers of a cluster keep one set of limits, caps and cached replies.

A `Lender` runs where the run was started; each worker has `LeasedPermits`, which send it many messages at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Protocol, TypeAlias
from uuid import uuid4

from karat.core.errors import DataError
from karat.models.governor.budget import CallCounts, Limits
from karat.models.governor.faults import Fault
from karat.models.governor.permits import Call, LocalPermits, Permit
from karat.models.reply_cache import ReplyCache
from karat.models.request import Reply

LEASE = 15.0  # seconds without a message after which a worker counts as dead
POLLS = 5  # in the time of a lease, at least: each `collect` renews it
LeaseRequest: TypeAlias = tuple[int, str, tuple[Any, ...]]
"""A number, the name of a method of `Permits`, and its arguments."""
LeaseReply: TypeAlias = tuple[int, Any]
"""The number of a message, and what its method returned or raised."""


@dataclass
class _Borrower:
    """A worker: when it was last heard of, what it holds, what it waits for, and what it has not collected yet."""

    seen: float = 0.0
    keys: set[str] = field(default_factory=set)
    permits: dict[int, Permit] = field(default_factory=dict)
    waiting: set[asyncio.Task[None]] = field(default_factory=set)
    answers: list[LeaseReply] = field(default_factory=list)
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    def answer(self, number: int, value: Any) -> None:
        self.answers.append((number, value))
        self.ready.set()


class Lender:
    """Lends the permits of one run, whose replies and calls are kept in the file `store`, to workers.

    Of the caps so many calls and USD are `used` already, beside `run`'s in the store. What a worker holds comes
    back when it leaves, or when nothing was heard of it for `lease` seconds: its calls then count as estimated, and
    others may send its requests. What it settles later is counted nevertheless.
    """

    def __init__(
        self,
        limits: Limits,
        store: str | None = None,
        run: str | None = None,
        used: tuple[int, float] = (0, 0.0),
        lease: float = LEASE,
    ) -> None:
        cache = None if store is None else ReplyCache(store)
        self._permits = LocalPermits(limits, cache, run, calls=used[0], spent=used[1])
        self._lease = lease
        self._borrowers: dict[str, _Borrower] = {}
        self._gone: set[str] = set()
        self._reaper: asyncio.Task[None] | None = None
        self._draining, self._ended = False, asyncio.Event()

    async def post(self, worker: str, messages: Sequence[LeaseRequest]) -> bool:
        """Start what a worker wants; False where its lease has ended, so that nothing was done."""
        if worker in self._gone:
            return False
        borrower = self._borrower(worker)
        for number, method, arguments in messages:
            if method in ("claim", "acquire", "wait_for_proof"):
                task = asyncio.create_task(self._wait(borrower, number, method, arguments))
                borrower.waiting.add(task)
                task.add_done_callback(borrower.waiting.discard)
            else:
                await self._end(borrower, number, method, arguments)
        return True

    async def collect(self, worker: str) -> list[LeaseReply] | None:
        """The answers for a worker, as soon as there is one, or none after a while; None: its lease has ended."""
        if worker in self._gone:
            return None
        borrower = self._borrower(worker)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._lease / POLLS):
                await borrower.ready.wait()
        answers, borrower.answers = borrower.answers, []
        borrower.ready.clear()
        return answers

    async def leave(self, worker: str) -> None:
        """End the lease of a worker."""
        self._gone.add(worker)
        if (borrower := self._borrowers.pop(worker, None)) is None:
            return
        for task in borrower.waiting:
            task.cancel()
        for key in borrower.keys:
            self._permits.drop(key)
        for permit in borrower.permits.values():
            self._permits.expire(permit)
        borrower.ready.set()
        self._ended.set()

    async def drain(self, seconds: float) -> None:
        """Let no further call start, and wait up to so many seconds for the end of the running ones."""
        self._draining = True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._permits.running:
                    self._ended.clear()
                    await self._ended.wait()

    async def usage(self) -> tuple[CallCounts, int, float]:
        """What all workers have used, and the calls and USD that count for the caps."""
        return self._permits.totals, self._permits.caps.calls, self._permits.caps.spent

    def _borrower(self, worker: str) -> _Borrower:
        self._reaper = self._reaper or asyncio.create_task(self._expire_leases())
        borrower = self._borrowers.setdefault(worker, _Borrower())
        borrower.seen = asyncio.get_running_loop().time()
        return borrower

    async def _wait(self, borrower: _Borrower, number: int, method: str, arguments: tuple[Any, ...]) -> None:
        try:
            value = await getattr(self._permits, method)(*arguments)
        except Exception as error:  # noqa: BLE001  (the worker raises it)
            borrower.answer(number, error)
            return
        if method == "acquire" and self._draining:
            self._permits.refund(value)
            return
        if method == "acquire":
            borrower.permits[value.number] = value
        elif method == "claim" and value is None:
            borrower.keys.add(*arguments)
        borrower.answer(number, value)

    async def _end(self, borrower: _Borrower, number: int, method: str, arguments: tuple[Any, ...]) -> None:
        """What needs no wait, in the order in which it was posted."""
        if method == "settle":
            try:
                borrower.answer(number, await self._permits.settle(*arguments))
            except Exception as error:  # noqa: BLE001  (the worker raises it)
                borrower.answer(number, error)
        elif method in ("release", "refund"):
            borrower.permits.pop(arguments[0].number, None)
            getattr(self._permits, method)(*arguments)
        elif method == "fail":
            self._permits.fail(sent=arguments[0])
        elif method == "reject":
            self._permits.reject(arguments[0], kept=arguments[1])
        elif arguments[0] in borrower.keys:  # else it may be another worker's by now
            borrower.keys.discard(*arguments)
            self._permits.drop(*arguments)
        self._ended.set()

    async def _expire_leases(self) -> None:
        while True:
            await asyncio.sleep(self._lease / POLLS)
            now = asyncio.get_running_loop().time()
            for worker, borrower in list(self._borrowers.items()):
                if borrower.seen + self._lease < now:
                    await self.leave(worker)


class Line(Protocol):
    """The way to a `Lender`, which may be in another process."""

    async def post(self, worker: str, messages: Sequence[LeaseRequest]) -> bool: ...
    async def collect(self, worker: str) -> list[LeaseReply] | None: ...


class LeasedPermits:
    """The permits of a worker: `Permits` whose limits a `Lender` keeps. They belong to one event loop.

    Where the lease has ended, since this process stood still for long, it begins anew.
    """

    def __init__(self, line: Line, *, caches: bool) -> None:
        self.caches, self.worker = caches, uuid4().hex
        self._line, self._numbers = line, count()
        self._outbox: list[LeaseRequest] = []
        self._asked: dict[int, tuple[LeaseRequest, asyncio.Future[Any]]] = {}
        self._held = 0  # permits and keys
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def claim(self, key: str) -> Reply | None:
        reply: Reply | None = await self._ask("claim", key)
        self._held += reply is None
        return reply

    def drop(self, key: str) -> None:
        self._held -= 1
        self._tell("drop", key)

    async def acquire(self, call: Call) -> Permit:
        permit: Permit = await self._ask("acquire", call)
        self._held += 1
        return permit

    async def settle(self, permit: Permit, outcome: Reply | Fault, seconds: float) -> Reply | Fault:
        if isinstance(outcome, Fault):  # its exception may be one that cannot be sent
            await self._ask("settle", permit, replace(outcome, error=None), seconds)
            return outcome
        reply: Reply = await self._ask("settle", permit, outcome, seconds)
        return reply

    async def wait_for_proof(self, permit: Permit) -> bool:
        return bool(await self._ask("wait_for_proof", permit))

    def release(self, permit: Permit) -> None:
        self._held -= 1
        self._tell("release", permit)

    def fail(self, *, sent: bool) -> None:
        self._tell("fail", sent)

    def reject(self, keys: Sequence[str], *, kept: bool) -> None:
        self._tell("reject", keys, kept)

    async def close(self) -> None:
        """Wait until all messages have arrived."""
        if (posting := self._tasks.get("_post")) is not None:
            await posting

    async def _ask(self, method: str, *arguments: Any) -> Any:
        message, future = (next(self._numbers), method, arguments), asyncio.get_running_loop().create_future()
        self._asked[message[0]] = message, future
        self._send(message)
        return await future

    def _tell(self, method: str, *arguments: Any) -> None:
        self._send((next(self._numbers), method, arguments))

    def _send(self, *messages: LeaseRequest) -> None:
        self._outbox += messages
        for work in (self._post, self._collect):
            if (task := self._tasks.get(work.__name__)) is None or task.done():
                self._tasks[work.__name__] = asyncio.create_task(self._run(work))

    async def _run(self, work: Any) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001  (of the cluster's library)
            problem = f"the process that keeps the limits of the judges has ended: {type(error).__name__}: {error}"
            for _, future in self._asked.values():
                if not future.done():
                    future.set_exception(DataError(problem))
            self._asked.clear()

    async def _post(self) -> None:
        while self._outbox:
            worker, messages, self._outbox = self.worker, self._outbox, []
            if not await self._line.post(worker, messages):
                self._outbox = [*(each for each in messages if each[0] not in self._asked), *self._outbox]
                self._renew(worker)

    async def _collect(self) -> None:
        while self._asked or self._held:
            worker = self.worker
            answers = await self._line.collect(worker)
            for number, value in answers or ():
                if number in self._asked:
                    self._take(*self._asked.pop(number), value)
            if answers is None:
                self._renew(worker)

    def _renew(self, worker: str) -> None:
        """Ask again, as another worker, for what the lease that has ended did not bring."""
        if worker == self.worker:
            self.worker, unsent = uuid4().hex, {number for number, _, _ in self._outbox}
            self._send(*(message for number, (message, _) in self._asked.items() if number not in unsent))

    def _take(self, message: LeaseRequest, future: asyncio.Future[Any], value: Any) -> None:
        if not future.done():
            future.set_exception(value) if isinstance(value, Exception) else future.set_result(value)
        elif isinstance(value, Permit):  # who asked was cancelled
            self._tell("refund", value)
        elif message[1] == "claim" and value is None:
            self._tell("drop", *message[2])
