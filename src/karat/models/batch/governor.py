"""A governor that sends requests in batches, which an endpoint answers within a day at half the price."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn
from uuid import uuid4

from karat.core.context import change_context
from karat.core.errors import KaratError, SpecError
from karat.models.batch.journal import BatchJournal, open_batches
from karat.models.batch.provider import REQUESTS, BatchState, Provider
from karat.models.batch.queue import BatchQueue, Hooks
from karat.models.batch.request_files import write_request
from karat.models.batch.uploader import Timing
from karat.models.event_loop import run_coroutine
from karat.models.governor.budget import BATCH_PRICE, DEFAULT_OUTPUT, Price
from karat.models.governor.faults import Fault, NotSentError
from karat.models.governor.governor import EndpointState, Governor, PendingRequest
from karat.models.governor.permits import Permit
from karat.models.governor.retry import RetryPolicy
from karat.models.governor.task_group import TaskGroup
from karat.models.openai.model import OpenAIModel
from karat.models.reply_cache import ReplyCache
from karat.models.request import Model, Reply, Request

LIVE = 64  # calls at a time to models that take no batches, and rows whose requests are uploaded ahead
ROWS = 5_000  # rows at a time that wait for requests which were uploaded ahead
TIMING = Timing()


class BatchGovernor(Governor):
    """Sends requests to models in batches, by OpenAI's Batch API: answers come within a day, at half the price.

    Requests that are made at the same time go together, at most 50,000 to a batch. What depends on a reply goes into a
    later batch. The first request to a model is sent by itself, so that a wrong key or name shows at once. Models that
    are functions, and embeddings, are asked without batches.

    `store` holds the replies and what was uploaded: a process that is stopped, or killed, at any time finds its batches
    again, days later too, and uploads nothing twice. `run`, `max_calls`, `budget`, `price` and `progress` are those of
    `Governor`; `price` is the one without batches, and a budget needs it. A request is in up to `attempts` batches.
    `report` is called with a line for each batch that starts or ends; `timing` says how often batches are looked at.

    >>> with ReplyCache(":memory:") as store:
    ...     BatchGovernor(store=store, budget=5.0)
    Traceback (most recent call last):
    ...
    karat.core.errors.SpecError: a budget for batches needs price=(USD per million input tokens, ... output tokens)
    """

    def __init__(
        self,
        *,
        store: ReplyCache,
        run: str | None = None,
        budget: float | None = None,
        max_calls: int | None = None,
        price: tuple[float, float] | None = None,
        attempts: int = 3,
        progress: Callable[[int], None] | None = None,
        report: Callable[[str], None] | None = None,
        timing: Timing | None = None,
    ) -> None:
        if budget is not None and price is None:
            need = "price=(USD per million input tokens, USD per million output tokens)"
            raise SpecError(f"a budget for batches needs {need}")
        limits: dict[str, Any] = {"budget": budget, "max_calls": max_calls, "price": price, "row_timeout": float("inf")}
        limits |= {"progress": progress, "report": report}
        run = run or uuid4().hex
        super().__init__(concurrency=REQUESTS, attempts=attempts, store=store, run=run, **limits)
        self._journal_of, self._replies, self._name = partial(BatchJournal, store, run), store, run
        self._timing = timing or TIMING
        self._hooks = Hooks(self._price_reply, self._count_unasked, report or (lambda _: None))
        self._queues: dict[tuple[str, str], BatchQueue] = {}
        self._collecting = self._collected = False

    @property
    def status(self) -> str | None:
        """What is waited for, in words; None if nothing is."""
        waiting = [each for queue in self._queues.values() for each in list(queue.waiting.values())]
        states = [each for each in waiting if isinstance(each, BatchState)]
        if len(states) < len(waiting) or not states:
            return f"{len(waiting)} batches" if waiting else None
        done, total = sum(each.done for each in states), sum(each.total for each in states)
        name = states[0].id if len(states) == 1 else f"{len(states)} batches"
        return f"{name}: {done:,} of {total:,} done"

    def open_batches(self) -> list[str]:
        """The batches of this run at the endpoints that have not ended, with their numbers of requests."""
        return open_batches(self._replies, self._name)

    @contextmanager
    def upload_ahead(self, collect: Callable[[], object]) -> Iterator[None]:
        """Upload the requests that `collect()` makes, which raise `NotSentError`; in the block they get their replies.

        So requests that are made one after the other wait together, and few of them are in memory.
        """
        self._collecting, self._concurrency = True, LIVE
        try:
            with change_context(rehearses=True):
                collect()
            group = TaskGroup()
            run_coroutine(group.run(BatchQueue.flush, self._queues.values(), concurrency=LIVE), drain=group.drain)
            self._collecting, self._collected, self._concurrency = False, True, ROWS
            yield
        finally:
            self._collecting = self._collected = False
            self._concurrency = REQUESTS

    async def ask(self, model: Model, request: Request) -> Reply:
        """The model's reply, from the cache, from a batch, or, for the first request to a model, by itself.

        Raises RequestError if this request gets no reply, ModelError if no request to this model will get one, or if a
        batch was cancelled or its results are not those of its requests.
        """
        if not isinstance(model, OpenAIModel):
            if self._collecting:
                raise NotSentError("not asked yet: this model takes no batches")
            return await super().ask(model, request)
        key, queue = request.key(model.endpoint, model.name), self._queue(model)
        if (self._collecting or self._collected) and (reply := self._replies.get(key, self._name)) is not None:
            self.totals.cached += self._collecting
            return reply
        if not queue.proven and not queue.holds(key) and self._replies.get(key, self._name) is None:
            async with self._proof(queue):
                if not queue.proven:
                    return await super().ask(model, request)
        if self._collecting:
            return await self._collect(queue, model, request)
        return await super().ask(model, request)

    async def _collect(self, queue: BatchQueue, model: OpenAIModel, request: Request) -> NoReturn:
        """Take a request for the next batch, within the caps."""
        key = request.key(model.endpoint, model.name)
        if not queue.holds(key):
            pending = self._prepare(model, request, key)
            _, cost = self.local.estimate(replace(pending.call, in_batch=queue.proven))
            with pending.group.waiting():
                await self.local.caps.reserve(cost)
                self.local.caps.settle(cost, cost)
                await queue.collect(key, partial(write_request, key, model, request), cost)
        raise NotSentError("not asked yet: the request waits for its batch")

    async def _acquire(self, pending: PendingRequest) -> Permit:
        """A permit; a request that this run has counted when it was uploaded is not counted again."""
        model, key = pending.model, pending.call.key
        if not isinstance(model, OpenAIModel) or key is None:
            return await super()._acquire(pending)
        queue = self._queue(model)
        pending.call = replace(pending.call, in_batch=queue.proven or queue.holds(key))
        found = queue.journal.find(key) if pending.call.in_batch else None
        if found is not None and found[1] is not None:
            with pending.group.waiting():
                permit = await self.local.acquire(replace(pending.call, retry=pending.attempts > 0), found[1])
            pending.attempts += 1
            return permit
        permit = await super()._acquire(pending)
        if found is not None:
            queue.journal.adopt(key, permit.cost)
        return permit

    async def _call(self, pending: PendingRequest, permit: Permit, seconds: float) -> Reply | Fault:
        """The outcome of a request in a batch."""
        model, key = pending.model, pending.call.key
        if not isinstance(model, OpenAIModel) or key is None:
            return await super()._call(pending, permit, seconds)
        queue, limiter = self._queue(model), self.local.endpoint(pending.call).limiter
        if not pending.call.in_batch:
            outcome = await super()._call(pending, permit, seconds)
            if isinstance(outcome, Reply):
                queue.proven, limiter.limit = True, limiter.concurrency
            return outcome
        with pending.group.waiting():
            outcome = await queue.ask(key, partial(write_request, key, model, pending.request), permit.cost)
        return await self.local.settle(permit, outcome, 0.0)

    def _price_reply(self, reply: Reply, estimate: float | None) -> Reply:
        """The reply with its cost: as reported, else by its tokens, else as estimated."""
        if reply.cost is not None or self.limits.price is None:
            return reply
        if reply.input_tokens is None or reply.output_tokens is None:
            return replace(reply, cost=estimate)
        return replace(
            reply, cost=BATCH_PRICE * Price(*self.limits.price).cost(reply.input_tokens, reply.output_tokens)
        )

    def _count_unasked(self, outcome: Reply | Fault | None, estimate: float) -> None:
        """Count the outcome of a request for which nobody waits since its upload; None: it was not sent."""
        self.local.caps.calls -= outcome is None
        self.local.caps.spent -= estimate
        if isinstance(outcome, Reply):
            self.local.caps.spent += outcome.cost or 0.0
            self.totals.calls += 1
            self.totals.add(outcome)

    def _give_up(self, pending: PendingRequest) -> KaratError:
        if isinstance(pending.model, OpenAIModel) and self._queue(pending.model).proven:
            pending.endpoint.failed = 0  # failures of a batch come in a row, without meaning more by it
        return super()._give_up(pending)

    def _endpoint(self, model: Model) -> EndpointState:
        known, endpoint = len(self._endpoints), super()._endpoint(model)
        if len(self._endpoints) > known:
            limits = self.local.endpoint(endpoint.call)
            limiter = limits.limiter
            if isinstance(model, OpenAIModel):
                limiter.limit = limiter.concurrency = REQUESTS
                limits.usage.longest_output = DEFAULT_OUTPUT  # at least, since many are estimated at the same time
            else:
                limiter.concurrency = LIVE
        return endpoint

    def _queue(self, model: OpenAIModel) -> BatchQueue:
        key = model.endpoint, model.name
        if (queue := self._queues.get(key)) is None:
            policy = RetryPolicy(20, self._timing.first_poll / 4, self._timing.longest_poll)
            provider, journal = Provider(model.address, policy), self._journal_of(*key)
            queue = self._queues[key] = BatchQueue(provider, journal, self._timing, self._hooks)
        return queue

    @asynccontextmanager
    async def _proof(self, queue: BatchQueue) -> AsyncIterator[None]:
        """One task at a time; the others wait until it is known whether the model answers."""
        group = TaskGroup.current()
        while queue.proving is not None and not queue.proving.done():
            with group.waiting():
                await asyncio.wait([queue.proving])
        queue.proving = mine = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            mine.cancel()
