"""Permits to call a model: the limits, the caps and the cached replies that all calls of a run share."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Protocol

from karat.core.context import current_context
from karat.models.governor.budget import CallCounts, Caps, Limits, Price, Usage
from karat.models.governor.faults import Fault
from karat.models.governor.rate_limiter import RateLimiter, Slot
from karat.models.reply_cache import ReplyCache, run_within
from karat.models.request import Reply


@dataclass(frozen=True)
class Call:
    """A call for which a permit is needed: the model of which endpoint, and what it may take.

    `rpm` is a limit of the model itself. `key` is the reply's in the cache, None where it is not kept.
    `input_tokens` are estimated from the text; `output_limit` is None where the request sets none. `retry`: it is not
    the first one for its request. `run`: under which it is recorded, within the run of the permits where they have one.
    """

    endpoint: Hashable
    rpm: int | None = None
    key: str | None = None
    input_tokens: int = 0
    output_limit: int | None = None
    retry: bool = False
    run: str | None = None


@dataclass(frozen=True)
class Permit:
    """Leave to make one call, which counts at `cost` USD until it is settled."""

    number: int
    cost: float


class Permits(Protocol):
    """Where a governor asks whether it may call now: in this process (`LocalPermits`), or where a cluster keeps it.

    For a request whose reply can be cached `claim` comes first, and `drop` last. For each call `acquire` comes first,
    then `settle` if it has an outcome, then `release`. `caches`: whether replies are kept.
    """

    @property
    def caches(self) -> bool: ...

    async def claim(self, key: str) -> Reply | None:
        """The cached reply; None where there is none: no other request with this key is then sent until `drop`."""
        ...

    def drop(self, key: str) -> None:
        """Let others send the request with this key."""
        ...

    async def acquire(self, call: Call) -> Permit:
        """Wait until the call may start; raises `NotSentError` where a cap forbids it."""
        ...

    async def settle(self, permit: Permit, outcome: Reply | Fault, seconds: float) -> Reply | Fault:
        """Count how a call ended; a reply comes back with its cost, and is in the cache."""
        ...

    async def wait_for_proof(self, permit: Permit) -> bool:
        """Whether the endpoint has ever replied; waits until a running call has or none can any more."""
        ...

    def release(self, permit: Permit) -> None:
        """Let the next call start; a call that was not settled counts as estimated."""
        ...

    def fail(self, *, sent: bool) -> None:
        """Count a request that has no reply in the end."""
        ...

    def reject(self, keys: Sequence[str], *, kept: bool) -> None:
        """Let later runs, and where they are not `kept` this one too, ask anew for replies that gave no verdict."""
        ...


@dataclass
class EndpointLimits:
    """The rate limits of one model of one endpoint, and what its replies have taken."""

    limiter: RateLimiter
    usage: Usage = field(default_factory=Usage)


@dataclass
class _Taken:
    """A permit in use."""

    call: Call
    endpoint: EndpointLimits
    cost: float  # at which it counts now
    slot: Slot | None
    attempt: int | None
    tokens: int | None = None  # that the call took
    settled: bool = False


class LocalPermits:
    """The permits of this process; `calls` and `spent` (USD) are used up already, beside the `run`'s in `store`.

    They belong to the event loop in which they are used.
    """

    def __init__(
        self,
        limits: Limits,
        store: ReplyCache | None = None,
        run: str | None = None,
        *,
        calls: int = 0,
        spent: float = 0.0,
    ) -> None:
        self.limits, self.store, self.totals, self.run = limits, store, CallCounts(), run
        if store and run:
            calls, spent = store.spent(run)
        self.caps = Caps(limits.max_calls, limits.budget, calls=calls, spent=spent)
        self._price = None if limits.price is None else Price(*limits.price)
        self.changed: dict[str, None] = {}  # settings that endpoints have refused
        self._endpoints: dict[Hashable, EndpointLimits] = {}
        self._claimed: dict[str, asyncio.Future[None]] = {}
        self._taken: dict[int, _Taken] = {}
        self._numbers = count(1)

    @property
    def caches(self) -> bool:
        return self.store is not None and self.store.replies

    @property
    def running(self) -> int:
        """How many calls have not ended."""
        return sum(not each.settled for each in self._taken.values())

    def endpoint(self, call: Call) -> EndpointLimits:
        """The limits of the model that a call goes to."""
        if (endpoint := self._endpoints.get(call.endpoint)) is None:
            rpm = min((each for each in (self.limits.rpm, call.rpm) if each), default=None)
            limiter = RateLimiter(self.limits.most, rpm, self.limits.tpm, start=self.limits.start)
            endpoint = self._endpoints[call.endpoint] = EndpointLimits(limiter)
            if self.limits.budget is not None and self._price is None:
                limiter.limit = 1  # the first reply shows what a call costs
        return endpoint

    def estimate(self, call: Call) -> tuple[int, float]:
        """The tokens and USD that a call may take."""
        if not self.limits.measured:
            return 0, 0.0
        usage = self.endpoint(call).usage
        return usage.estimate(call.input_tokens, call.output_limit, self._price)

    async def claim(self, key: str) -> Reply | None:
        while (same := self._claimed.get(key)) is not None:
            await asyncio.wait([same])
        if self.store is not None and (cached := self.store.get(key, self.run or current_context().run)) is not None:
            self.totals.cached += 1
            self.changed |= {cached.changed: None} if cached.changed else {}
            return cached
        self._claimed[key] = asyncio.get_running_loop().create_future()
        return None

    def drop(self, key: str) -> None:
        self._claimed.pop(key).cancel()

    async def acquire(self, call: Call) -> Permit:
        endpoint = self.endpoint(call)
        slot = await endpoint.limiter.acquire(self.estimate(call)[0])
        try:
            cost = self.estimate(call)[1]  # after the wait, in which other replies arrived
            await self.caps.reserve(cost)
            run = run_within(self.run, call.run)
            attempt = self.store.begin_attempt(run, cost) if self.store and run else None
        except BaseException:
            endpoint.limiter.release(slot)
            raise
        self.totals.calls += 1
        self.totals.retries += call.retry
        permit = Permit(next(self._numbers), cost)
        self._taken[permit.number] = _Taken(call, endpoint, cost, slot, attempt)
        return permit

    async def settle(self, permit: Permit, outcome: Reply | Fault, seconds: float) -> Reply | Fault:
        taken, store, spent = self._taken[permit.number], self.store, 0.0
        self.totals.seconds += seconds
        if isinstance(outcome, Fault):
            if outcome.status is None:  # not refused
                spent = permit.cost
            if store and taken.attempt:
                store.end_attempt(taken.attempt, spent)
            if outcome.kind == "overload" and taken.slot:
                taken.endpoint.limiter.record_refusal(taken.slot, outcome.retry_after)
        else:
            outcome, spent = self._count(taken, outcome)
            if store and (taken.call.key or taken.attempt):
                outcome = store.put(taken.call.key, outcome, taken.attempt, spent)
            if taken.slot:
                taken.endpoint.limiter.record_reply(taken.slot)
        self._pay(taken, spent)
        return outcome

    async def wait_for_proof(self, permit: Permit) -> bool:
        return await self._taken[permit.number].endpoint.limiter.wait_for_proof()

    def release(self, permit: Permit) -> None:
        self.expire(permit)
        del self._taken[permit.number]

    def expire(self, permit: Permit) -> None:
        """`release` a permit of a process that may be dead; what it settles nevertheless is counted."""
        taken = self._taken[permit.number]
        if not taken.settled:
            self._pay(taken, taken.cost)
        if taken.slot is not None:
            taken.endpoint.limiter.release(taken.slot, taken.tokens)
            taken.slot = None

    def refund(self, permit: Permit) -> None:
        """Take back a permit of which no use was made."""
        taken = self._taken[permit.number]
        self.caps.calls -= 1
        self.totals.calls -= 1
        self.totals.retries -= taken.call.retry
        if self.store and taken.attempt:
            self.store.forget_attempt(taken.attempt)
        self._pay(taken, 0.0)
        self.release(permit)

    def fail(self, *, sent: bool) -> None:
        self.totals.failed += sent
        self.totals.capped += not sent

    def reject(self, keys: Sequence[str], *, kept: bool) -> None:
        if self.store is not None:
            self.store.reject(keys, (self.run or current_context().run) if kept else None)

    def _count(self, taken: _Taken, reply: Reply) -> tuple[Reply, float]:
        """The reply with its cost, and the cost."""
        cost = reply.cost
        if self.limits.measured:
            taken.tokens, cost = taken.endpoint.usage.measure(reply, taken.call.input_tokens, self._price)
        reply = reply if cost == reply.cost else replace(reply, cost=cost)
        self.totals.add(reply)
        self.changed |= {reply.changed: None} if reply.changed else {}
        return reply, cost or 0.0

    def _pay(self, taken: _Taken, spent: float) -> None:
        if taken.settled:  # it had expired
            self.caps.spent += spent - taken.cost
        else:
            self.caps.settle(taken.cost, spent)
        taken.settled, taken.cost = True, spent
